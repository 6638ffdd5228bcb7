# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The targets need Python 3.11 or newer, and make. They install all other requirements into .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
DEMO := $(VENV)/.ready-demo
TEST := $(VENV)/.ready-test
IMPORTER := .cache/importer/bin
# pip is quiet if the output is not a terminal.
PIP = $(RUN) -m pip install $$([ -t 1 ] || echo -qq) --disable-pip-version-check --require-hashes
COVERAGE = COVERAGE_FILE=$(CURDIR)/build/coverage/data $(VENV)/bin/coverage
LOCK = $(VENV)/bin/uv pip compile --quiet --universal --python-version=3.11 --generate-hashes $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help demo picture test quick lint unit contract integration fleet faults soak packaging matrix emulator build docs coverage bench lock upgrade clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

demo: $(DEMO) ## register example hosts with an emulated service twice, break two hosts, and audit
	@$(RUN) tests/tools/demo.py

picture: $(TEST) ## make docs/audit.png, the picture in README, from the page of the demo
	@$(RUN) tests/tools/picture.py

emulator: $(DEMO) ## PORT=8089: serve the emulated service until Ctrl-C, for playbooks in another shell
	@$(RUN) -m ansible_collections.monitor.cloud.tests.emulator $(if $(PORT),--port '$(PORT)')

test: $(TEST) ## all parts from lint to faults
	@$(RUN) tests/tools/run.py

quick: $(TEST) ## style, types, unit tests, and some tests of each module and of the role, in half a minute
	@$(RUN) tests/tools/run.py style quick

lint: $(TEST) ## style, types, documentation, ansible-lint, ansible-test sanity
	@$(RUN) tests/tools/run.py lint

unit: $(TEST) ## unit tests of plugins, documents and rules of the repository
	@$(RUN) tests/tools/run.py unit

contract: $(TEST) ## emulator and client against docs/openapi.yaml
	@$(RUN) tests/tools/run.py contract

integration: $(TEST) ## modules against the emulator, with ansible-test
	@$(RUN) tests/tools/run.py integration

fleet: $(TEST) ## the role and the playbooks on hosts over SSH and in containers
	@$(RUN) tests/tools/run.py fleet

faults: $(TEST) ## faults of services, networks, hosts and users
	@$(RUN) tests/tools/run.py faults

soak: $(TEST) ## the faults with more random cases, for an hour or more
	@SOAK=1 PYTEST_TIMEOUT=7200 $(RUN) tests/tools/run.py faults

packaging: $(TEST) $(IMPORTER)/.ready ## Galaxy's checks of the archive, and the sanity tests of tests/
	@$(RUN) tests/tools/run.py packaging
	@archive=$$($(RUN) tests/tools/package.py) && cd build && PATH=$(CURDIR)/$(IMPORTER):$$PATH \
	  GALAXY_IMPORTER_CHECK_REQUIRED_TAGS=true GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER=true \
	  GALAXY_IMPORTER_RUN_ANSIBLE_LINT=false python -m galaxy_importer.main $$archive >importer.log 2>&1; \
	  code=$$?; cat importer.log; exit $$((code || $$(grep -cE '^(ERROR|WARNING)' importer.log)))

matrix: $(TEST) ## ONLY='2.18/3.11 fleet': the tests that depend on ansible-core, with each supported core and Python
	@$(RUN) tests/tools/matrix.py $(ONLY)

coverage: $(TEST) ## measure which lines and branches of plugins/ the tests run; fails below 98 and 96 %
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(COVERAGE) run tests/tools/run.py unit contract integration fleet faults; code=$$?; \
	  $(COVERAGE) combine --quiet; $(COVERAGE) report; $(COVERAGE) json --quiet -o build/coverage/report.json; \
	  $(RUN) tests/tools/floors.py build/coverage/report.json && exit $$code

bench: $(DEMO) ## compare run times with playbooks that do not use this collection
	@$(RUN) tests/benchmark/run.py

docs: $(TEST) ## check the documentation and render it into build/docs
	@$(RUN) tests/tools/docs.py

build: $(DEMO) ## build the archive for ansible-galaxy into build
	@$(RUN) tests/tools/package.py

lock: $(TEST) ## update tests/locks after a change of tests/requirements*.txt, and keep locked versions
	@$(LOCK) --output-file=tests/locks/test.txt tests/requirements.txt
	@$(LOCK) --constraints=tests/locks/test.txt --output-file=tests/locks/demo.txt tests/requirements-demo.txt
	@$(LOCK) --output-file=tests/locks/importer.txt tests/requirements-importer.txt

upgrade: ## update tests/locks to the newest versions
	@$(MAKE) --no-print-directory lock UPGRADE=--upgrade

clean: ## remove all files that these targets create
	rm -rf $(VENV) .cache build tests/output

# Debian has venv and ensurepip in the package python3-venv.
NEEDED := needs Python 3.11 or newer with venv and ensurepip; name one with: make PYTHON=/path/to/python3

# A link makes the checkout importable as ansible_collections.monitor.cloud. The link is relative, so the tree can move.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo 'monitor.cloud $(NEEDED)' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@namespace=$$(echo $(VENV)/lib/python3.*/site-packages)/ansible_collections/monitor \
	  && mkdir -p "$$namespace" && ln -sfn ../../../../../.. "$$namespace/cloud"
	@touch $@

$(DEMO): $(VENV)/.created tests/locks/demo.txt
	@echo 'Installing the requirements of the collection and of the emulator into $(VENV)'
	@$(PIP) -r tests/locks/demo.txt
	@touch $@

# uv takes a seventh of the processor time of pip. uv does not read the settings of pip, so pip installs if uv fails.
$(TEST): $(DEMO) tests/locks/test.txt
	@echo 'Installing the requirements of the tests into $(VENV)'
	@sed -n '/^uv==/,/# via/p' tests/locks/test.txt | $(PIP) --only-binary=uv -r /dev/stdin || true
	@$(VENV)/bin/uv pip install --quiet --python $(RUN) --require-hashes -r tests/locks/test.txt 2>/dev/null \
	  || $(PIP) -r tests/locks/test.txt
	@touch $@

# The importer pins tools that the tests need in other versions.
$(IMPORTER)/.ready: $(VENV)/.created tests/locks/importer.txt
	@$(RUN) -m venv --clear .cache/importer
	@$(subst $(RUN),$(IMPORTER)/python,$(PIP)) -r tests/locks/importer.txt
	@touch $@
