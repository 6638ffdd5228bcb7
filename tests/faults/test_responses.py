# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Responses that no service should send: each gets the right result or a clear error, and never a traceback."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import natural_sort_key
from ansible_collections.monitor.cloud.tests.support import inputs
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long, try_task
from ansible_collections.monitor.cloud.tests.support.servers import Reply, as_json

_RAW: tuple[bytes, ...] = (
    b"", b"\0", b"null", b"\xff\xfe", b"\xef\xbb\xbf{}", b'{"data":[],"data":7}', b'["\xff"]', b'"\xed\xa0\x80"',
    b'{"id":1,"id":"x","label":"web1","label":null}', b'{"data":["\\ud800"]}', b"[" * 100000, b"NaN",
    b"[" * 100000 + b"]" * 100000, b'{"a":' * 60 + b"1" + b"}" * 60, b"1" * 5000, b"[NaN]", b'{"data":[],"pages":1e3}',
    b'{"data":[],"pages":1000000000000,"results":2}', b'{"data":[],"pages":-5}', b"<html>", b'{"errors":{}}',
    b'{"errors":[{"reason":' + b"[" * 900 + b"]" * 900 + b"}]}", b'{"data":[]}' + b" " * 100000, b'{"data":[]}{}',
    b'{"errors":[{"field":["label"],"reason":{"a":"\x1b"}}]}', '{"data":[]}'.encode("utf-16"), b'{"errors":[7,null]}',
    b'{"errors":[{"field":"\\ud800","reason":"\\n\\u001b[31m\\u202e"}]}',
    b'{"errors":[{"reason":"' + b"x" * 99999 + b'"}]}',
)  # fmt: skip
_TIMES = (
    "", "-1", "nan", "inf", "1e400", "1" * 5000, "0x10", "\u0663", "\x80", "Mon, 99 Foo 99999999999999999 00:00:00",
    "Fri, 31 Dec 9999 23:59:59 -9999", "Thu, 01 Jan 1970 00:00:00 +99999999999999", "Thu, 01 Jan 0001 00:00:00 +2359",
)  # fmt: skip


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage collection within JSON that is too deep: finalizers fail at the recursion limit."""
    gc.disable()
    yield
    gc.enable()


def _check(account: Any, call: str, reply: Reply) -> dict[str, Any] | None:
    module, options, replaced_response = inputs.CALLS[call]
    account.overrides = {replaced_response: reply}
    return try_task(account, module, **options)[0]


@pytest.mark.parametrize("call", inputs.CALLS)
def test_valid_responses_give_a_result(account: Any, call: str) -> None:
    module, options, _response = inputs.CALLS[call]
    assert try_task(account, module, faults=0, **options)[0] is not None
    assert _check(account, call, as_json(inputs.valid_response(call))) is not None


@pytest.mark.parametrize("call", inputs.CALLS)
def test_invalid_values_at_each_path(account: Any, call: str) -> None:
    step = short_or_long(8, 1)
    right = inputs.valid_response(call)
    for number, path in enumerate(inputs.value_paths(right)):
        # Another part of them at each path.
        for value in inputs.INVALID_VALUES[number % step :: step]:
            _check(account, call, as_json(inputs.replaced(right, path, value)))


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("call", list(inputs.CALLS)[:: short_or_long(5, 1)])
def test_bytes_that_are_not_valid_json(account: Any, call: str) -> None:
    for raw in _RAW:
        for status in (200, 204, 400, 429, 600):
            _check(account, call, as_json(raw, status))


@pytest.mark.parametrize("header", _TIMES)
def test_invalid_headers_cause_no_traceback(account: Any, header: str) -> None:
    for status in (200, 302, 429, 503):
        headers = {"Retry-After": header, "Content-Type": header, "Location": header, "Content-Encoding": header}
        _check(account, "list, info", (status, headers, b"<p>"))


@inputs.examples(300, 60000)
@given(call=st.sampled_from(sorted(inputs.CALLS)), value=inputs.json_values, data=st.data())
def test_any_json_as_a_response_or_within_a_valid_one(account: Any, call: str, value: Any, data: st.DataObject) -> None:
    right = inputs.valid_response(call)
    path = data.draw(st.just(()) | st.sampled_from(list(inputs.value_paths(right))))
    status = data.draw(st.sampled_from((200, 200, 201, 400, 422, 503)))
    _check(account, call, as_json(inputs.replaced(right, path, value), status))


def test_labels_of_thousands_of_digits_are_sorted() -> None:
    names = ["web-" + "9" * 5000, "web-10", "web-2", "web-010", "web-" + "1" * 5000]
    assert sorted(names, key=natural_sort_key) == [
        "web-2",
        "web-10",
        "web-010",
        "web-" + "1" * 5000,
        "web-" + "9" * 5000,
    ]
