# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Needs Python 3.11 or newer and make. Everything else is installed into .venv, once.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
DEMO := $(VENV)/.ready-demo
TEST := $(VENV)/.ready-test
IMPORTER := .cache/importer/bin
# On a terminal it shows what it does.
PIP = $(RUN) -m pip install $$([ -t 1 ] || echo -qq) --disable-pip-version-check --require-hashes
COVERAGE = COVERAGE_FILE=$(CURDIR)/build/coverage/data $(VENV)/bin/coverage
LOCK = $(VENV)/bin/uv pip compile --quiet --universal --python-version=3.11 --generate-hashes $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help demo picture test quick lint unit contract integration fleet faults soak packaging mutation matrix emulator build docs coverage bench lock upgrade clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

demo: $(DEMO) ## register example hosts with an emulated service, twice, then break two and audit
	@$(RUN) tests/tools/demo.py

picture: $(TEST) ## make docs/audit.png, the picture in README, from the page of the demo
	@$(RUN) tests/tools/picture.py

emulator: $(DEMO) ## PORT=8089: serve the emulated service until Ctrl-C, for your own playbooks in another shell
	@$(RUN) -m ansible_collections.monitor.cloud.tests.emulator $(if $(PORT),--port '$(PORT)')

test: $(TEST) ## everything that must hold before a release: the six from lint to faults; FIGURES=tests keeps its figures
	@$(RUN) tests/tools/run.py

quick: $(TEST) ## style, types, unit tests and a few of each module and of the role, within a minute
	@$(RUN) tests/tools/run.py quick style

lint: $(TEST) ## style, types, documentation, ansible-lint, ansible-test sanity
	@$(RUN) tests/tools/run.py lint

unit: $(TEST) ## the parts alone, with pytest
	@$(RUN) tests/tools/run.py unit

contract: $(TEST) ## emulator and client against docs/openapi.yaml
	@$(RUN) tests/tools/run.py contract

integration: $(TEST) ## modules against the emulator, with ansible-test
	@$(RUN) tests/tools/run.py integration

fleet: $(TEST) ## many hosts at once, over real connections
	@$(RUN) tests/tools/run.py fleet

faults: $(TEST) ## what services, networks and people do, in short
	@FIGURES=faults $(RUN) tests/tools/run.py faults

soak: $(TEST) ## the same with more attempts, for an hour or more
	@SOAK=1 FIGURES=soak PYTEST_TIMEOUT=7200 $(RUN) tests/tools/run.py faults

packaging: $(TEST) $(IMPORTER)/.ready ## the archive, as Galaxy checks it, and the sanity tests of tests/
	@$(RUN) tests/tools/run.py packaging
	@archive=$$($(RUN) tests/tools/package.py) && cd build && PATH=$(CURDIR)/$(IMPORTER):$$PATH \
	  GALAXY_IMPORTER_CHECK_REQUIRED_TAGS=true GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER=true \
	  GALAXY_IMPORTER_RUN_ANSIBLE_LINT=false python -m galaxy_importer.main $$archive >importer.log 2>&1; \
	  code=$$?; cat importer.log; exit $$((code || $$(grep -cE '^(ERROR|WARNING)' importer.log)))

mutation: $(TEST) ## change the pure files, one place at a time, and count the changes that no unit test notices
	@$(RUN) tests/tools/mutation.py

matrix: $(TEST) ## the tests that depend on ansible-core, with each supported core and Python
	@$(RUN) tests/tools/matrix.py

coverage: $(TEST) ## lines and branches of plugins/ that the tests run, in all processes; fails below 98 and 96 %
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(COVERAGE) run tests/tools/run.py unit contract integration fleet faults; code=$$?; \
	  $(COVERAGE) combine --quiet; $(COVERAGE) report; $(COVERAGE) json --quiet -o build/coverage/report.json; \
	  $(RUN) tests/tools/figures.py build/coverage/report.json && exit $$code

bench: $(DEMO) ## run times, compared with a playbook without this collection
	@$(RUN) tests/benchmark/run.py

docs: $(TEST) ## check the documentation and render it into build/docs
	@$(RUN) tests/tools/docs.py

build: $(DEMO) ## the archive for ansible-galaxy, in build
	@$(RUN) tests/tools/package.py

lock: $(TEST) ## add what tests/requirements*.txt name to tests/locks; versions there are kept
	@$(LOCK) --output-file=tests/locks/test.txt tests/requirements.txt
	@$(LOCK) --constraints=tests/locks/test.txt --output-file=tests/locks/demo.txt tests/requirements-demo.txt
	@$(LOCK) --output-file=tests/locks/importer.txt tests/requirements-importer.txt

upgrade: ## the newest versions into tests/locks
	@$(MAKE) --no-print-directory lock UPGRADE=--upgrade

clean: ## remove all that these targets create
	rm -rf $(VENV) .cache build tests/output

# One line instead of a traceback if Python is too old or lacks a part (Debian: python3-venv).
NEEDED := needs Python 3.11 or newer with venv and ensurepip; name one with: make PYTHON=/path/to/python3

# The link makes the checkout importable as ansible_collections.monitor.cloud, for Python and for Ansible alike,
# with no environment variable. It is relative, so that the tree can be moved.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo 'monitor.cloud $(NEEDED)' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@namespace=$$(echo $(VENV)/lib/python3.*/site-packages)/ansible_collections/monitor \
	  && mkdir -p "$$namespace" && ln -sfn ../../../../../.. "$$namespace/cloud"
	@touch $@

$(DEMO): $(VENV)/.created tests/locks/demo.txt
	@echo 'Installing what the collection and the emulator need into $(VENV)'
	@$(PIP) -r tests/locks/demo.txt
	@touch $@

# uv takes a seventh of pip's processor time, but reads no setting of pip.
$(TEST): $(DEMO) tests/locks/test.txt
	@echo 'Installing what the tests need into $(VENV)'
	@sed -n '/^uv==/,/# via/p' tests/locks/test.txt | $(PIP) --only-binary=uv -r /dev/stdin || true
	@$(VENV)/bin/uv pip install --quiet --python $(RUN) --require-hashes -r tests/locks/test.txt 2>/dev/null \
	  || $(PIP) -r tests/locks/test.txt
	@touch $@

# It pins tools that others need too.
$(IMPORTER)/.ready: $(VENV)/.created tests/locks/importer.txt
	@$(RUN) -m venv --clear .cache/importer
	@$(subst $(RUN),$(IMPORTER)/python,$(PIP)) -r tests/locks/importer.txt
	@touch $@
