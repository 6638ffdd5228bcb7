# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a response means: a value, or an error and whether the request may be sent again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from email.utils import formatdate
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import Operation, Response, retry_after


class Attempt(NamedTuple):
    """The value of a response, or its error."""

    value: Any = None
    error: ApiError | None = None


def _read(
    status: int, content: bytes | object, *, idempotent: bool = True, method: str = "POST", **headers: str
) -> Attempt:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    operation = Operation(method, "/monitor/clients", "create client 'web1'", idempotent=idempotent)
    try:
        return Attempt(Response(operation, status, named, body, str.strip).value())
    except ApiError as error:
        return Attempt(error=error)


def _error(attempt: Attempt) -> ApiError:
    assert attempt.error is not None
    assert attempt.value is None
    return attempt.error


@given(st.integers(200, 299).filter(lambda status: status != 204), st.dictionaries(st.text(), st.integers()))
def test_json_is_a_value(status: int, value: dict[str, int]) -> None:
    assert _read(status, value) == Attempt(value=value)


@pytest.mark.parametrize(("status", "content"), [(204, b""), (200, b""), (204, b"ignored")])
def test_an_empty_body_is_not_a_value(status: int, content: bytes) -> None:
    assert _read(status, content, Content_Length="0") == Attempt()


@pytest.mark.parametrize("idempotent", [True, False])
def test_an_empty_response_without_a_length_counts_as_truncated(idempotent: bool) -> None:
    attempt = _read(200, b"", idempotent=idempotent)
    assert _error(attempt).retryable is idempotent
    assert _error(attempt).problem == "the response was cut short"
    assert _error(attempt).outcome == "unknown"
    assert _error(_read(200, b"", method="GET")).outcome == "not_done"


@given(st.integers(200, 599), st.binary(), st.booleans())
def test_any_response_is_a_value_or_an_error(status: int, content: bytes, idempotent: bool) -> None:
    attempt = _read(status, content, idempotent=idempotent)
    if attempt.error is not None:
        message = str(replace(attempt.error, method="POST", path="/monitor/clients"))
        assert message.endswith(".")
        assert "(POST /monitor/clients)" in message
        assert message.isprintable()
    # What may have been done must not be sent again, but for 429: that was certainly not done.
    if not idempotent and attempt.error is not None and attempt.error.retryable:
        assert status == 429
    read = _read(status, content, method="GET")
    assert read.error is None or read.error.outcome == "not_done"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_statuses_that_are_retried(status: int) -> None:
    assert _error(_read(status, b"")).retryable is True
    create = _read(status, b"", idempotent=False)
    assert _error(create).retryable is (status == 429)
    assert _error(create).outcome == ("not_done" if status == 429 else "unknown")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422])
def test_statuses_that_are_final(status: int) -> None:
    for idempotent in (True, False):
        attempt = _read(status, b"", idempotent=idempotent)
        assert _error(attempt).retryable is False
        assert _error(attempt).outcome == "not_done"


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([{"field": "label", "reason": "is taken"}], "label: is taken"),
        ([{"field": "", "reason": "no"}], "returned 400: no"),
        ([{"field": None, "reason": "no"}], "returned 400: no"),
        ([{"reason": "no", "code": 7}], "returned 400: no"),
        ([{"field": "label"}], "label: no reason given"),
        ([{"field": "a", "reason": "b"}, {"field": "c", "reason": "d"}], "a: b; c: d"),
        ([], "returned 400: JSON of an unknown shape"),
        ("text", "returned 400: JSON of an unknown shape"),
        ([1, None, {"reason": "no"}], "returned 400: no"),
    ],
)
def test_the_reason_of_the_service_is_quoted(errors: object, expected: str) -> None:
    assert expected in str(_error(_read(400, {"errors": errors})))


def test_unknown_fields_of_an_error_are_kept() -> None:
    error = _error(_read(400, {"errors": [{"reason": "no", "code": 7}]}))
    assert error.errors == [{"reason": "no", "code": 7, "field": None}]


def test_json_that_is_not_an_error_body_is_not_quoted() -> None:
    body: dict[str, Any] = {"api_key": "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"}
    for content in (json.dumps(body).encode(), json.dumps(body).encode()[:-1]):
        for status in (200, 400, 502):
            attempt = _read(status, content)
            assert attempt.error is None or "0A1B2C3D" not in str(attempt.error)


def test_half_a_response_is_retried_unless_it_is_of_a_create() -> None:
    assert _error(_read(200, b'{"id": 1, "lab')).retryable is True
    create = _read(200, b'{"id": 1, "lab', idempotent=False)
    assert _error(create).retryable is False
    assert _error(create).outcome == "unknown"
    assert "the response was cut short" in str(_error(create))


@given(st.integers(300, 399))
def test_redirects_are_errors(status: int) -> None:
    attempt = _read(status, b"", Location="https://user:secret@sso.example.com/login?key=secret#secret")
    assert "a redirect to 'https://sso.example.com/login', which is not followed" in str(_error(attempt))
    assert _error(attempt).retryable is False
    assert "secret" not in str(attempt.error)


@given(st.floats(0, 1e6))
def test_seconds_to_wait(seconds: float) -> None:
    assert retry_after({"Retry-After": str(seconds)}) == seconds


@pytest.mark.parametrize("given_value", ["", "soon", "Thu, 99 Foo 2026", "2026-01-01T00:00:00Z", "nan", "inf", "-inf"])
def test_an_invalid_retry_after_counts_as_none(given_value: str) -> None:
    assert retry_after({"Retry-After": given_value}) is None


def test_a_date_to_wait_for() -> None:
    assert retry_after({}) is None
    assert 55 < (retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)}) or 0) <= 60
    assert retry_after({"Retry-After": formatdate(time.time() - 60)}) == 0
    assert retry_after({"Retry-After": "-5"}) == 0
