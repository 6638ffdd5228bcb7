# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes measured figures into the tables of docs/testing.md, so that none of them is copied by hand.

As a program, it reads a report of `coverage json`, and fails if fewer lines or branches are run than promised.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, tracked_files

PAGE = CHECKOUT / "docs" / "testing.md"
Row = Sequence[object]
# Percent of the lines, and of the branches, of plugins/ that tests run.
_FLOORS = {"statements": 98.0, "branches": 96.0}


def markdown(head: Row, rows: Iterable[Row]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, ["---"] * len(head), *rows])


def _mark(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rows(name: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    table = _mark(name).search(PAGE.read_text(encoding="utf-8"))
    lines = [line for line in table[2].splitlines() if line.startswith("| ")] if table else []
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines[2:]]


def write(name: str, head: Row, measured: Iterable[Row], *, keys: int = 0) -> None:
    """Replace a table of the page; with `keys`, only the rows whose first `keys` cells are measured again."""
    new = [[str(cell) for cell in row] for row in measured]
    if keys:
        again = [row[:keys] for row in new]
        kept = [row for row in rows(name) if row[:keys] not in again]
        new = sorted([*new, *kept], key=lambda row: row[:keys])
    table = f"\n{markdown(head, new)}\n\nLast run: {_where()}.\n\n"
    text, times = _mark(name).subn(lambda marks: marks[1] + table + marks[3], PAGE.read_text(encoding="utf-8"))
    assert times == 1, f"{PAGE} has no table {name}"
    PAGE.write_text(text, encoding="utf-8")


def _where() -> str:
    command = ["git", "describe", "--always", "--dirty=, changed"]
    commit = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=60).stdout
    core, python = version("ansible-core"), platform.python_version()
    machine = f"{os.cpu_count()} processors, {platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"commit {commit.strip() or 'unknown'}, ansible-core {core}, Python {python}, {machine}"


def lines_of(*directories: str) -> int:
    files = [path for path in tracked_files() if path.parts[0] in directories and "locks" not in path.parts]
    return sum((CHECKOUT / path).read_bytes().count(b"\n") for path in files)


def coverage(report: Path) -> int:
    """Write the shares of lines and branches, and compare them with what is promised."""
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    shares = {kind: totals[f"percent_{kind}_covered"] for kind in _FLOORS}
    counts = {"statements": ("covered_lines", "num_statements"), "branches": ("covered_branches", "num_branches")}
    measured = [
        (kind, f"{totals[counts[kind][0]]:,}", f"{totals[counts[kind][1]]:,}", f"{share:.1f} %", f"{_FLOORS[kind]:g} %")
        for kind, share in shares.items()
    ]
    write("coverage", ("of plugins/", "run", "of", "share", "at least"), measured)
    print(markdown(("of plugins/", "run", "of", "share", "at least"), measured))
    return int(any(share < _FLOORS[kind] for kind, share in shares.items()))


if __name__ == "__main__":
    sys.exit(coverage(Path(sys.argv[1])))
