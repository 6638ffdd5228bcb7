# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of playbooks against real files: rollouts in which each operation meets each fault, and random sequences of
rollouts, retirements and prunes with faults and concurrent writers.

A host that is reported as configured carries the right key, one that failed carries what it carried, and the next run
converges.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.matrix import MAY_BE_DONE, Account, assert_only
from ansible_collections.monitor.cloud.tests.support.calls import call
from ansible_collections.monitor.cloud.tests.support.inputs import sequences
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, REGISTER, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.servers import Outage
from ansible_collections.monitor.cloud.tests.support.tally import SOAK, Tally
from ansible_collections.monitor.cloud.tests.support.tasks import labels

HOSTS = ("web-1", "web-2", "web-3")
# In the order in which a rollout that creates clients calls them.
OPERATIONS = ("list_clients", "get_plan", "create_client")
TIERS = {None: None, "monitor-3": 3, "monitor-10": 10}
_TIMES = (1, -1)
_OTHERS = ("theirs-1", "theirs-2", "keep-web-1")
_NEW = ("app-1", "app-2")
_SURPLUS = "(web|app|theirs)-.*"
# Those that take no seconds.
_FAULTS = tuple(name for name in matrix.FAULTS if name not in ("refused", "slow", "429 in a second"))
_LISTS = ("created", "renamed", "deleted")
# Host, and how many tasks changed, did not reach and failed it.
_RECAP = re.compile(r"^(\S+)\s+: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)

_hosts = st.sampled_from(HOSTS)
_limits = st.none() | st.lists(_hosts, unique=True, min_size=1, max_size=2).map(sorted)


class Cell(NamedTuple):
    """A fault that an operation meets. ``number`` varies its form."""

    operation: str
    fault: str
    times: int
    number: int

    def __str__(self) -> str:
        return f"{self.operation}, {self.fault}, {matrix.TIMES[self.times]}"


def _fault(*operations: str) -> st.SearchStrategy[Cell | None]:
    """None, or one that comes once, or for ever."""
    names = st.sampled_from(operations), st.sampled_from(_FAULTS)
    return st.none() | st.builds(Cell, *names, st.sampled_from(_TIMES), st.integers(0, 5))


def _step(name: str, **options: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(name), st.fixed_dictionaries(options))


_ROLL_OUT = _step(
    "roll_out",
    limit=_limits,
    serial=st.sampled_from([0, 0, 1, 2]),
    fault=_fault("list_clients", "create_client", "get_plan"),
)
# One strategy for all: of several rules, hypothesis leaves out some for whole sequences, of which there are few here.
_STEPS = st.one_of(
    _step("other_controller_changes_a_file", host=_hosts, other=st.none() | _hosts, garbage=st.booleans()),
    _step("other_controller_changes_a_client", host=_hosts, change=st.sampled_from(["delete", *_OTHERS])),
    _step(
        "other_controller_changes_the_account", tier=st.sampled_from(list(TIERS)), masked=st.lists(_hosts, max_size=1)
    ),
    _ROLL_OUT,
    _ROLL_OUT,
    _step(
        "rename",
        host=_hosts,
        new=st.sampled_from(_NEW),
        carry=st.booleans(),
        fault=_fault("list_clients", "update_client"),
    ),
    _step("retire", host=_hosts, fault=_fault("list_clients", "get_client", "delete_client")),
    _step("prune", fault=_fault("list_clients", "get_client", "delete_client")),
)

_ROLE = """
- hosts: all
  gather_facts: false
  serial: {serial}
  tasks:
    - ansible.builtin.import_role:
        name: monitor.cloud.monitor_agent
"""
_RENAME = """
- hosts: localhost
  gather_facts: false
  connection: local
  tasks:
    - name: Rename
      monitor.cloud.monitor_clients:
        labels: [{new}]
        renames: {{{old}: {new}}}
"""


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """A run: its command line, the hosts that it means, and what it may do to clients."""

    arguments: tuple[str, ...]
    hosts: tuple[str, ...]
    retires: bool = False
    deletable: frozenset[str] = frozenset()
    renames: dict[str, str] = dataclasses.field(default_factory=dict)
    configures: bool = True
    # Batches know nothing of each other in check mode.
    serial: bool = False


def first_statuses(run: Run) -> dict[str, str]:
    """Of each host, what the first of several playbooks did."""
    found: dict[str, str] = {}
    for event in run.events:
        if event.task.endswith(CONFIGURE) and event.status != "skipped":
            found.setdefault(event.host, event.status)
    return found


def listed(run: Run) -> dict[str, list[str]]:
    """What the tasks report that they did to clients."""
    results = [event.result for event in run.events if event.status == "changed"]
    return {name: sorted(label for result in results for label in result.get(name, [])) for name in _LISTS}


class Rollouts(RuleBasedStateMachine):
    """Runs against hosts that are a directory each. Subclasses have an emulator and counts."""

    emulator: Emulator
    counts: Tally

    def __init__(self) -> None:
        super().__init__()
        self._directory = Path(tempfile.mkdtemp(prefix="rollouts-"))
        self._sound = False
        self.met = 0

    @initialize(tier=st.sampled_from([None, "monitor-10", "monitor-3"]), configured=st.booleans())
    def begin(self, tier: str | None, configured: bool) -> None:
        self.start(tier, "web-1", "keep-web-1")
        if configured:
            self.hosts.write("web-1", self.hosts.expected("web-1"))

    def start(self, tier: str | None, *clients: str) -> None:
        self.emulator.reset()
        self.emulator.seed(labels=clients)
        self.emulator.set_plan(tier)
        self.hosts = Local(self._directory, self.emulator, *HOSTS)
        self.tier, self.masked = tier, set[str]()
        self._sound = True

    @rule(step=_STEPS)
    def step(self, step: tuple[str, dict[str, Any]]) -> None:
        name, options = step
        getattr(self, name)(**options)

    def other_controller_changes_a_file(self, host: str, other: str | None, garbage: bool) -> None:
        """Removes it, writes what is none, or copies that of another host."""
        text = self.hosts.read(other) if other else "api_key=0LD0LD0L-0LD0-0LD0-0LD0LD0L0LD0LD0L\n"
        self.hosts.write(host, text if other or garbage else None)

    def other_controller_changes_a_client(self, host: str, change: str) -> None:
        ids = {client["label"]: client["id"] for client in self.emulator.clients()}
        mine = ids.get(self.hosts.label(host))
        if mine is None:
            self.emulator.seed(labels={change, self.hosts.label(host)} - ids.keys() - {"delete"})
        elif change == "delete":
            call(self.emulator, "DELETE", f"/monitor/clients/{mine}")
        else:
            call(self.emulator, "POST", f"/monitor/clients/{mine}", {"label": change})

    def other_controller_changes_the_account(self, tier: str | None, masked: list[str]) -> None:
        self.tier, self.masked = tier, {self.hosts.label(host) for host in masked}
        self.emulator.set_plan(tier)
        self.emulator.configure(mask_labels=sorted(self.masked))

    def roll_out(self, limit: list[str] | None, serial: int, fault: Cell | None) -> Run:
        playbook = self._playbook(_ROLE.format(serial=serial)) if serial else ROLLOUT
        limited = ("--limit", ",".join(limit)) if limit else ()
        return self._do(RunSpec((playbook, *limited), tuple(limit or HOSTS), serial=bool(serial)), fault)

    def rename(self, host: str, new: str, carry: bool, fault: Cell | None) -> None:
        """The inventory gives a host another label; its client goes with it, or is left behind."""
        old = self.hosts.label(host)
        if new in {self.hosts.label(name) for name in HOSTS}:
            return
        self.hosts.host_vars[host]["monitor_agent_label"] = new
        if carry:
            text = _RENAME.format(old=old, new=new)
            self._do(RunSpec((self._playbook(text),), (), renames={old: new}, configures=False), fault)

    def retire(self, host: str, fault: Cell | None) -> None:
        arguments = ("monitor.cloud.retire", "-e", f"target={host}")
        gone = frozenset({self.hosts.label(host)})
        self._do(RunSpec(arguments, (host,), retires=True, deletable=gone), fault)

    def prune(self, fault: Cell | None) -> None:
        mine = {self.hosts.label(host) for host in HOSTS}
        surplus = {client["label"] for client in self.emulator.clients()} - mine
        gone = frozenset(label for label in surplus if re.fullmatch(_SURPLUS, label))
        arguments = ("monitor.cloud.prune", "-e", f"prune_pattern={_SURPLUS}")
        self._do(RunSpec(arguments, (), deletable=gone, configures=False), fault)

    def teardown(self) -> None:
        if self._sound:
            self._heal()
        shutil.rmtree(self._directory)

    def _heal(self) -> None:
        """Without faults, one run does the rest, and the next nothing; if there is no rest, one run shows it."""
        self.other_controller_changes_the_account(None, [])
        missing = sorted({self.hosts.label(host) for host in HOSTS} - set(labels(self.emulator)))
        wrong = {
            host
            for host in HOSTS
            if self.hosts.read(host) is None or self.hosts.read(host) != self.hosts.expected(host)
        }
        run = self.hosts.run(*[ROLLOUT] * (1 + bool(wrong or missing)))
        self.counts.check(self.emulator, run.output)
        assert run.code == 0, run.output
        assert {host for host, status in first_statuses(run).items() if status == "changed"} == wrong
        assert sorted(run.writes()) == [f"create_client {label}" for label in missing]
        assert {host: self.hosts.expected(host) for host in HOSTS} == self.hosts.files()
        assert None not in self.hosts.files().values()
        self._assert_nothing_twice(run)
        self.counts.converged += 1

    def _playbook(self, text: str) -> str:
        path = self._directory / "play.yml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def _do(self, spec: RunSpec, fault: Cell | None) -> Run:
        """The run with the fault; or check mode and the run, twice if it can succeed: the second does nothing."""
        self._sound = False
        before, files = Account.of(self.emulator), self.hosts.files()
        if fault is not None:
            run = self._faulty(spec, fault)
            self._assert_true(spec, run, before, files)
        else:
            check = self._run(spec, "--check")
            assert check.writes() == []
            assert (Account.of(self.emulator), self.hosts.files()) == (before, files), "check mode changed something"
            fine = check.code == 0 and not self._unreadable(spec)
            run = self._run(spec, times=2 if fine else 1)
            self._assert_true(spec, run, before, files)
            self._assert_predicted(spec, check, run)
            if fine:
                assert run.code == 0, run.output
                assert set(spec.hosts) == set(first_statuses(run))
                self._assert_nothing_twice(run)
                self.counts.converged += 1
            else:
                self._assert_refused_for_a_reason(spec, run, before)
        self._sound = True
        return run

    def _run(self, spec: RunSpec, *more: str, times: int = 1, **environment: str) -> Run:
        playbook, *options = spec.arguments
        run = self.hosts.run(*[playbook] * times, *options, *more, **environment)
        self.counts.check(self.emulator, run.output)
        return run

    def _faulty(self, spec: RunSpec, cell: Cell) -> Run:
        """The run with the fault; ``met`` is how often the fault occurred."""
        settings: dict[str, Any] = {
            "MONITOR_TIMEOUT": "0.5" if cell.fault == "slow" else "30",
            "MONITOR_RETRY_TIMEOUT": "60" if cell.times == 1 else "0.6",
        }
        if cell.fault == "refused":
            after, seconds = OPERATIONS.index(cell.operation), 0.2 if cell.times == 1 else None
            with Outage(self.emulator, after=after, seconds=seconds) as outage:
                run = self._run(spec, MONITOR_BASE_URL=outage.base_url, MONITOR_ALLOW_HTTP="true", **settings)
                self.met = int(outage.came)
        else:
            own = {"seconds": 1.0} if cell.fault == "slow" else {}
            fault = {**matrix.scheduled(cell.operation, cell.fault, cell.number), **own}
            self.emulator.fault(**fault, operation=cell.operation, times=cell.times)
            run = self._run(spec, **settings)
            self.met = sum(entry["fault"] is not None for entry in self.emulator.settle())
            self.emulator.clear_faults()
        self.counts.faults += self.met
        return run

    def _unreadable(self, spec: RunSpec) -> set[str]:
        """The hosts whose keys are masked: check mode reports them as unverifiable, the run fails there."""
        return {host for host in spec.hosts if self.hosts.label(host) in self.masked and not spec.retires}

    def _assert_true(self, spec: RunSpec, run: Run, before: Account, files: dict[str, str | None]) -> None:
        """Each host carries what was reported; no client is gone or has another label unless the run was to do so."""
        reported, after, account = first_statuses(run), self.hosts.files(), Account.of(self.emulator)
        assert set(reported) <= set(spec.hosts)
        for host in HOSTS:
            if reported.get(host) not in ("ok", "changed"):
                assert after[host] == files[host], (host, run.output)
                continue
            assert after[host] == (None if spec.retires else self.hosts.expected(host)), (host, run.output)
            assert spec.retires or after[host] is not None
            assert self.hosts.label(host) not in self.masked or spec.retires
            assert (after[host] != files[host]) is (reported[host] == "changed"), (host, run.output)
        desired = {self.hosts.label(host) for host in spec.hosts} | set(spec.renames.values())
        assert_only(before, account, spec.deletable, spec.renames, set() if spec.retires else desired)

    def _assert_predicted(self, spec: RunSpec, check: Run, run: Run) -> None:
        """Check mode predicted which hosts change, which clients change, and which hosts fail."""
        unreadable = self._unreadable(spec)
        reported, done = first_statuses(check), first_statuses(run)
        for host in spec.hosts:
            if host not in unreadable:
                assert reported.get(host) == done.get(host), (host, check.output + run.output)
        assert listed(check) == listed(run)
        predicted, failed = ({h: m for h, m in each.failures().items() if h not in unreadable} for each in (check, run))
        assert predicted == failed

    def _assert_nothing_twice(self, run: Run) -> None:
        """The second of two playbooks in one run changed nothing, and requested no change."""
        seen: set[tuple[str, str]] = set()
        for event in run.events:
            # With serial, a batch runs the task that runs once on the first of its hosts.
            if (event.host, event.task) in seen:
                assert event.status in ("ok", "skipped"), (event.host, event.task, event.status)
            seen.add((event.host, event.task))
        writes = run.writes()
        assert len(writes) == len(set(writes)), writes

    def _assert_refused_for_a_reason(self, spec: RunSpec, run: Run, before: Account) -> None:
        """A run without a fault fails only if keys are masked, the plan is full, or two clients have the labels."""
        included = TIERS[self.tier]
        missing = {self.hosts.label(host) for host in spec.hosts} | set(spec.renames.values())
        missing -= {*before.clients.values()}
        full = included is not None and len(before.clients) + len(missing) > included
        both = any({old, new} <= set(before.clients.values()) for old, new in spec.renames.items())
        if run.code:
            assert self._unreadable(spec) or full or both, run.output
        failed = {host for host, status in first_statuses(run).items() if status == "failed"}
        assert failed <= self._unreadable(spec) or full, run.output


def bound(emulator: Emulator, counts: Tally) -> type[Rollouts]:
    return type("Bound", (Rollouts,), {"emulator": emulator, "counts": counts})


def test_rollouts_in_any_sequence(emulator: Emulator, counts: Tally) -> None:
    # The short form is too short to leave to chance what is in it: here, some of all there is.
    chosen = bound(emulator, counts) if SOAK else seed(29)(bound(emulator, counts))
    run_state_machine_as_test(chosen, settings=sequences(4, 60, 8, shrink=False))


def cells() -> list[Cell]:
    """In the short form each fault once, with another operation each time."""
    found = []
    for number, fault in enumerate(matrix.FAULTS):
        for shift, operation in enumerate(OPERATIONS):
            for times in _TIMES:
                if SOAK or (number % len(OPERATIONS) == shift and (number // len(OPERATIONS) % 2 == 0) is (times == 1)):
                    found.append(Cell(operation, fault, times, number))
    return found


@pytest.fixture
def rollouts(emulator: Emulator, counts: Tally) -> Iterator[Rollouts]:
    """One host without drift, one that is a clone of it, and one that is new. In the end, a rollout converges."""
    state = bound(emulator, counts)()
    state.start("monitor-10", "web-1", "other", "web-2")
    for host in ("web-1", "web-2"):
        state.hosts.write(host, state.hosts.expected("web-1"))
    yield state
    state.teardown()


def assert_recap(run: Run, configured: set[str]) -> None:
    """The recap counts what the tasks reported."""
    recap = {host: [int(number) for number in numbers] for host, *numbers in _RECAP.findall(run.output)}
    # If the task that runs once fails, Ansible names one host for all.
    assert configured <= set(recap) <= set(HOSTS)
    assert {host for host, (_changed, _unreachable, failed) in recap.items() if not failed} == configured
    assert not any(unreachable for _changed, unreachable, _failed in recap.values())
    assert (run.code == 0) is (configured == set(HOSTS))
    expected = Counter(event.host for event in run.events if event.status == "changed")
    assert {host: numbers[0] for host, numbers in recap.items()} == {host: expected[host] for host in recap}


def assert_registered(run: Run, before: list[str], after: list[str]) -> None:
    """The task that registers reported what it changed."""
    (event,) = run.of(REGISTER).values()
    # The failure of one label is reported by its host, and censored in a result that has keys.
    reasons = [*run.failures().values(), str(event.result.get("msg"))]
    unknown = any(phrase in reason for reason in reasons for phrase in MAY_BE_DONE)
    assert set(event.result.get("created", [])) <= set(after) - set(before)
    assert event.result.get("changed", False) is (before != after) or unknown


@pytest.mark.parametrize("cell", cells(), ids=str)
def test_a_rollout_with_a_fault(rollouts: Rollouts, cell: Cell) -> None:
    there = labels(rollouts.emulator)
    run = rollouts.roll_out(None, 0, cell)
    assert rollouts.met, "the fault was not met"
    configured = {host for host, status in first_statuses(run).items() if status in ("ok", "changed")}
    assert_recap(run, configured)
    assert_registered(run, there, labels(rollouts.emulator))
    if cell.fault in matrix.PASSING or cell.fault == "unknown field":
        if cell.times == 1 or cell.fault == "unknown field":
            assert configured == set(HOSTS), run.output
        elif cell.operation != "create_client":
            assert configured == set(), run.output
        else:
            # The create of one host does not affect the others.
            assert configured >= {"web-1", "web-2"}, run.output


def test_the_operations_are_those_of_a_rollout(rollouts: Rollouts) -> None:
    run = rollouts.hosts.run(ROLLOUT)
    rollouts.counts.check(rollouts.emulator, run.output)
    assert tuple(run.calls()) == OPERATIONS
    cases = cells()
    assert {cell.operation for cell in cases} == set(OPERATIONS)
    assert {cell.fault for cell in cases} == set(matrix.FAULTS)
    assert {(cell.operation, cell.times) for cell in cases} == {
        (name, times) for name in OPERATIONS for times in _TIMES
    }
