# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the client waits before it retries, how often, and the error after it gave up.

Each operation with each fault: tests/faults/test_operations_and_faults.py.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import connect
from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener, Outage
from ansible_collections.monitor.cloud.tests.support.tasks import go, parameters


def test_rate_limit_in_seconds_is_obeyed_once_for_all_workers(emulator: Emulator) -> None:
    """Field note "rate limit"."""
    headers = {"Retry-After": "1"}
    emulator.fault(kind="status", status=429, headers=headers, operation="create_client", skip=3)
    desired = [f"web{number:02}" for number in range(40)]
    result = go(emulator, monitor_clients, labels=desired, retry_timeout=10.0)
    assert result["created"] == desired
    # Eight workers that waited one by one would have waited for eight seconds.
    assert 1 <= result["api_usage"]["waited"] < 4
    starts = sorted(entry["started"] for entry in emulator.requests("create_client"))
    assert len(starts) == 41
    silence, before = max((later - sooner, number) for number, (sooner, later) in enumerate(pairwise(starts), 1))
    # Requests that were sent already end; then no worker sends more, though many labels are left.
    assert silence > 0.6
    assert before < 20


def test_rate_limit_with_a_date_is_obeyed(emulator: Emulator) -> None:
    """Field note "rate limit": a date instead of seconds."""
    until = int(time.time()) + 2
    headers = {"Retry-After": formatdate(until, usegmt=True)}
    emulator.fault(kind="status", status=503, headers=headers, operation="list_clients")
    go(emulator, monitor_client_info)
    assert time.time() >= until


def test_a_rate_limit_beyond_the_budget_fails_at_once(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=429, headers={"Retry-After": "90"}, operation="list_clients")
    began = time.monotonic()
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client_info, retry_timeout=30.0)
    assert time.monotonic() - began < 20
    expected = (
        "Could not list the clients: the service returned 429: 429 Gateway Trouble "
        f"(GET {emulator.base_url}/monitor/clients). "
        "The service asks to wait 90 s, more than is left of retry_timeout (30 s). "
        "Raise retry_timeout, or try again later."
    )
    assert str(failed.value) == expected


@pytest.mark.usefixtures("quick_backoff")
def test_rate_limits_of_the_service_slow_a_fleet_down_but_lose_nothing(emulator: Emulator) -> None:
    """Field note "rate limit"."""
    emulator.seed(30)
    limits = {"rate_call": 20, "rate_paged": 3, "rate_total": 30}
    emulator.configure(rate_limit=True, rate_window_scale=0.01, retry_after="none", page_size_max=25, **limits)
    desired = [f"web{number:02}" for number in range(30)]
    result = go(emulator, monitor_clients, labels=desired, page_size=25, retry_timeout=10.0)
    assert result["created"] == desired
    assert len(emulator.clients()) == 60


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize("status", [200, 429, 503])
@pytest.mark.parametrize("given", ["", "abc", "nan", "1.5", "-5", "Thu, 01 Jan 1970 00:00:00 GMT", "inf", "1e400"])
def test_invalid_values_of_retry_after_are_ignored(emulator: Emulator, given: str, status: int) -> None:
    """Field note "Retry-After": a usable value counts, on a status that is retried."""
    body = {"data": [], "page": 1, "pages": 1, "results": 0}
    fault = {"kind": "status", "status": status, "headers": {"Retry-After": given}, "body": body}
    emulator.fault(**fault, operation="list_clients")
    result = go(emulator, monitor_client_info, retry_timeout=20.0)
    assert result["api_usage"]["retries"] == (status != 200)
    assert (result["api_usage"]["waited"] >= 1.5) is (given == "1.5" and status != 200)


def test_a_pause_of_two_minutes_is_within_the_default_budget(emulator: Emulator) -> None:
    """Field note "Retry-After"."""
    emulator.fault(kind="status", status=429, headers={"Retry-After": "120"}, operation="list_clients")
    api = connect(parameters(emulator, monitor_client_info))
    failures: list[BaseException] = []

    def read() -> None:
        try:
            api.list_clients()
        except ApiError as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    while reader.is_alive() and api.http.pause_left == 0:
        time.sleep(0.01)
    waits = api.http.pause_left
    api.http.interrupt()
    reader.join()
    assert waits > 60, failures


@pytest.mark.parametrize("operation", ["list_clients", "create_client", "delete_client"])
def test_maintenance_ends_the_task_at_once(emulator: Emulator, operation: str) -> None:
    """Field note "gateway"."""
    emulator.seed(labels=["web2"])
    body = {"errors": [{"reason": "Back at noon."}]}
    headers = {"X-Maintenance-Mode": "all,All endpoints are temporarily unavailable.", "Retry-After": "60"}
    emulator.fault(kind="status", status=503, headers=headers, body=body, operation=operation, times=-1)
    options: dict[str, Any] = (
        {"label": "web2", "state": "absent"} if operation == "delete_client" else {"label": "web1"}
    )
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client, **options)
    assert len(emulator.requests(operation)) == 1
    assert "the service returned 503: Back at noon." in str(failed.value)
    assert str(failed.value).endswith("The service is in maintenance: try again later.")


def test_a_budget_of_zero_allows_no_retries(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=503, operation="list_clients")
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client_info, retry_timeout=0.0)
    assert len(emulator.requests()) == 1
    assert str(failed.value).endswith(f"503: 503 Gateway Trouble (GET {emulator.base_url}/monitor/clients).")


def _not_listening() -> Any:
    """A service at a closed port."""
    account = Account()
    with socket.create_server(("127.0.0.1", 0)) as server:
        account.base_url = f"http://127.0.0.1:{server.getsockname()[1]}/v4"
    return account


def test_no_service_at_all() -> None:
    began = time.monotonic()
    with pytest.raises(ApiError) as failed:
        go(_not_listening(), monitor_client, label="web1", retry_timeout=0.5)
    assert time.monotonic() - began < 10
    expected = "Could not list the clients: no response, because the connection failed: ConnectionRefusedError"
    assert str(failed.value).startswith(expected)
    assert "Check base_url and the network. Gave up after retry_timeout (0.5 s)" in str(failed.value)


def test_a_host_that_takes_no_connection(emulator: Emulator) -> None:
    # The only place in the queue is taken, so that further connections get no response.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        address = f"http://127.0.0.1:{full.getsockname()[1]}/v4"
        with pytest.raises(ApiError, match=r"no connection within 0\.3 s.*Check base_url, its port, and the network"):
            go(emulator, monitor_client, label="web1", base_url=address, timeout=0.3, retry_timeout=0.0)


def test_a_wrong_port_is_given_up_within_seconds(opened: Callable[..., Listener]) -> None:
    """A closed port, or a service that does not speak HTTP. A later outage is retried."""
    closed = _not_listening()
    closing = opened(Listener, lambda dummy: None)
    for address in (closed.base_url, f"http://127.0.0.1:{closing.port}/v4"):
        began = time.monotonic()
        with pytest.raises(ApiError) as failed:
            go(closed, monitor_client, label="web1", base_url=address)
        assert time.monotonic() - began < 20
        assert "Gave up after 10 s, because the service has not responded yet." in str(failed.value)


@pytest.mark.usefixtures("quick_backoff")
def test_an_outage_amid_a_task_is_retried_for_the_whole_budget(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_FIRST_CONTACT", 0.1)
    outage: Any = Outage(emulator, after=1, seconds=None)
    with outage as service:
        api = connect(parameters(service, monitor_client_info, retry_timeout=1.0, allow_http=True))
        assert api.list_clients() == []
        with pytest.raises(ApiError, match=r"Gave up after retry_timeout \(1 s\)"):
            api.list_clients()


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize("status", [400, 502])
def test_a_gateways_page_is_retried_for_the_whole_budget(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Also before the service itself has responded: there is a connection."""
    monkeypatch.setattr(http, "_FIRST_CONTACT", 0.1)
    emulator.fault(kind="html", status=status, operation="list_clients", times=-1)
    with pytest.raises(ApiError, match=r"Gave up after retry_timeout \(1 s\)"):
        go(emulator, monitor_client_info, retry_timeout=1.0)


def test_an_unknown_host_fails_at_once(emulator: Emulator) -> None:
    began = time.monotonic()
    with pytest.raises(ApiError, match=r"Check base_url and the network\.$"):
        go(emulator, monitor_client, label="web1", base_url="https://no-such-host.invalid/v4", retry_timeout=30.0)
    assert time.monotonic() - began < 10
