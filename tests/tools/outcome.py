# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of one part of the tests, and the summary of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SLOWEST = 15
# The one reason for which a test may be skipped even with CI=true: a kernel or a sandbox cannot be installed.
NO_CONTAINERS = "this machine boots no container"


@dataclass
class Outcome:
    """The result of one part: how many tests passed, which failed, which did not run and why, and their seconds."""

    part: str
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def counting_skips(self) -> list[str]:
        """Return the skips that count as failed if skips do."""
        return [reason for reason in self.skipped if NO_CONTAINERS not in reason]

    def word(self, strict: bool) -> str:
        """Return the result in a word; with strict, a skip is a failure unless it is for missing containers."""
        if self.failed or (strict and self.counting_skips()):
            return "FAILED"
        return "passed" if self.passed else "no tests"


def summary(outcomes: Sequence[Outcome], strict: bool) -> str:
    """Sum up: slowest tests, failures and skips by name, a table, and a last line of counts, which machines read."""
    slowest = sorted((entry for outcome in outcomes for entry in outcome.slowest), reverse=True)[:SLOWEST]
    lines = [f"{seconds:8.1f} s {name}" for seconds, name in slowest]
    for outcome in outcomes:
        lines += [f"FAILED   {outcome.part}: {name}" for name in outcome.failed]
        lines += [f"skipped  {outcome.part}: {reason}" for reason in outcome.skipped]
    if strict and any(outcome.counting_skips() for outcome in outcomes):
        lines.append("A skipped test counts as failed here, because CI=true is set.")
    width = max(13, *(len(one.part) + 1 for one in outcomes))
    lines += ["", f"{'part':<{width}}{'result':<10}{'passed':>7}{'failed':>7}{'skipped':>8}{'seconds':>9}"]
    for one in outcomes:
        counts = f"{one.passed:>7}{len(one.failed):>7}{len(one.skipped):>8}{one.seconds:>9.1f}"
        lines.append(f"{one.part:<{width}}{one.word(strict):<10}{counts}")
    return "\n".join([*lines, "", _counts(outcomes)])


def _counts(outcomes: Sequence[Outcome]) -> str:
    skipped = sum(len(one.skipped) for one in outcomes)
    line = f"{sum(one.passed for one in outcomes)} passed, {sum(len(one.failed) for one in outcomes)} failed"
    return f"{line}, {skipped} skipped" if skipped else line
