# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each operation meets each fault, once, three times and for ever: what the task says is true, and the next run mends.

The cells are made in matrix.py, from the contract. Rollouts that meet the same are in test_rollouts_and_faults.py.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils import _http
from ansible_collections.monitor.cloud.plugins.module_utils._errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._keys import fingerprint
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info, monitor_clients, monitor_plan_info
from ansible_collections.monitor.cloud.tests.contract.calls import call
from ansible_collections.monitor.cloud.tests.contract.client.tasks import Result, go, labels, writes
from ansible_collections.monitor.cloud.tests.emulator.contract import operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.matrix import CASES, PLAN, START, Case, Cell
from ansible_collections.monitor.cloud.tests.faults.outages import Outage
from ansible_collections.monitor.cloud.tests.faults.tally import Tally

# What is enough where the fault passes, and what is left of patience where it does not.
_PATIENT, _BRIEF = 20.0, 0.1
# How long nobody listens: for about so many attempts.
_OUTAGES = {1: 0.02, 3: 0.15, -1: None}
MAY_BE_DONE = ("It may have been done all the same: run again to find out.", "Could not find out whether")


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats come soon, so that many cells take little time."""
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)


@dataclasses.dataclass(frozen=True)
class Told:
    """What a task said: a result, or a message and what it tells of the work that was done."""

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


def attempt(service: Any, case: Case, **options: Any) -> Told:
    """The task. Any exception but those of the collection would be a traceback, and is raised."""
    own = copy.deepcopy(dict(case.options))
    try:
        return Told(go(service, case.module, **own, **options))
    except TaskFailure as failure:
        return Told(None, str(failure), failure.details)
    except MonitorError as error:
        return Told(None, str(error))


def begin(emulator: Emulator) -> Account:
    emulator.reset()
    emulator.seed(labels=list(START))
    emulator.set_plan(PLAN)
    return Account.of(emulator)


_USUAL: dict[int, tuple[Result, list[str]]] = {}


def usual(emulator: Emulator, case: Case) -> tuple[Result, list[str]]:
    """The result without a fault, and the calls that it takes."""
    if id(case) not in _USUAL:
        begin(emulator)
        emulator.clear_log()
        told = attempt(emulator, case, **_one_by_one(case))
        assert told.result is not None, told.message
        _USUAL[id(case)] = told.result, [entry["operation"] for entry in emulator.requests()]
    return _USUAL[id(case)]


def _one_by_one(case: Case) -> dict[str, Any]:
    return {"concurrency": 1} if "concurrency" in case.module.OPTIONS else {}


def meet(emulator: Emulator, cell: Cell, sequence: list[str]) -> tuple[Told, int]:
    """Run the task while the fault is there. Returns how often it was met as well."""
    timeout = matrix.SLOW_TIMEOUT if cell.fault == "slow" else 20.0
    options: dict[str, Any] = {"timeout": timeout, "retry_timeout": _BRIEF if cell.times == -1 else _PATIENT}
    emulator.clear_log()
    if cell.fault == "refused":
        after = sequence.index(cell.operation)
        with Outage(emulator, after=after, seconds=_OUTAGES[cell.times]) as outage:
            told = attempt(outage, cell.case, allow_http=True, **options, **_one_by_one(cell.case))
            assert outage.came
        emulator.settle()
        return told, 1
    emulator.fault(**cell.scheduled())
    told = attempt(emulator, cell.case, **options)
    calls = emulator.settle()
    emulator.clear_faults()
    met = sum(entry["fault"] is not None for entry in calls)
    assert met >= 1, "the fault was not met"
    return told, met


def assert_true(told: Told, before: Account, after: Account) -> None:
    """What was said to be done is done, and what failed is not, or is said not to be known."""
    doubtful = [*told.details.get("failures", {}).values()] or [told.message]
    known = not any(words in reason for reason in doubtful for words in MAY_BE_DONE)
    said = told.result or told.details
    if told.result is not None:
        assert said["changed"] is (before != after)
    elif known:
        assert said.get("changed", False) is (before != after), told.text
    else:
        assert not said.get("changed") or before != after
    old, new = set(before.clients.values()), set(after.clients.values())
    assert set(said.get("created", [])) <= new - old
    assert set(said.get("deleted", [])) <= old - new
    for label in said.get("renamed", []):
        (client_id,) = (client_id for client_id, there in after.clients.items() if there == label)
        assert before.clients[client_id] != label
    for label, reason in said.get("failures", {}).items():
        doing = any(words in reason for words in MAY_BE_DONE)
        assert doing or (label in new) is (label in old), reason
    assert told.result is not None or told.message.isprintable() and 20 < len(told.message) < 2000


def assert_right_keys(emulator: Emulator, told: Told, *, masked: bool = False) -> None:
    """Clients in a result are those of the account, with their keys, or with none."""
    real = {client["id"]: client for client in emulator.clients()}
    result = told.result or {}
    shown = [*dict(result.get("clients", {})).values()] if isinstance(result.get("clients"), dict) else []
    shown += result["clients"] if isinstance(result.get("clients"), list) else []
    for client in shown:
        key = fingerprint(real[client["id"]]["api_key"])
        assert client["key_fingerprint"] in ([key, None] if masked else [key])
        assert client["keys_masked"] is (client["key_fingerprint"] is None) or masked


def assert_expected(cell: Cell, told: Told, right: Result) -> None:
    """Whether the task had to succeed, or to fail; reads that succeed read what there is."""
    passing = cell.fault in matrix.PASSING
    # The free plan is an object without any field; one that has a field is something else.
    free = cell.case.plan is None and cell.operation == "update_plan"
    if (passing and cell.times != -1) or (cell.fault == "unknown field" and not free):
        assert told.result is not None, told.message
    # A create may be found in the list, and a client that is gone has no label that the fault could match.
    elif passing and (cell.operation, cell.case.label) not in (
        ("create_client", cell.case.label),
        ("delete_client", "old1"),
    ):
        assert told.result is None
    if told.result is not None and cell.operation not in matrix.WRITES:
        sizes = {name: len(value) for name, value in right.items() if isinstance(value, list)}
        for name, size in sizes.items():
            # A region of which nothing is told is none that has what is asked for.
            assert len(told.result[name]) == size or (cell.fault == "missing field" and cell.case.name != "info")
        if passing and told.result["changed"] is False:
            assert without_new(told.result) == without_new(right)
    if told.result is None:
        assert "Could not " in told.message


@pytest.mark.parametrize("cell", matrix.cells(), ids=lambda cell: cell.name)
def test_a_task_that_meets_a_fault(emulator: Emulator, counts: Tally, cell: Cell) -> None:
    case = cell.case
    right, sequence = usual(emulator, case)
    before = begin(emulator)
    told, met = meet(emulator, cell, sequence)
    calls = len(emulator.requests())
    after = Account.of(emulator)
    counts.look(emulator, told.text, faults=met)
    assert_true(told, before, after)
    assert_right_keys(emulator, told, masked=cell.fault == "missing field")
    assert_expected(cell, told, right)
    if told.result is not None:
        assert (sorted(after.clients.values()), after.plan) == (sorted(case.labels), case.plan)
    if cell.times == -1 and cell.fault != "refused":
        assert calls < 40, "the service is hammered"
    converge(emulator, counts, case)


def converge(emulator: Emulator, counts: Tally, case: Case) -> None:
    """One more run does the rest, and the run after that nothing."""
    emulator.clear_faults()
    before = Account.of(emulator)
    told = attempt(emulator, case)
    assert told.result is not None, told.message
    after = Account.of(emulator)
    assert_true(told, before, after)
    assert_right_keys(emulator, told)
    assert (sorted(after.clients.values()), after.plan) == (sorted(case.labels), case.plan)
    emulator.clear_log()
    again = attempt(emulator, case)
    assert again.result is not None and again.result["changed"] is False
    assert writes(emulator) == []
    counts.look(emulator, told.text)
    counts.look(emulator, again.text)
    counts.converged += 1


@pytest.mark.parametrize("operation", operation_ids())
def test_every_operation_has_a_task_that_makes_the_call(emulator: Emulator, counts: Tally, operation: str) -> None:
    """What is added to the contract has to get one, and what is no longer called is noticed."""
    assert CASES.get(operation), f"no task for {operation}"
    for case in CASES[operation]:
        begin(emulator)
        emulator.clear_log()
        told = attempt(emulator, case)
        counts.look(emulator, told.text)
        assert operation in [entry["operation"] for entry in emulator.requests()]
        after = Account.of(emulator)
        assert (sorted(after.clients.values()), after.plan) == (sorted(case.labels), case.plan)
    assert set(CASES) == set(operation_ids())


def test_every_fault_and_every_field_is_met() -> None:
    cells = matrix.cells()
    for operation in operation_ids():
        own = [cell for cell in cells if cell.operation == operation]
        assert {cell.fault for cell in own} >= set(matrix.FAULTS) - {"missing field"}
        removed = {field for cell in own if cell.fault == "missing field" for field in cell.scheduled()["remove"]}
        assert removed == set(matrix.required_fields(operation))
    for fault in matrix.FAULTS:
        assert {cell.times for cell in cells if cell.fault == fault} == set(matrix.TIMES)
    assert len({cell.name for cell in cells}) == len(cells)


# Where the fields of an answer are shown.
_SHOWN = [
    (operation, case)
    for operation in operation_ids()
    for case in CASES[operation]
    if operation != "delete_client" and (case.name in ("info", "one", "up", "present") or operation == "create_client")
]


@pytest.mark.parametrize(("operation", "case"), _SHOWN, ids=lambda value: getattr(value, "name", value))
def test_a_field_that_nobody_knows_is_passed_on(emulator: Emulator, counts: Tally, operation: str, case: Case) -> None:
    right, _sequence = usual(emulator, case)
    begin(emulator)
    # A single record is taken for the first of several, which are then looked up elsewhere.
    emulator.configure(region_availability="array")
    emulator.fault(**matrix.scheduled(operation, "unknown field", 0), operation=operation, times=-1)
    told = attempt(emulator, case)
    counts.look(emulator, told.text, faults=1)
    assert told.result is not None, told.message
    assert '"of_the_future"' in told.text
    assert without_new(told.result) == without_new(right)


def without_new(value: Any) -> Any:
    """The same without what is different each time."""
    ignored = ("of_the_future", "api_usage", "updated", "created", "key_fingerprint", "key_owners")
    if isinstance(value, dict):
        # The lists of labels are sorted by nobody: creates come in any order.
        return {name: without_new(inner) for name, inner in value.items() if name not in ignored and name != "diff"}
    return [without_new(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("field", ["page", "pages", "results"])
@pytest.mark.parametrize("times", matrix.TIMES)
def test_half_a_list_is_not_taken_for_all(emulator: Emulator, counts: Tally, field: str, times: int) -> None:
    """Where the answer does not tell how many pages there are."""
    emulator.seed(60)
    emulator.set_plan("monitor-100")
    for module, options in (
        (monitor_client_info, {}),
        (monitor_clients, {"labels": ["seed-00060", "web1"]}),
        (monitor_plan_info, {}),
    ):
        emulator.fault(kind="edit", operation="list_clients", remove=[field], times=times)
        told = attempt(emulator, Case("", module, options), page_size=25)
        counts.look(emulator, told.text, faults=1)
        emulator.clear_faults()
        if told.result is None:
            assert f"the answer is not of the documented shape: it lacks {field}" in told.message
        elif module is monitor_client_info:
            assert len(told.result["clients"]) == 60
        elif module is monitor_plan_info:
            assert told.result["clients_used"] == len(emulator.clients())
        else:
            assert (told.result["created"], told.result["unchanged"]) == (["web1"], ["seed-00060"])
    assert labels(emulator)[:60] == [f"seed-{number:05}" for number in range(1, 61)]
