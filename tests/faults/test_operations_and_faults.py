# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each operation of the contract with each fault, once and for ever: its report is true, and the next run converges.

Rollouts with such faults: test_rollouts_and_faults.py. Connections that fail: tests/contract/client/test_faults.py.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.contract import operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import matrix
from ansible_collections.monitor.cloud.tests.faults.matrix import Account, Case
from ansible_collections.monitor.cloud.tests.support.checks import SOAK

_TIMES = {1: "once", -1: "for ever"}

pytestmark = pytest.mark.usefixtures("quick_backoff")


def cells() -> list[Any]:
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


@pytest.mark.parametrize(("operation", "case", "fault", "number", "times"), cells())
def test_a_task_with_a_fault_reports_the_truth_and_the_next_converges(
    emulator: Emulator, operation: str, case: Case, fault: str, number: int, times: int
) -> None:
    """Observed: "lost responses", "statuses", "gateway", "errors", "unknown fields"."""
    emulator.seed(labels=list(matrix.START))
    emulator.set_plan(matrix.PLAN)
    if fault == "unknown field":
        # A single record is taken for the first of several, which are then read by another call.
        emulator.configure(region_availability="array")
    scheduled = matrix.scheduled(operation, fault, number, times)
    scheduled["match"] = {"label": case.label} if case.label else {}
    options: dict[str, Any] = {"timeout": matrix.SLOW_TIMEOUT if fault == "slow" else 20.0}
    # Enough for a fault that ends, and little for one that does not.
    options["retry_timeout"] = 0.1 if times == -1 else 20.0
    outcome = matrix.carried_out(emulator, case, fault=scheduled, masked=fault == "missing field", **options)
    assert any(entry["fault"] for entry in outcome.calls), "the fault was not met"
    assert len(outcome.calls) < 40, "the service is hammered"
    assert_never_sent_blindly(outcome.calls)

    # The free plan is an object without any field; one that has a field is something else.
    free = case.plan is None and operation == "update_plan"
    if (fault in matrix.PASSING and times == 1) or (fault == "unknown field" and not free):
        assert outcome.result is not None, outcome.message
    # A create may be found in the list, a client that is gone has no label that the fault could match, and a plan that
    # cannot be read blocks no create.
    elif fault in matrix.PASSING and operation != "create_client" and (operation, case.label or case.name) not in (
        ("delete_client", "old1"), ("get_plan", "register")
    ):  # fmt: skip
        assert outcome.result is None
    if outcome.result is None:
        assert "Could not " in outcome.message
    else:
        assert_done(emulator, case)
        assert outcome.result["api_usage"]["requests"] == len(outcome.calls)
    shown = operation == "create_client" or case.name in ("info", "one", "up")
    if fault == "unknown field" and shown and operation != "delete_client":
        assert '"of_the_future"' in outcome.text

    repaired = matrix.carried_out(emulator, case)
    assert repaired.result is not None, repaired.message
    assert_done(emulator, case)
    matrix.assert_settled(emulator, case)
