# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an error means: who has to do something, and about what."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError

NO_TOKEN, NO_SCOPE = "Invalid Token", "Your token is not authorized to use this endpoint"


@pytest.mark.parametrize(
    ("status", "reason", "scopes", "meaning"),
    [
        (404, "Not found", "", "is_missing"),
        (404, "", "", ""),
        (401, NO_TOKEN, "", "rejects_token"),
        (401, NO_SCOPE, "", "lacks_access"),
        (403, "Unauthorized", "", "lacks_access"),
        (403, NO_TOKEN, "", "rejects_token"),
        (403, "", "", ""),
        (403, "", "monitor:read_only", "lacks_access"),
        (500, "", "monitor:read_only", ""),
    ],
)
def test_what_an_error_means(status: int, reason: str, scopes: str, meaning: str) -> None:
    error = ApiError(reason, status=status, errors=[{"reason": reason}] if reason else [], scopes=scopes)
    meanings = ("is_missing", "rejects_token", "lacks_access")
    assert [name for name in meanings if getattr(error, name)] == meaning.split()


def test_messages_name_the_request_and_what_to_do() -> None:
    error = ApiError("it failed", outcome="unknown", hint="Wait.", method="POST", url="https://a", purpose="create it")
    done = "The service may have made the change: run again to find out."
    assert str(error) == f"Could not create it: it failed (POST https://a). Wait. {done}"
    assert "MONITOR_API_TOKEN" in str(InputError.missing_option("api_token"))
