# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of the emulator that change responses. Test names begin with the row of the field notes.

Not here: settings whose effect a contract test needs in order to pass.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.calls import call, create


@pytest.mark.parametrize("path", ["/monitor/clients", "/monitor/clients/1"])
@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({}, lambda _: "[REDACTED]"),
        ({"mask_text": "***"}, lambda _: "***"),
        ({"mask_text": ""}, lambda _: ""),
        ({"mask_kind": "cut_short"}, lambda key: key[:6]),
        ({"mask_kind": "missing"}, lambda _: None),
    ],
    ids=["usual text", "other text", "empty", "cut short", "missing"],
)
def test_api_key_and_install_code_in_a_different_form(
    emulator: Emulator, settings: dict[str, Any], shown: Any, path: str
) -> None:
    emulator.configure(**settings)
    (true,) = emulator.seed(labels=["web"])
    reply = call(emulator, "GET", path, token="read_only").json
    client = reply["data"][0] if "data" in reply else reply
    for name in ("api_key", "install_code"):
        assert client.get(name) == shown(true[name])
    whole = call(emulator, "GET", "/monitor/clients/1").json
    assert whole["api_key"] == true["api_key"]


def test_api_key_masked_for_clients_that_a_token_only_reads(emulator: Emulator) -> None:
    one, two = emulator.seed(labels=["one", "two"])
    emulator.set_token("partial", read_only_ids=[two["id"]])
    seen = call(emulator, "GET", "/monitor/clients", token="partial").json["data"]
    assert [client["api_key"] for client in seen] == [one["api_key"], "[REDACTED]"]
    assert call(emulator, "DELETE", f"/monitor/clients/{two['id']}", token="partial").status == 403
    assert call(emulator, "POST", f"/monitor/clients/{two['id']}", {"label": "new"}, token="partial").status == 403
    assert call(emulator, "DELETE", f"/monitor/clients/{one['id']}", token="partial").status == 200


@pytest.mark.parametrize(
    ("key_format", "pattern"),
    [("grouped_hex", r"[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{16}"), ("plain_hex", r"[0-9a-f]{40}")],
)
def test_key_format(emulator: Emulator, key_format: str, pattern: str) -> None:
    emulator.configure(key_format=key_format)
    assert re.fullmatch(pattern, create(emulator, "web").json["api_key"])


def test_label_on_create_is_invented_or_required(emulator: Emulator) -> None:
    invented = call(emulator, "POST", "/monitor/clients", {}).json["label"]
    assert 3 <= len(invented) <= 32
    emulator.configure(label_required=True)
    refused = call(emulator, "POST", "/monitor/clients", {})
    assert (refused.status, refused.error["field"]) == (400, "label")


def test_apps_as_integers_in_the_response_to_a_create_only(emulator: Emulator) -> None:
    emulator.configure(apps_as_integers=True)
    # JSON text, since Python takes 0 and False for the same.
    assert re.search(r'"apps": ?{"apache": ?0', create(emulator, "web").text)
    assert re.search(r'"apps": ?{"apache": ?false', call(emulator, "GET", "/monitor/clients/1").text)


@pytest.mark.parametrize(
    ("path", "usual"),
    [
        ("/monitor/clients/1", {"id", "label", "api_key", "install_code", "apps", "created", "updated"}),
        ("/monitor/plan", {"id", "label", "clients_included", "price"}),
        ("/monitor/subscriptions/monitor-3", {"id", "label", "clients_included", "price"}),
        ("/regions/us-west", {"id", "label", "country", "capabilities", "resolvers", "status"}),
        ("/regions/us-west/availability", {"available", "plan", "region"}),
    ],
)
def test_unknown_fields(emulator: Emulator, path: str, usual: set[str]) -> None:
    emulator.seed(labels=["web"])
    emulator.set_plan("monitor-3")
    assert set(call(emulator, "GET", path).json) == usual
    emulator.configure(extra_fields=True)
    assert set(call(emulator, "GET", path).json) > usual


def test_unknown_fields_in_errors(emulator: Emulator) -> None:
    emulator.configure(extra_fields=True)
    assert set(create(emulator, "no").error) == {"field", "reason", "code"}


def test_plan_null_as_an_empty_string(emulator: Emulator) -> None:
    emulator.set_plan("monitor-10")
    assert call(emulator, "PUT", "/monitor/plan", {"monitor_subscription": ""}).status == 400
    emulator.configure(plan_empty_string=True)
    assert call(emulator, "PUT", "/monitor/plan", {"monitor_subscription": ""}).json == {}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(("size", "taken"), [(24, False), (25, True), (500, True), (501, False)])
def test_page_size_outside_of_its_limits(emulator: Emulator, size: int, taken: bool, status: int) -> None:
    emulator.configure(page_size_status=status)
    reply = call(emulator, "GET", f"/monitor/clients?page_size={size}")
    assert reply.status == (200 if taken else status)
    if not taken:
        assert reply.error["field"] == "page_size"


def test_page_past_the_end(emulator: Emulator) -> None:
    emulator.seed(count=120)
    assert len(call(emulator, "GET", "/monitor/clients?page=2").json["data"]) == 20
    assert call(emulator, "GET", "/monitor/clients?page=3").status == 404
    emulator.configure(past_end="empty")
    past = call(emulator, "GET", "/monitor/clients?page=3")
    assert (past.status, past.json["data"], past.json["pages"]) == (200, [], 2)


def test_latency(emulator: Emulator) -> None:
    emulator.configure(latency_ms=150)
    started = time.monotonic()
    call(emulator, "GET", "/regions")
    assert time.monotonic() - started >= 0.15
    (entry,) = emulator.requests()
    assert entry["ended"] - entry["started"] >= 0.15


def test_responses_are_checked_against_the_contract_by_default(emulator: Emulator) -> None:
    # A product word that is too long makes the service invent a label that the contract does not allow.
    brand = "x" * 40
    emulator.configure(brand=brand)
    assert call(emulator, "POST", f"/{brand}/clients", {}).status == 500
    emulator.configure(validate_responses=False)
    assert call(emulator, "POST", f"/{brand}/clients", {}).status == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "no setting 'colour'"),
        ({"update_verb": "patch"}, "one of post, put_only"),
        ({"page_size_max": "many"}, "of type int"),
        ({"rate_limit": 1}, "of type bool"),
        ({"page_size_max": True}, "of type int"),
        ({"mask_labels": "web"}, "is a list"),
    ],
    ids=str,
)
def test_an_invalid_setting_is_refused(emulator: Emulator, change: dict[str, Any], message: str) -> None:
    before = emulator.settings()
    with pytest.raises(ValueError, match=re.escape(message)):
        emulator.configure(**change)
    assert emulator.settings() == before
