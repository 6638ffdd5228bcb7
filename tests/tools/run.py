# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the named parts of the tests (all of them by default) and sums up the results.

The directories of pytest run as one, in several processes; integration and lint run beside them, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.integration import run_integration
from ansible_collections.monitor.cloud.tests.tools.lint import run_lint
from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome, summary
from ansible_collections.monitor.cloud.tests.tools.suite import CHOSEN, SUITES, run_suites

OTHERS: dict[str, Callable[[], Outcome]] = {
    "integration": run_integration,
    "lint": run_lint,
    "sanity": partial(run_lint, ("ansible-test sanity",), "sanity"),
    "style": partial(run_lint, ("mypy", "ruff check", "ruff format"), "style"),
}
PARTS = [*SUITES, "integration", "lint"]


def run_other(part: str) -> Outcome:
    """Run one part to its end; one that breaks has failed, and the others still run."""
    print(f"== {part}", flush=True)
    started = time.monotonic()
    try:
        outcome = OTHERS[part]()
    except Exception as problem:  # without this part, the summary would report success
        traceback.print_exc()
        outcome = Outcome(part, failed=[f"did not run: {problem}"])
    outcome.seconds = time.monotonic() - started
    return outcome


def run_beside(suites: Sequence[str], others: Sequence[str]) -> list[Outcome]:
    """Run the others in a process of their own, whose output is shown after that of the suites."""
    with tempfile.TemporaryDirectory() as temporary:
        kept, log = Path(temporary, "outcomes.json"), Path(temporary, "log")
        command = [sys.executable, __file__, *others, "--outcomes", str(kept)]
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
            outcomes = run_suites(suites)
            code = process.wait()
        print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
        if not kept.exists():
            return [*outcomes, *(Outcome(part, failed=[f"ended with exit code {code}"]) for part in others)]
        return [*outcomes, *(Outcome(**fields) for fields in json.loads(kept.read_text(encoding="utf-8")))]


def main() -> int:
    """Run the parts that the command line names; the exit code is 1 if any of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--outcomes", type=Path, help="write the outcomes to this file instead of a summary")
    options = parser.parse_args()
    parts: list[str] = options.parts or PARTS
    if unknown := set(parts) - {*SUITES, *OTHERS, *CHOSEN}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    # uv compiles nothing, and the processes of the tests import the same files again and again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    others = [part for part in parts if part in OTHERS]
    suites = [part for part in parts if part not in OTHERS]
    if suites and others:
        outcomes = run_beside(suites, others)
    else:
        outcomes = run_suites(suites) if suites else [run_other(part) for part in others]
    if options.outcomes:
        options.outcomes.write_text(json.dumps([asdict(outcome) for outcome in outcomes]), encoding="utf-8")
        return 0
    strict = os.environ.get("CI") == "true"
    print(f"\n== summary\n{summary(outcomes, strict)}", flush=True)
    return int(any(outcome.word(strict) == "FAILED" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
