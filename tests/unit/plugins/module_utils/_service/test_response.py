# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a response means: a value, or an error and whether the request may be sent again."""

from __future__ import annotations

import functools
import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, OtherObject
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import REGION, SUBSCRIPTION, Operation
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import (
    Response,
    client_of,
    item_of,
    page_of,
    plan_of,
    requested,
    retry_after,
)


def _read(
    status: int, content: bytes | object, *, idempotent: bool = True, method: str = "POST", **headers: str
) -> Any:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    operation = Operation(method, "/monitor/clients", "create client 'web1'", idempotent=idempotent)
    return Response(operation, status, named, body, str.strip).value()


def _error(status: int, content: bytes | object = b"", **options: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        _read(status, content, **options)
    return refused.value


def test_an_empty_body_is_not_a_value() -> None:
    for status, content in ((204, b""), (200, b""), (204, b"ignored")):
        assert _read(status, content, Content_Length="0") is None


@pytest.mark.parametrize(
    ("statuses", "headers", "retryable", "outcome", "hint"),
    [
        ([408, 500, 502, 503, 504, *range(520, 530)], {}, True, "unknown", ""),
        ([425, 429], {}, True, "not_done", ""),
        ([400, 403, 404, 405, 409, 413, 422, 499], {}, False, "not_done", "another server may have responded"),
        ([401], {"Content-Type": "text/html"}, False, "not_done", "check api_token"),
        ([407], {}, False, "not_done", "The proxy requires credentials"),
        ([400], {"Content-Type": "text/html; charset=utf-8"}, True, "unknown", ""),
        ([511, 519, 530], {}, False, "unknown", "another server may have responded"),
        ([400], {"Content-Type": "application/json"}, False, "not_done", "another server"),
        ([503], {"X-Maintenance-Mode": "1"}, False, "not_done", "The service is in maintenance"),
        ([502], {"X-Maintenance-Mode": "1"}, True, "unknown", ""),
    ],
)
def test_statuses(statuses: list[int], headers: dict[str, Any], retryable: bool, outcome: str, hint: str) -> None:
    for status in statuses:
        error = _error(status, b"<html>", **headers)
        assert (error.retryable, error.outcome, hint in error.hint) == (retryable, outcome, True)
        assert bool(error.hint) is bool(hint)
        # What may have been done must not be sent again, but for 425 and 429: that was certainly not done.
        assert _error(status, b"<html>", idempotent=False, **headers).retryable is (status in (425, 429))


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([{"field": "label", "reason": "is taken"}], "label: is taken"),
        ([{"field": "", "reason": "no"}], "returned 400: no"),
        ([{"reason": "no", "code": 7}], "returned 400: no"),
        ([{"field": "label"}], "label: no reason given"),
        ([{"field": "a", "reason": "b"}, {"field": "c", "reason": "d"}], "a: b; c: d"),
        ([], "returned 400: JSON of an unknown shape"),
        ([1, None, {"reason": "no"}], "returned 400: no"),
        ([{"field": "label", "message": "is taken"}], "label: is taken"),
    ],
)
def test_the_reason_of_the_service_is_quoted(errors: object, expected: str) -> None:
    assert expected in str(_error(400, {"errors": errors}))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"message": "no"}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body"], "msg": "no"}, {"loc": ["query"], "msg": "never"}]}, "no; never"),
        ({"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "no"}, "no"),
        ({"title": "Forbidden", "detail": None}, "Forbidden"),
        ({"error": "invalid_request", "error_description": "no"}, "no"),
        ({"error": {"code": 7, "message": "no"}}, "no"),
        ({"errors": "no"}, "no"),
        ({"success": False, "errors": [{"code": 7003, "message": "no"}, {"code": 1, "message": "never"}]}, "no; never"),
        ({"message": 7, "api_key": "hidden"}, "JSON of an unknown shape"),
    ],
    ids=str,
)
def test_the_text_of_another_shape_is_quoted_but_is_not_of_the_service(body: Any, text: str) -> None:
    """Observed: "errors"."""
    for status in (400, 403, 404, 520):
        error = _error(status, body)
        assert error.problem == f"the service returned {status}: {text}"
        assert (error.errors, error.is_missing, error.lacks_access) == ([], False, False)


def test_of_many_errors_the_first_ones_are_quoted() -> None:
    error = _error(400, {"errors": [{"field": "f", "reason": f"reason {number}"} for number in range(100_000)]})
    assert "f: reason 0; f: reason 1; " in str(error)
    assert str(error).count("f: reason") == 20


def test_json_that_is_not_an_error_body_is_not_quoted() -> None:
    body = b'{"api_key": "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"}'
    for status, content in ((200, body[:-1]), (400, body), (400, body[:-1]), (502, body)):
        assert "0A1B2C3D" not in str(_error(status, content))
    assert _error(503, b" ", Content_Type="text/html").problem == "the service returned 503: an empty body"


_WHOLE = b'{"id": 1, "caf\xc3\xa9": [true, false, null, -1.5e+3, "\\u00e9 \\"x\\""], "more": {}}'


@pytest.mark.parametrize("idempotent", [True, False])
def test_half_a_response_is_retried_unless_it_is_of_a_create(idempotent: bool) -> None:
    """One that is empty and has no length was cut within its headers."""
    for length in range(len(_WHOLE)):
        error = _error(200, _WHOLE[:length], idempotent=idempotent)
        assert (error.problem, error.outcome) == ("the response was cut short", "unknown"), length
        assert error.retryable is idempotent
        assert _error(200, _WHOLE[:length], method="GET").outcome == "not_done"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[error] upstream timed out", " at line 1, column 2: Expecting value"),
        (b"{{ base_url }}", " at line 1, column 2: Expecting property name"),
        (b'{"data": [],\n "pages": tru3}', " at line 2, column 11: Expecting value"),
        (b'{"data": []}{}', " at line 1, column 13: Extra data"),
        (b'{"label": "\\u12zz"}', " at line 1, column "),
        (b'{"label": "a\nb"}', " at line 1, column 13: Invalid control character"),
        (b'{"label": "caf\xe9-1"}', ": 'utf-8' codec can't decode byte 0xe9"),
        (b'{"label": "web1"}\xff', ": 'utf-8' codec can't decode byte 0xff"),
        (b"[" + b"1" * 5000 + b"]", ": Exceeds the limit"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_text_that_only_begins_as_json_is_an_error_at_once(content: bytes, problem: str) -> None:
    error = _error(200, content)
    assert error.problem.startswith(f"the response is not valid JSON{problem}")
    assert (error.retryable, error.outcome) == (False, "unknown")
    assert "another server" in error.hint


def test_errors_count_whatever_the_status() -> None:
    """A delete would take any other object for a success."""
    errors = [{"field": "label", "reason": "is taken", "code": 7}, {"reason": "no"}]
    error = _error(200, {"errors": errors})
    assert error.errors == [errors[0], {"reason": "no", "field": None}]
    assert (error.problem, error.outcome) == ("the service returned 200: label: is taken; no", "unknown")
    assert error.names_field("label")
    assert _error(200, {"errors": [{"code": 7, "message": "no"}]}).problem == "the service returned 200: no"
    objects: list[dict[str, Any]] = [{"errors": []}, {"errors": errors, "id": 1}, {"errors": errors, "data": []}]
    for value in objects:
        assert _read(200, value) == value


@pytest.mark.parametrize("status", [300, 304, 399])
def test_redirects_are_errors(status: int) -> None:
    error = _error(status, {"id": 1}, Location="https://user:secret@sso.example.com/login?key=secret#secret")
    assert "a redirect to 'https://sso.example.com/login', which is not followed" in str(error)
    assert (error.retryable, error.outcome) == (False, "not_done")
    assert "secret" not in str(error)
    assert "a redirect to 'https://[::1'" in str(_error(status, b"", Location="https://a:secret@[::1"))
    # Without an address.
    error = _error(status, method="GET")
    assert error.problem == f"the service returned {status}, which is not a valid response to this request"
    assert "another server" in error.hint


def test_a_pause_is_obeyed_only_if_the_request_is_sent_again() -> None:
    assert _error(429, b"", Retry_After="7").wait == 7
    # Of a create, once the list was read.
    assert _error(503, b"", Retry_After="7", idempotent=False).wait == 7
    assert _error(400, b"", Retry_After="7").wait is None


_NESTED = "the response is nested more deeply than any response should be"
_NOT_JSON = "the response is not JSON but "


@pytest.mark.parametrize(
    ("content", "headers", "problem"),
    [
        (b"<html>in</html>", {"Content-Type": "Text/HTML; x"}, f"{_NOT_JSON}text/html, starting with '<html>in"),
        (b"hello " * 50, {}, f"{_NOT_JSON}of no type, starting with {'hello ' * 20!r}"),
        (b"key", {"Content-Type": "application/problem+json"}, "the response is JSON of an unknown shape"),
        (b"x", {"Content-Encoding": " BR "}, "the response is encoded as 'br', which was not requested"),
        (b"", {"Content-Encoding": "br", "Content-Length": "0"}, "the response is encoded as 'br', which was not"),
        (b"[" * 60 + b"]" * 60, {}, _NESTED),
        (b"[" * 100_000, {}, _NESTED),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_json_is_described(content: bytes, headers: dict[str, Any], problem: str) -> None:
    """Observed: "errors": 200 with a page of HTML."""
    error = _error(200, content, **headers)
    assert error.problem.startswith(problem)
    assert (error.retryable, error.outcome) == (False, "unknown")
    assert "another server" in error.hint


def test_fifty_levels_can_be_passed_on() -> None:
    deepest: Any = []
    for _level in range(50):
        deepest = [deepest]
    assert _read(200, deepest) == deepest
    for deeper in ([deepest], {"a": 1, "b": [deepest]}):
        assert _error(200, deeper).problem == _NESTED
    assert _error(400, {"errors": [{"reason": "no", "more": deepest}]}).errors == []


def test_requested_encodings_are_read_and_numbers_that_json_does_not_have_are_null() -> None:
    for encoding in ("", "identity", "gzip", "deflate", "X-Gzip", "gzip, identity", "identity,"):
        assert _read(200, b"[NaN, Infinity, -Infinity, 1.5]", Content_Encoding=encoding) == [None, None, None, 1.5]


_REGION, _SUBSCRIPTION = functools.partial(item_of, REGION), functools.partial(item_of, SUBSCRIPTION)
_TIER = {"id": "monitor-10", "clients_included": 10}


@pytest.mark.parametrize(
    ("convert", "value", "changes"),
    [
        (_REGION, {"id": "eu"}, {}),
        (_REGION, {"id": "eu", "capabilities": None, "site_type": "core"}, {}),
        (_SUBSCRIPTION, {**_TIER, "more": 1}, {}),
        (_SUBSCRIPTION, {**_TIER, "id": "x" * 64}, {}),
        (plan_of, {}, {}),
        (plan_of, _TIER, {}),
        (client_of, {"id": 1, "label": "web1", "more": [1], "apps": None}, {}),
        (client_of, {"id": "x" * 64, "label": None}, {}),
        (client_of, {"id": 1}, {"label": None}),
        (client_of, {"id": 1, "label": 7}, {"label": None}),
        (client_of, {"id": 1, "label": ""}, {"label": None}),
        (client_of, {"id": "12", "label": "web1"}, {"id": 12}),
        *((client_of, {"id": text, "label": "web1"}, {}) for text in ("c-12", "012", "\u0661")),
        (page_of, {"data": [1, 2]}, {"pages": 1, "results": None}),
        (page_of, {"data": [1, 2], "results": 2}, {"pages": 1}),
        (page_of, {"data": [1, 2], "pages": 10_000, "results": 20_000}, {}),
    ],
)
def test_objects_of_the_documented_shape(convert: Any, value: dict[str, Any], changes: dict[str, Any]) -> None:
    assert convert(value) == {**value, **changes}


@pytest.mark.parametrize(
    ("convert", "value", "problem"),
    [
        (_REGION, [], "not a JSON object"),
        (_REGION, {"id": None}, "missing id"),
        (_REGION, {"id": "eu", "capabilities": {"a": 1}}, "the capabilities of a region is not a list"),
        (_SUBSCRIPTION, {}, "missing id and clients_included"),
        (_SUBSCRIPTION, {**_TIER, "id": 7}, "not a valid name"),
        (_SUBSCRIPTION, {**_TIER, "id": "x" * 65}, "not a valid name"),
        (_SUBSCRIPTION, {**_TIER, "id": "a\x1b[m"}, "not a valid name"),
        (_SUBSCRIPTION, {**_TIER, "clients_included": "10"}, "the clients_included of a subscription is not a number"),
        (_SUBSCRIPTION, {**_TIER, "clients_included": True}, "the clients_included of a subscription is not a number"),
        (plan_of, {"id": "monitor-10"}, "missing clients_included"),
        (plan_of, 0, "not a JSON object"),
        (client_of, {"label": "web1"}, "missing id"),
        (functools.partial(client_of, labelled=True), {"id": 1}, "missing label"),
        (client_of, {"id": [1]}, "the id of the client is not valid"),
        (client_of, {"id": 10**65}, "the id of the client is not valid"),
        (client_of, {"id": True}, "the id of the client is not valid"),
        (client_of, {"id": ""}, "the id of the client is not valid"),
        (client_of, {"id": "\ud800"}, "the id of the client is not valid"),
        (page_of, {}, "missing data"),
        (page_of, {"data": {}}, "data is not a list"),
        (page_of, {"data": [], "results": 1}, "missing pages"),
        (page_of, {"data": [], "pages": "1"}, "pages or results is not a number"),
        (page_of, {"data": [], "pages": 1, "results": "1"}, "pages or results is not a number"),
        (page_of, {"data": [], "pages": True}, "pages or results is not a number"),
        (page_of, {"data": [], "pages": 10_001}, "pages is more than 10000"),
    ],
)
def test_objects_of_another_shape_are_errors(convert: Any, value: object, problem: str) -> None:
    with pytest.raises(ApiError, match=f"not of the documented shape: .*{problem}") as refused:
        convert(value)
    assert refused.value.hint.startswith("Check that base_url is the address of the service")


def test_members_of_apps_become_booleans() -> None:
    """Observed: "apps": 0 and 1 in the response to a create."""
    apps = {"apache": 1, "mysql": 0, "nginx": True, "version": 2, "name": "x", "port": -1}
    client = client_of({"id": 1, "label": "web1", "apps": apps})
    assert client["apps"] == {**apps, "apache": True, "mysql": False}
    assert [type(client["apps"][name]) for name in ("apache", "mysql")] == [bool, bool]


def test_an_object_that_was_not_requested_is_refused() -> None:
    item = {"id": 1, "label": "web1"}
    assert requested(item, id="1", label="web1") is item
    for expected in ({"id": 2}, {"label": "web1", "id": 2}, {"created": "now"}, {"created": None}):
        with pytest.raises(OtherObject, match="instead of"):
            requested(item, **expected)


def test_seconds_or_a_date_to_wait_for() -> None:
    invalid = ("", "soon", "Thu, 99 Foo 2026", "2026-01-01T00:00Z", "nan", "1e400", "-inf")
    for value, seconds in {"0": 0, "7": 7, "1.5": 1.5, "-5": 0, **dict.fromkeys(invalid)}.items():
        assert retry_after({"Retry-After": value}) == seconds
    assert retry_after({}) is None
    assert 55 < (retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)}) or 0) <= 60
    assert retry_after({"Retry-After": formatdate(time.time() - 60)}) == 0
    # Such a date is in UTC.
    assert 55 < (retry_after({"Retry-After": time.asctime(time.gmtime(time.time() + 60))}) or 0) <= 60
    # The service's clock counts, if it is known.
    assert retry_after({"Retry-After": formatdate(3600, usegmt=True), "Date": formatdate(3590, usegmt=True)}) == 10
    assert retry_after({"Retry-After": formatdate(time.time() - 60), "Date": "today"}) == 0
    # A clock that is a year slow or fast is not one to obey.
    for wrong in (time.time() - 3e7, time.time() + 3e7):
        later = {"Retry-After": formatdate(time.time() + 60, usegmt=True), "Date": formatdate(wrong, usegmt=True)}
        assert 55 < (retry_after(later) or 0) <= 60
