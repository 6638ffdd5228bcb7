# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an answer means: a value, or an error and whether the request may be sent again."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._answer import Answer, Outcome, retry_after
from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError


def _read(status: int, content: bytes | object, *, repeatable: bool = True, **headers: str) -> Outcome:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer("POST", "/monitor/clients", repeatable, status, named, body, str.strip).read()


def _error(outcome: Outcome) -> ApiError:
    assert outcome.error is not None
    assert outcome.value is None
    return outcome.error


@given(st.integers(200, 299).filter(lambda status: status != 204), st.dictionaries(st.text(), st.integers()))
def test_json_is_a_value(status: int, value: dict[str, int]) -> None:
    assert _read(status, value) == Outcome(value=value)


@pytest.mark.parametrize(("status", "content"), [(204, b""), (200, b""), (204, b"ignored")])
def test_nothing_is_no_value(status: int, content: bytes) -> None:
    assert _read(status, content, Content_Length="0") == Outcome()


@pytest.mark.parametrize("repeatable", [True, False])
def test_nothing_without_a_length_was_cut_within_its_headers(repeatable: bool) -> None:
    outcome = _read(200, b"", repeatable=repeatable)
    assert outcome.may_repeat is repeatable
    assert _error(outcome).problem == "the answer was cut short"
    assert _error(outcome).outcome_unknown is not repeatable


@given(st.integers(200, 599), st.binary(), st.booleans())
def test_any_answer_is_read_one_way_or_the_other(status: int, content: bytes, repeatable: bool) -> None:
    outcome = _read(status, content, repeatable=repeatable)
    if outcome.error is not None:
        message = str(outcome.error)
        assert message.endswith(".")
        assert "(POST /monitor/clients)" in message
        assert message.isprintable()
    # What may have been done must not be sent again, but for 429: that was certainly not done.
    if not repeatable and outcome.may_repeat:
        assert status == 429
    if repeatable and outcome.error is not None:
        assert outcome.error.outcome_unknown is False


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_statuses_that_are_repeated(status: int) -> None:
    assert _read(status, b"").may_repeat is True
    create = _read(status, b"", repeatable=False)
    assert create.may_repeat is (status == 429)
    assert _error(create).outcome_unknown is (status != 429)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422])
def test_statuses_that_are_final(status: int) -> None:
    for repeatable in (True, False):
        outcome = _read(status, b"", repeatable=repeatable)
        assert outcome.may_repeat is False
        assert _error(outcome).outcome_unknown is False


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([{"field": "label", "reason": "is taken"}], "label: is taken"),
        ([{"field": "", "reason": "no"}], "answered 400: no"),
        ([{"field": None, "reason": "no"}], "answered 400: no"),
        ([{"reason": "no", "code": 7}], "answered 400: no"),
        ([{"field": "label"}], "label: no reason given"),
        ([{"field": "a", "reason": "b"}, {"field": "c", "reason": "d"}], "a: b; c: d"),
        ([], "answered 400: JSON of an unknown shape"),
        ("text", "answered 400: JSON of an unknown shape"),
        ([1, None, {"reason": "no"}], "answered 400: no"),
    ],
)
def test_the_services_own_words(errors: object, words: str) -> None:
    assert words in str(_error(_read(400, {"errors": errors})))


def test_unknown_fields_of_an_error_are_kept() -> None:
    error = _error(_read(400, {"errors": [{"reason": "no", "code": 7}]}))
    assert error.errors == [{"reason": "no", "code": 7, "field": None}]


def test_json_that_is_no_error_body_is_not_quoted() -> None:
    body: dict[str, Any] = {"api_key": "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"}
    for content in (json.dumps(body).encode(), json.dumps(body).encode()[:-1]):
        for status in (200, 400, 502):
            outcome = _read(status, content)
            assert outcome.error is None or "0A1B2C3D" not in str(outcome.error)


def test_half_an_answer() -> None:
    assert _read(200, b'{"id": 1, "lab').may_repeat is True
    create = _read(200, b'{"id": 1, "lab', repeatable=False)
    assert create.may_repeat is False
    assert _error(create).outcome_unknown is True
    assert "the answer was cut short" in str(_error(create))


@given(st.integers(300, 399))
def test_redirects_are_errors(status: int) -> None:
    outcome = _read(status, b"", Location="https://user:secret@sso.example.com/login?key=secret#secret")
    assert "a redirect to 'https://sso.example.com/login', which is not followed" in str(_error(outcome))
    assert outcome.may_repeat is False
    assert "secret" not in str(outcome.error)


@given(st.floats(0, 1e6))
def test_seconds_to_wait(seconds: float) -> None:
    assert retry_after({"Retry-After": str(seconds)}) == seconds


@pytest.mark.parametrize("given_value", ["", "soon", "Thu, 99 Foo 2026", "2026-01-01T00:00:00Z", "nan", "inf", "-inf"])
def test_what_is_no_time_to_wait_counts_as_none(given_value: str) -> None:
    assert retry_after({"Retry-After": given_value}) is None


def test_a_date_to_wait_for() -> None:
    assert retry_after({}) is None
    assert 55 < (retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)}) or 0) <= 60
    assert retry_after({"Retry-After": formatdate(time.time() - 60)}) == 0
    assert retry_after({"Retry-After": "-5"}) == 0
