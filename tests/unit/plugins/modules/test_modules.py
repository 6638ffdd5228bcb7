# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each module returns, and by which requests; what is refused: tests/contract/client/test_bad_input.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import TIERS, Service

READ, BY_ID = "GET /monitor/clients", "GET /monitor/clients/1"
CREATE, RENAME = ("POST /monitor/clients", {"label": "web3"}), ("POST /monitor/clients/1", {"label": "www1"})
DELETE = "DELETE /monitor/clients/1"


@pytest.mark.parametrize(
    ("options", "received"),
    [
        ({"label": "web1"}, [READ]),
        ({"label": "web3"}, [READ, "GET /monitor/plan", CREATE]),
        ({"label": "web1", "state": "absent"}, [READ, BY_ID, DELETE]),
        ({"label": "web3", "state": "absent"}, [READ]),
        ({"id": "1", "label": "www1"}, [BY_ID, READ, RENAME]),
        ({"id": "1", "state": "absent"}, [BY_ID, DELETE]),
        ({"id": "7", "state": "absent"}, ["GET /monitor/clients/7", READ]),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_which_requests_are_made(options: dict[str, Any], received: list[Any], check_mode: bool) -> None:
    service = Service()
    unset = {"label": None, "id": None, "state": "present", "include_keys": False}
    result = monitor_client.run({**unset, **options}, service.api, check_mode)
    assert result["changed"] is (received[-1] in (CREATE, RENAME, DELETE))
    assert service.writes == [] if check_mode else service.received == received


@pytest.mark.parametrize(
    ("options", "labels", "request_"),
    [
        ({}, ["web1", "web2"], READ),
        ({"id": "1"}, ["web1"], BY_ID),
        ({"id": "7"}, [], "GET /monitor/clients/7"),
        ({"label": "web2"}, ["web2"], READ),
        ({"label_pattern": ".*1"}, ["web1"], READ),
    ],
)
def test_client_info(options: dict[str, Any], labels: list[str], request_: str) -> None:
    service = Service()
    unset = {"id": None, "label": None, "label_pattern": None, "include_keys": False}
    account = {"base_url": "https://api.example.com/v4", "brand": "monitor", "api_token": "token"}
    found = monitor_client_info.run({**account, **unset, **options}, service.api, False)
    assert [client["label"] for client in found["clients"]] == labels
    assert not any("api_key" in client for client in found["clients"])
    assert service.received == [request_]


FLEET: dict[str, Any] = {"state": "present", "include_keys": False, "renames": {}, "prune": True, "prune_limit": 1}
FLEET |= {"labels": ["web3", "web2"], "prune_pattern": ".*1", "check_capacity": True, "allow_failures": False}
SUMMARY = {"changed": True, "created": ["web3"], "deleted": ["web1"], "unchanged": ["web2"], "renamed": []}


@pytest.mark.parametrize("check_mode", [True, False])
def test_one_is_created_one_deleted_and_one_kept(check_mode: bool) -> None:
    service = Service()
    result = monitor_clients.run(FLEET, service.api, check_mode)
    assert {name: result[name] for name in SUMMARY} == SUMMARY
    assert list(result["clients"]) == ["web3", "web2"] and "api_key" not in str(result["clients"])
    assert "web1" not in result["key_owners"].values()
    assert service.writes == ([] if check_mode else [DELETE, CREATE])


def test_a_failure_names_the_label_and_the_rest_is_done() -> None:
    service = Service()
    del service.responses[DELETE], service.responses["POST /monitor/clients"]
    with pytest.raises(TaskFailure, match="1 label failed. Could not create client 'web3': .* deleted 1") as failure:
        monitor_clients.run(FLEET, service.api, False)
    assert list(failure.value.details["failures"]) == ["web3"]
    allowed = monitor_clients.run({**FLEET, "allow_failures": True}, service.api, False)
    assert (list(allowed["failures"]), allowed["deleted"]) == (["web3"], ["web1"])


PLAN = {"subscription": "monitor-10", "min_clients": None, "allow_over_capacity": False}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_switch_is_predicted_and_made_and_the_same_plan_is_not_set_again(check_mode: bool) -> None:
    service = Service()
    done = monitor_plan.run(PLAN, service.api, check_mode)
    assert (done["changed"], done["plan"], done["previous"]) == (True, TIERS[1], {})
    assert done["diff"]["after"]["price_difference"] == {"monthly": 10}
    writes = [] if check_mode else [("PUT /monitor/plan", {"monitor_subscription": "monitor-10"})]
    assert service.writes == writes
    service.responses["GET /monitor/plan"] = TIERS[1]
    assert monitor_plan.run(PLAN, service.api, check_mode)["changed"] is False
    assert service.writes == writes


def test_a_plan_that_is_too_small_is_set_only_if_it_is_allowed() -> None:
    service = Service()
    service.responses["GET /monitor/plan"] = TIERS[1]
    with pytest.raises(InputError, match="The account has 2 clients"):
        monitor_plan.run({**PLAN, "subscription": "free"}, service.api, True)
    allowed = {**PLAN, "subscription": "free", "allow_over_capacity": True}
    assert monitor_plan.run(allowed, service.api, True)["changed"] is True


@pytest.mark.parametrize(
    ("plan", "count", "expected"),
    [
        ({}, True, {"free": True, "clients_included": None, "clients_used": 2}),
        (TIERS[0], False, {"free": False, "clients_included": 3}),
    ],
)
def test_plan_info(plan: dict[str, Any], count: bool, expected: dict[str, Any]) -> None:
    service = Service()
    service.responses["GET /monitor/plan"] = plan
    found = monitor_plan_info.run({"count_clients": count}, service.api, False)
    assert found == {"changed": False, "plan": plan, **expected}


@pytest.mark.parametrize(("name", "expected"), [(None, TIERS), ("monitor-3", TIERS[:1]), ("monitor-9", [])])
def test_subscription_info(name: Any, expected: Any) -> None:
    service = Service()
    service.responses["GET /monitor/subscriptions/monitor-3"] = TIERS[0]
    found = monitor_subscription_info.run({"id": name}, service.api, False)
    assert found == {"changed": False, "subscriptions": expected}


EU, US = (
    {"id": name, "country": name, "capabilities": ["Block Storage"], "status": status}
    for name, status in (("eu", "ok"), ("us", "outage"))
)
RECORDS = [{"region": "eu", "plan": "small", "available": True}, {"region": "us", "plan": "small", "available": False}]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [EU, US]),
        ({"id": "us"}, [US]),
        ({"country": "EU"}, [EU]),
        ({"status": "outage"}, [US]),
        ({"capabilities": [" block storage"], "compute_type": "small"}, [EU]),
        ({"capabilities": ["Clients"]}, []),
        ({"id": "us", "include_availability": True}, [{**US, "availability": RECORDS[1:]}]),
    ],
)
def test_region_info(options: dict[str, Any], expected: list[Any]) -> None:
    service = Service()
    service.responses["GET /regions"] = {"data": [EU, US], "pages": 1, "results": 2}
    service.responses["GET /regions/availability"] = {"data": RECORDS, "pages": 1, "results": 2}
    service.responses["GET /regions/us"], service.responses["GET /regions/us/availability"] = US, RECORDS[1:]
    unset: dict[str, Any] = {**dict.fromkeys(("id", "country", "status", "compute_type")), "capabilities": []}
    found = region_info.run({**unset, "include_availability": False, **options}, service.api, False)
    assert found == {"changed": False, "regions": expected}
