# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services and surroundings at their worst: answers of wrong shapes, a label that nobody takes, odd tokens."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils import _http
from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    region_info,
)
from ansible_collections.monitor.cloud.tests.contract.client.tasks import Module, go, labels
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


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


@pytest.mark.parametrize("base_url", ["https://api.example.com/v 4", "https://api.example.com/\nv4"])
def test_white_space_within_base_url_is_refused(emulator: Emulator, base_url: str) -> None:
    with pytest.raises(InputError, match="^base_url must be a URL"):
        go(emulator, monitor_client, label="web1", base_url=base_url)


@pytest.mark.parametrize("concurrency", [1, 2, 8])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "html", "status": 400},
        {"kind": "html", "status": 403},
        {"kind": "status", "status": 422},
        {"kind": "status", "status": 413},
    ],
    ids=str,
)
def test_one_label_that_a_gateway_refuses_does_not_stop_the_others(
    emulator: Emulator, fault: dict[str, Any], concurrency: int
) -> None:
    """Nobody says that it is the label. Stopping here would stop each later run at the same place."""
    wanted = [f"web{number:02}" for number in range(20)]
    emulator.fault(**fault, operation="create_client", match={"label": "web02"}, times=-1)
    result = go(emulator, monitor_clients, labels=wanted, concurrency=concurrency, allow_failures=True)
    assert list(result["failures"]) == ["web02"]
    assert labels(emulator) == [label for label in wanted if label != "web02"]


@pytest.mark.parametrize("operation", ["update_client", "delete_client"])
def test_one_client_that_breaks_the_service_does_not_stop_the_others(
    emulator: Emulator, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)
    emulator.seed(labels=[f"web{number:02}" for number in range(12)])
    by_label = {"update_client": "new02", "delete_client": "web02"}
    emulator.fault(kind="status", status=500, operation=operation, match={"label": by_label[operation]}, times=-1)
    everyone = labels(emulator)
    options: dict[str, Any] = {"labels": everyone, "state": "absent"}
    if operation == "update_client":
        options = {"labels": [], "renames": {label: label.replace("web", "new") for label in everyone}}
    result = go(emulator, monitor_clients, **options, concurrency=2, retry_timeout=0.1, allow_failures=True)
    assert list(result["failures"]) == [by_label[operation]]
    assert len(result["renamed"] + result["deleted"]) == 11


@pytest.mark.parametrize(("status", "most"), [(401, 2), (403, 3), (400, 3)])
def test_what_stops_every_label_is_not_tried_with_each(emulator: Emulator, status: int, most: int) -> None:
    emulator.fault(kind="status", status=status, operation="create_client", times=-1)
    wanted = [f"web{number:02}" for number in range(50)]
    result = go(emulator, monitor_clients, labels=wanted, concurrency=2, allow_failures=True)
    assert sorted(result["failures"]) == wanted
    # One more may be under way when the last of them comes in.
    assert len(emulator.requests("create_client")) <= most + 1


def test_repeats_of_a_create_are_counted(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)
    emulator.fault(kind="drop", operation="create_client", times=2)
    usage = go(emulator, monitor_client, label="web1")["api_usage"]
    assert usage["requests"] == len(emulator.requests()) == 7
    assert usage["retries"] == 2
    assert usage["waited"] > 0
