# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is compared with what, and how the comparison has to end."""

import itertools
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.monitor.cloud.tests.benchmark import browser
from ansible_collections.monitor.cloud.tests.benchmark.bench import (
    Bench,
    Contender,
    Cost,
    local_fleet,
    median_ratio,
    side_by_side,
    ssh_fleet,
)
from ansible_collections.monitor.cloud.tests.support import hosts as ssh_hosts

Costs = Mapping[str, Sequence[Cost]]
# Milliseconds that a reader of the audit page waits for what it does.
_LONGEST_WAIT = 300.0


@dataclass(frozen=True)
class Figure:
    """A ratio of two costs. ``limit`` is the largest that is allowed, or the smallest if ``at_least`` is set.

    ``cpu`` is the same ratio in seconds of processors instead of the clock's, for a busy machine. ``of_cpu``: the limit
    is of that one.
    """

    scenario: str
    size: int
    ours: str
    theirs: str
    ratio: float
    of: tuple[float, float]
    unit: str = "s"
    cpu: float | None = None
    limit: float | None = None
    at_least: bool = False
    of_cpu: bool = False

    @property
    def holds(self) -> bool | None:
        limited = self.cpu if self.of_cpu else self.ratio
        if self.limit is None or limited is None:
            return None
        return limited >= self.limit if self.at_least else limited <= self.limit


@dataclass(frozen=True)
class Outcome:
    """What a scenario found: its figures, and every single run behind them by name."""

    figures: list[Figure] = field(default_factory=list)
    costs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    skipped: str | None = None


def _above_start(costs: Costs, name: str, times: int = 1) -> list[Cost]:
    """What each run took without the start of Ansible, divided by the number of times."""
    pairs = zip(costs[name], costs["Ansible's start"], strict=True)
    return [Cost(*((own - idle) / times for own, idle in zip(*pair, strict=True))) for pair in pairs]


AT_LEAST, MEMORY = {"at_least": True}, {"what": "memory", "unit": "MiB"}


def _figure(
    scenario: str, size: int, costs: Costs, ours: str, theirs: str, limit: float | None, *, what: str = "wall",
    **more: Any,
) -> Figure:  # fmt: skip
    """The wall time, or what else is named, of one contender against that of another."""

    def compared(what: str) -> tuple[float, tuple[float, float]]:
        values = [[getattr(cost, what) for cost in costs[contender]] for contender in (ours, theirs)]
        return median_ratio(*values), (statistics.median(values[0]), statistics.median(values[1]))

    ratio, of = compared(what)
    cpu = compared("cpu")[0] if what == "wall" else None
    name = f"{ours}, peak memory" if what == "memory" else ours
    return Figure(scenario, size, name, theirs, ratio, of, cpu=cpu, limit=limit, **more)


def _compared(scenario: str, size: int, costs: Costs, *rows: tuple[Any, ...]) -> Outcome:
    """A figure for each row: ours, theirs, the limit, and more options of the figure."""
    figures = [
        _figure(scenario, size, costs, ours, theirs, limit, **(more[0] if more else {}))
        for ours, theirs, limit, *more in rows
    ]
    return _outcome(costs, figures)


def _outcome(costs: Costs, figures: list[Figure]) -> Outcome:
    rounded = {
        name: [{what: round(value, 3) for what, value in cost._asdict().items()} for cost in runs]
        for name, runs in costs.items()
    }
    return Outcome(figures, rounded)


def local(bench: Bench) -> Outcome:
    """Directories as hosts, against a bare ping play and against today's playbook."""
    fleet = local_fleet(bench.room("local"), bench.size(100))
    # Today's gets the service as variables, ours from the environment.
    service = {"base_url": bench.emulator.base_url, "token": bench.emulator.tokens["read_write"]}

    def today() -> Cost:
        return bench.play("today", fleet, {**service, "dir": str(fleet.inventory.with_name("files"))})

    contenders = bench.rollouts(fleet, "ping")
    contenders |= {"today's first": _after(lambda: bench.forget(fleet), today), "today's steady": today}
    return _compared(
        "local",
        fleet.size,
        side_by_side(contenders, bench.rounds),
        ("steady run", "ping", 0.42),
        ("first rollout", "ping", None),
        ("first rollout", "steady run", 2.5),
        ("today's steady", "steady run", 10, AT_LEAST),
        ("today's first", "first rollout", None),
    )


def small(bench: Bench) -> Outcome:
    """Steady runs of few hosts, where what does not depend on their number counts, against a bare ping play."""
    all_costs: dict[str, list[Cost]] = {}
    figures = []
    # A single host takes so little that single runs differ by a tenth.
    for size, limit, times in ((1, 1.3, 5), (5, 0.95, 3), (20, 0.65, 1)):
        fleet = local_fleet(bench.room(f"small-{size}"), size)
        bench.first_rollout(fleet)()
        contenders = {"ping": bench.bare(fleet, "ping"), "steady run": bench.steady_run(fleet)}
        costs = side_by_side(contenders, times * bench.rounds)
        figures.append(_figure("small", size, costs, "steady run", "ping", limit))
        all_costs.update({f"{name} {size}": runs for name, runs in costs.items()})
    return _outcome(all_costs, figures)


_USES: dict[str, Callable[[str], dict[str, Any]]] = {
    "roles": lambda role: {"roles": [role]},
    "import_role": lambda role: {"tasks": [{"import_role": {"name": role}}]},
    "include_role": lambda role: {"tasks": [{"include_role": {"name": role}}]},
}


def uses(bench: Bench) -> Outcome:
    """The ways to use the role, against the cheapest of them; and what core's own part of include_role costs."""
    fleet = local_fleet(bench.room("uses"), bench.size(100))
    bench.first_rollout(fleet)()
    nothing = bench.room("nothing")
    (nothing / "tasks").mkdir()
    (nothing / "tasks" / "main.yml").write_text("- meta: noop\n", encoding="utf-8")
    contenders = {"ping": bench.bare(fleet, "ping"), "import_playbook": bench.steady_run(fleet)}
    for role, name in (("monitor.cloud.monitor_agent", ""), (str(nothing), " of nothing")):
        for use, keyword in _USES.items():
            playbook = bench.write_play(f"{use}{name}".replace(" ", "-"), hosts="all", **keyword(role))
            run = bench.bare if name else bench.steady_run
            contenders[f"{use}{name}"] = run(fleet, playbook)
    costs = side_by_side(contenders, bench.rounds)
    figures = {name: _figure("uses", fleet.size, costs, name, "ping", None) for name in contenders if name != "ping"}
    cpu = {name: figure.cpu or 0.0 for name, figure in figures.items()}
    limits = dict.fromkeys(("import_playbook", *_USES), min(cpu[use] for use in ("import_playbook", *_USES)) + 0.03)
    # No role can avoid what core needs to include one for each host.
    limits["include_role"] += cpu["include_role of nothing"] - cpu["import_role of nothing"]
    limited = [replace(figures[name], limit=round(limit, 3), of_cpu=True) for name, limit in limits.items()]
    return _outcome(costs, [*limited, *(figures[f"{use} of nothing"] for use in _USES)])


def _after(prepare: Callable[[], object], contender: Contender) -> Contender:
    """As the contender, once something else was done, which does not count."""

    def run() -> Cost:
        prepare()
        return contender()

    return run


def ssh(bench: Bench, name: str = "ssh", limits: tuple[float, float | None] = (0.45, None)) -> Outcome:
    """Hosts over SSH, with connections that are open, as ssh keeps them for a minute by default; and with none."""
    if problem := ssh_hosts.missing():
        return Outcome(skipped=problem)
    with ssh_fleet(bench.room(name), bench.size(50), pipelining=name == "pipelining") as fleet:
        runs = bench.rollouts(fleet, "ping")
        connect = bench.bare(fleet, "raw")
        contenders = {run: _after(connect, contender) for run, contender in runs.items()}
        contenders |= {f"{run}, connecting": _after(fleet.disconnect, runs[run]) for run in runs}
        costs = side_by_side(contenders, bench.rounds)
    rows = [
        (f"{ours}{state}", f"ping{state}", limit)
        for state, of_state in (("", limits), (", connecting", (None, None)))
        for ours, limit in zip(("steady run", "first rollout"), of_state, strict=True)
    ]
    return _compared(name, fleet.size, costs, *rows)


def pipelining(bench: Bench) -> Outcome:
    return ssh(bench, "pipelining", (0.55, None))


def growth(bench: Bench) -> Outcome:
    """From 100 to 2,000 local hosts: the time for each host, against a bare raw play."""
    sizes = [bench.size(number) for number in (100, 500, 2000)]
    all_costs: dict[str, list[Cost]] = {}
    for size in sizes:
        fleet = local_fleet(bench.room(f"growth-{size}"), size)
        contenders = {f"{name} {size}": run for name, run in bench.rollouts(fleet, "raw").items()}
        all_costs.update(side_by_side(contenders, bench.rounds))
    for name, size in itertools.product(("raw", "steady run", "first rollout"), sizes[1:]):
        # How much the time for each host grows from the smallest fleet to this one.
        pairs = zip(all_costs[f"{name} {size}"], all_costs[f"{name} {sizes[0]}"], strict=True)
        share = sizes[0] / size
        grown = [Cost(*(share * many / few for many, few in zip(*pair, strict=True))) for pair in pairs]
        all_costs[f"{name} per host, {size}"] = grown
    figures = [
        _figure("growth", size, all_costs, f"{ours} per host, {size}", f"raw per host, {size}", limit, unit="x")
        for ours in ("steady run", "first rollout")
        for size, limit in ((sizes[1], None), (sizes[2], 1.1))
    ]
    return _outcome(all_costs, figures)


def registration(bench: Bench) -> Outcome:
    """Many labels at a service that responds after 20 ms, against a script that does nothing else."""
    labels = [f"label-{number:05}" for number in range(bench.size(1000))]
    given = bench.room("registration") / "labels.json"
    given.write_text(json.dumps({"labels": labels}), encoding="utf-8")

    def play(name: str) -> Contender:
        return lambda: bench.play(name, variables={"labels": labels})

    def script() -> Cost:
        return bench.script(given)

    def script_without_latency() -> Cost:
        bench.emulator.configure(latency_ms=0)
        cost = bench.registering(script, len(labels), first=True)()
        bench.emulator.configure(latency_ms=20)
        return cost

    bench.emulator.configure(latency_ms=20)
    contenders = {
        "script, no latency": script_without_latency,
        "Ansible's start": play("start"),
        "script, creating": bench.registering(script, len(labels), first=True),
        "creating": bench.registering(play("register"), len(labels), first=True),
        "script, reading": bench.registering(script, len(labels), first=False),
        "reading": bench.registering(play("register"), len(labels), first=False),
    }
    costs = side_by_side(contenders, bench.rounds)
    bench.emulator.configure(latency_ms=0)
    costs |= {f"{name} labels": _above_start(costs, name) for name in ("creating", "reading")}
    return _compared(
        "registration",
        len(labels),
        costs,
        ("creating labels", "script, creating", 1.10),
        ("reading labels", "script, reading", None),
        # What the emulator takes for requests as fast as possible: far less, so it does not hold up the others.
        ("script, no latency", "script, creating", None),
    )


def module(bench: Bench) -> Outcome:
    """A monitor_client that changes nothing, against one uri GET."""
    times = bench.size(20)
    label = "label-1"
    variables = {"times": times, "label": label}
    bench.emulator.reset()
    bench.emulator.seed(labels=[label])
    contenders = {
        "Ansible's start": lambda: bench.play("start", variables=variables),
        "uri": lambda: bench.play("one_request", variables=variables),
        "monitor_client": lambda: bench.play("one_client", variables=variables),
    }
    # The two are nearly alike, and shared machines waver by more than that from one run to the next.
    costs = side_by_side(contenders, 3 * bench.rounds)
    costs |= {f"one {name}": _above_start(costs, name, times) for name in ("monitor_client", "uri")}
    return _compared("module", 1, costs, ("one monitor_client", "one uri", 1.1))


def _reports(bench: Bench) -> dict[str, str]:
    return {f"monitor_agent_audit_{kind}": str(bench.directory / f"audit.{kind}") for kind in ("html", "json", "junit")}


def large(bench: Bench) -> Outcome:
    """10,000 local hosts: a steady run against a bare raw play, and an audit with all reports against a steady run."""
    fleet = local_fleet(bench.room("large"), bench.size(10_000))
    bench.first_rollout(fleet)()
    contenders = {
        "raw": bench.bare(fleet, "raw"),
        "steady run": bench.steady_run(fleet),
        "audit": lambda: bench.play("monitor.cloud.audit", fleet, _reports(bench)),
    }
    # Minutes each, so that single runs differ little.
    return _compared(
        "large",
        fleet.size,
        side_by_side(contenders, 1),
        ("steady run", "raw", None),
        ("steady run", "raw", 1.5, MEMORY),
        ("audit", "steady run", 1.1),
        ("audit", "steady run", 1.1, MEMORY),
    )


def page(bench: Bench) -> Outcome:
    """The page of an audit in a browser, against what a reader is to wait at most."""
    if problem := browser.missing():
        return Outcome(skipped=problem)
    many, outcome = bench.size(10000), Outcome()
    # A few hosts: what the browser takes for any page on this machine.
    for size, drift, fleet in ((5, 7, "few hosts"), (many, 7, "a 7th with drift"), (many, 1, "all with drift")):
        path = bench.directory / f"page-{size}-{drift}.html"
        browser.write(path, size, drift)
        for name, times in browser.measure(path, 3 * bench.rounds).items():
            clock, thread = (statistics.median(values) for values in zip(*times, strict=True))
            of, limit = (clock, _LONGEST_WAIT), 1.0 if size == many else None
            ratios = clock / _LONGEST_WAIT, thread / _LONGEST_WAIT
            ours = f"{name}, {fleet}"
            outcome.figures.append(Figure("page", size, ours, "300 ms", ratios[0], of, "ms", ratios[1], limit))
            outcome.costs[ours] = [{"clock": round(one, 1), "thread": round(other, 1)} for one, other in times]
    return outcome


def join(bench: Bench) -> Outcome:
    """The report that joins the audits of four slices, against these audits."""
    fleet = local_fleet(bench.room("join"), bench.size(2000))
    bench.first_rollout(fleet)()
    quarter = fleet.size // 4
    ends = [(first * quarter, fleet.size - 1 if first == 3 else (first + 1) * quarter - 1) for first in range(4)]
    slices = {f"all[{first}:{last}]": str(bench.directory / f"slice-{first}.json") for first, last in ends}

    def audits() -> Cost:
        costs = [
            bench.play("monitor.cloud.audit", fleet, {"monitor_agent_audit_json": path}, "--limit", target)
            for target, path in slices.items()
        ]
        return Cost(sum(one.wall for one in costs), sum(one.cpu for one in costs), max(one.memory for one in costs))

    def run_report() -> Cost:
        return bench.play("monitor.cloud.report", fleet, {"audits": list(slices.values()), **_reports(bench)})

    costs = side_by_side({"audits of four slices": audits, "joined report": run_report}, bench.rounds)
    return _compared("join", fleet.size, costs, ("joined report", "audits of four slices", 0.05))


SCENARIOS: dict[str, Callable[[Bench], Outcome]] = {
    scenario.__name__: scenario
    for scenario in (
        *(local, small, uses, ssh, pipelining, growth, large),
        *(registration, module, page, join),
    )
}
