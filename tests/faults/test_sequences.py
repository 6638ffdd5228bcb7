# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import copy
import json
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients, monitor_plan
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, short_or_long, tally
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.tasks import Result, assert_predicted, go, labels

# The prune pattern `old-.` does not match old-10.
LABELS = ("web-1", "web-2", "web-3", "old-1", "old-2", "old-10")
TIERS = (None, "monitor-3", "monitor-10", "monitor-100")
# Faults after which a retry succeeds.
PASSING: list[dict[str, Any]] = [
    {"kind": "drop"},
    {"kind": "lost_response"},
    {"kind": "truncate"},
    {"kind": "status", "status": 429},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 504, "done": True},
    {"kind": "html", "status": 400},
    {"kind": "html", "status": 502, "done": True},
]
# Another server, such as a proxy, responds with an HTML page. A retry does not help.
LASTING: list[dict[str, Any]] = [{"kind": "html", "status": 200}, {"kind": "html", "status": 200, "done": True}]
UNKNOWN = ("The service may have made the change: run again to find out.", "Could not find out whether")

Fault = Mapping[str, Any] | None


@dataclass(frozen=True)
class Outcome:
    result: Result | None
    message: str = ""
    details: Result = field(default_factory=dict)
    calls: Sequence[Result] = ()


@dataclass(frozen=True)
class Account:
    clients: dict[int, str]
    plan: str | None


class Tasks:
    """Run random module tasks without Ansible, and change the account as another controller does."""

    def __init__(self, emulator: Emulator, chance: random.Random) -> None:
        self.emulator = emulator
        self.chance = chance
        name, value = chance.choice([("update_verb", "put_only"), ("delete_status", 204), ("list_order", "newest")])
        emulator.configure(**{name: value})
        emulator.seed(labels=self._labels())
        emulator.set_plan(chance.choice(TIERS))

    def _labels(self) -> list[str]:
        return self.chance.sample(LABELS, self.chance.randint(0, 4))

    def many_clients(self) -> None:
        labels = self._labels()
        renames = dict(zip(self._labels()[:2], self._labels()[:2], strict=False)) or {"web-1": "web-2"}
        surplus = {label for label in LABELS if re.fullmatch("old-.", label)} - set(labels)
        kinds: list[tuple[dict[str, Any], Collection[str]]] = [
            ({}, ()),
            ({"prune": True, "prune_pattern": "old-.", "prune_limit": 2}, surplus),
            ({"state": "absent"}, labels),
            ({"renames": renames}, ()),
        ]
        more, deleted = self.chance.choice(kinds)
        self._task(monitor_clients, {"labels": labels, **more}, deleted, more.get("renames"))

    def one_client(self) -> None:
        label = self.chance.choice(LABELS)
        state = self.chance.choice(["present", "absent"])
        self._task(monitor_client, {"label": label, "state": state}, {label} if state == "absent" else ())

    def one_client_by_id(self) -> None:
        client = self.chance.choice(self.emulator.clients() or [{"id": 99, "label": "missing"}])
        label = self.chance.choice([None, *LABELS])
        state = self.chance.choice(["present", "absent"])
        options = {"id": client["id"], "label": label, "state": state}
        if state == "absent":
            self._task(monitor_client, options, {client["label"]})
        else:
            self._task(monitor_client, options, (), {client["label"]: label} if label else None)

    def plan(self) -> None:
        name, value = self.chance.choice([*(("subscription", tier or "free") for tier in TIERS), ("min_clients", 4)])
        self._task(monitor_plan, {name: value, "allow_over_capacity": self.chance.choice([True, False])})

    def other_controller(self) -> None:
        old = self.chance.choice(LABELS)
        new = self.chance.choice(LABELS)
        change = self.chance.choice([("create", [new]), ("rename", {old: new}), ("delete", [old])])
        self.emulator.fault(kind="meanwhile", changes=dict([change]))
        self.emulator.call("GET", "/monitor/plan")
        self.emulator.set_plan(self.chance.choice(TIERS))

    def _task(
        self,
        module: Any,
        options: dict[str, Any],
        deleted: Collection[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        """Run the task in check mode, then with or without a fault, then again."""
        before = self._account()
        predicted = self._run(module, options, check_mode=True)
        fault = self.chance.choice([None, fault_of(self.chance, predicted)])
        outcome = self._run(module, options, fault)
        desired = set(options.get("labels") or [options.get("label")])
        assert_only(before, self._account(), deleted, renamed or {}, desired)
        if fault is not None:
            if fault["kind"] != "html" and fault["times"] == 1 and predicted.result is not None:
                assert outcome.result is not None, "the task failed, although a retry would succeed"
            predicted = self._run(module, options, check_mode=True)
            outcome = self._run(module, options)
        if predicted.result is None or outcome.result is None:
            assert (predicted.result, predicted.message, outcome.details) == (outcome.result, outcome.message, {})
            return
        assert_predicted(predicted.result, outcome.result)
        again = self._run(module, options)
        assert again.result is not None and again.result["changed"] is False, again.message
        assert {call["method"] for call in again.calls} <= {"GET"}
        tally(converged=1)

    def _account(self) -> Account:
        plan = self.emulator.call("GET", "/monitor/plan").json()
        return Account({client["id"]: client["label"] for client in self.emulator.clients()}, plan.get("id"))

    def _run(self, module: Any, options: dict[str, Any], fault: Fault = None, *, check_mode: bool = False) -> Outcome:
        """Run the task, and compare its report with the account."""
        emulator = self.emulator
        before = self._account()
        emulator.clear_log()
        if fault is not None:
            emulator.fault(**fault)
        retries: dict[str, Any] = {"retry_timeout": 0.1 if fault and fault["times"] == -1 else 20.0}
        try:
            outcome = Outcome(go(emulator, module, check_mode=check_mode, **copy.deepcopy(options), **retries))
        except MonitorError as error:
            outcome = Outcome(None, str(error), error.details)
        calls = emulator.settle()
        emulator.clear_faults()
        report = json.dumps([outcome.result, outcome.message, outcome.details])
        assert_sound(emulator, report, faults=sum(entry["fault"] is not None for entry in calls))
        assert_never_sent_blindly(calls)
        assert len(calls) < 40, "too many calls"
        if check_mode:
            assert ({call["method"] for call in calls} <= {"GET"}, self._account()) == (True, before)
        else:
            assert_true(outcome, before, self._account())
            keys = {client["id"]: fingerprint(client["api_key"]) for client in emulator.clients()}
            shown = (outcome.result or {}).get("clients", [])
            for client in shown.values() if isinstance(shown, dict) else shown:
                assert client["key_fingerprint"] == keys[client["id"]]
        return Outcome(outcome.result, outcome.message, outcome.details, calls)


def fault_of(chance: random.Random, predicted: Outcome) -> dict[str, Any]:
    """Choose a fault for a request that the task will send."""
    reads = [call["operation"] for call in predicted.calls] or ["list_clients"]
    writes = []
    result = predicted.result or {"changed": False}
    if result["changed"] and "plan" in result:
        writes = ["update_plan"]
    elif result["changed"]:
        before = set(result["diff"]["before"])
        after = set(result["diff"]["after"])
        writes = ["create_client"] if len(after) > len(before) else ["update_client"]
        writes += ["delete_client", "get_client"] if len(before) > len(after) else []
    operation = chance.choice(chance.choice([reads, writes or reads]))
    return {**chance.choice([*PASSING, *LASTING]), "operation": operation, "times": chance.choice([1, 1, 2, 3, -1])}


def assert_only(
    before: Account, after: Account, deleted: Collection[str], renamed: Mapping[str, str], desired: Collection[str]
) -> None:
    """Assert that the task deleted, renamed or created only clients that its options name."""
    assert {label for client, label in before.clients.items() if client not in after.clients} <= set(deleted)
    for client in before.clients.keys() & after.clients.keys():
        old = before.clients[client]
        new = after.clients[client]
        assert old == new or renamed.get(old) == new
    assert {after.clients[client] for client in after.clients.keys() - before.clients.keys()} <= set(desired)


def assert_true(outcome: Outcome, before: Account, after: Account) -> None:
    """Assert that the report of the task is true. After an unknown outcome, fewer assertions apply."""
    reasons = [*outcome.details.get("failures", {}).values()] or [outcome.message]
    known = not any(phrase in reason for reason in reasons for phrase in UNKNOWN)
    reported = outcome.result or outcome.details
    if outcome.result is not None or known:
        assert reported.get("changed", False) is (before != after), outcome
    else:
        assert not reported.get("changed") or before != after
    old = set(before.clients.values())
    new = set(after.clients.values())
    assert set(reported.get("created", [])) <= new - old
    assert set(reported.get("deleted", [])) <= old - new
    for label in reported.get("renamed", []):
        [client_id] = (client_id for client_id, shown in after.clients.items() if shown == label)
        assert before.clients[client_id] != label
    for label, reason in reported.get("failures", {}).items():
        assert any(phrase in reason for phrase in UNKNOWN) or (label in new) is (label in old), reason
    assert outcome.result is not None or (outcome.message.isprintable() and 20 < len(outcome.message) < 2000)


def assert_never_sent_blindly(calls: Sequence[Result]) -> None:
    """Assert that a create request is retried only after a read of the list, or after 429 (no client was created)."""
    outcome_unknown: set[str] = set()
    for entry in calls:
        if entry["operation"] == "list_clients":
            outcome_unknown.clear()
        elif entry["operation"] == "create_client":
            assert entry["label"] not in outcome_unknown, "sent again without a read of the list"
            if entry["status"] != 429:
                outcome_unknown.add(entry["label"])


@pytest.mark.parametrize("seed", range(short_or_long(30, 1500)))
def test_tasks_in_any_sequence(emulator: Emulator, quick_backoff: None, seed: int) -> None:
    """Observed: "lost responses", "statuses", "gateway", "errors"."""
    chance = random.Random(seed)
    tasks = Tasks(emulator, chance)
    for _step in range(8):
        chance.choice(
            [tasks.many_clients, tasks.one_client, tasks.one_client_by_id, tasks.plan, tasks.other_controller]
        )()


def test_a_rollout_whose_creates_are_not_confirmed_does_what_it_can_and_the_next_converges(
    emulator: Emulator, tmp_path: Path
) -> None:
    hosts = Local(tmp_path, emulator, "web-1", "web-2", "web-3")
    emulator.seed(labels=["web-1", "other", "web-2"])
    # The hosts web-1 and web-2 have the same key.
    for host in ("web-1", "web-2"):
        hosts.write(host, hosts.expected("web-1"))
    emulator.fault(kind="status", status=504, done=True, operation="create_client", times=-1)
    run = hosts.run(ROLLOUT, MONITOR_TIMEOUT="30", MONITOR_RETRY_TIMEOUT="0.6")
    met = sum(entry["fault"] is not None for entry in emulator.settle())
    assert_sound(emulator, run.output, faults=met)
    assert met and hosts.read("web-2") == hosts.expected("web-2"), run.output
    emulator.clear_faults()
    run = hosts.succeed()
    assert_sound(emulator, run.output)
    assert labels(emulator) == ["other", "web-1", "web-2", "web-3"]
    assert all(hosts.read(host) == hosts.expected(host) for host in hosts.host_vars)
    tally(converged=1)
