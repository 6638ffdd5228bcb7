# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Responses about something else than what was requested: the error names both, and nothing more is changed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Module, go, labels, writes

_OTHER_ID = "the service returned the id 1 instead of 2"
# How the service changes a label, and a label that it changes.
_FORMS = [
    ("trimmed", "web1 ", "web1"),
    ("lower_case", "Web1", "web1"),
    ("truncated", "web1.example.com", "web1.example"),
    ("nfc", "cafe\u0301-1", "caf\xe9-1"),
]


pytestmark = pytest.mark.usefixtures("quick_backoff")


@pytest.mark.parametrize(
    ("module", "options"),
    [
        (monitor_client, {"id": 2, "state": "absent"}),
        (monitor_client, {"label": "web2", "state": "absent"}),
        (monitor_client, {"id": 2, "label": "www2"}),
        (monitor_client, {"id": 2}),
        (monitor_client_info, {"id": 2}),
    ],
)
def test_a_read_by_id_that_returns_another_client(emulator: Emulator, module: Module, options: dict[str, Any]) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.fault(kind="edit", operation="get_client", add={"id": 1}, times=-1)
    with pytest.raises(ApiError, match=_OTHER_ID):
        go(emulator, module, **options)
    assert writes(emulator) == []


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "options",
    [
        {"labels": ["web2", "web3"], "state": "absent"},
        {"labels": ["web1", "new1"], "prune": True, "prune_pattern": "web.*"},
    ],
)
def test_no_client_is_deleted_nor_created_after_that(
    emulator: Emulator, options: dict[str, Any], concurrency: int
) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.fault(kind="edit", operation="get_client", add={"id": 1}, times=-1)
    with pytest.raises(TaskFailure, match=_OTHER_ID):
        go(emulator, monitor_clients, **options, concurrency=concurrency)
    assert writes(emulator) == []


def test_a_rename_that_returns_another_client(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2", "old1"])
    emulator.fault(kind="edit", operation="update_client", add={"id": 1}, times=-1)
    with pytest.raises(ApiError, match=_OTHER_ID) as failed:
        go(emulator, monitor_client, id=2, label="www2")
    assert "The service may have done it" in str(failed.value)
    surplus: dict[str, Any] = {"prune": True, "prune_pattern": "old.*"}
    with pytest.raises(TaskFailure, match="the service returned the id 1 instead of 3"):
        go(emulator, monitor_clients, labels=["new1"], renames={"old1": "web3"}, **surplus)
    assert [entry["operation"] for entry in writes(emulator)] == ["update_client"] * 2


@pytest.mark.parametrize(("form", "label", "stored"), _FORMS)
def test_a_create_that_returns_another_label(emulator: Emulator, form: str, label: str, stored: str) -> None:
    emulator.seed(labels=["old1"])
    emulator.configure(label_form=form)
    expected = (
        f"Could not create client {label!r}: the service returned the label {stored!r} instead of {label!r} "
        f"(POST {emulator.base_url}/monitor/clients). Client 2 has that label now: delete it by this id "
        "(monitor_client), and give a label that the service keeps unchanged."
    )
    surplus: dict[str, Any] = {"prune": True, "prune_pattern": "old.*"}
    with pytest.raises(TaskFailure) as failed:
        go(emulator, monitor_clients, labels=[label, *(f"next{n:04}" for n in range(20))], concurrency=1, **surplus)
    assert failed.value.details["failures"][label] == expected
    assert [entry["operation"] for entry in writes(emulator)] == ["delete_client", "create_client"]
    # What the message proposes.
    go(emulator, monitor_client, id=2, state="absent")
    go(emulator, monitor_clients, labels=["next0001"])
    assert labels(emulator) == ["next0001"]


@pytest.mark.parametrize(("form", "label", "stored"), _FORMS)
def test_a_single_create_and_its_second_run(emulator: Emulator, form: str, label: str, stored: str) -> None:
    emulator.configure(label_form=form)
    with pytest.raises(ApiError, match="Client 1 has that label now"):
        go(emulator, monitor_client, label=label)
    reason = "Remove the white space" if form == "trimmed" else "Label must be unique"
    with pytest.raises(MonitorError, match=reason) as failed:
        go(emulator, monitor_client, label=label, retry_timeout=0.1)
    if form not in ("trimmed", "truncated"):
        assert f"Client 1 has the label {stored!r}, which the service seems to treat as equal" in str(failed.value)
        assert "if no host needs that client, delete it by its id" in str(failed.value)
        assert len(emulator.requests("create_client")) == 2
    assert labels(emulator) == [stored]


@pytest.mark.parametrize(("form", "label", "stored"), _FORMS)
@pytest.mark.parametrize("empty", [False, True])
def test_a_rename_that_returns_another_label(
    emulator: Emulator, form: str, label: str, stored: str, empty: bool
) -> None:
    emulator.seed(labels=["old1", "old2"])
    emulator.configure(label_form=form)
    if empty:
        emulator.fault(kind="status", status=204, operation="update_client", done=True, times=-1)
    with pytest.raises(ApiError, match=f"the service returned the label {stored!r} instead of {label!r}") as failed:
        go(emulator, monitor_client, id=1, label=label)
    assert "Client 1 has that label now: rename it again by this id" in str(failed.value)
    assert "The service may have done it" not in str(failed.value)
    go(emulator, monitor_client, id=1, label="old1")
    emulator.clear_log()
    with pytest.raises(TaskFailure, match="Client 1 has that label now"):
        go(emulator, monitor_clients, labels=["new1"], renames={"old1": label, "old2": "new2"}, concurrency=1)
    assert [entry["operation"] for entry in writes(emulator)] == ["update_client"]


@pytest.mark.parametrize(
    ("module", "operation", "options", "both"),
    [
        (monitor_subscription_info, "get_subscription", {"id": "monitor-3"}, "the id 'other' instead of 'monitor-3'"),
        (region_info, "get_region", {"id": "us-west"}, "the id 'other' instead of 'us-west'"),
        (
            region_info,
            "get_region_availability",
            {"id": "us-west", "include_availability": True},
            "the region 'other' instead of 'us-west'",
        ),
    ],
)
def test_a_tier_or_region_that_is_another(
    emulator: Emulator, module: Module, operation: str, options: dict[str, Any], both: str
) -> None:
    emulator.configure(region_availability="array")
    field = "region" if operation == "get_region_availability" else "id"
    emulator.fault(kind="edit", operation=operation, add={field: "other"})
    with pytest.raises(ApiError, match=f"the service returned {both}"):
        go(emulator, module, token=None, **options)


@pytest.mark.parametrize("form", ["array", "record"])
def test_a_public_id_in_other_case_is_the_same(emulator: Emulator, form: str) -> None:
    options: dict[str, Any] = {"token": None, "include_availability": True}
    expected = go(emulator, region_info, id="us-west", **options)["regions"]
    (tier,) = go(emulator, monitor_subscription_info, token=None, id="monitor-3")["subscriptions"]
    bare = {name: value for name, value in expected[0].items() if name != "availability"}
    emulator.configure(region_availability=form)
    emulator.fault(kind="status", status=200, body=bare, operation="get_region")
    emulator.fault(kind="status", status=200, body=tier, operation="get_subscription")
    assert go(emulator, region_info, id="US-West", **options)["regions"] == expected
    assert go(emulator, monitor_subscription_info, token=None, id="MONITOR-3")["subscriptions"] == [tier]
