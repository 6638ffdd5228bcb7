# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is compared with what, and which limit the ratio has."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.monitor.cloud.tests.benchmark.bench import TODAY, Bench, Contender, Cost
from ansible_collections.monitor.cloud.tests.support import hosts as ssh_hosts

Costs = dict[str, list[Cost]]


class Skip(Exception):
    """The reason why a scenario cannot be measured here."""


class Figure(NamedTuple):
    """A ratio of two costs, and the same ratio in processor time, which other load of the machine hardly changes."""

    hosts: int
    ours: str
    theirs: str
    ratio: float
    cpu: float | None
    of: str
    limit: float | None = None

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.ratio > self.limit


# A scenario's figures, and every single run behind them.
Outcome = tuple[list[Figure], Mapping[str, Sequence[Any]]]


def _side_by_side(contenders: Mapping[str, Contender], rounds: int) -> Costs:
    """Let all run in turn, round after round, so that other load of the machine affects all alike."""
    costs: Costs = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def _after(prepare: Callable[[], object], contender: Contender) -> Contender:
    """The contender after something else, which does not count."""

    def both() -> Cost:
        prepare()
        return contender()

    return both


def _compared(costs: Costs, ours: str, theirs: str, what: str, unit: str) -> tuple[float, str]:
    """The median of the ratios of all rounds, and the two medians."""
    own, other = ([getattr(cost, what) for cost in costs[name]] for name in (ours, theirs))
    of = f"{statistics.median(own):.3g} / {statistics.median(other):.3g} {unit}"
    return statistics.median(mine / its for mine, its in zip(own, other, strict=True)), of


def _figure(hosts: int, costs: Costs, ours: str, theirs: str, limit: float | None = None, unit: str = "s") -> Figure:
    ratio, of = _compared(costs, ours, theirs, "wall", unit)
    return Figure(hosts, ours, theirs, ratio, _compared(costs, ours, theirs, "cpu", unit)[0], of, limit)


def _memory(hosts: int, costs: Costs, ours: str, theirs: str, limit: float) -> Figure:
    ratio, of = _compared(costs, ours, theirs, "memory", "MiB")
    return Figure(hosts, f"{ours}, peak memory", theirs, ratio, None, of, limit)


def local(bench: Bench) -> Outcome:
    """Directories as hosts, against a bare ping play and against today's playbook."""
    fleet = bench.local_fleet("local", 100)
    # Today's gets the service as variables, ours from the environment.
    service = {"base_url": bench.emulator.base_url, "token": bench.emulator.tokens["read_write"]}

    def today() -> Cost:
        return bench.play(str(TODAY), fleet, {**service, "dir": str(fleet.inventory.with_name("files"))})

    contenders = bench.rollouts(fleet, "ping")
    contenders |= {"today's first": _after(lambda: bench.forget(fleet), today), "today's steady": today}
    costs = _side_by_side(contenders, bench.rounds)
    return [
        _figure(fleet.size, costs, "steady run", "ping", 0.42),
        _figure(fleet.size, costs, "first rollout", "ping"),
        _figure(fleet.size, costs, "first rollout", "steady run", 2.5),
        _figure(fleet.size, costs, "steady run", "today's steady", 0.1),
        _figure(fleet.size, costs, "first rollout", "today's first"),
    ], costs


def small(bench: Bench) -> Outcome:
    """Steady runs of few hosts, where what does not depend on their number counts, against a bare ping play."""
    all_costs: Costs = {}
    figures = []
    # A single host takes so little that single runs differ by a tenth.
    for size, limit, times in ((1, 1.3, 5), (5, 0.95, 3), (20, 0.65, 1)):
        fleet = bench.local_fleet(f"small-{size}", size)
        contenders = bench.rollouts(fleet, "ping")
        contenders.pop("first rollout")()
        costs = _side_by_side(contenders, times * bench.rounds)
        figures.append(_figure(size, costs, "steady run", "ping", limit))
        all_costs |= {f"{name} {size}": runs for name, runs in costs.items()}
    return figures, all_costs


def ssh(bench: Bench, name: str = "ssh", limit: float = 0.45) -> Outcome:
    """Hosts over SSH, with connections that are open, as ssh keeps them for a minute by default; and with none."""
    if problem := ssh_hosts.missing():
        raise Skip(problem)
    with bench.ssh_fleet(name, 50) as fleet:
        runs = bench.rollouts(fleet, "ping")
        connect = bench.bare(fleet, "raw")
        contenders = {run: _after(connect, contender) for run, contender in runs.items()}
        contenders |= {f"{run}, connecting": _after(fleet.disconnect, runs[run]) for run in runs}
        costs = _side_by_side(contenders, bench.rounds)
    return [
        _figure(fleet.size, costs, "steady run", "ping", limit),
        _figure(fleet.size, costs, "first rollout", "ping"),
        _figure(fleet.size, costs, "steady run, connecting", "ping, connecting"),
        _figure(fleet.size, costs, "first rollout, connecting", "ping, connecting"),
    ], costs


def pipelining(bench: Bench) -> Outcome:
    return ssh(bench, "pipelining", 0.55)


def growth(bench: Bench) -> Outcome:
    """From 100 to 2,000 local hosts: the time for each host, against a bare raw play."""
    few, many = 100, 2000
    costs: Costs = {}
    for size in (few, many):
        contenders = bench.rollouts(bench.local_fleet(f"growth-{size}", size), "raw")
        costs |= _side_by_side({f"{name} {size}": run for name, run in contenders.items()}, bench.rounds)
    for name in ("raw", "steady run", "first rollout"):
        pairs = zip(costs[f"{name} {many}"], costs[f"{name} {few}"], strict=True)
        costs[f"{name} per host"] = [
            Cost(*(few / many * grown / first for grown, first in zip(*pair, strict=True))) for pair in pairs
        ]
    return [
        _figure(many, costs, f"{ours} per host", "raw per host", 1.1, unit="x")
        for ours in ("steady run", "first rollout")
    ], costs


def large(bench: Bench) -> Outcome:
    """10,000 local hosts: a steady run against a bare raw play, and an audit with all reports against a steady run."""
    fleet = bench.local_fleet("large", 10_000)
    contenders = bench.rollouts(fleet, "raw")
    contenders.pop("first rollout")()
    contenders["audit"] = lambda: bench.play("monitor.cloud.audit", fleet, _reports(bench))
    # Minutes each, so that single runs differ little.
    costs = _side_by_side(contenders, 1)
    return [
        _figure(fleet.size, costs, "steady run", "raw"),
        _memory(fleet.size, costs, "steady run", "raw", 1.5),
        _figure(fleet.size, costs, "audit", "steady run", 1.1),
        _memory(fleet.size, costs, "audit", "steady run", 1.1),
    ], costs


def _reports(bench: Bench) -> dict[str, str]:
    return {f"monitor_agent_audit_{kind}": str(bench.directory / f"audit.{kind}") for kind in ("html", "json", "junit")}


def join(bench: Bench) -> Outcome:
    """The report that joins the audits of four slices, against these audits."""
    fleet = bench.local_fleet("join", 2000)
    bench.rollout(fleet, first=True)()
    bounds = [number * fleet.size // 4 for number in range(5)]
    slices = {
        f"all[{first}:{end - 1}]": str(bench.directory / f"slice-{first}.json")
        for first, end in zip(bounds, bounds[1:], strict=False)
    }

    def audits() -> Cost:
        costs = [
            bench.play("monitor.cloud.audit", fleet, {"monitor_agent_audit_json": path}, "--limit", target)
            for target, path in slices.items()
        ]
        return Cost(sum(cost.wall for cost in costs), sum(cost.cpu for cost in costs), max(c.memory for c in costs))

    def report() -> Cost:
        return bench.play("monitor.cloud.report", fleet, {"audits": list(slices.values()), **_reports(bench)})

    costs = _side_by_side({"audits of four slices": audits, "joined report": report}, bench.rounds)
    return [_figure(fleet.size, costs, "joined report", "audits of four slices", 0.05)], costs


SCENARIOS = {scenario.__name__: scenario for scenario in (local, small, ssh, pipelining, growth, large, join)}
