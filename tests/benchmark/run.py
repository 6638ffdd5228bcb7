# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the collection beside what it is to be compared with, prints a table and keeps the numbers as JSON."""

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.benchmark.bench import FORKS, Bench
from ansible_collections.monitor.cloud.tests.benchmark.scenarios import SCENARIOS, Figure, Skip
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

RESULTS = CHECKOUT / "build" / "benchmark.json"
FORM = "{:<13}{:>6}  {:<33}{:<19}{:>6}{:>6}  {:<13}{:<8}{}"


def line(scenario: str, figure: Figure) -> str:
    limit = (
        f"{'>=' if figure.at_least else '<='} {figure.limit:g}{' cpu' if figure.of_cpu else ''}" if figure.limit else ""
    )
    holds = {True: "holds", False: "MISSED", None: ""}[figure.holds]
    cpu = "" if figure.cpu is None else f"{figure.cpu:.2f}"
    of = " / ".join(f"{value:.3g} {figure.unit}" for value in figure.of)
    return FORM.format(scenario, figure.size, figure.ours, figure.theirs, f"{figure.ratio:.2f}", cpu, limit, holds, of)


def measure(names: list[str], rounds: int, scale: float) -> bool:
    """Run scenarios one after the other; each is printed and kept as soon as it is known, for all take half an hour.

    Returns whether every figure that has a limit keeps it.
    """
    kept: dict[str, Any] = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "rounds": rounds,
        "scale": scale,
        "machine": {
            "processors": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "ansible-core": version("ansible-core"),
            "forks": FORKS,
            "load_at_start": os.getloadavg()[0],
        },
        "figures": [],
        "runs": {},
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    print(FORM.format("scenario", "hosts", "measured", "against", "ratio", "cpu", "limit", "", "of"), flush=True)
    unchecked = Emulator(arguments=["--set", "validate_responses=false"])
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, unchecked as emulator:
        bench = Bench(Path(temporary), emulator, rounds, scale)
        for name in names:
            try:
                figures, kept["runs"][name] = SCENARIOS[name](bench)
            except Skip as reason:
                print(f"{name:<13}skipped: {reason}", flush=True)
                continue
            for figure in figures:
                print(line(name, figure), flush=True)
                kept["figures"].append({"scenario": name, **asdict(figure), "holds": figure.holds})
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return all(figure["holds"] is not False for figure in kept["figures"])


def main() -> int:
    """Measure what the command line names; the exit code is 0 if every figure that has a limit keeps it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", choices=[[], *SCENARIOS], help=", ".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the hosts: a trial, no figures")
    options = parser.parse_args()
    rounds, scale = (1, 0.1) if options.quick else (options.rounds, 1.0)
    kept = measure(options.scenarios or list(SCENARIOS), rounds, scale)
    print(f"All numbers: {RESULTS}")
    return int(not kept and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
