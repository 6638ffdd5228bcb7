# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Single tasks of the modules: what they report, what the account holds, and whether the two agree."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.matrix import Case
from ansible_collections.monitor.cloud.tests.support.calls import call
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

MAY_BE_DONE = ("The service may have done it: run again to find out.", "Could not find out whether")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a task: a result, or a message and its details of the work that was done."""

    result: Result | None
    message: str = ""
    details: Result = dataclasses.field(default_factory=dict)

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
