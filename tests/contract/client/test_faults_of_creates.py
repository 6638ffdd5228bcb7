# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates with faults, several at once: how often the list is read, what is reported, and when the task ends.

Each operation with each fault: tests/faults/test_operations_and_faults.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go, labels

_DESIRED = ["web1", "web2", "web3"]

pytestmark = pytest.mark.usefixtures("quick_backoff")


def _register(emulator: Emulator, **options: Any) -> dict[str, Any]:
    """The result of the task, whether it failed or not."""
    try:
        return go(emulator, monitor_clients, labels=_DESIRED, **options)
    except TaskFailure as failure:
        return {**failure.details, "msg": str(failure)}


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drop"},
        {"kind": "lost_response"},
        {"kind": "truncate"},
        {"kind": "status", "status": 429},
        {"kind": "status", "status": 504},
        {"kind": "status", "status": 504, "done": True},
    ],
    ids=str,
)
def test_each_create_is_retried_after_one_fault(emulator: Emulator, fault: dict[str, Any]) -> None:
    for label in _DESIRED:
        emulator.fault(**fault, operation="create_client", match={"label": label})
    result = _register(emulator, retry_timeout=8.0)
    assert sorted(result["created"]) == _DESIRED
    assert labels(emulator) == _DESIRED
    # One more read of the list for all of them together, not one each.
    assert len(emulator.requests("list_clients")) <= 3


def test_a_create_that_never_gets_through(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=503, operation="create_client", match={"label": "web2"}, times=-1)
    result = _register(emulator, retry_timeout=0.5)
    assert sorted(result["created"]) == labels(emulator) == ["web1", "web3"]
    reason = result["failures"]["web2"]
    assert reason.startswith("Could not create client 'web2': the service returned 503")
    assert reason.endswith("Gave up after retry_timeout (0.5 s): try again later.")
    assert reason in result["msg"]


def test_a_create_with_a_response_of_another_shape(emulator: Emulator) -> None:
    for label, body in (("web1", {}), ("web2", []), ("web3", {"id": 7})):
        fault = {"kind": "status", "status": 200, "body": body, "done": True}
        emulator.fault(**fault, operation="create_client", match={"label": label})
    result = _register(emulator, retry_timeout=8.0)
    assert sorted(result["created"]) == _DESIRED
    assert all(client["key_fingerprint"] for client in result["clients"].values())


def test_the_time_to_retry_starts_anew_with_each_client_created(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt creates one more client: together they take longer than retry_timeout, but none without progress."""
    desired = [f"web{number}" for number in range(5)]
    for number, label in enumerate(desired[1:], 1):
        emulator.fault(kind="drop", operation="create_client", match={"label": label}, times=number)
    monkeypatch.setattr(http, "_FIRST_BACKOFF", 1.0)
    monkeypatch.setattr(http, "_LONGEST_BACKOFF", 1.0)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    result = go(emulator, monitor_clients, labels=desired, retry_timeout=2.5)
    assert sorted(result["created"]) == desired
    assert len(emulator.requests("create_client")) == 1 + 2 + 3 + 4 + 5


def test_one_cause_is_reported_once(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=403, operation="create_client", times=-1)
    message = str(_register(emulator, retry_timeout=0.0)["msg"])
    assert message.startswith("3 labels failed. Could not create client 'web1': the service returned 403: ")
    assert message.count("403 Gateway Trouble") == 1
    assert "The same happened to 'web2', 'web3'." in message
    assert message.endswith("Of the others: created 0, renamed 0, deleted 0, unchanged 0. Run again to do the rest.")
    assert len(emulator.requests("create_client")) <= 3
    emulator.clear_faults()
    emulator.fault(kind="status", status=403, operation="create_client", match={"label": "web2"})
    assert str(_register(emulator)["msg"]).startswith("1 label failed. Could not create client 'web2'")


def test_more_than_three_causes_are_counted(emulator: Emulator) -> None:
    refused = [f"web{status}" for status in (400, 402, 413, 422, 451)]
    for label in refused:
        emulator.fault(kind="status", status=int(label[3:]), operation="create_client", match={"label": label})
    # Refusals of three labels in a row would end the task.
    desired = [name for label in refused for name in (label, f"{label}-b")]
    with pytest.raises(TaskFailure) as failed:
        go(emulator, monitor_clients, labels=desired, concurrency=1)
    assert list(failed.value.details["failures"]) == refused
    message = str(failed.value)
    assert [label for label in refused if repr(label) in message] == refused[:3]
    assert "There are 2 more reasons in the return value failures." in message


@pytest.mark.parametrize(("status", "most"), [(401, 2), (429, 2), (403, 3), (400, 3), (503, 18)])
def test_a_fault_of_every_label_ends_the_task_early(emulator: Emulator, status: int, most: int) -> None:
    emulator.fault(kind="status", status=status, operation="create_client", times=-1)
    desired = [f"web{number:02}" for number in range(100)]
    with pytest.raises(TaskFailure) as failed:
        go(emulator, monitor_clients, labels=desired, concurrency=2, retry_timeout=0.0)
    # One more may be under way when the last of them comes in.
    assert len(emulator.requests("create_client")) <= most + 1
    reasons = failed.value.details["failures"]
    assert list(reasons) == desired
    assert sum("(not tried)" in reason for reason in reasons.values()) > 80
    assert "The same happened to 'web01', 'web02'" in str(failed.value)
    assert "and 79 more" in str(failed.value)


def test_a_create_of_unknown_outcome_is_reported_as_such(emulator: Emulator) -> None:
    emulator.fault(kind="lost_response", operation="create_client", match={"label": "web2"})
    emulator.fault(kind="status", status=503, operation="list_clients", skip=1, times=-1)
    result = _register(emulator, retry_timeout=0.3)
    assert list(result["failures"]) == ["web2"]
    assert "Could not find out whether client 'web2' was created" in result["failures"]["web2"]
    assert "Run again to find out: nothing is created twice." in result["failures"]["web2"]
    emulator.clear_faults()
    assert go(emulator, monitor_clients, labels=_DESIRED)["changed"] is False


def test_a_create_that_is_listed_late_counts_as_created(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list does not have it yet, and the next create gets the error that the label is taken."""
    monkeypatch.setattr(http, "_FIRST_BACKOFF", 4.0)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    emulator.fault(operation="create_client", kind="slow", seconds=2.0)
    result = go(emulator, monitor_clients, labels=["web1"], timeout=1.0)
    assert [entry["status"] for entry in emulator.requests() if entry["operation"] == "create_client"] == [200, 400]
    assert (result["changed"], result["created"], result["unchanged"]) == (True, ["web1"], [])
    assert go(emulator, monitor_clients, labels=["web1"])["changed"] is False
