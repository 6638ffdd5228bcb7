# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations with tasks that use them, the faults that they can meet, and whether reports are true."""

import copy
import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

# What the account holds before each task. Their ids count from 1.
START = ("web1", "old1", "old2", "other")
PLAN = "monitor-40"
_WEB = ("web1", "web2", "web3")
_REGISTERED = ("other", "old1", "old2", *_WEB)
_REST = ("other", "web1")


@dataclasses.dataclass(frozen=True)
class Case:
    """A task that makes a call, and what has to be there once it has succeeded: labels, and a tier."""

    name: str
    module: Any
    options: Mapping[str, Any]
    labels: tuple[str, ...] = START
    plan: str | None = PLAN
    # Which of the calls is hit, if there are several.
    label: str | None = None


def _tasks(**cases: tuple[Any, ...]) -> list[Case]:
    return [Case(name.replace("_", " "), *case) for name, case in cases.items()]


_REGISTER = {"labels": list(_WEB)}
_PRUNE = {"labels": ["web1"], "prune": True, "prune_pattern": "old."}
_FREE = {"subscription": "free", "allow_over_capacity": True}
CASES: dict[str, list[Case]] = {
    "list_clients": _tasks(
        register=(monitor_clients, _REGISTER, _REGISTERED),
        absent=(monitor_client, {"label": "old1", "state": "absent"}, ("other", "old2", "web1")),
        info=(monitor_client_info, {}),
        switch=(monitor_plan, {"min_clients": 50}, START, "monitor-100"),
    ),
    "create_client": _tasks(
        fleet=(monitor_clients, _REGISTER, _REGISTERED, PLAN, "web2"),
        one=(monitor_client, {"label": "web2"}, ("other", "old1", "old2", "web1", "web2")),
    ),
    "get_client": _tasks(
        info=(monitor_client_info, {"id": 1}),
        absent=(monitor_clients, {"labels": ["old1", "old2"], "state": "absent"}, _REST, PLAN, "old1"),
        one_absent=(monitor_client, {"label": "old1", "state": "absent"}, ("other", "old2", "web1")),
    ),
    "update_client": _tasks(
        renames=(monitor_clients, {**_PRUNE, "labels": ["web1", "web2"], "renames": {"old1": "new1"}},
                 ("new1", "web2", *_REST), PLAN, "new1"),
        one=(monitor_client, {"id": 2, "label": "new1"}, ("new1", "old2", *_REST)),
    ),
    "delete_client": _tasks(
        prune=(monitor_clients, _PRUNE, _REST, PLAN, "old1"),
        one=(monitor_client, {"id": 2, "state": "absent"}, ("old2", *_REST)),
        absent=(monitor_clients, {"labels": ["old1", "old2"], "state": "absent"}, _REST, PLAN),
    ),
    "get_plan": _tasks(
        info=(monitor_plan_info, {}),
        register=(monitor_clients, _REGISTER, _REGISTERED),
        switch=(monitor_plan, {"min_clients": 50}, START, "monitor-100"),
    ),
    "update_plan": _tasks(
        up=(monitor_plan, {"min_clients": 50}, START, "monitor-100"),
        free=(monitor_plan, _FREE, START, None),
        down=(monitor_plan, {"subscription": "monitor-10"}, START, "monitor-10"),
    ),
    # The other operations read too, by the same code.
    "list_regions": _tasks(info=(region_info, {})),
}  # fmt: skip
WRITES = ("create_client", "update_client", "delete_client", "update_plan")

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


# What tasks report, what the account holds, and whether the two agree

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
    emulator: Emulator,
    case: Case,
    *,
    fault: Mapping[str, Any] | None = None,
    masked: bool = False,
    **options: Any,
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
