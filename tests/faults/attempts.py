# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Single tasks of the modules: what they report, what the account holds, and whether the two agree."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.matrix import Case
from ansible_collections.monitor.cloud.tests.support.calls import call
from ansible_collections.monitor.cloud.tests.support.tally import Tally
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

MAY_BE_DONE = ("The service may have done it: run again to find out.", "Could not find out whether")


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
    def of(cls, emulator: Emulator) -> Account:
        plan = call(emulator, "GET", "/monitor/plan").json
        return cls({client["id"]: client["label"] for client in emulator.clients()}, plan.get("id"))


def attempt(service: Any, case: Case, **options: Any) -> Outcome:
    """The task. Any exception but those of the collection would be a traceback, and is raised."""
    own = copy.deepcopy(dict(case.options))
    try:
        return Outcome(go(service, case.module, **own, **options))
    except TaskFailure as failure:
        return Outcome(None, str(failure), failure.details)
    except MonitorError as error:
        return Outcome(None, str(error))


def carried_out(
    emulator: Emulator,
    counts: Tally,
    case: Case,
    *,
    fault: Mapping[str, Any] | None = None,
    outage: Any = None,
    masked: bool = False,
    **options: Any,
) -> Outcome:
    """The task with a fault or an outage, or without; its report is true."""
    before = Account.of(emulator)
    emulator.clear_log()
    if fault is not None:
        emulator.fault(**fault)
    outcome = attempt(outage or emulator, case, **options)
    calls = emulator.settle()
    emulator.clear_faults()
    counts.check(emulator, outcome.text, faults=bool(outage) + sum(entry["fault"] is not None for entry in calls))
    assert_true(outcome, before, Account.of(emulator))
    assert_right_keys(emulator, outcome, masked=masked)
    return dataclasses.replace(outcome, calls=calls)


def assert_settled(emulator: Emulator, counts: Tally, case: Case) -> None:
    """The task, done once more, changes nothing."""
    before = Account.of(emulator)
    again = carried_out(emulator, counts, case, masked=True)
    assert again.result is not None and again.result["changed"] is False, again.message
    assert [call for call in again.calls if call["method"] != "GET"] == []
    assert Account.of(emulator) == before
    counts.converged += 1


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


def assert_right_keys(emulator: Emulator, outcome: Outcome, *, masked: bool = False) -> None:
    """Clients in a result are those of the account, with their keys, or with none."""
    real = {client["id"]: client for client in emulator.clients()}
    result = outcome.result or {}
    shown = [*dict(result.get("clients", {})).values()] if isinstance(result.get("clients"), dict) else []
    shown += result["clients"] if isinstance(result.get("clients"), list) else []
    for client in shown:
        key = fingerprint(real[client["id"]]["api_key"])
        assert client["key_fingerprint"] in ([key, None] if masked else [key])
        assert client["keys_masked"] is (client["key_fingerprint"] is None) or masked
