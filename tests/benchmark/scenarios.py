# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is compared with what, and how the comparison has to end."""

import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.monitor.cloud.tests.benchmark import browser
from ansible_collections.monitor.cloud.tests.benchmark.bench import HERE, Bench, Contender, Cost, after, run
from ansible_collections.monitor.cloud.tests.support import hosts as ssh_hosts

Costs = dict[str, list[Cost]]
# Milliseconds that a reader of the audit page waits for what it does.
_LONGEST_WAIT = 300.0


class Skip(Exception):
    """The reason why a scenario cannot be measured here."""


@dataclass(frozen=True)
class Figure:
    """A ratio of two costs. ``limit`` is the largest that is allowed, or the smallest if ``at_least`` is set.

    ``cpu`` is the same ratio in seconds of processors instead of the clock's, for a busy machine. ``of_cpu``: the limit
    is of that one.
    """

    size: int
    ours: str
    theirs: str
    ratio: float
    of: tuple[float, float]
    cpu: float | None = None
    limit: float | None = None
    unit: str = "s"
    at_least: bool = False
    of_cpu: bool = False

    @property
    def holds(self) -> bool | None:
        limited = self.cpu if self.of_cpu else self.ratio
        if self.limit is None or limited is None:
            return None
        return limited >= self.limit if self.at_least else limited <= self.limit


# A scenario's figures, and every single run behind them.
Outcome = tuple[list[Figure], Mapping[str, Sequence[Any]]]


def _side_by_side(contenders: Mapping[str, Contender], rounds: int) -> Costs:
    """Let all run in turn, round after round, so that other load of the machine affects all alike."""
    costs: Costs = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def _above_start(costs: Costs, name: str, times: int = 1) -> list[Cost]:
    pairs = zip(costs[name], costs["Ansible's start"], strict=True)
    return [Cost(*((own - idle) / times for own, idle in zip(*pair, strict=True))) for pair in pairs]


def _figure(
    size: int, costs: Costs, ours: str, theirs: str, limit: float | None = None, *, what: str = "wall", **more: Any
) -> Figure:
    """The median of the ratios of all rounds: of the wall time, or of what else is named."""

    def compared(what: str) -> tuple[float, tuple[float, float]]:
        pairs = [
            (getattr(own, what), getattr(other, what)) for own, other in zip(costs[ours], costs[theirs], strict=True)
        ]
        own, other = (statistics.median(values) for values in zip(*pairs, strict=True))
        return statistics.median(own / other for own, other in pairs), (own, other)

    ratio, of = compared(what)
    cpu = compared("cpu")[0] if what == "wall" else None
    name = f"{ours}, peak memory" if what == "memory" else ours
    return Figure(size, name, theirs, ratio, of, cpu, limit, **more)


def local(bench: Bench) -> Outcome:
    """Directories as hosts, against a bare ping play and against today's playbook."""
    fleet = bench.local_fleet("local", bench.size(100))
    # Today's gets the service as variables, ours from the environment.
    service = {"base_url": bench.emulator.base_url, "token": bench.emulator.tokens["read_write"]}

    def today() -> Cost:
        return bench.play("today", fleet, {**service, "dir": str(fleet.inventory.with_name("files"))})

    contenders = bench.rollouts(fleet, "ping")
    contenders |= {"today's first": after(lambda: bench.forget(fleet), today), "today's steady": today}
    costs = _side_by_side(contenders, bench.rounds)
    return [
        _figure(fleet.size, costs, "steady run", "ping", 0.42),
        _figure(fleet.size, costs, "first rollout", "ping"),
        _figure(fleet.size, costs, "first rollout", "steady run", 2.5),
        _figure(fleet.size, costs, "today's steady", "steady run", 10, at_least=True),
        _figure(fleet.size, costs, "today's first", "first rollout"),
    ], costs


def small(bench: Bench) -> Outcome:
    """Steady runs of few hosts, where what does not depend on their number counts, against a bare ping play."""
    all_costs: Costs = {}
    figures = []
    # A single host takes so little that single runs differ by a tenth.
    for size, limit, times in ((1, 1.3, 5), (5, 0.95, 3), (20, 0.65, 1)):
        fleet = bench.local_fleet(f"small-{size}", size)
        bench.first_rollout(fleet)()
        contenders = {"ping": bench.bare(fleet, "ping"), "steady run": bench.steady_run(fleet)}
        costs = _side_by_side(contenders, times * bench.rounds)
        figures.append(_figure(size, costs, "steady run", "ping", limit))
        all_costs |= {f"{name} {size}": runs for name, runs in costs.items()}
    return figures, all_costs


_USES: dict[str, Callable[[str], dict[str, Any]]] = {
    "roles": lambda role: {"roles": [role]},
    "import_role": lambda role: {"tasks": [{"import_role": {"name": role}}]},
    "include_role": lambda role: {"tasks": [{"include_role": {"name": role}}]},
}


def uses(bench: Bench) -> Outcome:
    """The ways to use the role, against the cheapest of them; and what core's own part of include_role costs."""
    fleet = bench.local_fleet("uses", bench.size(100))
    bench.first_rollout(fleet)()
    nothing = bench.room("nothing")
    (nothing / "tasks").mkdir()
    (nothing / "tasks" / "main.yml").write_text("- meta: noop\n", encoding="utf-8")
    contenders = {"ping": bench.bare(fleet, "ping"), "import_playbook": bench.steady_run(fleet)}
    for role, name in (("monitor.cloud.monitor_agent", ""), (str(nothing), " of nothing")):
        for use, keyword in _USES.items():
            playbook = bench.write_play(f"{use}{name}".replace(" ", "-"), hosts="all", **keyword(role))
            contender = bench.bare if name else bench.steady_run
            contenders[f"{use}{name}"] = contender(fleet, playbook)
    costs = _side_by_side(contenders, bench.rounds)
    figures = {name: _figure(fleet.size, costs, name, "ping") for name in contenders if name != "ping"}
    cpu = {name: figure.cpu or 0.0 for name, figure in figures.items()}
    limits = dict.fromkeys(("import_playbook", *_USES), min(cpu[use] for use in ("import_playbook", *_USES)) + 0.03)
    # No role can avoid what core needs to include one for each host.
    limits["include_role"] += cpu["include_role of nothing"] - cpu["import_role of nothing"]
    limited = {name: replace(figures[name], limit=round(limit, 3), of_cpu=True) for name, limit in limits.items()}
    return list({**figures, **limited}.values()), costs


def ssh(bench: Bench, name: str = "ssh", limit: float = 0.45) -> Outcome:
    """Hosts over SSH, with connections that are open, as ssh keeps them for a minute by default; and with none."""
    if problem := ssh_hosts.missing():
        raise Skip(problem)
    with bench.ssh_fleet(name, bench.size(50)) as fleet:
        runs = bench.rollouts(fleet, "ping")
        connect = bench.bare(fleet, "raw")
        contenders = {run: after(connect, contender) for run, contender in runs.items()}
        contenders |= {f"{run}, connecting": after(fleet.disconnect, runs[run]) for run in runs}
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
    few, many = bench.size(100), bench.size(2000)
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
    fleet = bench.local_fleet("large", bench.size(10_000))
    bench.first_rollout(fleet)()
    contenders = {
        "raw": bench.bare(fleet, "raw"),
        "steady run": bench.steady_run(fleet),
        "audit": lambda: bench.play("monitor.cloud.audit", fleet, _reports(bench)),
    }
    # Minutes each, so that single runs differ little.
    costs = _side_by_side(contenders, 1)
    return [
        _figure(fleet.size, costs, "steady run", "raw"),
        _figure(fleet.size, costs, "steady run", "raw", 1.5, what="memory", unit="MiB"),
        _figure(fleet.size, costs, "audit", "steady run", 1.1),
        _figure(fleet.size, costs, "audit", "steady run", 1.1, what="memory", unit="MiB"),
    ], costs


def registration(bench: Bench) -> Outcome:
    """Many labels at a service that responds after 20 ms, against a script that does nothing else."""
    labels = [f"label-{number:05}" for number in range(bench.size(1000))]
    variables = {"labels": labels}
    given = bench.room("registration") / "labels.json"
    given.write_text(json.dumps(variables), encoding="utf-8")
    script = [sys.executable, str(HERE / "lower_bound.py"), str(given)]
    environment = {**os.environ, **bench.emulator.environment()}
    creating = {
        "script": lambda: run(script, environment),
        "with start": lambda: bench.play("register", variables=variables),
    }
    contenders = {name: bench.registering(one, len(labels), first=True) for name, one in creating.items()}
    contenders["Ansible's start"] = lambda: bench.play("start", variables=variables)
    bench.emulator.configure(latency_ms=20)
    costs = _side_by_side(contenders, bench.rounds)
    bench.emulator.configure(latency_ms=0)
    costs["creating labels"] = _above_start(costs, "with start")
    return [_figure(len(labels), costs, "creating labels", "script", 1.10)], costs


def module(bench: Bench) -> Outcome:
    times = bench.size(20)
    variables = {"times": times, "label": "label-1"}
    bench.emulator.reset()
    bench.emulator.seed(labels=["label-1"])
    contenders = {
        "Ansible's start": lambda: bench.play("start", variables=variables),
        "uri": lambda: bench.play("one_request", variables=variables),
        "monitor_client": lambda: bench.play("one_client", variables=variables),
    }
    # The two are nearly alike, and shared machines waver by more than that from one run to the next.
    costs = _side_by_side(contenders, 3 * bench.rounds)
    costs |= {f"one {name}": _above_start(costs, name, times) for name in ("monitor_client", "uri")}
    return [_figure(1, costs, "one monitor_client", "one uri", 1.1)], costs


def _reports(bench: Bench) -> dict[str, str]:
    return {f"monitor_agent_audit_{kind}": str(bench.directory / f"audit.{kind}") for kind in ("html", "json", "junit")}


def page(bench: Bench) -> Outcome:
    if problem := browser.missing():
        raise Skip(problem)
    size, figures, costs = bench.size(10_000), [], {}
    for drift, fleet in ((7, "a 7th with drift"), (1, "all with drift")):
        path = bench.directory / f"page-{drift}.html"
        browser.write(path, size, drift)
        for name, times in browser.measure(path, 3 * bench.rounds).items():
            clock, thread = (statistics.median(values) for values in zip(*times, strict=True))
            ours, of = f"{name}, {fleet}", (clock, _LONGEST_WAIT)
            ratios = clock / _LONGEST_WAIT, thread / _LONGEST_WAIT
            figures.append(Figure(size, ours, "300 ms", ratios[0], of, ratios[1], limit=1.0, unit="ms"))
            costs[ours] = times
    return figures, costs


def join(bench: Bench) -> Outcome:
    """The report that joins the audits of four slices, against these audits."""
    fleet = bench.local_fleet("join", bench.size(2000))
    bench.first_rollout(fleet)()
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
        return Cost(sum(one.wall for one in costs), sum(one.cpu for one in costs), max(one.memory for one in costs))

    def report() -> Cost:
        return bench.play("monitor.cloud.report", fleet, {"audits": list(slices.values()), **_reports(bench)})

    costs = _side_by_side({"audits of four slices": audits, "joined report": report}, bench.rounds)
    return [_figure(fleet.size, costs, "joined report", "audits of four slices", 0.05)], costs


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (local, small, uses, ssh, pipelining, growth, large, registration, module, page, join)
}
