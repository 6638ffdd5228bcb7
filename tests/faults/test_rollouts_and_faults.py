# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts and retirements against real files, of which an operation meets a fault.

A host that is reported as configured carries the right key, one that failed carries what it carried, and the next run
converges. Tasks of the modules with each fault: test_operations_and_faults.py.
"""

import dataclasses
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.matrix import MAY_BE_DONE, Account, assert_only
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, CONFIGURE_NEW, REGISTER, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.servers import Outage
from ansible_collections.monitor.cloud.tests.support.tasks import labels

HOSTS = ("web-1", "web-2", "web-3")


@dataclasses.dataclass(frozen=True)
class Playbook:
    """A command line, the hosts that it is for, the calls that it makes, and the task that changes clients."""

    arguments: tuple[str, ...]
    hosts: tuple[str, ...]
    calls: tuple[str, ...]
    task: str
    removes: bool = False


_ROLLOUT = Playbook((ROLLOUT,), HOSTS, ("list_clients", "list_clients", "get_plan", "create_client"), REGISTER)
_RETIRE = Playbook(
    ("monitor.cloud.retire", "-e", "target=web-1"),
    ("web-1",),
    ("list_clients", "list_clients", "get_client", "delete_client"),
    "Delete the clients of hosts without a configuration",
    removes=True,
)
OPERATIONS = {**dict.fromkeys(_ROLLOUT.calls, _ROLLOUT), **dict.fromkeys(_RETIRE.calls[2:], _RETIRE)}


# What is not done, what is done though the response is lost, and what lasts; and who is as expected nevertheless. Hosts
# with a client are configured before others are created, and a client is deleted after its host's file.
CASES: list[tuple[str, str, int, set[str]]] = [
    ("list_clients", "drop", 1, set(HOSTS)),
    ("list_clients", "html with 200", -1, set()),
    ("get_plan", "missing field", -1, {"web-1", "web-2"}),
    ("create_client", "refused", -1, {"web-1", "web-2"}),
    ("create_client", "504 though done", -1, {"web-1", "web-2"}),
    ("get_client", "429", -1, {"web-1"}),
    ("delete_client", "html with 502 though done", 1, {"web-1"}),
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


def meet(hosts: Local, playbook: Playbook, operation: str, fault: str, times: int) -> tuple[Run, int]:
    """The run with the fault, and how often the fault occurred."""
    service = hosts.service
    settings = {"MONITOR_TIMEOUT": "30", "MONITOR_RETRY_TIMEOUT": "60" if times == 1 else "0.6"}
    if fault == "refused":
        with Outage(service, after=playbook.calls.index(operation), seconds=None) as outage:
            settings |= {"MONITOR_BASE_URL": outage.base_url, "MONITOR_ALLOW_HTTP": "true"}
            return hosts.run(*playbook.arguments, **settings), int(outage.came)
    service.fault(**matrix.scheduled(operation, fault, 0, times))
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


@pytest.mark.parametrize(("operation", "fault", "times", "least"), CASES)
def test_a_playbook_with_a_fault_reports_the_truth_and_the_next_converges(
    hosts: Local, operation: str, fault: str, times: int, least: set[str]
) -> None:
    playbook = OPERATIONS[operation]
    files, before = hosts.files(), Account.of(hosts.service)
    run, met = meet(hosts, playbook, operation, fault, times)
    assert_sound(hosts.service, run.output, faults=met)
    assert met, "the fault was not met"
    assert_true(hosts, playbook, run, files, before)
    assert done_by(run) >= least, run.output
    assert times == -1 or run.code == 0, run.output
    assert_converges(hosts, playbook)


def test_the_operations_are_those_of_a_rollout(hosts: Local) -> None:
    run = hosts.run(*_ROLLOUT.arguments)
    assert_sound(hosts.service, run.output)
    assert tuple(run.calls()) == _ROLLOUT.calls
