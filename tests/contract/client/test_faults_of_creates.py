# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault of a network or a gateway, met by a create: never two clients for a label, and the module's word holds."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.network_faults import CASES, FAULTS, TIMEOUTS
from ansible_collections.monitor.cloud.tests.support.tasks import go, labels

_DESIRED = ["web1", "web2", "web3"]


pytestmark = pytest.mark.usefixtures("quick_backoff")


def _register(emulator: Emulator, **options: Any) -> dict[str, Any]:
    """The result of the task, whether it failed or not."""
    try:
        return go(emulator, monitor_clients, labels=_DESIRED, **options)
    except TaskFailure as failure:
        return {**failure.details, "msg": str(failure)}


def _assert_never_sent_blindly(emulator: Emulator, label: str) -> None:
    """Before a create is sent again, the list is read; but for 429, with which nothing was done."""
    sure = True
    for entry in emulator.requests():
        if entry["operation"] == "list_clients":
            sure = True
        elif entry["operation"] == "create_client" and entry["label"] == label:
            assert sure, "sent again without a read of the list"
            sure = entry["status"] == 429


def _assert_put_off(emulator: Emulator, result: dict[str, Any]) -> None:
    """A wait that is too long for one label is so for every label: those that had not begun by then are left alone."""
    others = {label: reason for label, reason in result["failures"].items() if label != "web2"}
    assert "Could not create client 'web2': the service returned" in result["failures"]["web2"]
    assert sorted([*result["created"], *others]) == ["web1", "web3"]
    assert labels(emulator) == sorted(result["created"])
    assert all("(not tried)" in reason for reason in others.values())


def _assert_converges(emulator: Emulator) -> None:
    emulator.clear_faults()
    emulator.settle()
    missing = sorted(set(_DESIRED) - set(labels(emulator)))
    result = go(emulator, monitor_clients, labels=_DESIRED)
    assert sorted(result["created"]) == missing
    assert labels(emulator) == _DESIRED
    assert go(emulator, monitor_clients, labels=_DESIRED)["changed"] is False


@pytest.mark.parametrize(("name", "times"), CASES)
def test_a_create_with_each_fault_is_retried(emulator: Emulator, name: str, times: int) -> None:
    """Field notes "lost responses", "gateway"."""
    emulator.fault(**FAULTS[name], operation="create_client", match={"label": "web2"}, times=times)
    result = _register(emulator, timeout=TIMEOUTS[name], retry_timeout=8.0)
    _assert_never_sent_blindly(emulator, "web2")
    assert result["failures"] == {}
    assert sorted(result["created"] + result["unchanged"]) == _DESIRED
    assert {"web1", "web3"} <= set(result["created"])
    assert labels(emulator) == _DESIRED
    real = {client["label"]: client["id"] for client in emulator.clients()}
    assert {label: client["id"] for label, client in result["clients"].items()} == real
    assert result["changed"] is bool(result["created"])
    _assert_converges(emulator)


@pytest.mark.parametrize("name", FAULTS)
def test_a_create_that_never_gets_through(emulator: Emulator, name: str) -> None:
    emulator.fault(**FAULTS[name], operation="create_client", match={"label": "web2"}, times=-1)
    result = _register(emulator, timeout=TIMEOUTS[name], retry_timeout=0.5)
    _assert_never_sent_blindly(emulator, "web2")
    there = labels(emulator)
    if name == "429 in a second":
        _assert_put_off(emulator, result)
    else:
        assert {"web1", "web3"} <= set(there)
    assert result["changed"] is bool(result["created"])
    assert set(result["created"] + result["unchanged"]) <= set(there)
    if "web2" in result["failures"]:
        assert "Could not create client 'web2'" in result["failures"]["web2"]
        assert result["failures"]["web2"] in result["msg"]
        assert "web2" not in there or name == "slow"
        if name != "429 in a second":
            assert "Gave up after retry_timeout (0.5 s): try again later." in result["msg"]
    else:
        assert "web2" in there
    _assert_converges(emulator)


@pytest.mark.parametrize("name", ["drop", "lost response", "truncated", "504", "429", "504 though done"])
def test_each_create_is_retried_after_one_fault(emulator: Emulator, name: str) -> None:
    for label in _DESIRED:
        emulator.fault(**FAULTS[name], operation="create_client", match={"label": label})
    result = _register(emulator, timeout=TIMEOUTS[name], retry_timeout=8.0)
    assert sorted(result["created"]) == _DESIRED
    assert labels(emulator) == _DESIRED
    # One more read of the list for all of them together, not one each.
    assert len(emulator.requests("list_clients")) <= 3


@pytest.mark.parametrize("name", ["drop", "lost response", "truncated", "html", "504 though done", "500", "429"])
def test_a_single_create_is_retried_after_one_fault(emulator: Emulator, name: str) -> None:
    emulator.fault(**FAULTS[name], operation="create_client")
    result = go(emulator, monitor_client, label="web1", retry_timeout=8.0)
    assert result["changed"] is True
    assert result["client"]["id"] == emulator.clients()[0]["id"]
    _assert_never_sent_blindly(emulator, "web1")
    assert go(emulator, monitor_client, label="web1")["changed"] is False


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


@pytest.mark.parametrize(("status", "most"), [(401, 2), (403, 3), (400, 3), (503, 18)])
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
    _assert_converges(emulator)


def test_a_create_that_is_listed_late_counts_as_created(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list does not have it yet, and the next create gets the error that the label is taken."""
    monkeypatch.setattr(http, "_FIRST_BACKOFF", 4.0)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    emulator.fault(operation="create_client", kind="slow", seconds=2.0)
    result = go(emulator, monitor_clients, labels=["web1"], timeout=1.0)
    assert [entry["status"] for entry in emulator.requests() if entry["operation"] == "create_client"] == [200, 400]
    assert (result["changed"], result["created"], result["unchanged"]) == (True, ["web1"], [])
    assert go(emulator, monitor_clients, labels=["web1"])["changed"] is False
