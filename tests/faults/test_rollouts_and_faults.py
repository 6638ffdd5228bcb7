# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts in which each operation meets each fault: a host that is reported as configured carries the right key,
one that failed carries what it carried, and the next run converges.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.attempts import MAY_BE_DONE
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, REGISTER, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.servers import Outage
from ansible_collections.monitor.cloud.tests.support.tally import SOAK, Tally
from ansible_collections.monitor.cloud.tests.support.tasks import labels

HOSTS = ("web-1", "web-2", "web-3")
# In the order in which a rollout that creates clients calls them.
OPERATIONS = ("list_clients", "get_plan", "create_client")
_TIMES = {1: "once", -1: "for ever"}
# Host, and how many tasks changed, did not reach and failed it.
_RECAP = re.compile(r"^(\S+)\s+: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Cell:
    operation: str
    fault: str
    times: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.operation}, {self.fault}, {_TIMES[self.times]}"

    def scheduled(self) -> dict[str, Any]:
        """The fault as the emulator takes it, as of now."""
        own = {"seconds": 1.0} if self.fault == "slow" else {}
        fault = matrix.scheduled(self.operation, self.fault, self.number)
        return {**fault, **own, "operation": self.operation, "times": self.times}


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
def hosts(tmp_path: Path, emulator: Emulator) -> Local:
    """One host without drift, one that is a clone of it, and one that is new."""
    emulator.seed(labels=["web-1", "other", "web-2"])
    emulator.set_plan("monitor-40")
    found = Local(tmp_path, emulator, *HOSTS)
    found.write("web-1", found.expected("web-1"))
    found.write("web-2", found.expected("web-1"))
    return found


def roll_out(hosts: Local, cell: Cell) -> tuple[Run, int]:
    """The rollout with the fault, and how often the fault occurred."""
    settings = {
        "MONITOR_TIMEOUT": "0.5" if cell.fault == "slow" else "30",
        "MONITOR_RETRY_TIMEOUT": "0.6" if cell.times == -1 else "60",
    }
    service = hosts.service
    if cell.fault == "refused":
        after, seconds = OPERATIONS.index(cell.operation), 0.2 if cell.times == 1 else None
        with Outage(service, after=after, seconds=seconds) as outage:
            run = hosts.run(ROLLOUT, MONITOR_BASE_URL=outage.base_url, MONITOR_ALLOW_HTTP="true", **settings)
            assert outage.came
        return run, 1
    service.fault(**cell.scheduled())
    run = hosts.run(ROLLOUT, **settings)
    met = sum(entry["fault"] is not None for entry in service.settle())
    service.clear_faults()
    assert met, "the fault was not met"
    return run, met


def assert_true(hosts: Local, run: Run, before: dict[str, str | None]) -> set[str]:
    """What the run reported of each host is true; returns those that it reported as configured."""
    after, reported = hosts.files(), run.statuses(CONFIGURE)
    for host in HOSTS:
        if reported.get(host) in ("ok", "changed"):
            assert after[host] is not None and after[host] == hosts.expected(host), host
            assert (after[host] != before[host]) is (reported[host] == "changed"), host
        else:
            assert after[host] == before[host], host
    configured = {host for host, status in reported.items() if status in ("ok", "changed")}
    recap = {host: [int(number) for number in numbers] for host, *numbers in _RECAP.findall(run.output)}
    # If the task that runs once fails, Ansible names one host for all.
    assert configured <= set(recap) <= set(HOSTS)
    assert {host for host, (_changed, _unreachable, failed) in recap.items() if not failed} == configured
    assert not any(unreachable for _changed, unreachable, _failed in recap.values())
    assert (run.code == 0) is (configured == set(HOSTS))
    expected = Counter(event.host for event in run.events if event.status == "changed")
    assert {host: numbers[0] for host, numbers in recap.items()} == {host: expected[host] for host in recap}
    return configured


def assert_registered(run: Run, before: list[str], after: list[str]) -> None:
    """The task that registers reported what it changed."""
    (event,) = run.of(REGISTER).values()
    # The failure of one label is reported by its host, and censored in a result that has keys.
    reasons = [*run.failures().values(), str(event.result.get("msg"))]
    unknown = any(phrase in reason for reason in reasons for phrase in MAY_BE_DONE)
    assert set(event.result.get("created", [])) <= set(after) - set(before)
    assert event.result.get("changed", False) is (before != after) or unknown


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_a_rollout_with_a_fault(hosts: Local, counts: Tally, cell: Cell) -> None:
    service = hosts.service
    before, there = hosts.files(), labels(service)
    run, met = roll_out(hosts, cell)
    counts.check(service, run.output, faults=met)
    configured = assert_true(hosts, run, before)
    assert_registered(run, there, labels(service))
    if cell.fault in matrix.PASSING or cell.fault == "unknown field":
        if cell.times == 1 or cell.fault == "unknown field":
            assert configured == set(HOSTS), run.output
        elif cell.operation != "create_client":
            assert configured == set(), run.output
        else:
            # The create of one host does not affect the others.
            assert configured >= {"web-1", "web-2"}, run.output
    converge(hosts, counts, configured)


def converge(hosts: Local, counts: Tally, configured: set[str]) -> None:
    """One more run does the rest, the run after that nothing; if there is no rest, one run shows it."""
    service = hosts.service
    missing = sorted({hosts.label(host) for host in HOSTS} - set(labels(service)))
    wrong = {host for host in HOSTS if hosts.read(host) != hosts.expected(host) or hosts.expected(host) is None}
    assert wrong.isdisjoint(configured)
    twice = bool(wrong or missing)
    run = hosts.run(*[ROLLOUT] * (1 + twice))
    counts.check(service, run.output)
    assert run.code == 0, run.output
    done = [(event.host, event.status) for event in run.events if event.task.endswith(CONFIGURE)]
    assert {host for host, status in done[: len(HOSTS)] if status == "changed"} == wrong
    assert [status for dummy, status in done[len(HOSTS) :]] == ["ok"] * len(HOSTS) * twice
    assert sorted(run.writes()) == [f"create_client {label}" for label in missing]
    assert labels(service) == sorted([*HOSTS, "other"])
    assert hosts.files() == {host: hosts.expected(host) for host in HOSTS}
    counts.converged += 1


def test_the_operations_are_those_of_a_rollout(hosts: Local, counts: Tally) -> None:
    run = hosts.run(ROLLOUT)
    counts.check(hosts.service, run.output)
    assert tuple(run.calls()) == OPERATIONS
    cases = cells()
    assert {cell.operation for cell in cases} == set(OPERATIONS)
    assert {cell.fault for cell in cases} == set(matrix.FAULTS)
    assert {(cell.operation, cell.times) for cell in cases} == {
        (name, times) for name in OPERATIONS for times in _TIMES
    }
