# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations with each fault, once and for ever; and rollouts and retirements with some of them.

What is reported is true, and the next run converges. Connections that fail: tests/contract/client/test_faults.py.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.matrix import (
    CASES,
    FAULTS,
    PASSING,
    PLAN,
    START,
    WRITES,
    Account,
    Case,
    assert_settled,
    attempt,
    carried_out,
    scheduled,
)
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.tasks import assert_predicted, labels

_TIMES = {1: "once", -1: "for ever"}


def cells() -> list[Any]:
    """Every operation with every fault; in the short form one of its tasks with each, reads once or for ever."""
    found = []
    for operation, cases in CASES.items():
        for number, fault in enumerate(FAULTS):
            # An unknown field is in each response, so that the result of each task shows it.
            unknown = fault == "unknown field"
            chosen = cases if SOAK or unknown else [cases[number % len(cases)]]
            often = list(_TIMES) if SOAK or operation in WRITES else [list(_TIMES)[number // 2 % 2]]
            for times, case in itertools.product([-1] if unknown else often, chosen):
                name = f"{operation}, {case.name}, {fault}, {_TIMES[times]}"
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
    given = scheduled(operation, fault, number, times)
    given["match"] = {"label": case.label} if case.label else {}
    options: dict[str, Any] = {"timeout": 0.5 if fault == "slow" else 20.0}
    # Enough for a fault that ends, and little for one that does not.
    options["retry_timeout"] = 0.1 if times == -1 else 20.0
    outcome = carried_out(emulator, case, fault=given, **options)
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

# The fault, and the hosts that are as expected nevertheless: hosts with a client are configured before others are
# created, and a client is deleted after its host's file.
OF_PLAYBOOKS: list[tuple[str, str, int, set[str]]] = [
    ("list_clients", "drop", 1, {"web-1", "web-2", "web-3"}),
    ("create_client", "504 though done", -1, {"web-1", "web-2"}),
    ("delete_client", "html with 502 though done", 1, {"web-1"}),
]


@pytest.mark.parametrize(("operation", "fault", "times", "done"), OF_PLAYBOOKS)
def test_a_playbook_with_a_fault_does_what_it_can_and_the_next_run_converges(
    emulator: Emulator, tmp_path: Path, operation: str, fault: str, times: int, done: set[str]
) -> None:
    """One host without drift, one that is a clone of it, and one that is new."""
    hosts = Local(tmp_path, emulator, "web-1", "web-2", "web-3")
    emulator.seed(labels=["web-1", "other", "web-2"])
    for host in ("web-1", "web-2"):
        hosts.write(host, hosts.expected("web-1"))
    retires = operation == "delete_client"
    arguments = ("monitor.cloud.retire", "--limit", "web-1") if retires else (ROLLOUT,)
    settings = {"MONITOR_TIMEOUT": "30", "MONITOR_RETRY_TIMEOUT": "60" if times == 1 else "0.6"}
    emulator.fault(**scheduled(operation, fault, 0, times))
    run = hosts.run(*arguments, **settings)
    met = sum(entry["fault"] is not None for entry in emulator.settle())
    assert_sound(emulator, run.output, faults=met)
    assert met and (times == -1 or run.code == 0), run.output
    expected = {} if retires else {host: hosts.expected(host) for host in hosts.host_vars}
    files = {host: hosts.read(host) for host in (["web-1"] if retires else hosts.host_vars)}
    assert {host for host, text in files.items() if text == expected.get(host) and (text is None) is retires} >= done
    emulator.clear_faults()
    run = hosts.succeed(arguments[0], *arguments)
    assert_sound(emulator, run.output)
    assert labels(emulator) == (["other", "web-2"] if retires else ["other", "web-1", "web-2", "web-3"])
    assert {host: hosts.read(host) for host in files} == {
        host: None if retires else hosts.expected(host) for host in files
    }
    tally(converged=1)
