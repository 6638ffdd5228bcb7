# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page on compliance names commands, steps and files that are there."""

from __future__ import annotations

import re

from ansible_collections.monitor.cloud.tests.tools.lint import STEPS
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

PAGE = (CHECKOUT / "docs" / "compliance.md").read_text(encoding="utf-8")
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")


def test_each_command_is_a_target_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", PAGE)) <= targets


def test_each_step_of_lint_exists() -> None:
    named = re.findall(r"`make lint` \(([\w -]+)", PAGE)
    assert {*named} <= {step.name for step in STEPS}
    assert len(named) > 10


def test_each_file_exists() -> None:
    for name in re.findall(r"`((?:tests|docs|meta|changelogs|\.github)/[\w./-]+|[A-Z_]+\.md)`", PAGE):
        assert (CHECKOUT / name).exists(), name


def test_each_requirement_says_how_it_stands() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.replace(r"\|", "/"), re.MULTILINE)
    assert len(rows) > 40
    for requirement, shown in rows:
        assert re.search("`|not met|README|none|Shown by", shown), requirement
