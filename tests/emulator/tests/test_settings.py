# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the emulator responds, with settings and without.

Not here: settings whose effect a contract test needs in order to pass.
"""

import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

CLIENT = "GET /monitor/clients/1"
CREATE = "POST /monitor/clients"
PLAN = "PUT /monitor/plan"
NEW = {"label": "new"}
SECOND_PAGE = {"availability_records": 120}

# Settings, a call, its body and token; the status of the response, and what its JSON has, as a regular expression.
RESPONSES: list[tuple[dict[str, Any], str, Any, str, int, str]] = [
    ({}, CLIENT, None, "read_write", 200, '"api_key": "([0-9A-F]{4,16}-?){4}", "install_code"'),
    ({}, CLIENT, None, "read_only", 200, r'"api_key": "\[REDACTED\]", "install_code": "\[REDACTED\]"'),
    ({"mask_text": "***"}, CLIENT, None, "read_only", 200, r'"api_key": "\*\*\*", "install_code": "\*\*\*"'),
    ({"mask_text": ""}, CLIENT, None, "read_only", 200, '"api_key": "", "install_code": ""'),
    ({"mask_kind": "cut_short"}, CLIENT, None, "read_only", 200, '"api_key": "\\w{6}", "install_code": "\\w{6}"'),
    ({"mask_kind": "missing"}, CLIENT, None, "read_only", 200, '{"id": 1, "label": "web", "created": '),
    ({"key_format": "plain_hex"}, CREATE, NEW, "read_write", 200, '"api_key": "[0-9a-f]{40}"'),
    ({}, CREATE, {}, "read_write", 200, '"label": "monitor002"'),
    ({"label_required": True}, CREATE, {}, "read_write", 400, '"field": "label"'),
    ({"duplicate_status": 409}, CREATE, {"label": "web"}, "read_write", 409, "Label must be unique"),
    ({"duplicate_reason": "Taken."}, CREATE, {"label": "web"}, "read_write", 400, '"reason": "Taken."'),
    # JSON text, since Python takes 0 and False for the same.
    ({"apps_as_integers": True}, CREATE, NEW, "read_write", 200, '"apps": {"apache": 0, '),
    ({"apps_as_integers": True}, CLIENT, None, "read_write", 200, '"apps": {"apache": false, '),
    ({"delete_status": 204}, "DELETE /monitor/clients/1", None, "read_write", 204, "^null$"),
    ({"extra_fields": True}, CLIENT, None, "read_write", 200, '"tags": '),
    ({"extra_fields": True}, "GET /monitor/subscriptions/monitor-3", None, "", 200, '"retention_days": '),
    ({"extra_fields": True}, "GET /regions/us-west", None, "", 200, '"site_type": '),
    ({"extra_fields": True}, "GET /regions/us-west/availability", None, "", 200, '"stock": '),
    ({"extra_fields": True}, CREATE, {"label": "no"}, "read_write", 400, '"code": "E400"'),
    ({}, PLAN, {}, "read_write", 200, '"id": "monitor-10"'),
    ({}, PLAN, {"monitor_subscription": "monitor-4"}, "read_write", 400, '"field": "monitor_subscription"'),
    ({}, PLAN, {"monitor_subscription": ""}, "read_write", 400, '"field": "monitor_subscription"'),
    ({}, "GET /monitor/plan", None, "no_plan", 403, "lacks the grant"),
    ({"forbidden_status": 401}, "GET /monitor/plan", None, "no_plan", 401, "lacks the grant"),
    (SECOND_PAGE, "GET /regions/availability?page=2", None, "", 200, '"page": 2, "pages": 2, "results": 120'),
    (SECOND_PAGE, "GET /regions/availability?page=3", None, "", 404, "Not found"),
    ({**SECOND_PAGE, "past_end": "empty"}, "GET /regions/availability?page=3", None, "", 200, r'{"data": \[\], '),
    ({}, "GET /monitor", None, "", 404, '"field": ""'),
    ({}, "PUT /monitor/clients/1", NEW, "read_write", 405, '"field": ""'),
    ({"error_field": "null"}, "GET /monitor/clients/9", None, "read_write", 404, '"field": null'),
    ({"error_field": "null"}, "GET /monitor/clients", None, "", 401, '"field": null'),
    ({"error_field": "null"}, CREATE, {"label": "no"}, "read_write", 400, '"field": "label"'),
    ({"error_field": "missing"}, "GET /nowhere", None, "", 404, r'^{"errors": \[{"reason": "[^"]*"}\]}$'),
]


@pytest.mark.parametrize(("settings", "request_line", "body", "token", "status", "expected"), RESPONSES)
def test_responses(
    emulator: Emulator, settings: dict[str, Any], request_line: str, body: Any, token: str, status: int, expected: str
) -> None:
    emulator.seed(labels=["web"])
    emulator.set_plan("monitor-10")
    emulator.configure(**settings)
    method, path = request_line.split(" ")
    reply = emulator.call(method, path, body, token=token or None)
    assert reply.status_code == status
    assert re.search(expected, json.dumps(reply.json() if reply.text else None))
    assert ("content-type" in reply.headers) is bool(reply.text)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b'{"label": null}', b'{"label": "\\ud800abc"}']
)
def test_an_invalid_body_is_refused_with_an_error_of_the_service(emulator: Emulator, body: bytes) -> None:
    reply = emulator.call("POST", "/monitor/clients", body)
    assert reply.status_code == 400
    (error,) = reply.json()["errors"]
    assert error["reason"]
    assert emulator.clients() == []
    assert emulator.requests()[0]["status"] == 400


@pytest.mark.parametrize(
    ("limit", "paths", "others"),
    [
        ("rate_total", ["/monitor/plan", "/monitor/clients"], [("/monitor/clients", "read_only")]),
        ("rate_call", ["/monitor/plan"], [("/monitor/clients", "read_write"), ("/monitor/plan", "read_only")]),
        ("rate_paged", ["/monitor/clients", "/regions/availability"], [("/monitor/plan", "read_write")]),
    ],
)
def test_rate_limit_holds_until_its_window_is_over(
    emulator: Emulator, limit: str, paths: list[str], others: list[tuple[str, str]]
) -> None:
    # Windows of 120 and 60 seconds become 2 seconds and 1.
    emulator.configure(rate_limit=True, rate_window_scale=1 / 60, **{limit: 3})
    statuses = [emulator.call("GET", paths[number % len(paths)]).status_code for number in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert [emulator.call("GET", path, token=token).status_code for path, token in others] == [200] * len(others)
    refused = emulator.call("GET", paths[0])
    wait = int(refused.headers["retry-after"])
    assert wait in (1, 2)
    emulator.configure(retry_after="date")
    refused = emulator.call("GET", paths[0])
    assert 0 < parsedate_to_datetime(refused.headers["retry-after"]).timestamp() - time.time() <= 3
    if limit == "rate_total":
        assert [refused.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining")] == ["3", "0"]
    emulator.configure(retry_after="none")
    assert "retry-after" not in emulator.call("GET", paths[0]).headers
    time.sleep(wait)
    assert emulator.call("GET", paths[0]).status_code == 200


def test_responses_are_checked_against_the_contract_by_default(emulator: Emulator) -> None:
    # A product word that is too long makes the service invent a label that the contract does not allow.
    brand = "x" * 40
    emulator.configure(brand=brand)
    assert emulator.call("POST", f"/{brand}/clients", {}).status_code == 500
    emulator.configure(validate_responses=False)
    assert emulator.call("POST", f"/{brand}/clients", {}).status_code == 200


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("configure", {"colour": "red"}, "no setting 'colour'"),
        ("configure", {"update_verb": "patch"}, "one of post, put_only"),
        ("configure", {"page_size_max": "many"}, "of type int"),
        ("configure", {"rate_limit": 1}, "of type bool"),
        ("configure", {"page_size_max": True}, "of type int"),
        ("configure", {"mask_labels": "web"}, "of type tuple"),
        ("fault", {"kind": "fire"}, "not fire"),
        ("fault", {"kind": "drop", "color": "red"}, "argument 'color'"),
        ("fault", {"kind": "meanwhile", "changes": {"paint": []}}, "not paint"),
        ("fault", {"kind": "drop", "match": {"day": "Monday"}}, "not day"),
        ("fault", {"kind": "drop", "operation": "get_weather"}, "not get_weather"),
        ("set_plan", {"tier": "gold"}, "KeyError('gold')"),
    ],
    ids=str,
)
def test_an_invalid_setting_or_fault_is_refused(
    emulator: Emulator, method: str, given: dict[str, Any], message: str
) -> None:
    before = emulator.settings()
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(emulator, method)(**given)
    assert (emulator.settings(), emulator.faults()) == (before, [])
