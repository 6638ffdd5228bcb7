# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations as requests, what errors mean, and limits; on the wire: tests/contract and tests/faults."""

import itertools

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import (
    Budget,
    Http,
    Settings,
    _TooLarge,
    backoffs,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT, SUBSCRIPTION
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, TIERS, Service


def test_requests_and_values() -> None:
    service = Service()
    assert service.api.list_clients() == CLIENTS
    assert service.api.get_client("a/b") is None
    service.api.set_plan("monitor-10")
    assert service.received == [
        "GET /monitor/clients",
        "GET /monitor/clients/a%2Fb",
        ("PUT /monitor/plan", {"monitor_subscription": "monitor-10"}),
    ]


def test_another_plan_than_requested_is_an_error_with_its_purpose() -> None:
    service = Service()
    service.responses["PUT /monitor/plan"] = TIERS[0]
    with pytest.raises(ApiError, match="Could not switch the plan to monitor-10: the service confirmed 'monitor-3'"):
        service.api.set_plan("monitor-10")


def test_what_follows_from_a_description() -> None:
    assert (CLIENT.required, CLIENT.settable, CLIENT.secret) == (["id"], ["label"], ["api_key", "install_code"])
    assert CLIENT.options == {}
    assert (CLIENT.list_all.path, CLIENT.get_one.path) == ("/{brand}/clients", "/{brand}/clients/{id}")
    assert CLIENT.get_one.purpose.format(id="1") == "read client '1'"
    assert CLIENT.list_all.access is not None and SUBSCRIPTION.list_all.access is None
    assert CLIENT.list_all.takes_page_size and not CLIENT.get_one.takes_page_size


NO_TOKEN, NO_SCOPE = "Invalid Token", "Your token is not authorized to use this endpoint"


@pytest.mark.parametrize(
    ("status", "reason", "scopes", "meaning"),
    [
        (404, "Not found", "", "is_missing"),
        (404, "", "", ""),
        (401, NO_TOKEN, "", "rejects_token"),
        (401, NO_SCOPE, "", "lacks_access"),
        (403, "Unauthorized", "", "lacks_access"),
        (403, NO_TOKEN, "", "rejects_token"),
        (403, "", "", ""),
        (403, "", "monitor:read_only", "lacks_access"),
        (500, "", "monitor:read_only", ""),
    ],
)
def test_what_an_error_means(status: int, reason: str, scopes: str, meaning: str) -> None:
    error = ApiError(reason, status=status, errors=[{"reason": reason}] if reason else [], scopes=scopes)
    meanings = ("is_missing", "rejects_token", "lacks_access")
    assert [name for name in meanings if getattr(error, name)] == meaning.split()


def test_messages_name_the_request_and_what_to_do() -> None:
    error = ApiError("it failed", outcome="unknown", hint="Wait.", method="POST", url="https://a", purpose="create it")
    done = "The service may have made the change: run again to find out."
    assert str(error) == f"Could not create it: it failed (POST https://a). Wait. {done}"
    assert "MONITOR_API_TOKEN" in str(InputError.missing_option("api_token"))


def test_pauses_grow_up_to_half_a_minute() -> None:
    for pause, longest in zip(itertools.islice(backoffs(), 9), (0.5, 1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert 0 <= pause <= longest


def test_what_the_responses_of_one_operation_may_take() -> None:
    budget = Budget(Settings("https://a"))
    budget.spend(b" " * 2**26)
    with pytest.raises(_TooLarge, match="64 MiB"):
        budget.spend(b" ")
    with pytest.raises(_TooLarge, match="2000000 values"):
        Budget(Settings("https://a")).spend(b"[" * 2_000_001)


def test_pauses_of_several_workers_count_once() -> None:
    http = Http(Settings("https://a"))
    for _worker in range(2):
        http.pause(5, for_all=True)
    assert http.usage["retries"] == 2 and 5 <= http.usage["waited"] < 6
    assert 4 < http.pause_left <= 5
