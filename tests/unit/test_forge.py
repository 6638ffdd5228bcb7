# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that a forge or an installer reads."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

FILES = {
    "vendor.github-workflows": ".github/workflows/test.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml",
    "vendor.renovate": "renovate.json",
}


def read(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("schema", "names"), FILES.items())
def test_files_have_their_schema(schema: str, names: str) -> None:
    command = [str(Path(sys.executable).parent / "check-jsonschema"), "--builtin-schema", schema, *names.split()]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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
    lock = read(f"tests/locks/{locked}.txt")
    pinned = re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE)
    for requirement in requirements(CHECKOUT / "tests" / source):
        name = re.sub("[-_.]+", "-", requirement.name).lower()
        versions = [version for package, version in pinned if package == name]
        assert versions, f"{requirement.name}: make lock"
        assert all(version in requirement.specifier for version in versions), f"{requirement}: make upgrade"
    assert not re.search(r"://|index-url|find-links", lock), "a package index"
