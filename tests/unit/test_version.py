# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One version in all files."""

import re

import yaml
from packaging.version import Version

from ansible_collections.monitor.cloud.plugins.module_utils._module import VERSION
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, tracked_files

GALAXY = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))
RELEASES = yaml.safe_load((CHECKOUT / "changelogs" / "changelog.yaml").read_text(encoding="utf-8"))["releases"]


def test_user_agent_has_the_version_of_galaxy_yml() -> None:
    assert GALAXY["version"] == VERSION


def test_latest_changelog_entry_is_of_the_version_of_galaxy_yml() -> None:
    assert max(RELEASES, key=Version) == GALAXY["version"]


def test_version_added_is_a_release_or_a_later_version() -> None:
    documented = [path for path in tracked_files() if path.parts[0] in ("plugins", "roles", "playbooks")]
    found = {
        (str(path), version)
        for path in documented
        for version in re.findall(r"version_added: (\S+)", (CHECKOUT / path).read_text(encoding="utf-8"))
    }
    assert len(found) >= 11, "fewer than there are modules"
    unknown = {(path, version) for path, version in found if version not in RELEASES}
    assert not [pair for pair in unknown if Version(pair[1]) <= Version(GALAXY["version"])]
