# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.tests.support import inputs
from ansible_collections.monitor.cloud.tests.support.checks import try_task
from ansible_collections.monitor.cloud.tests.support.servers import Account, as_json


@pytest.mark.parametrize("call", inputs.CALLS)
def test_valid_responses_give_a_result(account: Any, call: str) -> None:
    module, options, response = inputs.CALLS[call]
    account.overrides = {response: as_json(inputs.valid_response(call))}
    assert try_task(account, module, faults=0, **options)[0] is not None


_BEFORE = {"a warning of PHP": "<br /><b>Deprecated</b>: x<br />\n", "a prefix against JSON hijacking": ")]}',\n"}


@pytest.mark.parametrize("before", _BEFORE)
@pytest.mark.parametrize("call", inputs.CALLS)
def test_no_call_quotes_a_client_after_other_text(account: Any, call: str, before: str) -> None:
    """Each call gets a client with its keys, in a body that is not JSON."""
    module, options, response = inputs.CALLS[call]
    body = f"{_BEFORE[before]}{json.dumps(Account.CLIENT)}".encode()
    for status, media_type in ((200, "text/html"), (200, "application/json"), (400, "text/html"), (502, "text/html")):
        account.overrides = {response: (status, {"Content-Type": media_type}, body)}
        result, message = try_task(account, module, **options)
        if result is None:
            assert f"JSON of an unknown shape ({len(body)} bytes of {media_type})" in message


@inputs.examples(300, 60000)
@given(call=st.sampled_from(sorted(inputs.CALLS)), value=inputs.json_values, data=st.data())
def test_any_json_as_a_response_or_within_a_valid_one(account: Any, call: str, value: Any, data: st.DataObject) -> None:
    right = inputs.valid_response(call)
    path = data.draw(st.just(()) | st.sampled_from(list(inputs.value_paths(right))))
    status = data.draw(st.sampled_from((200, 200, 201, 400, 422, 503)))
    module, options, response = inputs.CALLS[call]
    account.overrides = {response: as_json(inputs.replaced(right, path, value), status)}
    try_task(account, module, **options)
