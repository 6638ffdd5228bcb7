# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages on security and faults name tests that are there."""

from __future__ import annotations

import re

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

SECURITY = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
FAULTS = (CHECKOUT / "docs" / "faults.md").read_text(encoding="utf-8")


def test_each_promise_names_existing_tests() -> None:
    promised = SECURITY.split("## What is promised")[1].split("## What is not promised")[0]
    for promise in re.split(r"\n(?=\*\*)", promised)[1:]:
        named = re.findall(r"`(tests/[\w/]+(?:\.py)?)`", promise)
        assert named, promise
        for name in named:
            assert (CHECKOUT / name).exists(), name


def test_each_part_of_the_faults_has_its_rows() -> None:
    there = {
        path.stem.removeprefix("test_").replace("_", " ") for path in (CHECKOUT / "tests/faults").glob("test_*.py")
    }
    rows = re.findall(r"^\| ([a-z ]+) \|", FAULTS.split("## The figures")[1], re.MULTILINE)
    for part in there:
        assert rows.count(part) == 2, f"{part}: one row with figures, one with a description"
