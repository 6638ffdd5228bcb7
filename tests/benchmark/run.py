# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the collection beside what it is to be compared with, prints a table and keeps the numbers as JSON."""

import argparse
import json
import os
import platform
import re
import sys
import tempfile
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.benchmark.bench import FORKS, Bench
from ansible_collections.monitor.cloud.tests.benchmark.scenarios import SCENARIOS, Figure, Outcome
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

RESULTS = CHECKOUT / "build" / "benchmark.json"
HEADER = (
    f"{'scenario':<13}{'hosts':>6}  {'measured':<33}{'against':<19}{'ratio':>6}{'cpu':>6}  {'limit':<13}{'':<8}{'of'}"
)


def line(figure: Figure) -> str:
    relation = ">=" if figure.at_least else "<="
    bound = "" if figure.limit is None else f"{relation} {figure.limit:g}{' cpu' if figure.of_cpu else ''}"
    word = {True: "holds", False: "MISSED", None: ""}[figure.holds]
    cpu = "" if figure.cpu is None else f"{figure.cpu:.2f}"
    of = " / ".join(f"{value:.3g} {figure.unit}" for value in figure.of)
    return (
        f"{figure.scenario:<13}{figure.size:>6}  {figure.ours:<33}{figure.theirs:<19}{figure.ratio:>6.2f}{cpu:>6}  "
        f"{bound:<13}{word:<8}{of}"
    )


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    about = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", about.read_text(encoding="utf-8") if about.exists() else "")
    return {
        "processors": os.cpu_count(),
        "processor": model[1] if model else platform.processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "ansible-core": version("ansible-core"),
        "forks": FORKS,
        "load_at_start": os.getloadavg()[0],
    }


def measure(names: list[str], rounds: int, scale: float) -> dict[str, Outcome]:
    """Run scenarios one after the other; each is printed and kept as soon as it is known, for all take half an hour."""
    outcomes: dict[str, Outcome] = {}
    about = machine()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    print(HEADER, flush=True)
    unchecked = Emulator(arguments=["--set", "validate_responses=false"])
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, unchecked as emulator:
        bench = Bench(Path(temporary), emulator, rounds, scale)
        for name in names:
            outcome = outcomes[name] = SCENARIOS[name](bench)
            if outcome.skipped:
                print(f"{name:<13}skipped: {outcome.skipped}", flush=True)
            for figure in outcome.figures:
                print(line(figure), flush=True)
            RESULTS.write_text(as_json(outcomes, about, rounds, scale) + "\n", encoding="utf-8")
    return outcomes


def as_json(outcomes: dict[str, Outcome], about: dict[str, Any], rounds: int, scale: float) -> str:
    figures = [{**asdict(f), "holds": f.holds} for outcome in outcomes.values() for f in outcome.figures]
    runs = {name: outcome.costs for name, outcome in outcomes.items()}
    skipped = {name: outcome.skipped for name, outcome in outcomes.items() if outcome.skipped}
    head = {"measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"), "rounds": rounds, "scale": scale}
    return json.dumps({**head, "machine": about, "figures": figures, "runs": runs, "skipped": skipped}, indent=1)


def main() -> int:
    """Measure what the command line names; the exit code is 0 if every figure that has a limit keeps it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the hosts: a trial, no figures")
    options = parser.parse_args()
    names: list[str] = options.scenarios or list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}: choose from {', '.join(SCENARIOS)}")
    rounds, scale = (1, 0.1) if options.quick else (options.rounds, 1.0)
    outcomes = measure(names, rounds, scale)
    print(f"All numbers: {RESULTS}")
    missed = [figure for outcome in outcomes.values() for figure in outcome.figures if figure.holds is False]
    return int(bool(missed) and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
