# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each operation of the contract with each fault, once and for ever: its report is true, and the next run converges.

Rollouts with such faults: test_rollouts_and_faults.py.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.contract import operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.support.checks import SOAK
from ansible_collections.monitor.cloud.tests.support.servers import Outage
from ansible_collections.monitor.cloud.tests.support.tasks import Result

# Enough for a fault that ends, and little for one that does not.
_PATIENT, _BRIEF = 20.0, 0.1
_TIMES = {1: "once", -1: "for ever"}

pytestmark = pytest.mark.usefixtures("quick_backoff")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One task with one fault. ``number`` varies the form of the fault between neighbours."""

    operation: str
    case: matrix.Case
    fault: str
    times: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.operation}, {self.case.name}, {self.fault} {self.number}, {_TIMES[self.times]}"

    @property
    def is_shown(self) -> bool:
        """Whether the task's result shows the fields of the response."""
        shown = self.operation == "create_client" or self.case.name in ("info", "one", "up", "present")
        return shown and self.operation != "delete_client"


def cells() -> list[Cell]:
    """In the long form every task with every fault, once and for ever.

    In the short form another of the tasks with each fault: both times if it is a write, one of them if not. Operations
    that read meet every other fault of a network or a gateway.
    """
    found = []
    for place, operation in enumerate(operation_ids()):
        fields = len(matrix.required_fields(operation))
        for number, fault in enumerate([*matrix.FAULTS[:-1], *["missing field"] * fields]):
            # An unknown field is in each response, so that the result of each task shows it.
            often = [-1] if fault == "unknown field" else list(_TIMES)
            every = list(itertools.product(often, matrix.CASES[operation]))
            of_others, is_write = fault in {**matrix.PASSING, **matrix.LASTING}, operation in matrix.WRITES
            if of_others and not is_write and (number + place) % 2 and not SOAK:
                continue
            step = len(matrix.CASES[operation]) if of_others and is_write else len(every)
            step = 1 if SOAK or fault == "unknown field" else step
            found += [Cell(operation, case, fault, times, number) for times, case in every[number % step :: step]]
    return found


def begin(emulator: Emulator) -> matrix.Account:
    emulator.reset()
    emulator.seed(labels=list(matrix.START))
    emulator.set_plan(matrix.PLAN)
    return matrix.Account.of(emulator)


_USUAL: dict[int, tuple[Result, list[str]]] = {}


def usual(emulator: Emulator, case: matrix.Case) -> tuple[Result, list[str]]:
    """The result without a fault, and the calls that it takes."""
    if id(case) not in _USUAL:
        begin(emulator)
        emulator.clear_log()
        outcome = matrix.attempt(emulator, case, **_one_by_one(case))
        assert outcome.result is not None, outcome.message
        _USUAL[id(case)] = outcome.result, [entry["operation"] for entry in emulator.requests()]
    return _USUAL[id(case)]


def _one_by_one(case: matrix.Case) -> dict[str, Any]:
    return {"concurrency": 1} if "concurrency" in case.module.OPTIONS else {}


def meet(emulator: Emulator, cell: Cell, sequence: list[str]) -> matrix.Outcome:
    """Run the task while the fault is there."""
    timeout = matrix.SLOW_TIMEOUT if cell.fault == "slow" else 20.0
    options: dict[str, Any] = {"timeout": timeout, "retry_timeout": _BRIEF if cell.times == -1 else _PATIENT}
    if cell.fault == "refused":
        after = sequence.index(cell.operation)
        with Outage(emulator, after=after, seconds=0.02 if cell.times == 1 else None) as outage:
            own = {"outage": outage, "allow_http": True, **_one_by_one(cell.case)}
            outcome = matrix.carried_out(emulator, cell.case, **options, **own)
            assert outage.came
        return outcome
    if cell.fault == "unknown field":
        # The results are compared: creates come in any order.
        options |= _one_by_one(cell.case)
    fault = matrix.scheduled(cell.operation, cell.fault, cell.number, cell.times)
    fault["match"] = {"label": cell.case.label} if cell.case.label else {}
    options |= {"fault": fault, "masked": cell.fault == "missing field"}
    outcome = matrix.carried_out(emulator, cell.case, **options)
    assert any(entry["fault"] for entry in outcome.calls), "the fault was not met"
    return outcome


def assert_expected(cell: Cell, outcome: matrix.Outcome, right: Result) -> None:
    """Whether the task had to succeed, or to fail; reads that succeed read what there is."""
    passing = cell.fault in matrix.PASSING
    # The free plan is an object without any field; one that has a field is something else.
    free = cell.case.plan is None and cell.operation == "update_plan"
    if (passing and cell.times != -1) or (cell.fault == "unknown field" and not free):
        assert outcome.result is not None, outcome.message
    # A create may be found in the list, a client that is gone has no label that the fault could match, and a plan that
    # cannot be read blocks no create.
    elif passing and cell.operation != "create_client" and (cell.operation, cell.case.label or cell.case.name) not in (
        ("delete_client", "old1"), ("get_plan", "register")
    ):  # fmt: skip
        assert outcome.result is None
    if outcome.result is not None and cell.operation not in matrix.WRITES:
        sizes = {name: len(value) for name, value in right.items() if isinstance(value, list) and name != "warnings"}
        for name, size in sizes.items():
            # A region without availability does not match the filter.
            assert len(outcome.result[name]) == size or (cell.fault == "missing field" and cell.case.name != "info")
        if passing and outcome.result["changed"] is False:
            assert without_new(outcome.result) == without_new(right)
    if outcome.result is None:
        assert "Could not " in outcome.message


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


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_a_task_with_a_fault_reports_the_truth_and_the_next_converges(emulator: Emulator, cell: Cell) -> None:
    """Observed: "lost responses", "statuses", "gateway", "errors", "unknown fields"."""
    case = cell.case
    right, sequence = usual(emulator, case)
    begin(emulator)
    if cell.fault == "unknown field":
        # A single record is taken for the first of several, which are then read by another call.
        emulator.configure(region_availability="array")
    outcome = meet(emulator, cell, sequence)
    calls = outcome.calls
    assert_never_sent_blindly(calls)
    assert_expected(cell, outcome, right)
    if outcome.result is not None:
        assert_done(emulator, case)
    if cell.fault != "refused":
        assert outcome.result is None or outcome.result["api_usage"]["requests"] == len(calls)
        assert len(calls) < 40, "the service is hammered"
    if cell.fault == "unknown field" and cell.is_shown:
        assert outcome.result is not None and '"of_the_future"' in outcome.text
        assert without_new(outcome.result) == without_new(right)
    # One more run does the rest.
    repaired = matrix.carried_out(emulator, case)
    assert repaired.result is not None, repaired.message
    assert_done(emulator, case)
    matrix.assert_settled(emulator, case)


def assert_done(emulator: Emulator, case: matrix.Case) -> None:
    account = matrix.Account.of(emulator)
    assert (sorted(account.clients.values()), account.plan) == (sorted(case.labels), case.plan)


def without_new(value: Any) -> Any:
    """The same without what is different each time."""
    of_service = ("account_url", "account_fingerprint", "api_usage", "of_the_future")
    ignored = (*of_service, "updated", "created", "key_fingerprint", "key_owners")
    if isinstance(value, dict):
        # The lists of labels are not sorted: creates come in any order.
        return {name: without_new(inner) for name, inner in value.items() if name not in (*ignored, "diff", "warnings")}
    return [without_new(inner) for inner in value] if isinstance(value, list) else value
