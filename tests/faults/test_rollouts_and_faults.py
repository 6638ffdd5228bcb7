# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts and retirements against real files, in which each operation meets each fault.

A host that is reported as configured carries the right key, one that failed carries what it carried, and the next run
converges. Tasks of the modules, with faults in any sequence: test_sequences.py.
"""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.matrix import MAY_BE_DONE, Account, Case, Cell, assert_only
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, CONFIGURE_NEW, REGISTER, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.servers import Outage
from ansible_collections.monitor.cloud.tests.support.tasks import labels

HOSTS = ("web-1", "web-2", "web-3")
_TIMES = (1, -1)


@dataclasses.dataclass(frozen=True)
class Playbook:
    """A command line, the hosts that it is for, the calls that it makes, and the task that changes clients."""

    name: str
    arguments: tuple[str, ...]
    hosts: tuple[str, ...]
    calls: tuple[str, ...]
    task: str
    removes: bool = False


_ROLLOUT = Playbook(
    "rollout", (ROLLOUT,), HOSTS, ("list_clients", "list_clients", "get_plan", "create_client"), REGISTER
)
_RETIRE = Playbook(
    "retire",
    ("monitor.cloud.retire", "-e", "target=web-1"),
    ("web-1",),
    ("list_clients", "list_clients", "get_client", "delete_client"),
    "Delete the clients of hosts without a configuration",
    removes=True,
)
OPERATIONS = {**dict.fromkeys(_ROLLOUT.calls, _ROLLOUT), **dict.fromkeys(_RETIRE.calls[2:], _RETIRE)}


# In the short form: what is not sent, what is not done, what is done though the response is lost, and what lasts.
_CHOSEN = (
    ("list_clients", "drop", 1), ("list_clients", "unknown field", 1), ("list_clients", "html with 200", -1),
    ("get_plan", "503", 1), ("get_plan", "missing field", -1),
    ("create_client", "lost response", 1), ("create_client", "wrong shape though done", 1),
    ("create_client", "refused", -1), ("create_client", "504 though done", -1),
    ("get_client", "truncated", 1), ("get_client", "429", -1),
    ("delete_client", "html with 502 though done", 1), ("delete_client", "slow", -1),
)  # fmt: skip


def cells() -> list[Cell]:
    chosen = itertools.product(OPERATIONS, matrix.FAULTS, _TIMES) if SOAK else _CHOSEN
    return [
        Cell(operation, Case(OPERATIONS[operation].name, None, {}), fault, times, matrix.FAULTS.index(fault))
        for operation, fault, times in chosen
    ]


@pytest.fixture
def hosts(emulator: Emulator, tmp_path: Path) -> Local:
    """One host without drift, one that is a clone of it, and one that is new."""
    made = Local(tmp_path, emulator, *HOSTS)
    emulator.seed(labels=["web-1", "other", "web-2"])
    emulator.set_plan("monitor-10")
    for host in ("web-1", "web-2"):
        made.write(host, made.expected("web-1"))
    return made


def meet(hosts: Local, cell: Cell, playbook: Playbook) -> tuple[Run, int]:
    """The run with the fault, and how often the fault occurred."""
    service = hosts.service
    settings: dict[str, Any] = {
        "MONITOR_TIMEOUT": "0.5" if cell.fault == "slow" else "30",
        "MONITOR_RETRY_TIMEOUT": "60" if cell.times == 1 else "0.6",
    }
    if cell.fault == "refused":
        after, seconds = playbook.calls.index(cell.operation), 0.2 if cell.times == 1 else None
        with Outage(service, after=after, seconds=seconds) as outage:
            settings |= {"MONITOR_BASE_URL": outage.base_url, "MONITOR_ALLOW_HTTP": "true"}
            return hosts.run(*playbook.arguments, **settings), int(outage.came)
    own = {"seconds": 1.0} if cell.fault == "slow" else {}
    service.fault(**{**cell.scheduled(), **own})
    run = hosts.run(*playbook.arguments, **settings)
    met = sum(entry["fault"] is not None for entry in service.settle())
    service.clear_faults()
    return run, met


def right(hosts: Local, playbook: Playbook) -> set[str]:
    """The hosts that carry what the playbook is to leave there."""
    texts = {host: hosts.read(host) for host in playbook.hosts}
    expected = {host: None if playbook.removes else hosts.expected(host) for host in texts}
    return {host for host, text in texts.items() if text == expected[host] and (text is None) is playbook.removes}


def done_by(run: Run) -> set[str]:
    """The hosts whose file is reported to be as it has to be; one without a client is checked only."""
    results = run.of(CONFIGURE).items()
    return {host for host, each in results if each.status in ("ok", "changed") and each.result.get("registered", True)}


def assert_true(hosts: Local, playbook: Playbook, run: Run, files: dict[str, str | None], before: Account) -> None:
    """What is reported of files and clients was done, and no more."""
    done, failed, after = done_by(run), set(run.failures()), Account.of(hosts.service)
    assert done <= right(hosts, playbook), run.output
    assert {host for host in HOSTS if hosts.read(host) != files[host]} == run.changed_hosts(), run.output

    events = [event.result for event in run.of(playbook.task).values()] or [{}]
    # The failure of one label is reported by its host, and censored in a result that has keys.
    reasons = [*run.failures().values(), str(events[0].get("msg"))]
    unknown = any(phrase in reason for reason in reasons for phrase in MAY_BE_DONE)
    assert set(events[0].get("created", [])) <= set(after.clients.values()) - set(before.clients.values())
    assert set(events[0].get("deleted", [])) <= set(before.clients.values()) - set(after.clients.values())
    assert events[0].get("changed", False) is (before != after) or unknown
    assert_only(before, after, *((playbook.hosts, {}, ()) if playbook.removes else ((), {}, playbook.hosts)))
    assert (run.code == 0) is (done == set(playbook.hosts) and not failed)


def assert_converges(hosts: Local, playbook: Playbook) -> None:
    """Without the fault, one run does the rest, and the next nothing."""
    wrong = set(playbook.hosts) - right(hosts, playbook)
    rest = set(labels(hosts.service)) & {"web-1"} if playbook.removes else set(HOSTS) - set(labels(hosts.service))
    run = hosts.run(playbook.arguments[0], *playbook.arguments)
    assert_sound(hosts.service, run.output)
    assert run.code == 0, run.output
    assert run.writes() == [f"{playbook.calls[-1]} {label}" for label in sorted(rest)]
    # Each of the two runs.
    steps = [event for event in run.events if event.task.endswith((CONFIGURE, CONFIGURE_NEW))]
    assert sorted(event.host for event in steps if event.status == "changed") == sorted(wrong)
    assert right(hosts, playbook) == set(playbook.hosts)
    tally(converged=1)


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_a_playbook_with_a_fault(hosts: Local, cell: Cell) -> None:
    playbook = OPERATIONS[cell.operation]
    files, before = hosts.files(), Account.of(hosts.service)
    run, met = meet(hosts, cell, playbook)
    assert_sound(hosts.service, run.output, faults=met)
    assert met, "the fault was not met"
    assert_true(hosts, playbook, run, files, before)
    if cell.fault == "unknown field" or (cell.fault in matrix.PASSING and cell.times == 1):
        assert run.code == 0, run.output
    elif cell.fault in matrix.PASSING:
        # Hosts with a client are configured before others are created, and a client is deleted after its host's file.
        done = {
            **dict.fromkeys(("get_plan", "create_client"), {"web-1", "web-2"}),
            "get_client": {"web-1"},
            "delete_client": {"web-1"},
        }
        assert done_by(run) >= done[cell.operation] if cell.operation in done else not done_by(run), run.output
    assert_converges(hosts, playbook)


def test_the_operations_are_those_of_a_rollout(hosts: Local) -> None:
    run = hosts.run(*_ROLLOUT.arguments)
    assert_sound(hosts.service, run.output)
    assert tuple(run.calls()) == _ROLLOUT.calls
