# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault met by reads, renames and deletes; how long is waited, and what is said when that was in vain."""

from __future__ import annotations

import time
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils import _http
from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.tests.contract.client.tasks import go, labels, writes
from ansible_collections.monitor.cloud.tests.contract.client.test_trouble_of_creates import CASES, FAULTS, TIMEOUTS
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

# Neither can be mended by asking again: a refusal, and a page that answers in the service's place.
_FINAL = ("html with 400", "html with 200, done")
_PASSING = [(name, times) for name, times in CASES if name not in _FINAL]


@pytest.fixture
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats come soon, so that many cases take little time."""
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize(("name", "times"), _PASSING)
def test_a_read_that_meets_trouble(emulator: Emulator, name: str, times: int) -> None:
    emulator.seed(3)
    emulator.fault(**FAULTS[name], operation="list_clients", times=times)
    result = go(emulator, monitor_client_info, timeout=TIMEOUTS[name], retry_timeout=8.0)
    assert len(result["clients"]) == 3
    assert result["api_usage"]["requests"] == len(emulator.requests()) == times + 1
    assert result["api_usage"]["retries"] == times


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize("name", FAULTS)
def test_a_read_that_never_gets_through(emulator: Emulator, name: str) -> None:
    emulator.fault(**FAULTS[name], operation="list_clients", times=-1)
    began = time.monotonic()
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_clients, labels=["web1"], timeout=TIMEOUTS[name], retry_timeout=0.4)
    assert time.monotonic() - began < 10
    message = str(failed.value)
    assert message.startswith("Could not list the clients: ")
    assert "(GET /monitor/clients)" in message
    assert ("retry_timeout (0.4 s)" in message) is (name not in _FINAL)
    assert failed.value.status == {"slow": None}.get(name, failed.value.status)
    assert writes(emulator) == []
    assert "Gateway" in message or "HTML" in message or name in ("drop", "lost answer", "truncated", "slow")
    emulator.clear_faults()
    assert go(emulator, monitor_clients, labels=["web1"])["created"] == ["web1"]


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize(("name", "times"), _PASSING)
def test_renames_and_deletes_that_meet_trouble(emulator: Emulator, name: str, times: int) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    for operation in ("update_client", "delete_client"):
        emulator.fault(**FAULTS[name], operation=operation, times=times)
    options: dict[str, Any] = {"labels": ["web3"], "renames": {"web1": "www1"}}
    options.update(prune=True, prune_pattern="web.")
    result = go(emulator, monitor_clients, **options, timeout=TIMEOUTS[name], retry_timeout=9.0)
    assert (result["renamed"], result["deleted"]) == (["www1"], ["web2"])
    assert labels(emulator) == ["web3", "www1"]


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize("name", FAULTS)
def test_deletes_that_never_get_through(emulator: Emulator, name: str) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.fault(**FAULTS[name], operation="delete_client", match={"label": "web2"}, times=-1)
    wanted: dict[str, Any] = {"labels": ["web1", "web2", "web3"], "state": "absent"}
    try:
        result = go(emulator, monitor_clients, **wanted, timeout=TIMEOUTS[name], retry_timeout=0.4)
    except TaskFailure as failure:
        result = failure.details
        assert "Could not delete client 'web2'" in str(failure)
    assert sorted(result["deleted"] + list(result["failures"])) == ["web1", "web2", "web3"]
    assert not set(result["deleted"]) & set(labels(emulator))
    emulator.clear_faults()
    go(emulator, monitor_clients, **wanted)
    assert labels(emulator) == []


def test_rate_limit_in_seconds_is_obeyed_once_for_all_workers(emulator: Emulator) -> None:
    """Field note "rate limit"."""
    headers = {"Retry-After": "1"}
    emulator.fault(kind="status", status=429, headers=headers, operation="create_client", skip=3)
    wanted = [f"web{number:02}" for number in range(40)]
    result = go(emulator, monitor_clients, labels=wanted, retry_timeout=10.0)
    assert result["created"] == wanted
    # Eight workers that waited one by one would have waited for eight seconds.
    assert 1 <= result["api_usage"]["waited"] < 4
    starts = sorted(entry["started"] for entry in emulator.requests("create_client"))
    assert len(starts) == 41
    silence, before = max((later - sooner, number) for number, (sooner, later) in enumerate(pairwise(starts), 1))
    # Those that were under way already come in; then nobody asks, though there is much left to do.
    assert silence > 0.6
    assert before < 20


def test_rate_limit_with_a_date_is_obeyed(emulator: Emulator) -> None:
    """Field note "rate limit": a date elsewhere."""
    until = int(time.time()) + 2
    headers = {"Retry-After": formatdate(until, usegmt=True)}
    emulator.fault(kind="status", status=503, headers=headers, operation="list_clients")
    go(emulator, monitor_client_info)
    assert time.time() >= until


def test_rate_limit_beyond_the_budget_is_told_at_once(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=429, headers={"Retry-After": "90"}, operation="list_clients")
    began = time.monotonic()
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client_info, retry_timeout=30.0)
    assert time.monotonic() - began < 20
    expected = (
        "Could not list the clients: the service answered 429: 429 Gateway Trouble (GET /monitor/clients). The service "
        "asks to wait 90 s, more than is left of retry_timeout (30 s): raise it, or try again later."
    )
    assert str(failed.value) == expected


@pytest.mark.usefixtures("quick_backoff")
def test_rate_limits_of_the_service_slow_a_fleet_down_but_lose_nothing(emulator: Emulator) -> None:
    emulator.seed(30)
    limits = {"rate_call": 20, "rate_paged": 3, "rate_total": 30}
    emulator.configure(rate_limit=True, rate_window_scale=0.01, retry_after="none", page_size_max=25, **limits)
    wanted = [f"web{number:02}" for number in range(30)]
    result = go(emulator, monitor_clients, labels=wanted, page_size=25, retry_timeout=10.0)
    assert result["created"] == wanted
    assert len(emulator.clients()) == 60


def test_no_repeats_with_a_budget_of_nothing(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=503, operation="list_clients")
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client_info, retry_timeout=0.0)
    assert len(emulator.requests()) == 1
    assert str(failed.value).endswith("the service answered 503: 503 Gateway Trouble (GET /monitor/clients).")


def test_no_service_at_all() -> None:
    with Emulator() as stopped:
        pass
    began = time.monotonic()
    with pytest.raises(ApiError) as failed:
        go(stopped, monitor_client, label="web1", retry_timeout=0.5)
    assert time.monotonic() - began < 10
    expected = "Could not list the clients: no answer, for the connection failed: ConnectionRefusedError"
    assert str(failed.value).startswith(expected)
    assert "Check base_url and the network. Repeated for retry_timeout (0.5 s) in vain" in str(failed.value)


def test_no_such_host_is_told_at_once(emulator: Emulator) -> None:
    began = time.monotonic()
    with pytest.raises(ApiError, match=r"Check base_url and the network\.$"):
        go(emulator, monitor_client, label="web1", base_url="https://no-such-host.invalid/v4", retry_timeout=30.0)
    assert time.monotonic() - began < 10
