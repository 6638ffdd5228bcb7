# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the connection, and the result of a module; more of these: tests/contract/client/test_bad_input.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import (
    CONNECTION_OPTIONS,
    Module,
    account_fingerprint,
    connect,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, TaskFailure

PARAMS = {name: option.get("default") for name, option in CONNECTION_OPTIONS.items()}
PARAMS |= {"base_url": "https://api.example.com/v4/", "api_token": "token"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "http://a/v4"}, "would send the token unencrypted"),
        ({"timeout": float("nan")}, "timeout must be more than 0"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        connect({**PARAMS, **options})


def test_an_account_is_one_address_brand_and_token() -> None:
    same = {**PARAMS, "base_url": " https://api.example.com/v4", "timeout": 7}
    assert account_fingerprint(PARAMS) == account_fingerprint(same)
    assert account_fingerprint(PARAMS) != account_fingerprint({**PARAMS, "api_token": "other"})


def test_an_error_becomes_a_failed_result_with_its_details() -> None:
    def run(params: Any, api: Any, check_mode: bool) -> Any:
        raise TaskFailure("one failed", {"changed": True, "diff": {}, "warnings": []})

    result = Module(run, {}).execute(PARAMS, check_mode=False, diff=False)
    usage = {"requests": 0, "retries": 0, "waited": 0.0}
    assert result == {"failed": True, "msg": "one failed", "changed": True, "api_usage": usage}
