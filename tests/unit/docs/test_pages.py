# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures and versions that files state are those of the tools that measure them."""

import re

import yaml
from packaging.version import Version

from ansible_collections.monitor.cloud.plugins.module_utils._module import VERSION
from ansible_collections.monitor.cloud.tests.tools import figures
from ansible_collections.monitor.cloud.tests.tools.matrix import CONTROLLERS, PAIRS, TARGETS
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


def _text(path: str) -> str:
    return (CHECKOUT / path).read_text(encoding="utf-8")


GALAXY = yaml.safe_load(_text("galaxy.yml"))
RELEASES = yaml.safe_load(_text("changelogs/changelog.yaml"))["releases"]


def test_user_agent_and_latest_changelog_entry_have_the_version_of_galaxy_yml() -> None:
    assert GALAXY["version"] == VERSION == max(RELEASES, key=Version)


def test_the_guide_states_what_is_run() -> None:
    guide = _text("docs/docsite/rst/guide_install.rst")
    rows = [re.split(" {2,}", line) for line in guide.splitlines() if line.startswith("2.")]
    targets = {core: "3.{} to 3.{}".format(*TARGETS[core]) for core in CONTROLLERS}
    assert rows == [[core, ", ".join(pythons), targets[core]] for core, pythons in CONTROLLERS.items()]


def test_the_oldest_core_is_the_one_that_is_required() -> None:
    oldest = next(iter(CONTROLLERS))
    assert yaml.safe_load(_text("meta/runtime.yml"))["requires_ansible"] == f">={oldest}.0"
    role = yaml.safe_load(_text("roles/monitor_agent/meta/main.yml"))
    assert role["galaxy_info"]["min_ansible_version"] == oldest
    assert f"ansible-core {oldest} and newer" in _text("README.md")


def test_each_core_was_run_without_a_failure() -> None:
    measured = figures.rows("versions")
    ran = {(core, python) for core, python, _versions, passed, *_others in measured if passed != "not run"}
    assert ran <= set(PAIRS) and {core for core, _python in ran} == set(CONTROLLERS)
    assert {row[4] for row in measured} == {"0"}, measured
