# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets are not shown: no token, key or install code in messages and in the details of failed tasks.

Results of all modules: tests/faults, by the checks of each run.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.tasks import as_module, go


def _assert_no_secret(emulator: Emulator, shown: Any) -> None:
    text = shown if isinstance(shown, str) else json.dumps(shown, default=str)
    secrets = plain_secrets(emulator)
    assert len(secrets) > 3
    assert found_in(text, secrets) == []


@pytest.mark.parametrize("kind", ["html", "text", "status"])
def test_a_response_that_echoes_the_token_is_redacted(emulator: Emulator, kind: str) -> None:
    token = emulator.tokens["read_write"]
    reason = f"Bearer {token} is not welcome"
    body: Any = {"errors": [{"field": "token", "reason": reason}]} if kind == "status" else reason
    emulator.fault(kind=kind, status=403, body=body, operation="list_clients")
    with pytest.raises(MonitorError) as failed:
        go(emulator, monitor_client, label="web1")
    assert "Bearer <token> is not welcome" in str(failed.value)
    assert token not in repr(vars(failed.value))


def test_half_a_token_at_the_end_of_an_excerpt_is_redacted(emulator: Emulator) -> None:
    token = emulator.tokens["read_write"]
    for start in range(40, 130, 15):
        emulator.fault(kind="html", status=403, body="." * start + token + "." * 200, operation="list_clients")
        with pytest.raises(MonitorError) as failed:
            go(emulator, monitor_client, label="web1")
        assert token[:12] not in str(failed.value)


def test_field_and_reason_of_an_error_are_redacted(emulator: Emulator) -> None:
    token = emulator.tokens["read_write"]
    body = {"errors": [{"field": f"of {token}\n", "reason": "a\nb"}]}
    emulator.fault(kind="status", status=400, body=body, operation="list_clients")
    with pytest.raises(MonitorError) as failed:
        go(emulator, monitor_client, label="web1")
    assert "the service returned 400: of <token>: a b (GET" in str(failed.value)


def test_a_redirect_that_echoes_the_token_is_redacted(emulator: Emulator) -> None:
    location = f"https://sso.example.com/{emulator.tokens['read_write']}/login"
    emulator.fault(kind="status", status=302, headers={"Location": location})
    with pytest.raises(MonitorError) as failed:
        go(emulator, monitor_client, label="web1")
    assert "https://sso.example.com/<token>/login" in str(failed.value)


def test_details_of_a_failed_task_have_no_secret(emulator: Emulator) -> None:
    emulator.seed(labels=["web1"])
    body = {"errors": [{"field": "label", "reason": "not this one"}]}
    emulator.fault(kind="status", status=400, body=body, operation="create_client", match={"label": "web2"})
    with pytest.raises(TaskFailure) as failed:
        go(emulator, monitor_clients, labels=["web1", "web2", "web3"], include_keys=True)
    assert failed.value.details["created"] == ["web3"]
    assert "clients" not in failed.value.details
    _assert_no_secret(emulator, failed.value.details)


def test_the_whole_output_of_a_module_has_no_secret(emulator: Emulator) -> None:
    """Not even among the arguments that core adds; `api_usage` is there whether the task fails or not."""
    emulator.seed(labels=["web1"])
    connection = {"base_url": emulator.base_url, "api_token": emulator.tokens["read_write"]}
    output = as_module(monitor_clients, {**connection, "labels": ["web1", "web2"]})[0]
    # By which core, since 2.22, learns what to mask in all that it displays.
    output.pop("_ansible_new_secrets", None)
    _assert_no_secret(emulator, output)
    assert output["changed"] is True
    assert set(output["api_usage"]) == {"requests", "retries", "waited"}
    assert "diff" not in output
    emulator.fault(kind="status", status=403, operation="list_clients")
    failed, printed = as_module(monitor_clients, {**connection, "labels": ["web1"], "include_keys": True})
    _assert_no_secret(emulator, printed)
    assert failed["failed"] is True
    assert failed["api_usage"]["requests"] == 1
