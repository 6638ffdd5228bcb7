# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hard cases: responses of wrong shapes, a label that every server refuses, invalid tokens."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.servers import page
from ansible_collections.monitor.cloud.tests.support.tasks import Module, go, labels, sent, writes


@pytest.mark.parametrize("token", ["secret-0123456789\n", " secret-0123456789", "secret\t0123456789", "secret-…", " "])
@pytest.mark.parametrize("module", [monitor_client_info, region_info])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(
    emulator: Emulator, module: Module, token: str
) -> None:
    with pytest.raises(InputError, match="^api_token holds a character that no token has") as refused:
        go(emulator, module, api_token=token)
    assert "secret" not in str(refused.value)
    assert emulator.requests() == []


def test_white_space_around_base_url_does_not_matter(emulator: Emulator) -> None:
    go(emulator, monitor_client, label="web1", base_url=f" {emulator.base_url}/\n")
    assert labels(emulator) == ["web1"]


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "html", "status": 400},
        {"kind": "status", "status": 413},
    ],
    ids=str,
)
def test_one_label_that_a_gateway_refuses_does_not_stop_the_others(
    emulator: Emulator, fault: dict[str, Any], concurrency: int
) -> None:
    """The response does not name the label. A stop here would stop each later run at the same label."""
    desired = [f"web{number:02}" for number in range(20)]
    emulator.fault(**fault, operation="create_client", match={"label": "web02"}, times=-1)
    result = go(
        emulator, monitor_clients, labels=desired, concurrency=concurrency, allow_failures=True, retry_timeout=0.2
    )
    assert list(result["failures"]) == ["web02"]
    assert labels(emulator) == [label for label in desired if label != "web02"]


@pytest.mark.parametrize("operation", ["update_client", "delete_client"])
def test_one_client_that_breaks_the_service_does_not_stop_the_others(
    emulator: Emulator, operation: str, quick_backoff: None
) -> None:
    emulator.seed(labels=[f"web{number:02}" for number in range(12)])
    by_label = {"update_client": "new02", "delete_client": "web02"}
    emulator.fault(kind="status", status=500, operation=operation, match={"label": by_label[operation]}, times=-1)
    all_labels = labels(emulator)
    options: dict[str, Any] = {"labels": all_labels, "state": "absent"}
    if operation == "update_client":
        options = {"labels": [], "renames": {label: label.replace("web", "new") for label in all_labels}}
    result = go(emulator, monitor_clients, **options, concurrency=2, retry_timeout=0.1, allow_failures=True)
    assert list(result["failures"]) == [by_label[operation]]
    assert len(result["renamed"] + result["deleted"]) == 11


def test_retries_of_a_create_are_counted(emulator: Emulator, quick_backoff: None) -> None:
    emulator.fault(kind="drop", operation="create_client", times=2)
    usage = go(emulator, monitor_client, label="web1")["api_usage"]
    assert usage["requests"] == len(emulator.requests()) == 7
    assert usage["retries"] == 2
    assert usage["waited"] > 0


@pytest.mark.parametrize("method", ["post", "put_only"])
def test_a_rename_with_an_empty_response(emulator: Emulator, method: str) -> None:
    """Field note "statuses": 204 possible."""
    emulator.configure(update_verb=method)
    emulator.seed(labels=["web1"])
    match = {"method": "PUT" if method == "put_only" else "POST"}
    emulator.fault(kind="status", status=204, operation="update_client", done=True, match=match)
    result = go(emulator, monitor_client, id=1, label="www1")
    assert result["client"]["label"] == "www1"
    assert labels(emulator) == ["www1"]
    assert sent(emulator)[-1] == ("GET", "/monitor/clients/1")


@pytest.mark.parametrize("tier", ["monitor-10", "free"])
def test_a_switch_of_the_plan_with_an_empty_response(emulator: Emulator, tier: str) -> None:
    """Field note "statuses": 204 possible. What the plan is then is read."""
    emulator.set_plan("monitor-3")
    emulator.fault(kind="status", status=204, operation="update_plan", done=True)
    plan = go(emulator, monitor_plan, subscription=tier)["plan"]
    assert plan.get("id", "free") == tier
    emulator.set_plan("monitor-3")
    emulator.fault(kind="status", status=204, operation="update_plan")
    with pytest.raises(ApiError, match="the service confirmed 'monitor-3' instead"):
        go(emulator, monitor_plan, subscription=tier)


def test_a_create_with_an_empty_response(emulator: Emulator) -> None:
    """Field note "statuses": 204 possible. The list shows the client."""
    emulator.fault(kind="status", status=204, operation="create_client", done=True)
    result = go(emulator, monitor_client, label="web1")
    assert result["changed"] is True
    assert result["client"]["id"] == 1
    assert len(writes(emulator)) == 1


@pytest.mark.parametrize(
    ("module", "options", "operation", "body"),
    [
        (monitor_plan, {"min_clients": 3}, "list_subscriptions", page([{"id": "monitor-3"}])),
        (monitor_plan, {"min_clients": 3}, "get_plan", {"plan": "monitor-100"}),
        (monitor_clients, {"labels": ["web1"]}, "get_plan", {"id": "monitor-3", "clients_included": "3"}),
        (monitor_client, {"label": "web1"}, "list_clients", page([{"label": "web1"}])),
    ],
)
def test_responses_of_a_wrong_shape_are_named_before_the_first_write(
    emulator: Emulator, module: Module, options: dict[str, Any], operation: str, body: Any
) -> None:
    """All shapes: test_response.py of the unit tests, and tests/faults/test_responses.py."""
    emulator.fault(kind="status", status=200, body=body, operation=operation, times=-1)
    with pytest.raises(ApiError, match="the response is not of the documented shape: ") as failed:
        go(emulator, module, **options)
    assert "Check that base_url is the address of the service" in str(failed.value)
    assert writes(emulator) == []


@pytest.mark.parametrize("capabilities", [None, [{"name": "GPU"}], ["GPU", None]])
def test_capabilities_of_an_unknown_shape(emulator: Emulator, capabilities: Any) -> None:
    region = {"id": "us-west", "capabilities": capabilities}
    emulator.fault(kind="status", status=200, body=page([region]), operation="list_regions", times=-1)
    assert go(emulator, region_info, capabilities=["Block Storage"])["regions"] == []
    assert go(emulator, region_info)["regions"] == [region]
