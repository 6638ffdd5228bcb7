# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The faults that tasks can meet, what tasks report, and whether that is true."""

import copy
import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go


@dataclasses.dataclass(frozen=True)
class Case:
    module: Any
    options: Mapping[str, Any]


# Faults that a retry fixes.
PASSING: dict[str, dict[str, Any]] = {
    "drop": {"kind": "drop"},
    "lost response": {"kind": "lost_response"},
    "truncated": {"kind": "truncate"},
    "slow": {"kind": "slow", "seconds": 1.0},
    "429": {"kind": "status", "status": 429},
    "503": {"kind": "status", "status": 503},
    "504 though done": {"kind": "status", "status": 504, "done": True},
    "html with 400": {"kind": "html", "status": 400},
    "html with 502 though done": {"kind": "html", "status": 502, "done": True},
}
# Those in which another server responds, or a faulty service.
LASTING: dict[str, dict[str, Any]] = {
    "html with 200": {"kind": "html", "status": 200},
    "html with 200 though done": {"kind": "html", "status": 200, "done": True},
    "wrong shape": {"kind": "status", "status": 200},
    "wrong shape though done": {"kind": "status", "status": 200, "done": True},
}
FAULTS = (*PASSING, *LASTING, "unknown field")
_SHAPES: tuple[Any, ...] = ([7], "text", {"data": 7}, 7, {"id": None}, ["text"])


def scheduled(operation: str, fault: str, number: int, times: int) -> dict[str, Any]:
    """A fault as the emulator takes it. ``number`` chooses the shape; -1 times: for ever."""
    given = {**{**PASSING, **LASTING}.get(fault, {"kind": "edit"}), "operation": operation, "times": times}
    if fault.startswith("wrong shape"):
        # Any object is a valid response to a delete: a false one can't be detected.
        shapes = [shape for shape in _SHAPES if operation != "delete_client" or not isinstance(shape, dict)]
        return {**given, "body": shapes[number % len(shapes)]}
    if fault == "unknown field":
        return {**given, "add": dict.fromkeys(("of_the_future", "data.of_the_future"), {"from": ["now"]})}
    return given


MAY_BE_DONE = ("The service may have made the change: run again to find out.", "Could not find out whether")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a task: a result, or a message and its details of the work that was done; and the calls made."""

    result: Result | None
    message: str = ""
    details: Result = dataclasses.field(default_factory=dict)
    calls: Sequence[Result] = ()

    @property
    def text(self) -> str:
        return json.dumps([self.result, self.message, self.details])


@dataclasses.dataclass(frozen=True)
class Account:
    """Labels by id, and the tier."""

    clients: dict[int, str]
    plan: str | None

    @classmethod
    def of(cls, emulator: Emulator) -> Self:
        plan = emulator.call("GET", "/monitor/plan").json()
        return cls({client["id"]: client["label"] for client in emulator.clients()}, plan.get("id"))


def attempt(service: Any, case: Case, **options: Any) -> Outcome:
    """The task. Any exception but those of the collection would be a traceback, and is raised."""
    own = copy.deepcopy(dict(case.options))
    try:
        return Outcome(go(service, case.module, **own, **options))
    except MonitorError as error:
        return Outcome(None, str(error), error.details)


def carried_out(
    emulator: Emulator, case: Case, *, fault: Mapping[str, Any] | None = None, masked: bool = False, **options: Any
) -> Outcome:
    """The task with a fault or without; its report is true."""
    before = Account.of(emulator)
    emulator.clear_log()
    if fault is not None:
        emulator.fault(**fault)
    outcome = attempt(emulator, case, **options)
    calls = emulator.settle()
    emulator.clear_faults()
    assert_sound(emulator, outcome.text, faults=sum(entry["fault"] is not None for entry in calls))
    assert_true(outcome, before, Account.of(emulator))
    assert_never_sent_blindly(calls)
    assert len(calls) < 40, "the service is hammered"
    # Clients in a result are those of the account, with their keys, or with none.
    real = {client["id"]: client for client in emulator.clients()}
    shown = (outcome.result or {}).get("clients", [])
    for client in shown.values() if isinstance(shown, dict) else shown:
        key = fingerprint(real[client["id"]]["api_key"])
        assert client["key_fingerprint"] in ([key, None] if masked else [key])
    return dataclasses.replace(outcome, calls=calls)


def assert_settled(emulator: Emulator, case: Case) -> None:
    """The task, done once more, changes nothing."""
    before = Account.of(emulator)
    again = carried_out(emulator, case, masked=True)
    assert again.result is not None and again.result["changed"] is False, again.message
    assert [call for call in again.calls if call["method"] != "GET"] == []
    assert Account.of(emulator) == before
    tally(converged=1)


def assert_only(
    before: Account, after: Account, deleted: Collection[str], renamed: Mapping[str, str], desired: Collection[str]
) -> None:
    """Nothing is gone, named otherwise or new that was not requested."""
    assert {label for client, label in before.clients.items() if client not in after.clients} <= set(deleted)
    for client in before.clients.keys() & after.clients.keys():
        old, new = before.clients[client], after.clients[client]
        assert old == new or renamed.get(old) == new
    assert {after.clients[client] for client in after.clients.keys() - before.clients.keys()} <= set(desired)


def assert_true(outcome: Outcome, before: Account, after: Account) -> None:
    """Reported work is done, and failed work is not, or has an unknown outcome by the message."""
    reasons = [*outcome.details.get("failures", {}).values()] or [outcome.message]
    known = not any(phrase in reason for reason in reasons for phrase in MAY_BE_DONE)
    reported = outcome.result or outcome.details
    if outcome.result is not None:
        assert reported["changed"] is (before != after)
    elif known:
        assert reported.get("changed", False) is (before != after), outcome.text
    else:
        assert not reported.get("changed") or before != after
    old, new = set(before.clients.values()), set(after.clients.values())
    assert set(reported.get("created", [])) <= new - old
    assert set(reported.get("deleted", [])) <= old - new
    for label in reported.get("renamed", []):
        (client_id,) = (client_id for client_id, there in after.clients.items() if there == label)
        assert before.clients[client_id] != label
    for label, reason in reported.get("failures", {}).items():
        doing = any(phrase in reason for phrase in MAY_BE_DONE)
        assert doing or (label in new) is (label in old), reason
    assert outcome.result is not None or outcome.message.isprintable() and 20 < len(outcome.message) < 2000


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
