# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `api.md` promises of the service beyond the shape of its responses.

Not here: what a contract test needs in order to pass, such as that a client that was created is there.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.calls import call, create

ALL_GRANTS: dict[str, Any] = {"account_access": None, "monitor_subscription": False, "add_monitor": False}


@pytest.mark.parametrize(("length", "status"), [(2, 400), (3, 200), (32, 200), (33, 400)])
def test_label_length_of_section_8(emulator: Emulator, length: int, status: int) -> None:
    reply = create(emulator, "x" * length)
    assert reply.status == status
    if status == 400:
        assert reply.error["field"] == "label"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/monitor/clients", None),
        ("POST", "/monitor/clients", {"label": "new"}),
        ("GET", "/monitor/clients/1", None),
        ("POST", "/monitor/clients/1", {"label": "new"}),
        ("DELETE", "/monitor/clients/1", None),
        ("GET", "/monitor/plan", None),
        ("PUT", "/monitor/plan", {"monitor_subscription": "monitor-3"}),
    ],
)
def test_token_and_scope_of_section_5(emulator: Emulator, method: str, path: str, body: Any) -> None:
    emulator.seed(labels=["old"])
    assert call(emulator, method, path, body, token=None).status == 401
    assert call(emulator, method, path, body, token="wrong").status == 401
    read_only = call(emulator, method, path, body, token="read_only").status
    assert read_only == (200 if method == "GET" else 403)
    assert [client["label"] for client in emulator.clients()] == ["old"]
    assert call(emulator, method, path, body).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/monitor/subscriptions",
        "/monitor/subscriptions/monitor-3",
        "/regions",
        "/regions/us-west",
        "/regions/availability",
        "/regions/us-west/availability",
    ],
)
def test_public_operations_need_no_token_and_log_when_one_was_sent(emulator: Emulator, path: str) -> None:
    assert call(emulator, "GET", path, token=None).status == 200
    assert call(emulator, "GET", path).status == 200
    assert [entry["authorization"] for entry in emulator.requests()] == [False, True]
    emulator.configure(refuse_token_on_public=True)
    assert call(emulator, "GET", path, token=None).status == 200
    assert call(emulator, "GET", path).status == 400


@pytest.mark.parametrize(
    ("grant", "view", "update"),
    [
        ({}, 403, 403),
        ({"account_access": "read_write"}, 200, 403),
        ({"account_access": "read_only"}, 200, 403),
        ({"monitor_subscription": True}, 200, 200),
        ({"add_monitor": True}, 200, 403),
    ],
    ids=str,
)
def test_grants_of_section_4_2(emulator: Emulator, grant: dict[str, Any], view: int, update: int) -> None:
    emulator.set_token("granted", grants={**ALL_GRANTS, **grant})
    assert call(emulator, "GET", "/monitor/plan", token="granted").status == view
    body = {"monitor_subscription": "monitor-3"}
    assert call(emulator, "PUT", "/monitor/plan", body, token="granted").status == update
    assert call(emulator, "GET", "/monitor/clients", token="granted").status == 200


def test_plan_goes_up_and_back_to_free(emulator: Emulator) -> None:
    assert call(emulator, "GET", "/monitor/plan").json == {}
    tier = call(emulator, "GET", "/monitor/subscriptions/monitor-40", token=None).json
    assert call(emulator, "PUT", "/monitor/plan", {"monitor_subscription": "monitor-40"}).json == tier
    assert call(emulator, "GET", "/monitor/plan").json == tier
    assert call(emulator, "PUT", "/monitor/plan", {"monitor_subscription": "monitor-4"}).status == 400
    assert call(emulator, "PUT", "/monitor/plan", {}).json == tier
    assert call(emulator, "PUT", "/monitor/plan", {"monitor_subscription": None}).json == {}


def test_keys_are_distinct_and_times_have_the_shape_of_section_2_1(emulator: Emulator) -> None:
    clients = emulator.seed(count=50)
    assert len({client[name] for client in clients for name in ("api_key", "install_code")}) == 100
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", client["created"]) for client in clients)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("PUT", "/monitor/clients/1", 405), ("HEAD", "/monitor/clients", 405), ("GET", "/monitor", 404)],
)
def test_what_is_not_in_the_contract_is_refused(emulator: Emulator, method: str, path: str, status: int) -> None:
    assert call(emulator, method, path, token=None).status == status


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b'{"label": null}', b'{"label": "\\ud800abc"}']
)
def test_an_invalid_body_is_refused_with_an_error_of_the_service(emulator: Emulator, body: bytes) -> None:
    reply = call(emulator, "POST", "/monitor/clients", body)
    assert reply.status == 400
    assert reply.error["reason"]
    assert emulator.clients() == []
    assert emulator.requests()[0]["status"] == 400
