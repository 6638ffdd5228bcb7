# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the parts of the tests that are named (all of them by default) and sums up what came of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial

from ansible_collections.monitor.cloud.tests.tools.integration import run_integration
from ansible_collections.monitor.cloud.tests.tools.lint import run_lint
from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome, summary
from ansible_collections.monitor.cloud.tests.tools.suite import run_suite

PARTS: dict[str, Callable[[], Outcome]] = {
    "lint": run_lint,
    "unit": partial(run_suite, "unit"),
    "contract": partial(run_suite, "contract"),
    "integration": run_integration,
    "fleet": partial(run_suite, "fleet"),
    "faults": partial(run_suite, "faults"),
}


def run_part(part: str) -> Outcome:
    """Run one part to its end; one that breaks has failed, and the others still run."""
    print(f"== {part}", flush=True)
    started = time.monotonic()
    try:
        outcome = PARTS[part]()
    except Exception as problem:  # a summary without this part would look better than things are
        traceback.print_exc()
        outcome = Outcome(part, failed=[f"did not run: {problem}"])
    outcome.seconds = time.monotonic() - started
    return outcome


def main() -> int:
    """Run what the command line names; the exit code says whether all of it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    strict = os.environ.get("CI") == "true"
    outcomes = [run_part(part) for part in parts]
    print(f"\n== summary\n{summary(outcomes, strict)}", flush=True)
    return int(any(outcome.word(strict) == "FAILED" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
