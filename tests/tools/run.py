# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the parts of the tests that are named (all of them by default) and sums up what came of them.

A part alone shows its output as it comes. Several run two at a time, and each shows its output when it has ended.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.integration import run_integration
from ansible_collections.monitor.cloud.tests.tools.lint import run_lint
from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome, summary
from ansible_collections.monitor.cloud.tests.tools.suite import run_suite

# The longest first, so that none of them is alone at the end.
PARTS: dict[str, Callable[[], Outcome]] = {
    "fleet": partial(run_suite, "fleet"),
    "faults": partial(run_suite, "faults"),
    "integration": run_integration,
    "lint": run_lint,
    "contract": partial(run_suite, "contract"),
    "unit": partial(run_suite, "unit"),
}
AT_ONCE = 2


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


def run_apart(part: str) -> tuple[Outcome, str]:
    """Run one part in a process of its own; its outcome and all that it printed."""
    with tempfile.TemporaryDirectory() as temporary:
        kept = Path(temporary, "outcome.json")
        command = [sys.executable, __file__, part, "--outcome", str(kept)]
        pipe = subprocess.PIPE
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, check=False)
        output = done.stdout.decode(errors="replace")
        if not kept.exists():
            return Outcome(part, failed=[f"ended with exit code {done.returncode}"]), output
        return Outcome(**json.loads(kept.read_text(encoding="utf-8"))), output


def run_together(parts: list[str]) -> list[Outcome]:
    """Run parts at once, as many as two processors bear, and show the output of each when it has ended."""
    print(
        f"Running {', '.join(parts)}, {AT_ONCE} at a time: the output of each is shown when it has ended.", flush=True
    )
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in as_completed([pool.submit(run_apart, part) for part in parts]):
            outcome, output = future.result()
            outcomes[outcome.part] = outcome
            print(output, end="", flush=True)
    return [outcomes[part] for part in parts]


def main() -> int:
    """Run what the command line names; the exit code says whether all of it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--outcome", type=Path, help="keep the outcome of the one part there, in place of a summary")
    options = parser.parse_args()
    parts: list[str] = options.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    strict = os.environ.get("CI") == "true"
    outcomes = run_together(parts) if len(parts) > 1 else [run_part(parts[0])]
    if options.outcome:
        options.outcome.write_text(json.dumps(asdict(outcomes[0])), encoding="utf-8")
        return 0
    print(f"\n== summary\n{summary(outcomes, strict)}", flush=True)
    return int(any(outcome.word(strict) == "FAILED" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
