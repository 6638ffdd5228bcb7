# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is sent and what is not: tokens, headers, few connections; what refusals mean."""

import re
from collections import Counter
from typing import Any

import pytest
from ansible.module_utils.ansible_release import __version__ as ansible_version

from ansible_collections.monitor.cloud.plugins.module_utils._module import VERSION
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import failed, go, labels, parameters


def test_only_calls_that_need_a_token_carry_one(emulator: Emulator) -> None:
    """Each operation, with a token at hand."""
    go(emulator, monitor_clients, labels=["web1", "web2"])
    go(emulator, monitor_clients, labels=["web2"], renames={"web1": "www1"})
    go(emulator, monitor_client, id=1)
    go(emulator, monitor_client, id=1, state="absent")
    go(emulator, monitor_plan, subscription="monitor-3")
    for tier in (None, "monitor-3"):
        go(emulator, monitor_subscription_info, id=tier)
    for identifier in (None, "us-west"):
        go(emulator, region_info, id=identifier, include_availability=True)
    private = re.compile(r"/v4/monitor/(clients.*|plan)")
    log = emulator.requests()
    assert len({entry["operation"] for entry in log}) == 13
    assert all(entry["authorization"] is bool(private.fullmatch(entry["path"])) for entry in log)
    assert {entry["token"] for entry in log} == {"read_write", None}


def test_the_user_agent_names_the_collection_and_core(emulator: Emulator) -> None:
    go(emulator, monitor_client_info)
    go(emulator, region_info, token=None)
    expected = f"monitor.cloud/{VERSION} ansible-core/{ansible_version}"
    assert {entry["user_agent"] for entry in emulator.requests()} == {expected}


@pytest.mark.parametrize("options", [{"brand": "watchtower"}, {"base_url": "/v5"}, {"base_url": ""}], ids=str)
def test_a_wrong_address_is_named_as_the_cause(emulator: Emulator, options: dict[str, Any]) -> None:
    if "base_url" in options:
        options = {"base_url": emulator.base_url.replace("/v4", options["base_url"])}
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client, label="web1", **options)
    assert failed.value.status == 404
    assert str(failed.value).endswith("Check base_url, which includes the version segment, and brand.")


def test_a_wrong_token_is_named_as_the_cause(emulator: Emulator) -> None:
    """Field note "statuses": 401."""
    for status, reason in (
        (401, "The token is missing, wrong or expired: check api_token"),
        (403, "The token needs the"),
    ):
        emulator.configure(unauthenticated_status=status)
        message = failed(emulator, monitor_client, label="web1", api_token="wrong-token-0123456789")
        assert reason in message
        assert "wrong-token" not in message


_REFUSALS = {
    "named": "403: Your token lacks the scope {}:read_write.",
    "unauthorized": "401: Your OAuth token is not authorized to use this endpoint.",
}


@pytest.mark.parametrize("brand", ["monitor", "watchtower"])
@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("refusal", _REFUSALS)
def test_a_missing_scope_is_named(emulator: Emulator, refusal: str, headers: bool, brand: str) -> None:
    """Field notes "statuses", "scopes of the token": 403, or 401, which is not called a bad token."""
    emulator.configure(missing_scope=refusal, scope_headers=headers, brand=brand)
    message = failed(emulator, monitor_client, token="read_only", label="web1", brand=brand)
    reason = _REFUSALS[refusal].format(brand)
    assert message.startswith(f"Could not create client 'web1': the service returned {reason} (POST ")
    has = f" It has the scopes {brand}:read_only. The service accepts {brand}:read_write." if headers else ""
    assert message.endswith(f"). The token needs the scope {brand}:read_write and the grant add_{brand}.{has}")


def test_a_missing_scope_of_a_read_is_named(emulator: Emulator) -> None:
    emulator.set_token("nothing", scopes=[])
    message = failed(emulator, monitor_client, token="nothing", label="web1")
    assert "The token needs the scope monitor:read_only. The service accepts" in message


@pytest.mark.parametrize("brand", ["monitor", "watchtower"])
@pytest.mark.parametrize(
    ("token", "headers", "warned"), [("read_only", 1, 1), ("read_only", 0, 0), ("read_write", 1, 0)]
)
def test_check_mode_warns_of_a_missing_scope(
    emulator: Emulator, token: str, headers: int, warned: int, brand: str
) -> None:
    emulator.configure(scope_headers=bool(headers), brand=brand)
    emulator.seed(labels=["web1"])
    for module, options in (
        (monitor_client, {"label": "web2"}),
        (monitor_clients, {"labels": ["web1"], "state": "absent"}),
        (monitor_plan, {"min_clients": 3}),
    ):
        values = parameters(emulator, module, token, **options, brand=brand)
        result = module.MODULE.execute(values, check_mode=True, diff=False)
        expected = f"The token has the scopes {brand}:read_only, and a change needs the scope {brand}:read_write: the "
        assert (result["changed"], "warnings" in result) == (True, warned)
        assert not warned or result["warnings"] == [f"{expected}service will refuse what check mode predicts."]
    values = parameters(emulator, monitor_client, token, brand=brand, label="web1")
    assert "warnings" not in monitor_client.MODULE.execute(values, check_mode=True, diff=False)


def test_a_missing_grant_for_a_create_is_named(emulator: Emulator) -> None:
    """Field note "grant for a create"."""
    emulator.configure(grant_for_create=True, scope_headers=False)
    with pytest.raises(ApiError, match="needs the scope monitor:read_write and the grant add_monitor"):
        go(emulator, monitor_client, token="no_plan", label="web1")
    emulator.configure(scope_headers=True)
    message = failed(emulator, monitor_client, token="no_plan", label="web1")
    expected = " The token has the scope monitor:read_write; its user needs the grant add_monitor."
    assert message.endswith(expected)
    assert go(emulator, monitor_client, label="web1")["changed"] is True


@pytest.mark.parametrize("options", [{"state": "absent"}, {"label": "web2"}])
def test_a_client_that_the_user_may_only_read_is_not_called_a_missing_scope(
    emulator: Emulator, options: dict[str, Any]
) -> None:
    (client,) = emulator.seed(labels=["web1"])
    emulator.set_token("some", read_only_ids=[client["id"]])
    with pytest.raises(ApiError, match="You have read-only access to this client") as failed:
        go(emulator, monitor_client, token="some", id=client["id"], **options)
    assert str(failed.value).endswith(
        " The token has the scope monitor:read_write; its user does not have this access."
    )


def test_a_client_that_is_gone_when_it_is_deleted(emulator: Emulator) -> None:
    """Field note "statuses": 404 on delete means that it is done."""
    emulator.seed(labels=["web1", "web2"])
    emulator.fault(kind="status", status=404, operation="delete_client", match={"label": "web1"})
    result = go(emulator, monitor_clients, labels=["web1", "web2"], state="absent")
    assert result["deleted"] == ["web1", "web2"]


@pytest.mark.parametrize(
    "page", [{"kind": "text"}, {"kind": "html"}, {"kind": "status", "body": {"message": "no route"}}]
)
@pytest.mark.parametrize("operation", ["get_client", "delete_client"])
def test_404_of_a_gateway_does_not_mean_that_a_client_is_gone(
    emulator: Emulator, operation: str, page: dict[str, Any]
) -> None:
    """Field note "errors": a gateway in front responds with its own pages."""
    emulator.seed(labels=["web1"])
    emulator.fault(**page, status=404, operation=operation, times=-1)
    hint = "the service returned 404: .* Check base_url, which includes the version segment, and brand"
    with pytest.raises(TaskFailure, match=hint):
        go(emulator, monitor_clients, labels=["web1"], state="absent")
    with pytest.raises(ApiError, match=hint):
        go(emulator, monitor_client, id=1, state="absent")
    assert labels(emulator) == ["web1"]


def test_many_labels_on_an_account_with_many_other_clients(emulator: Emulator) -> None:
    desired = [f"web-{number:04}" for number in range(300)]
    emulator.seed(700)
    result = go(emulator, monitor_clients, labels=desired, concurrency=3)
    log = emulator.requests()
    made = Counter(entry["operation"] for entry in log)
    assert made == {"list_clients": 2, "get_plan": 1, "create_client": 300}
    assert sum(made.values()) == result["api_usage"]["requests"]
    assert len({entry["connection"] for entry in log}) <= 3
    assert result["created"] == desired
    assert len(result["account_labels"]) == 1000
    emulator.clear_log()
    again = go(emulator, monitor_clients, labels=desired, concurrency=3)
    assert again["changed"] is False
    assert [entry["operation"] for entry in emulator.requests()] == ["list_clients"] * 2
    assert again["clients"].keys() == result["clients"].keys()
    assert again["key_owners"] == result["key_owners"]
