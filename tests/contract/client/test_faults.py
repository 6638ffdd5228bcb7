# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import socket
from collections import Counter
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import transport
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener, Open
from ansible_collections.monitor.cloud.tests.support.tasks import failed, go, labels

_DESIRED = ["web1", "web2", "web3"]

pytestmark = pytest.mark.usefixtures("quick_backoff")


def test_a_refusal_of_one_label_does_not_stop_the_others(emulator: Emulator) -> None:
    """Observed: "label", "errors"."""
    emulator.configure(strict_labels=True)
    faults: dict[str, Any] = {
        "web3": {"kind": "html", "status": 400},
        "web4": {"kind": "status", "status": 422, "body": {"errors": [{"reason": "Not today"}]}},
        "web5": {"kind": "status", "status": 409},
    }
    for label, fault in faults.items():
        emulator.fault(**fault, operation="create_client", match={"label": label}, times=-1)
    # Three refusals in a row can end the task. With one worker, the order of the requests is known.
    bad = ["web 1", "web 2", "web 3"]
    options: dict[str, Any] = {"labels": ["web1", *faults, *bad, "web6"], "concurrency": 1, "retry_timeout": 0.3}
    result = go(emulator, monitor_clients, **options, include_keys=True, allow_failures=True)
    assert (result["changed"], result["created"], list(result["clients"])) == (True, *[["web1", "web6"]] * 2)
    reasons = ("400: not JSON", "422: Not today", "409", *["400: label: label may hold only"] * 3)
    for (label, reason), expected in zip(result["failures"].items(), reasons, strict=True):
        assert f"Could not create client {label!r}: the service returned {expected}" in reason
    sent = Counter(entry["label"] for entry in emulator.requests("create_client"))
    assert sent.pop("web3") > 1 and set(sent.values()) == {1}
    with pytest.raises(TaskFailure) as refused:
        go(emulator, monitor_clients, **options)
    message = str(refused.value)
    assert message.startswith("6 labels failed. Could not create client 'web3': ")
    assert message.endswith(
        " More reasons are in 'failures' of the result: 1. Other labels: created 0, renamed 0, deleted 0, unchanged 2."
    )
    assert found_in(json.dumps(refused.value.details), plain_secrets(emulator)) == []


@pytest.mark.parametrize(("status", "most"), [(401, 2), (403, 3), (503, 18)])
def test_a_fault_of_every_label_ends_the_task_early(emulator: Emulator, status: int, most: int) -> None:
    emulator.fault(kind="status", status=status, operation="create_client", times=-1)
    desired = [f"web{number:02}" for number in range(100)]
    with pytest.raises(TaskFailure) as failed:
        go(emulator, monitor_clients, labels=desired, concurrency=2, retry_timeout=0.0)
    # With two workers, another create request can be in progress.
    assert len(emulator.requests("create_client")) <= most + 1
    assert list(failed.value.details["failures"]) == desired
    assert "Failed for the same reason: 'web01', 'web02'" in str(failed.value)
    assert "and 79 more" in str(failed.value)
    assert str(failed.value).count(f"{status} Gateway Trouble") == 1


def test_a_create_of_unknown_outcome_is_reported_as_such(emulator: Emulator) -> None:
    emulator.fault(kind="lost_response", operation="create_client", match={"label": "web2"})
    emulator.fault(kind="status", status=503, operation="list_clients", skip=1, times=-1)
    result = go(emulator, monitor_clients, labels=_DESIRED, retry_timeout=0.3, allow_failures=True)
    assert list(result["failures"]) == ["web2"]
    assert "Could not find out whether client 'web2' was created" in result["failures"]["web2"]
    emulator.clear_faults()
    assert go(emulator, monitor_clients, labels=_DESIRED)["changed"] is False


def test_a_create_that_is_listed_late_counts_as_created(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service creates the client after the time-out of the first request, so the second request gets 400."""
    monkeypatch.setattr(transport, "_FIRST_BACKOFF", 2.0)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    emulator.fault(operation="create_client", kind="slow", seconds=1.0)
    result = go(emulator, monitor_clients, labels=["web1"], timeout=0.5)
    assert [entry["status"] for entry in emulator.requests() if entry["operation"] == "create_client"] == [200, 400]
    assert (result["changed"], result["created"], result["unchanged"]) == (True, ["web1"], [])
    assert go(emulator, monitor_clients, labels=["web1"])["changed"] is False


_MOVED = {"Location": "https://sso.example.com/login"}


@pytest.mark.parametrize("fault", [
    {"kind": "status", "status": 303, "headers": _MOVED},
    {"kind": "html", "status": 302, "headers": _MOVED},
    {"kind": "html", "status": 307, "headers": _MOVED, "body": ""},
    {"kind": "html", "status": 304, "body": ""},
    {"kind": "html", "status": 200, "body": " " * (33 * 2**20)},
], ids=["303", "302", "307", "304", "too long"])  # fmt: skip
@pytest.mark.parametrize("done", [True, False])
def test_a_create_with_a_redirect_or_a_response_that_is_too_long(
    emulator: Emulator, fault: dict[str, Any], done: bool
) -> None:
    """Only the list shows whether the service created the client. The module does not retry the request."""
    emulator.fault(**fault, operation="create_client", match={"label": "web1"}, done=done, times=-1)
    options: dict[str, Any] = {"labels": ["web1", "web2"], "retry_timeout": 60.0, "allow_failures": True}
    result = go(emulator, monitor_clients, **options)
    assert result["created"] == (["web1", "web2"] if done else ["web2"])
    assert Counter(entry["label"] for entry in emulator.requests("create_client")) == {"web1": 1, "web2": 1}
    if not done:
        reason = result["failures"]["web1"]
        assert reason.startswith("Could not create client 'web1': the ") and reason.count("Check base_url") == 1
        assert "The list of clients does not contain 'web1'." in reason
        assert reason.endswith("The service may have made the change: run again to find out.")
        assert result["api_usage"]["waited"] == 0
    emulator.clear_faults()
    assert go(emulator, monitor_clients, labels=["web1", "web2"])["changed"] is (not done)
    assert labels(emulator) == ["web1", "web2"]


def test_rate_limit_in_seconds_is_obeyed_once_for_all_workers(emulator: Emulator) -> None:
    """Observed: "rate limit"."""
    headers = {"Retry-After": "1"}
    emulator.fault(kind="status", status=429, headers=headers, operation="create_client", skip=3)
    desired = [f"web{number:02}" for number in range(40)]
    result = go(emulator, monitor_clients, labels=desired, retry_timeout=10.0)
    assert result["created"] == desired
    assert 1 <= result["api_usage"]["waited"] < 4
    assert len(emulator.requests("create_client")) == 41


@pytest.mark.parametrize("settings", [{"duplicate_status": 409}, {"duplicate_reason": "Taken"}, {}], ids=str)
def test_another_controller_creates_while_the_list_is_late(emulator: Emulator, settings: dict[str, Any]) -> None:
    """Observed: "duplicate label". The first list lacks both clients, so the module tries to create them."""
    emulator.configure(**settings, list_lag=1)
    emulator.seed(labels=["web1", "web2"])
    result = go(emulator, monitor_clients, labels=["web1", "web2", "web3"])
    assert (result["created"], result["unchanged"]) == (["web3"], ["web1", "web2"])
    assert len(emulator.requests("list_clients")) == 2
    emulator.seed(labels=["web4"])
    one = go(emulator, monitor_client, label="web4")
    assert (one["changed"], one["client"]["id"]) == (False, emulator.clients()[-1]["id"])
    # The first create request succeeds without a response, so its retry finds that the label is taken.
    emulator.configure(list_lag=4)
    emulator.fault(kind="lost_response", operation="create_client")
    assert sorted(go(emulator, monitor_clients, labels=["web5", "web6"])["created"]) == ["web5", "web6"]
    assert labels(emulator) == [f"web{number}" for number in range(1, 7)]


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_client_that_is_listed_and_deleted_is_created_anew(emulator: Emulator, check_mode: bool) -> None:
    """Observed: "a list that changes while it is read". `verify` reads each listed client by its id."""
    emulator.seed(labels=["web1", "web2"])
    emulator.configure(lists_deleted=True)
    go(emulator, monitor_clients, labels=["web1"], state="absent")
    options: dict[str, Any] = {"labels": ["web1", "web2"], "check_mode": check_mode}
    assert go(emulator, monitor_clients, **options)["created"] == []
    emulator.clear_log()
    result = go(emulator, monitor_clients, verify=True, **options)
    assert (result["created"], result["unchanged"]) == (["web1"], ["web2"])
    assert len(emulator.requests("get_client")) == 2
    assert labels(emulator) == (["web2"] if check_mode else ["web1", "web2"])
    assert result["clients"]["web1"]["id"] == (None if check_mode else emulator.clients()[-1]["id"])


def test_a_wrong_port_is_given_up_within_seconds(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FIRST_CONTACT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    closing = opened(Listener, lambda dummy: None).port
    account: Any = Account()
    for port, error in ((closed, "ConnectionRefusedError"), (closing, "RemoteDisconnected")):
        message = failed(account, monitor_client, label="web1", base_url=f"http://127.0.0.1:{port}/v4")
        assert message.startswith(f"Could not list the clients: no response: {error}"), message
        assert "Check base_url, the network, the proxy of the environment" in message
        assert "Gave up after 1 s, the limit for the first contact" in message
