# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages on compliance, security and faults name commands, steps, tests and files that are there."""

from __future__ import annotations

import re

import pytest

from ansible_collections.monitor.cloud.tests.tools.test_lint import STEPS
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

COMPLIANCE, SECURITY, FAULTS = (
    (CHECKOUT / name).read_text(encoding="utf-8") for name in ("docs/compliance.md", "SECURITY.md", "docs/faults.md")
)
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [COMPLIANCE, SECURITY, FAULTS], ids=["compliance", "security", "faults"])
def test_each_command_and_file_exists(page: str) -> None:
    assert set(re.findall(r"`make ([a-z]+)", page)) <= set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    for name in re.findall(r"`((?:tests|docs|meta|changelogs|\.github)/[\w./-]+|[A-Z_]+\.md)`", page):
        assert (CHECKOUT / name).exists(), name


def test_each_step_of_lint_exists() -> None:
    named = re.findall(r"`make lint` \(([\w -]+)", COMPLIANCE)
    assert {*named} <= set(STEPS)
    assert len(named) > 10


def test_each_requirement_says_how_it_stands() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", COMPLIANCE.replace(r"\|", "/"), re.MULTILINE)
    assert len(rows) > 40
    for requirement, shown in rows:
        assert re.search("`|not met|README|none|Shown by", shown), requirement


def test_each_promise_names_tests() -> None:
    promised = SECURITY.split("## What is promised")[1].split("## What is not promised")[0]
    for promise in re.split(r"\n(?=\*\*)", promised)[1:]:
        assert re.search(r"`tests/[\w/]+(\.py)?`", promise), promise


def test_each_part_of_the_faults_has_its_rows() -> None:
    parts = {
        path.stem.removeprefix("test_").replace("_", " ") for path in (CHECKOUT / "tests/faults").glob("test_*.py")
    }
    rows = re.findall(r"^\| ([a-z ]+) \|", FAULTS.split("## The figures")[1], re.MULTILINE)
    for part in parts:
        assert rows.count(part) == 2, f"{part}: one row with figures, one with a description"
