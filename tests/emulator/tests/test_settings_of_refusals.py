# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Settings of the emulator for errors, statuses and limits. Test names begin with the row of the field notes."""

from __future__ import annotations

import json
import time
import urllib.request
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.calls import call, create


@pytest.mark.parametrize(("kind", "expected"), [("empty", {"field": ""}), ("null", {"field": None}), ("missing", {})])
def test_errors_without_a_field(emulator: Emulator, kind: str, expected: dict[str, Any]) -> None:
    emulator.configure(error_field=kind)
    for error in (
        call(emulator, "GET", "/monitor/clients/9").error,
        call(emulator, "GET", "/monitor/clients", token=None).error,
        call(emulator, "GET", "/nowhere").error,
    ):
        assert {name: value for name, value in error.items() if name != "reason"} == expected
    assert create(emulator, "no").error["field"] == "label"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_errors_redirect(emulator: Emulator, status: int) -> None:
    emulator.configure(redirect_to="https://login.example.invalid/", redirect_status=status)
    reply = create(emulator, "web")
    assert (reply.status, reply.headers["location"]) == (status, "https://login.example.invalid/")
    assert emulator.clients() == []


def test_statuses_delete_with_204(emulator: Emulator) -> None:
    emulator.configure(delete_status=204)
    (client,) = emulator.seed(labels=["web"])
    reply = call(emulator, "DELETE", f"/monitor/clients/{client['id']}")
    assert (reply.status, reply.text) == (204, "")
    assert "content-type" not in reply.headers
    assert emulator.clients() == []


@pytest.mark.parametrize("brand", ["monitor", "longview"])
def test_scopes_of_the_token_come_with_each_response(emulator: Emulator, brand: str) -> None:
    emulator.configure(brand=brand)
    for method, path, accepted in (
        ("GET", "clients", "read_only"), ("GET", "clients/9", "read_only"), ("POST", "clients", "read_write")
    ):  # fmt: skip
        reply = call(emulator, method, f"/{brand}/{path}", {"label": "web"} if method == "POST" else None)
        assert reply.headers["x-oauth-scopes"] == f"{brand}:read_write"
        assert reply.headers["x-accepted-oauth-scopes"] == f"{brand}:{accepted}"
    unknown = call(emulator, "GET", f"/{brand}/clients", token=None)
    assert "x-oauth-scopes" not in unknown.headers
    assert unknown.headers["x-accepted-oauth-scopes"] == f"{brand}:read_only"
    emulator.configure(scope_headers=False)
    assert "x-oauth-scopes" not in call(emulator, "GET", f"/{brand}/clients").headers


def test_rate_limit_headers_come_with_each_response(emulator: Emulator) -> None:
    def limits(path: str) -> tuple[str, ...]:
        headers = call(emulator, "GET", path).headers
        assert abs(int(headers["x-ratelimit-reset"]) - time.time()) < 125
        return headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]

    assert limits("/regions") == limits("/nowhere") == ("800", "800")
    emulator.configure(rate_limit=True, rate_total=2)
    assert [limits("/monitor/plan") for _number in range(3)] == [("2", "1"), ("2", "0"), ("2", "0")]


def test_filters_are_ignored(emulator: Emulator) -> None:
    """Field note "filters"."""
    emulator.seed(2)
    address = f"{emulator.base_url}/monitor/clients"
    headers = {"Authorization": f"Bearer {emulator.tokens['read_only']}", "X-Filter": '{"label": "none"}'}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as reply:
        assert json.load(reply)["results"] == 2


@pytest.mark.parametrize("status", [401, 403])
def test_plan_view_without_the_grant(emulator: Emulator, status: int) -> None:
    emulator.configure(forbidden_status=status)
    assert call(emulator, "GET", "/monitor/plan", token="no_plan").status == status
    assert call(emulator, "GET", "/monitor/clients", token="no_plan").status == 200


@pytest.mark.parametrize("status", [400, 409])
def test_duplicate_label(emulator: Emulator, status: int) -> None:
    emulator.configure(duplicate_status=status, duplicate_reason="There is one already.")
    emulator.seed(labels=["web"])
    reply = create(emulator, "web")
    assert reply.status == status
    assert reply.error == {"field": "label", "reason": "There is one already."}


@pytest.mark.parametrize(
    ("plan", "free_limit", "allowed"),
    [("monitor-3", None, 3), ("monitor-3", 1, 3), (None, 2, 2), (None, None, 12)],
)
def test_too_many_clients_for_the_plan(
    emulator: Emulator, plan: str | None, free_limit: int | None, allowed: int
) -> None:
    emulator.set_plan(plan)
    emulator.configure(free_limit=free_limit)
    replies = [create(emulator, f"web-{number}") for number in range(12)]
    assert [reply.status for reply in replies] == [200] * allowed + [400] * (12 - allowed)
    if allowed < 12:
        assert "subscription" in replies[-1].error["reason"]


@pytest.mark.parametrize(
    ("limit", "path"),
    [
        ({"rate_total": 3}, "/monitor/plan"),
        ({"rate_call": 3}, "/monitor/plan"),
        ({"rate_paged": 3}, "/monitor/clients"),
        ({"rate_paged": 3}, "/regions"),
    ],
    ids=str,
)
def test_rate_limit_holds_until_its_window_is_over(emulator: Emulator, limit: dict[str, int], path: str) -> None:
    # Windows of 120 and 60 seconds become 2 seconds and 1.
    emulator.configure(rate_limit=True, rate_window_scale=1 / 60, **limit)
    statuses = [call(emulator, "GET", path).status for dummy in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    refused = call(emulator, "GET", path)
    wait = int(refused.headers["retry-after"])
    assert wait in (1, 2)
    time.sleep(wait)
    assert call(emulator, "GET", path).status == 200


def test_rate_limit_is_per_token_and_per_call(emulator: Emulator) -> None:
    emulator.configure(rate_limit=True, rate_call=1)
    assert call(emulator, "GET", "/monitor/clients").status == 200
    assert call(emulator, "GET", "/monitor/clients").status == 429
    assert call(emulator, "GET", "/monitor/plan").status == 200
    assert call(emulator, "GET", "/monitor/clients", token="read_only").status == 200


def test_rate_limit_of_paged_reads_leaves_others_alone(emulator: Emulator) -> None:
    emulator.configure(rate_limit=True, rate_paged=1)
    assert call(emulator, "GET", "/monitor/clients").status == 200
    assert call(emulator, "GET", "/regions").status == 429
    assert call(emulator, "GET", "/monitor/plan").status == 200


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_rate_limit_forms_of_retry_after(emulator: Emulator, form: str) -> None:
    emulator.configure(rate_limit=True, rate_total=0, retry_after=form)
    header = call(emulator, "GET", "/monitor/plan").headers.get("retry-after")
    if form == "none":
        assert header is None
        return
    assert header is not None
    wait = int(header) if form == "seconds" else parsedate_to_datetime(header).timestamp() - time.time()
    assert 118 < wait <= 121
