# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each operation of the contract with each fault, once and for ever; and rollouts and retirements with some of them.

What is reported is true, and the next run converges. Connections that fail: tests/contract/client/test_faults.py.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.contract import operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.matrix import (
    CASES,
    FAULTS,
    LASTING,
    MAY_BE_DONE,
    PASSING,
    PLAN,
    START,
    WRITES,
    Account,
    Case,
    assert_settled,
    attempt,
    carried_out,
    required_fields,
    scheduled,
)
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, INSPECT, REGISTER, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.support.tasks import assert_predicted, labels

_TIMES = {1: "once", -1: "for ever"}


def cells() -> list[Any]:
    """In the long form every task with every fault, once and for ever.

    In the short form another of the tasks with each fault: both times if it is a write, one of them if not. Operations
    that read meet every other fault of a network or a gateway.
    """
    found = []
    for place, operation in enumerate(operation_ids()):
        fields = len(required_fields(operation))
        for number, fault in enumerate([*FAULTS[:-1], *["missing field"] * fields]):
            # An unknown field is in each response, so that the result of each task shows it.
            often = [-1] if fault == "unknown field" else list(_TIMES)
            every = list(itertools.product(often, CASES[operation]))
            of_others, is_write = fault in {**PASSING, **LASTING}, operation in WRITES
            if of_others and not is_write and (number + place) % 2 and not SOAK:
                continue
            step = len(CASES[operation]) if of_others and is_write else len(every)
            step = 1 if SOAK or fault == "unknown field" else step
            for times, case in every[number % step :: step]:
                name = f"{operation}, {case.name}, {fault} {number}, {_TIMES[times]}"
                found.append(pytest.param(operation, case, fault, number, times, id=name))
    return found


def assert_never_sent_blindly(calls: Sequence[dict[str, Any]]) -> None:
    """Before a create is sent again, the list is read; except after 429, with which nothing was done."""
    outcome_unknown: set[str] = set()
    for entry in calls:
        if entry["operation"] == "list_clients":
            outcome_unknown.clear()
        elif entry["operation"] == "create_client":
            assert entry["label"] not in outcome_unknown, "sent again without a read of the list"
            if entry["status"] != 429:
                outcome_unknown.add(entry["label"])


def assert_done(emulator: Emulator, case: Case) -> None:
    account = Account.of(emulator)
    assert (sorted(account.clients.values()), account.plan) == (sorted(case.labels), case.plan)


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize(("operation", "case", "fault", "number", "times"), cells())
def test_a_task_with_a_fault_reports_the_truth_and_the_next_converges(
    emulator: Emulator, operation: str, case: Case, fault: str, number: int, times: int
) -> None:
    """Observed: "lost responses", "statuses", "gateway", "errors", "unknown fields"."""
    emulator.seed(labels=list(START))
    emulator.set_plan(PLAN)
    if fault == "unknown field":
        # A single record is taken for the first of several, which are then read by another call.
        emulator.configure(region_availability="array")
    given = scheduled(operation, fault, number, times)
    given["match"] = {"label": case.label} if case.label else {}
    options: dict[str, Any] = {"timeout": 0.5 if fault == "slow" else 20.0}
    # Enough for a fault that ends, and little for one that does not.
    options["retry_timeout"] = 0.1 if times == -1 else 20.0
    outcome = carried_out(emulator, case, fault=given, masked=fault == "missing field", **options)
    assert any(entry["fault"] for entry in outcome.calls), "the fault was not met"
    assert len(outcome.calls) < 40, "the service is hammered"
    assert_never_sent_blindly(outcome.calls)

    # The free plan is an object without any field; one that has a field is something else.
    free = case.plan is None and operation == "update_plan"
    if (fault in PASSING and times == 1) or (fault == "unknown field" and not free):
        assert outcome.result is not None, outcome.message
    # A create may be found in the list, a client that is gone has no label that the fault could match, and a plan that
    # cannot be read blocks no create.
    elif fault in PASSING and operation != "create_client" and (operation, case.label or case.name) not in (
        ("delete_client", "old1"), ("get_plan", "register")
    ):  # fmt: skip
        assert outcome.result is None
    if outcome.result is None:
        assert "Could not " in outcome.message
    else:
        # A client without a label is not matched, and so not deleted.
        if (case.name, given.get("remove")) != ("absent", ["data.label"]):
            assert_done(emulator, case)
        assert outcome.result["api_usage"]["requests"] == len(outcome.calls)
    shown = operation == "create_client" or case.name in ("info", "one", "up")
    if fault == "unknown field" and shown and operation != "delete_client":
        assert '"of_the_future"' in outcome.text

    predicted, repaired = attempt(emulator, case, check_mode=True), carried_out(emulator, case)
    assert predicted.result is not None and repaired.result is not None, repaired.message
    assert_predicted(predicted.result, repaired.result)
    assert_done(emulator, case)
    assert_settled(emulator, case)


# Rollouts and retirements with real files

HOSTS = ("web-1", "web-2", "web-3")


@dataclasses.dataclass(frozen=True)
class Playbook:
    """A command line, the hosts that it is for, the calls that it makes, and the task that changes clients."""

    arguments: tuple[str, ...]
    hosts: tuple[str, ...]
    calls: tuple[str, ...]
    task: str
    removes: bool = False


# The client of web-2, whose host lacks its key, is read by its id.
_ROLLOUT = Playbook(
    (ROLLOUT,), HOSTS, ("list_clients", "list_clients", "get_client", "get_plan", "create_client"), REGISTER
)
_RETIRE = Playbook(
    ("monitor.cloud.retire", "--limit", "web-1"),
    ("web-1",),
    ("list_clients", "list_clients", "get_client", "delete_client"),
    "Delete the clients of hosts whose configuration is removed",
    removes=True,
)
OPERATIONS = {**dict.fromkeys(_ROLLOUT.calls, _ROLLOUT), **dict.fromkeys(_RETIRE.calls[2:], _RETIRE)}


# What is not done, what is done though the response is lost, and what lasts; and who is as expected nevertheless. Hosts
# with a client are configured before others are created, and a client is deleted after its host's file.
OF_PLAYBOOKS: list[tuple[str, str, int, set[str]]] = [
    ("list_clients", "drop", 1, set(HOSTS)),
    ("list_clients", "html with 200", -1, set()),
    ("get_plan", "missing field", -1, {"web-1", "web-2"}),
    ("create_client", "503", -1, {"web-1", "web-2"}),
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
    service.fault(**scheduled(operation, fault, 0, times))
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
    """The hosts whose file is reported to be as it has to be: it was, or it was changed."""
    steady = {host for host, each in run.of(INSPECT).items() if each.result.get("differs") == []}
    return steady - set(run.failures()) | {host for host, each in run.statuses().items() if each in ("ok", "changed")}


def assert_playbook_true(
    hosts: Local, playbook: Playbook, run: Run, files: dict[str, str | None], before: Account
) -> None:
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
    # Nothing is gone, named otherwise or new that was not requested.
    gone, new = before.clients.items() - after.clients.items(), after.clients.items() - before.clients.items()
    assert {label for _id, label in gone} <= set(playbook.hosts if playbook.removes else ())
    assert {label for _id, label in new} <= set(() if playbook.removes else playbook.hosts)
    assert (run.code == 0) is (done == set(playbook.hosts) and not failed)


def assert_converges(hosts: Local, playbook: Playbook) -> None:
    """Without the fault, one run does the rest, and the next nothing."""
    wrong = set(playbook.hosts) - right(hosts, playbook)
    rest = set(labels(hosts.service)) & {"web-1"} if playbook.removes else set(HOSTS) - set(labels(hosts.service))
    run = hosts.run(playbook.arguments[0], *playbook.arguments)
    assert_sound(hosts.service, run.output)
    assert run.code == 0, run.output
    assert run.writes() == [f"{playbook.calls[-1]} {label}" for label in sorted(rest)]
    steps = [event for event in run.events if event.task.endswith(CONFIGURE)]
    assert sorted(event.host for event in steps if event.status == "changed") == sorted(wrong)
    assert right(hosts, playbook) == set(playbook.hosts)
    tally(converged=1)


@pytest.mark.parametrize(("operation", "fault", "times", "least"), OF_PLAYBOOKS)
def test_a_playbook_with_a_fault_reports_the_truth_and_the_next_converges(
    hosts: Local, operation: str, fault: str, times: int, least: set[str]
) -> None:
    playbook = OPERATIONS[operation]
    files, before = hosts.files(), Account.of(hosts.service)
    run, met = meet(hosts, playbook, operation, fault, times)
    assert_sound(hosts.service, run.output, faults=met)
    assert met, "the fault was not met"
    assert_playbook_true(hosts, playbook, run, files, before)
    assert done_by(run) >= least, run.output
    assert times == -1 or run.code == 0, run.output
    assert_converges(hosts, playbook)


def test_the_operations_are_those_of_a_rollout(hosts: Local) -> None:
    run = hosts.run(*_ROLLOUT.arguments)
    assert_sound(hosts.service, run.output)
    assert tuple(run.calls()) == _ROLLOUT.calls
