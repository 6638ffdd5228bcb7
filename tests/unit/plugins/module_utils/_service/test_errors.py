# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an error means: who has to do something, and about what."""

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError


def test_only_the_service_reports_that_an_object_does_not_exist() -> None:
    for status, reason, missing in (
        (404, "Not found", True),
        (410, "Gone", True),
        (404, "", False),
        (403, "No", False),
    ):
        error = ApiError(reason, status=status, errors=[{"reason": reason}] if reason else [])
        assert error.is_missing is missing


def test_messages_name_the_request_and_what_to_do() -> None:
    error = ApiError("it failed", outcome="unknown", hint="Wait.", method="POST", url="https://a", purpose="create it")
    done = "The service may have made the change: run again to find out."
    assert str(error) == f"Could not create it: it failed (POST https://a). Wait. {done}"
    assert "MONITOR_API_TOKEN" in str(InputError.missing_option("api_token"))
