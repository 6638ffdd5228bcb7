# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import functools
import json
import re
import time
from email.utils import formatdate
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, WrongObjectError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import REGION, SUBSCRIPTION, Operation
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import (
    client_of,
    item_of,
    page_of,
    plan_of,
    requested,
    retry_after,
    value_of,
)


def _read(
    status: int,
    content: bytes | object,
    *,
    idempotent: bool = True,
    method: str = "POST",
    path: str = "/monitor/clients",
    **headers: str,
) -> Any:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    access = "the scope x" if path == "/monitor/clients" else None
    operation = Operation(method, path, "create client 'web1'", access, idempotent=idempotent)
    return value_of(operation, status, named, body, str.strip)


def _error(status: int, content: bytes | object = b"", **options: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        _read(status, content, **options)
    return refused.value


@pytest.mark.parametrize(("status", "body", "value"), [(204, b"", None), (200, b" ", None), (299, [1], [1])])
def test_the_value_of_a_response_is_its_json(status: int, body: bytes | object, value: object) -> None:
    assert _read(status, body) == value


@pytest.mark.parametrize(
    ("statuses", "headers", "retryable", "outcome", "hint"),
    [
        ([408, 500, 502, 503, 504, *range(520, 530)], {}, True, "unknown", ""),
        ([425, 429], {}, True, "not_done", ""),
        ([403, 404, 405, 407, 409, 413, 422, 499], {}, False, "not_done", "another server may have responded"),
        ([401], {}, False, "not_done", "check api_token"),
        ([400], {}, True, "unknown", ""),
        ([511, 519, 530], {}, False, "unknown", "another server may have responded"),
        ([503], {"X-Maintenance-Mode": "1"}, False, "not_done", "The service is in maintenance"),
        ([502], {"X-Maintenance-Mode": "1"}, True, "unknown", ""),
    ],
)
def test_statuses(statuses: list[int], headers: dict[str, Any], retryable: bool, outcome: str, hint: str) -> None:
    for status in statuses:
        error = _error(status, b"<html>", **headers)
        assert (error.retryable, error.outcome, hint in error.hint) == (retryable, outcome, True)
        assert bool(error.hint) is bool(hint)
        # After 425 and 429 the service has certainly not created a client, so a retry is safe.
        assert _error(status, b"<html>", idempotent=False, **headers).retryable is (status in (425, 429))


_TAKEN = {"field": "label", "reason": "is taken"}
_UNKNOWN = "JSON of an unknown shape ({} bytes)"


@pytest.mark.parametrize(
    ("body", "text", "fields"),
    [
        ({"errors": [_TAKEN]}, "label: is taken", ["label"]),
        ({"errors": [{"field": "", "reason": "no"}]}, "no", [""]),
        ({"errors": [{"reason": "no", "code": 7}, _TAKEN]}, "no; label: is taken", ["", "label"]),
        ({"errors": [{"field": "label"}]}, "label: no reason given", ["label"]),
        ({"errors": [{"field": "label", "message": "is taken"}]}, "label: is taken", ["label"]),
        # Services written with Rails return this shape.
        ({"errors": {"label": ["is taken", "is bad"]}}, "label: is taken; is bad", ["label"]),
        # Gateways return errors without fields.
        ({"errors": "no"}, "no", []),
        ({"errors": ["no"] * 21}, "; ".join(["no"] * 20), []),
        (
            {"success": False, "errors": [{"code": 7, "message": "no"}, {"code": 1, "message": "never"}]},
            "no; never",
            [],
        ),
        ({"message": "no"}, "no", []),
        ({"detail": [{"loc": ["body"], "msg": "no"}, {"loc": ["query"], "msg": "never"}]}, "no; never", []),
        ({"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "no"}, "no", []),
        ({"title": "Forbidden", "detail": None}, "Forbidden", []),
        ({"error": "invalid_request", "error_description": "no"}, "no", []),
        ({"error": {"code": 7, "message": "no"}}, "no", []),
        ({"fault": {"faultstring": "no", "detail": {"errorcode": "x"}}}, "no", []),
        (b"<" * 201, f"not JSON but {'<' * 200!r}", []),
        (b" ", "an empty body", []),
        ({"errors": []}, _UNKNOWN.format(14), []),
        ({"message": 7, "api_key": "hidden"}, _UNKNOWN.format(35), []),
        # Only the text of an error is quoted, because other texts can be values.
        (b'"hidden"', _UNKNOWN.format(8), []),
        (["hidden"], _UNKNOWN.format(10), []),
        ({"message": 'Upstream sent {"api_key": "hidden"}'}, _UNKNOWN.format(54), []),
        ({"errors": [{"field": {"api_key": "hidden"}, "reason": "no"}]}, "no", [""]),
    ],
    ids=str,
)
def test_a_message_quotes_the_text_of_an_error_of_any_shape(body: Any, text: str, fields: list[str]) -> None:
    """Observed: "errors"."""
    for status in (400, 403, 404, 520):
        error = _error(status, body)
        assert error.problem == f"the service returned {status}: {text}"
        assert [item["field"] for item in error.errors] == fields
        assert (error.is_missing, error.names_field("label")) == (status == 404 and bool(fields), "label" in fields)


def test_a_body_with_only_errors_is_an_error_with_any_status() -> None:
    for status in (200, 299):
        error = _error(status, {"errors": [_TAKEN]})
        assert (error.problem, error.outcome) == (f"the service returned {status}: label: is taken", "unknown")
    objects: list[dict[str, Any]] = [{"errors": []}, {"errors": [_TAKEN], "id": 1}, {"errors": [_TAKEN], "data": []}]
    for value in objects:
        assert _read(200, value) == value


_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CODE = "D4D4D4D4-4E5F-6071-8293A4B5C6D7E8F9"
_CLIENT = f'{{"id": 1, "label": "web1", "api_key": "{_KEY}", "install_code": "{_CODE}"}}'
_PAGE = f'{{"data": [{_CLIENT}], "page": 1, "pages": 1, "results": 1}}'
_MULTIPART = f"--part\r\nContent-Type: application/json\r\n\r\n{_PAGE}\r\n--part--"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (_CLIENT, {}),
        (_CLIENT[:-1], {}),
        (f"<br /><b>Deprecated</b>: in x.php on line 1<br />\n{_PAGE}", {"Content-Type": "text/html"}),
        (f")]}}',\n{_PAGE}", {}),
        (f"callback({_PAGE});", {"Content-Type": "text/javascript"}),
        (f"/* page 1 */ {_PAGE}", {}),
        (f"\ufeff{_PAGE}", {}),
        (f"\ufeff\ufeff{_PAGE}", {}),
        (_MULTIPART, {"Content-Type": "multipart/mixed; boundary=part"}),
        (f"{len(_PAGE):x}\r\n{_PAGE}\r\n0\r\n\r\n", {}),
        (f"data: {_PAGE}\n\n", {"Content-Type": "text/event-stream"}),
        (f"{_CLIENT}\n{_CLIENT}", {}),
        (f"HTTP/1.1 200 OK\r\n\r\n{_PAGE}", {}),
        (f"<html>{'.' * 5000}{_PAGE}</html>", {"Content-Type": "text/html"}),
        # The body is cut at the front, or at both ends.
        (_CLIENT[5:], {}),
        (_CLIENT[5:-1], {}),
        (_KEY, {"Content-Type": "application/json; charset=utf-8"}),
        (_KEY, {"Content-Type": "application/problem+json"}),
        # Another format with the same fields.
        (f"<client><api_key>{_KEY}</api_key></client>", {"Content-Type": "application/xml"}),
        (f"api_key={_KEY}&install_code={_CODE}", {}),
        (f"label: web1\nAPI_KEY: {_KEY}", {}),
        (f"id: {_KEY}".encode("utf-16"), {}),
        (b"(\xb5/\xfd" + _KEY.encode(), {"Content-Encoding": "zstd"}),
        (_KEY, {"Content-Encoding": "gzip, br"}),
        (f"\xff{_KEY}".encode("latin-1"), {}),
    ],
)
def test_a_body_that_may_contain_keys_is_not_quoted(body: str | bytes, headers: dict[str, Any]) -> None:
    content = body.encode() if isinstance(body, str) else body
    for status in (200, 400, 404, 502):
        try:
            _read(status, content, **headers)
        except ApiError as error:
            assert f"JSON of an unknown shape ({len(content)} bytes" in error.problem
            assert not {_KEY[:6], _CODE[:6]} & set(re.findall("0A1B2C|D4D4D4", str(error))), error
        else:
            # Python reads JSON with a byte order mark.
            assert status == 200


def test_a_message_names_the_encoding_and_the_media_type_of_a_body() -> None:
    headers: dict[str, Any] = {"Content_Encoding": "identity, ZSTD", "Content_Type": "text/html; charset=utf-8"}
    problem = _error(502, b"x", **headers).problem
    assert problem.endswith("the unsupported encoding 'zstd', or JSON of an unknown shape (1 bytes of text/html)")
    for known in ("gzip", "x-gzip, identity", "deflate"):
        assert _error(502, b"Bad Gateway", Content_Encoding=known).problem.endswith("not JSON but 'Bad Gateway'")


def test_numbers_that_json_does_not_allow_are_null() -> None:
    body = b'{"a": NaN, "b": [-Infinity, 1e999, -1e999], "c": 1.5}'
    assert _read(200, body) == {"a": None, "b": [None, None, None], "c": 1.5}


def test_an_incomplete_response_is_retried_except_for_a_create_request() -> None:
    for content in (b'{"id": 1, "lab', b'[{"id": 1}', b'{"data": [],\n "pages": tru3}'):
        for idempotent in (True, False):
            error = _error(200, content, idempotent=idempotent)
            assert (error.retryable, error.outcome) == (idempotent, "unknown")
        assert _error(200, content, method="GET").outcome == "not_done"


@pytest.mark.parametrize(
    ("status", "body", "path", "hint"),
    [
        (401, b"", "/monitor/clients", "check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)"),
        (403, {"errors": [{"reason": "no"}]}, "/monitor/clients", "The token needs the scope x."),
        # The service itself explains each 403 in the field `errors`.
        (403, {"message": "blocked"}, "/monitor/clients", "another server may have responded"),
        # Requests for regions contain no token.
        (401, {"errors": [{"reason": "no"}]}, "/regions", "another server may have responded"),
        (403, {"errors": [{"reason": "no"}]}, "/regions", "another server may have responded"),
    ],
)
def test_the_hint_names_the_token_only_if_the_service_refused_the_token(
    status: int, body: Any, path: str, hint: str
) -> None:
    assert hint in _error(status, body, path=path).hint


def test_redirects_are_errors() -> None:
    """303 is the usual response to a request that was carried out, so the outcome of a request is unknown."""
    for status in (300, 303, 304, 399):
        error = _error(status, {"id": 1}, Location="https://user:secret@sso.example.com/login?key=secret#secret")
        assert "a redirect to 'sso.example.com/login', which is not followed" in str(error)
        assert (error.retryable, error.lasting, error.outcome) == (False, True, "unknown")
        assert "secret" not in str(error) and "another server may have responded" in error.hint
        assert _error(status, b"", method="GET").outcome == "not_done"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (100, b"", "an informational response, but no final response"),
        (103, b"", "an informational response, but no final response"),
        (300, b"<a href='/1'>1</a>", "not JSON but \"<a href='/1'>1</a>\""),
        (304, b"", "an empty body"),
        (304, {"errors": [{"reason": "no"}]}, "no"),
    ],
)
def test_a_response_without_a_result_and_without_an_address(status: int, body: Any, reason: str) -> None:
    """Observed: "gateway"."""
    error = _error(status, body)
    assert error.problem == f"the service returned {status}: {reason}"
    assert (error.lasting, error.outcome) == (True, "unknown")
    assert "another server may have responded" in error.hint


def test_only_transient_errors_have_a_wait() -> None:
    assert _error(429, b"", Retry_After="7").wait == 7
    assert _error(503, b"", Retry_After="7", idempotent=False).wait == 7
    assert _error(400, b"", Retry_After="7").wait is None


_REGION = functools.partial(item_of, REGION)
_SUBSCRIPTION = functools.partial(item_of, SUBSCRIPTION)
_TIER = {"id": "monitor-10", "clients_included": 10}
_APPS = {"apache": 1, "mysql": 0, "nginx": True, "version": 2, "name": "x", "port": -1}


@pytest.mark.parametrize(
    ("convert", "value", "changes"),
    [
        (_REGION, {"id": "eu", "capabilities": None, "site_type": "core"}, {}),
        (plan_of, {**_TIER, "more": 1}, {}),
        (client_of, {"id": 1, "label": "web1", "more": [1], "apps": None}, {}),
        (client_of, {"id": "x" * 64, "label": None}, {}),
        (client_of, {"id": 1, "label": 7}, {"label": None}),
        (client_of, {"id": 1, "label": ""}, {"label": None}),
        # Observed: "apps": 0 and 1 in the response to a create request.
        (client_of, {"id": 1, "label": "web1", "apps": _APPS}, {"apps": {**_APPS, "apache": True, "mysql": False}}),
        *((client_of, {"id": given, "label": "web1"}, {"id": 12}) for given in ("12", 12.0, "12.0")),
        *((client_of, {"id": text, "label": "web1"}, {}) for text in ("c-12", "012", "\u0661")),
        (page_of, {"data": [1, 2]}, {"pages": 1, "results": None}),
        (page_of, {"data": [1, 2], "pages": 10_000, "results": 20_000}, {}),
    ],
)
def test_objects_of_the_documented_shape(convert: Any, value: dict[str, Any], changes: dict[str, Any]) -> None:
    assert repr(convert(value)) == repr({**value, **changes})


@pytest.mark.parametrize(
    ("convert", "value", "problem"),
    [
        (_REGION, [], "not a JSON object"),
        (_REGION, {"id": None}, "a region without a valid id"),
        (_REGION, {"id": "eu", "capabilities": {"a": 1}}, "a region without a valid capabilities"),
        (_SUBSCRIPTION, {**_TIER, "id": 7}, "a subscription without a valid id"),
        (_SUBSCRIPTION, {**_TIER, "clients_included": "10"}, "a subscription without a valid clients_included"),
        (plan_of, {"id": "monitor-10"}, "a subscription without a valid clients_included"),
        (client_of, {"label": "web1"}, "a client without a valid id"),
        (functools.partial(client_of, labelled=True), {"id": 1}, "a client without label"),
        (page_of, {}, "data is not a list"),
        (page_of, {"data": [], "results": 1}, "pages is missing"),
        (page_of, {"data": [], "pages": "1"}, "pages or results is not a number"),
        (page_of, {"data": [], "pages": 10_001}, "more than 10000"),
    ],
)
def test_objects_of_another_shape_are_errors(convert: Any, value: object, problem: str) -> None:
    with pytest.raises(ApiError, match=f"does not have the documented shape: .*{problem}") as refused:
        convert(value)
    assert refused.value.hint.startswith("Check that base_url is the address of the service")


def test_an_object_that_was_not_requested_is_refused() -> None:
    item = {"id": 1, "label": "web1"}
    assert requested(item, id="1", label="web1") is item
    for expected in ({"id": 2}, {"label": "web1", "id": 2}, {"created": "now"}, {"created": None}):
        with pytest.raises(WrongObjectError, match="instead of"):
            requested(item, **expected)


def test_retry_after_contains_seconds_or_a_date() -> None:
    invalid = ("", "soon", "Thu, 99 Foo 2026", "2026-01-01T00:00Z", "nan", "1e400", "0", "-5")
    for value, seconds in {"7": 7, "0.5": 0.5, **dict.fromkeys(invalid)}.items():
        assert retry_after({"Retry-After": value}) == seconds
    assert retry_after({}) is None
    now = time.time()
    assert 55 < (retry_after({"Retry-After": formatdate(now + 60, usegmt=True)}) or 0) <= 60
    assert retry_after({"Retry-After": formatdate(now - 60)}) is None


@pytest.mark.parametrize("clock", [-3 * 86400, -3600, 0, 3600, 3 * 86400])
def test_a_date_in_retry_after_is_relative_to_the_clock_of_the_service(clock: int) -> None:
    sent = time.time() + clock
    for wait, expected in ((60, 60), (0, None), (-60, None)):
        headers = {"Date": formatdate(sent, usegmt=True), "Retry-After": formatdate(sent + wait, usegmt=True)}
        assert retry_after(headers) == expected
        assert retry_after({**headers, "Retry-After": "7"}) == 7
    for invalid in ("", "soon", "Thu, 99 Foo 2026"):
        later = formatdate(time.time() + 60, usegmt=True)
        assert 55 < (retry_after({"Date": invalid, "Retry-After": later}) or 0) <= 60
