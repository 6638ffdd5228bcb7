# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Responses that no service should send: each gets the right result or a clear error, and never a traceback."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.tests.support import inputs
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long, try_task
from ansible_collections.monitor.cloud.tests.support.servers import Reply, as_json


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


@inputs.examples(300, 60000)
@given(call=st.sampled_from(sorted(inputs.CALLS)), value=inputs.json_values, data=st.data())
def test_any_json_as_a_response_or_within_a_valid_one(account: Any, call: str, value: Any, data: st.DataObject) -> None:
    right = inputs.valid_response(call)
    path = data.draw(st.just(()) | st.sampled_from(list(inputs.value_paths(right))))
    status = data.draw(st.sampled_from((200, 200, 201, 400, 422, 503)))
    _check(account, call, as_json(inputs.replaced(right, path, value), status))
