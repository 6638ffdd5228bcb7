# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Settings of the emulator for errors, statuses and limits. Test names begin with the row of the field notes.

Not here: settings whose effect a contract test needs in order to pass.
"""

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
