# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the collection beside what it is compared with, and writes the figures into docs/testing.md.

build/benchmark.json keeps every single run.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from ansible_collections.monitor.cloud.tests.benchmark.bench import Bench
from ansible_collections.monitor.cloud.tests.benchmark.scenarios import SCENARIOS, Figure, Skip
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools import figures
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

RESULTS = CHECKOUT / "build" / "benchmark.json"
HEAD = ("scenario", "hosts", "measured", "against", "limit", "ratio", "cpu", "of", "rounds")


def row(scenario: str, figure: Figure, rounds: int) -> tuple[object, ...]:
    limit = "" if figure.limit is None else f"{figure.limit:g}{', missed' if figure.missed else ''}"
    cpu = "" if figure.cpu is None else f"{figure.cpu:.2f}"
    own = figure.hosts, figure.ours, figure.theirs, limit, f"{figure.ratio:.2f}", cpu, figure.of
    return (scenario, *own, rounds)


def measure(bench: Bench, names: list[str]) -> bool:
    """Run scenarios one after the other; each is printed and kept as soon as it is known. Whether all limits hold."""
    results, missed = {}, False
    for name in names:
        try:
            measured, results[name] = SCENARIOS[name](bench)
        except Skip as reason:
            print(f"{name} skipped: {reason}", flush=True)
            continue
        table = [row(name, figure, bench.rounds) for figure in measured]
        print(figures.markdown(HEAD, table), flush=True)
        missed |= any(figure.missed for figure in measured)
        figures.write("bench", HEAD, table, keys=1)
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return not missed


def main() -> int:
    """Measure what the command line names; the exit code is 0 if every figure that has a limit keeps it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", choices=[[], *SCENARIOS], help=", ".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: %(default)s)")
    options = parser.parse_args()
    unchecked = Emulator(arguments=["--set", "validate_responses=false"])
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, unchecked as emulator:
        bench = Bench(Path(temporary), emulator, options.rounds)
        return int(not measure(bench, options.scenarios or list(SCENARIOS)))


if __name__ == "__main__":
    sys.exit(main())
