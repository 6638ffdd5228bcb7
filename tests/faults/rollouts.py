# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts, retirements and prunes by ansible-playbook, with faults and concurrent writers, in any sequence."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.attempts import Account
from ansible_collections.monitor.cloud.tests.support.calls import call
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.tally import Tally

HOSTS = ("web-1", "web-2", "web-3")
TIERS = {None: None, "monitor-3": 3, "monitor-10": 10}
_OTHERS = ("theirs-1", "theirs-2", "keep-web-1")
_NEW = ("app-1", "app-2")
_SURPLUS = "(web|app|theirs)-.*"
_FAULTS = tuple(name for name in matrix.FAULTS if name not in ("refused", "slow", "429 in a second"))
_LISTS = ("created", "renamed", "deleted")

_hosts = st.sampled_from(HOSTS)
_limits = st.none() | st.lists(_hosts, unique=True, min_size=1, max_size=2).map(sorted)


def _fault(*operations: str) -> st.SearchStrategy[Any]:
    """None, or one that comes once, or for ever."""
    met = st.tuples(st.sampled_from(operations), st.sampled_from(_FAULTS), st.sampled_from([1, -1]), st.integers(0, 5))
    return st.none() | met


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

    @initialize(tier=st.sampled_from([None, "monitor-10", "monitor-3"]), configured=st.booleans())
    def begin(self, tier: str | None, configured: bool) -> None:
        self.emulator.reset()
        self.emulator.seed(labels=["web-1", "keep-web-1"])
        self.emulator.set_plan(tier)
        self.hosts = Local(self._directory, self.emulator, *HOSTS)
        self.tier, self.masked = tier, set[str]()
        if configured:
            self.hosts.write("web-1", self.hosts.expected("web-1"))
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

    def roll_out(self, limit: list[str] | None, serial: int, fault: Any) -> None:
        playbook = self._playbook(_ROLE.format(serial=serial)) if serial else ROLLOUT
        hosts = tuple(limit or HOSTS)
        self._do(RunSpec((playbook, *self._limited(limit)), hosts, serial=bool(serial)), fault)

    def rename(self, host: str, new: str, carry: bool, fault: Any) -> None:
        """The inventory gives a host another label; its client goes with it, or is left behind."""
        old = self.hosts.label(host)
        if new in {self.hosts.label(name) for name in HOSTS}:
            return
        self.hosts.host_vars[host]["monitor_agent_label"] = new
        if carry:
            text = _RENAME.format(old=old, new=new)
            self._do(RunSpec((self._playbook(text),), (), renames={old: new}, configures=False), fault)

    def retire(self, host: str, fault: Any) -> None:
        arguments = ("monitor.cloud.retire", "-e", f"target={host}")
        gone = frozenset({self.hosts.label(host)})
        self._do(RunSpec(arguments, (host,), retires=True, deletable=gone), fault)

    def prune(self, fault: Any) -> None:
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
        """Without faults, one run converges, and the next changes nothing."""
        self.other_controller_changes_the_account(None, [])
        run = self.hosts.run(ROLLOUT, ROLLOUT)
        self.counts.check(self.emulator, run.output)
        assert run.code == 0, run.output
        assert {host: self.hosts.expected(host) for host in HOSTS} == self.hosts.files()
        assert None not in self.hosts.files().values()
        self._assert_nothing_twice(run)
        self.counts.converged += 1

    def _playbook(self, text: str) -> str:
        path = self._directory / "play.yml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def _limited(self, limit: list[str] | None) -> tuple[str, ...]:
        return ("--limit", ",".join(limit)) if limit else ()

    def _do(self, spec: RunSpec, fault: tuple[str, str, int, int] | None) -> None:
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

    def _run(self, spec: RunSpec, *more: str, times: int = 1, **environment: str) -> Run:
        playbook, *options = spec.arguments
        run = self.hosts.run(*[playbook] * times, *options, *more, **environment)
        self.counts.check(self.emulator, run.output)
        return run

    def _faulty(self, spec: RunSpec, fault: tuple[str, str, int, int]) -> Run:
        operation, name, times, number = fault
        self.emulator.fault(**matrix.scheduled(operation, name, number), operation=operation, times=times)
        run = self._run(spec, MONITOR_RETRY_TIMEOUT="60" if times == 1 else "0.6")
        self.counts.faults += sum(entry["fault"] is not None for entry in self.emulator.settle())
        self.emulator.clear_faults()
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
        gone = {label for client, label in before.clients.items() if client not in account.clients}
        assert gone <= spec.deletable, run.output
        for client in before.clients.keys() & account.clients.keys():
            old, new = before.clients[client], account.clients[client]
            assert old == new or spec.renames.get(old) == new
        made = {account.clients[client] for client in account.clients.keys() - before.clients.keys()}
        desired = {self.hosts.label(host) for host in spec.hosts} | set(spec.renames.values())
        assert made <= (set() if spec.retires else desired)

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
