# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""tests/locks has what tests/requirements*.txt ask for, from any package index."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ansible_collections.monitor.cloud.tests.tools.install import ENTRY_OF_UV
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

INPUTS = {"requirements-demo.txt": "demo", "requirements.txt": "test", "requirements-importer.txt": "importer"}


def requirements(path: Path) -> Iterator[Requirement]:
    """Parse a file of requirements, and those that it includes."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from requirements(path.parent / line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            yield Requirement(line)


@pytest.mark.parametrize(("source", "locked"), INPUTS.items())
def test_lock_satisfies_its_requirements(source: str, locked: str) -> None:
    lock = (CHECKOUT / "tests" / "locks" / f"{locked}.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE)
    for requirement in requirements(CHECKOUT / "tests" / source):
        name = re.sub("[-_.]+", "-", requirement.name).lower()
        versions = [version for package, version in pinned if package == name]
        assert versions, f"{requirement.name}: make lock"
        assert all(version in requirement.specifier for version in versions), f"{requirement}: make upgrade"


def test_no_lock_names_a_package_index() -> None:
    for lock in (CHECKOUT / "tests" / "locks").iterdir():
        assert not re.search(r"://|index-url|find-links", lock.read_text(encoding="utf-8")), lock


def test_uv_is_found_in_the_lock_of_the_tests() -> None:
    """Without it pip installs all, which takes seven times as long."""
    lock = CHECKOUT / "tests" / "locks" / "test.txt"
    (entry,) = ENTRY_OF_UV.findall(lock.read_text(encoding="utf-8"))
    lines = entry.splitlines()
    assert re.fullmatch(r"uv==[0-9.]+ \\", lines[0])
    assert len(lines) > 2 and all(re.match(" +(--hash=sha256:|# via )", line) for line in lines[1:])
