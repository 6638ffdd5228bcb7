# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes measured figures into the tables of docs/testing.md.

Run as a program, this file reads a report of `coverage json`, and fails if tests run too few lines or branches.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

PAGE = CHECKOUT / "docs" / "testing.md"
Row = Sequence[object]
# Minimum percentages of the lines and branches that tests run. Coverage itself checks only the total.
_FLOORS = {"statements": 98.0, "branches": 96.0}


def markdown(head: Row, rows: Iterable[Row]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, ["---"] * len(head), *rows])


def write(name: str, head: Row, measured: Iterable[Row], *, keys: int = 0) -> None:
    """Replace a table of the page. With `keys`, keep old rows that differ from new rows in the first `keys` cells."""
    page, rows = PAGE.read_text(encoding="utf-8"), [[str(cell) for cell in row] for row in measured]
    marked = re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
    if keys and (table := marked.search(page)):
        old = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in re.findall(r"^\|.*$", table[2], re.M)[2:]]
        again = [row[:keys] for row in rows]
        rows = sorted([*rows, *(row for row in old if row[:keys] not in again)], key=lambda row: row[:keys])
    new = f"\n{markdown(head, rows)}\n\nLast run: {_where()}.\n\n"
    page, times = marked.subn(lambda marks: marks[1] + new + marks[3], page)
    assert times == 1, f"{PAGE} has no table {name}"
    PAGE.write_text(page, encoding="utf-8")


def _where() -> str:
    command = ["git", "describe", "--always", "--dirty=, changed"]
    commit = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=60).stdout
    core, python = version("ansible-core"), platform.python_version()
    machine = f"{os.cpu_count()} processors, {platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"commit {commit.strip() or 'unknown'}, ansible-core {core}, Python {python}, {machine}"


def write_counts(reports: Mapping[str, Sequence[Any]], seconds: float) -> None:
    """Write the results of pytest into the table that the variable FIGURES names: `tests` or `versions`."""
    table, parts = os.environ.get("FIGURES"), os.environ.get("PARTS", "")
    passed, failed, errors, skipped = (reports.get(kind, []) for kind in ("passed", "failed", "error", "skipped"))
    bad = len(failed) + len(errors)
    if table == "tests":
        result = f"{len(passed):,} passed, {bad} failed, {len(skipped)} skipped in {seconds / 60:.1f} minutes"
        write(table, ("what", "figure"), [(f"`make {parts.split()[-1]}`", result)], keys=1)
    elif table == "versions":
        versions = [version("ansible-core"), platform.python_version()]
        reasons = "; ".join({str(report.longrepr[2]).replace("|", "/") for report in skipped}) or "-"
        minor = (".".join(full.split(".")[:2]) for full in versions)
        row = (*minor, " / ".join(versions), f"{parts}: {len(passed)}", bad, reasons)
        write(table, ("ansible-core", "Python", "versions", "passed", "failed", "skipped"), [row], keys=2)


def coverage(report: Path) -> int:
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    shares = {kind: totals[f"percent_{kind}_covered"] for kind in _FLOORS}
    table = (
        ("of plugins/", "share", "at least"),
        [(kind, f"{share:.1f} %", f"{_FLOORS[kind]:g} %") for kind, share in shares.items()],
    )
    write("coverage", *table)
    print(markdown(*table))
    return int(any(share < _FLOORS[kind] for kind, share in shares.items()))


if __name__ == "__main__":
    sys.exit(coverage(Path(sys.argv[1])))
