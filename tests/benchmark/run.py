# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares time and memory of the collection with other playbooks, and prints a table of the figures."""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ansible_collections.monitor.cloud.tests.benchmark.bench import TODAY, Bench, Contender, Cost
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tables import markdown

Costs = dict[str, list[Cost]]
HEAD = ("scenario", "hosts", "measured", "against", "limit", "ratio", "cpu", "of", "rounds")


class Figure(NamedTuple):
    """The ratio of two costs. ``cpu`` is the ratio of processor times, which other programs hardly affect."""

    hosts: int
    ours: str
    theirs: str
    ratio: float
    cpu: str
    of: str
    limit: float | None = None

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.ratio > self.limit

    def row(self, scenario: str, rounds: int) -> tuple[object, ...]:
        limit = "" if self.limit is None else f"{self.limit:g}{', missed' if self.missed else ''}"
        return scenario, self.hosts, self.ours, self.theirs, limit, f"{self.ratio:.2f}", self.cpu, self.of, rounds


def _in_turn(contenders: Mapping[str, Contender], rounds: int) -> Costs:
    """In each round, run each contender once, so that other programs affect all contenders equally."""
    costs: Costs = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def _after(prepare: Callable[[], object], contender: Contender) -> Contender:
    """Return a contender that runs ``prepare`` first. The cost does not include ``prepare``."""

    def both() -> Cost:
        prepare()
        return contender()

    return both


def _compared(costs: Costs, ours: str, theirs: str, what: str, unit: str) -> tuple[float, str]:
    """Return the median of the ratios of all rounds, and the two median costs as text."""
    own, other = ([getattr(cost, what) for cost in costs[name]] for name in (ours, theirs))
    of = f"{statistics.median(own):.3g} / {statistics.median(other):.3g} {unit}"
    return statistics.median(mine / its for mine, its in zip(own, other, strict=True)), of


def _figure(hosts: int, costs: Costs, ours: str, theirs: str, limit: float | None = None, unit: str = "s") -> Figure:
    ratio, of = _compared(costs, ours, theirs, "wall", unit)
    return Figure(hosts, ours, theirs, ratio, f"{_compared(costs, ours, theirs, 'cpu', unit)[0]:.2f}", of, limit)


def _memory(hosts: int, costs: Costs, ours: str, theirs: str, limit: float) -> Figure:
    ratio, of = _compared(costs, ours, theirs, "memory", "MiB")
    return Figure(hosts, f"{ours}, peak memory", theirs, ratio, "", of, limit)


def local(bench: Bench) -> list[Figure]:
    """Compare rollouts on local hosts with a ping play, and with the playbook today.yml."""
    fleet = bench.local_fleet("local", 100)
    # The playbook today.yml gets the address and the token from variables, not from the environment.
    service = {"base_url": bench.emulator.base_url, "token": bench.emulator.tokens["read_write"]}

    def today() -> Cost:
        return bench.play(str(TODAY), fleet, {**service, "dir": str(fleet.inventory.with_name("files"))})

    contenders = bench.rollouts(fleet, "ping")
    contenders |= {"today's first": _after(lambda: bench.forget(fleet), today), "today's steady": today}
    costs = _in_turn(contenders, bench.rounds)
    return [
        _figure(fleet.size, costs, "steady run", "ping", 0.42),
        _figure(fleet.size, costs, "first rollout", "ping"),
        _figure(fleet.size, costs, "first rollout", "steady run", 2.5),
        _figure(fleet.size, costs, "steady run", "today's steady", 0.1),
        _figure(fleet.size, costs, "first rollout", "today's first"),
    ]


def small(bench: Bench) -> list[Figure]:
    """Compare steady runs on 1, 5 and 20 hosts with a ping play."""
    measured = []
    # Runs on one host are short, and their times differ by 10 %, so measure more rounds.
    for size, limit, times in ((1, 1.3, 5), (5, 0.95, 3), (20, 0.65, 1)):
        fleet = bench.local_fleet(f"small-{size}", size)
        contenders = bench.rollouts(fleet, "ping")
        contenders.pop("first rollout")()
        costs = _in_turn(contenders, times * bench.rounds)
        measured.append(_figure(size, costs, "steady run", "ping", limit))
    return measured


def ssh(bench: Bench, name: str = "ssh", limit: float = 0.45) -> list[Figure]:
    """Compare rollouts over SSH with a ping play, both with open connections and with new connections."""
    with bench.ssh_fleet(name, 50) as fleet:
        runs = bench.rollouts(fleet, "ping")
        connect = bench.bare(fleet, "raw")
        contenders = {run: _after(connect, contender) for run, contender in runs.items()}
        contenders |= {f"{run}, connecting": _after(fleet.disconnect, runs[run]) for run in runs}
        costs = _in_turn(contenders, bench.rounds)
    return [
        _figure(fleet.size, costs, "steady run", "ping", limit),
        _figure(fleet.size, costs, "first rollout", "ping"),
        _figure(fleet.size, costs, "steady run, connecting", "ping, connecting"),
        _figure(fleet.size, costs, "first rollout, connecting", "ping, connecting"),
    ]


def pipelining(bench: Bench) -> list[Figure]:
    return ssh(bench, "pipelining", 0.55)


def growth(bench: Bench) -> list[Figure]:
    """Compare how the time per host grows from 100 to 2,000 local hosts, in rollouts and in a raw play."""
    few = 100
    many = 2000
    costs: Costs = {}
    for size in (few, many):
        contenders = bench.rollouts(bench.local_fleet(f"growth-{size}", size), "raw")
        costs |= _in_turn({f"{name} {size}": run for name, run in contenders.items()}, bench.rounds)
    for name in ("raw", "steady run", "first rollout"):
        pairs = zip(costs[f"{name} {many}"], costs[f"{name} {few}"], strict=True)
        costs[f"{name} per host"] = [
            Cost(*(few / many * grown / first for grown, first in zip(*pair, strict=True))) for pair in pairs
        ]
    ours = ("steady run", "first rollout")
    return [_figure(many, costs, f"{name} per host", "raw per host", 1.1, unit="x") for name in ours]


def large(bench: Bench) -> list[Figure]:
    """With 10,000 local hosts, compare a steady run with a raw play, and an audit with the steady run."""
    fleet = bench.local_fleet("large", 10_000)
    contenders = bench.rollouts(fleet, "raw")
    contenders.pop("first rollout")()
    contenders["audit"] = lambda: bench.play("monitor.cloud.audit", fleet, _reports(bench))
    # A run takes minutes, so measure only one round.
    costs = _in_turn(contenders, 1)
    return [
        _figure(fleet.size, costs, "steady run", "raw"),
        _memory(fleet.size, costs, "steady run", "raw", 1.5),
        _figure(fleet.size, costs, "audit", "steady run", 1.1),
        _memory(fleet.size, costs, "audit", "steady run", 1.1),
    ]


def _reports(bench: Bench) -> dict[str, str]:
    return {f"monitor_agent_audit_{kind}": str(bench.directory / f"audit.{kind}") for kind in ("html", "json", "junit")}


def join(bench: Bench) -> list[Figure]:
    """Compare the time to join the audits of four slices with the time of these audits."""
    fleet = bench.local_fleet("join", 2000)
    bench.rollout(fleet, first=True)()
    part = fleet.size // 4
    files = [str(bench.directory / f"slice-{number}.json") for number in range(4)]

    def audits() -> Cost:
        costs = []
        for number, path in enumerate(files):
            limit = f"all[{number * part}:{(number + 1) * part - 1}]"
            costs.append(bench.play("monitor.cloud.audit", fleet, {"monitor_agent_audit_json": path}, "--limit", limit))
        return Cost(sum(cost.wall for cost in costs), sum(cost.cpu for cost in costs), max(c.memory for c in costs))

    def report() -> Cost:
        return bench.play("monitor.cloud.report", fleet, {"audits": files, **_reports(bench)})

    costs = _in_turn({"audits of four slices": audits, "joined report": report}, bench.rounds)
    return [_figure(fleet.size, costs, "joined report", "audits of four slices", 0.05)]


SCENARIOS = {scenario.__name__: scenario for scenario in (local, small, ssh, pipelining, growth, large, join)}


def main() -> int:
    """Measure the named scenarios, or all scenarios. Return 1 if a figure exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", choices=[[], *SCENARIOS], help=", ".join(SCENARIOS))
    parser.add_argument(
        "--rounds", type=int, default=3, help="number of rounds of each scenario (default: %(default)s)"
    )
    options = parser.parse_args()
    unchecked = Emulator(arguments=["--set", "validate_responses=false"])
    missed = False
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, unchecked as emulator:
        bench = Bench(Path(temporary), emulator, options.rounds)
        for name in options.scenarios or SCENARIOS:
            measured = SCENARIOS[name](bench)
            rows = [figure.row(name, bench.rounds) for figure in measured]
            print(markdown(HEAD, rows), flush=True)
            missed |= any(figure.missed for figure in measured)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
