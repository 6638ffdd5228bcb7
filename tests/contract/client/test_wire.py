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
from ansible_collections.monitor.cloud.tests.support.tasks import Module, failed, go, labels, parameters


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
    agent = f"monitor.cloud/{VERSION} ansible-core/{ansible_version}"
    assert {entry["user_agent"] for entry in log} == {agent}


@pytest.mark.parametrize("options", [{"brand": "watchtower"}, {"base_url": "/v5"}, {"base_url": ""}], ids=str)
def test_a_wrong_address_is_named_as_the_cause(emulator: Emulator, options: dict[str, Any]) -> None:
    if "base_url" in options:
        options = {"base_url": emulator.base_url.replace("/v4", options["base_url"])}
    with pytest.raises(ApiError) as failed:
        go(emulator, monitor_client, label="web1", **options)
    assert failed.value.status == 404
    assert str(failed.value).endswith("Check base_url, which includes the version segment, and brand.")


_TOKEN = "The token is missing, wrong or expired: check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)."
_READ = "The token needs the scope acme:read_only."
_CREATE = "The token needs the scope acme:read_write and the grant add_acme."
_HAS = f"{_CREATE} It has the scopes acme:read_only. The service accepts acme:read_write."
_GRANTS = "one of the grants account_access, acme_subscription, add_acme."
_IF = "If it is valid, it needs the scope acme:read_only and"
_USER = "The token has the scope acme:read_write; its user"
_NEW = {"label": "web2"}
_SMALL = {"min_clients": 1}
_SILENT = {"scope_headers": False}
_401 = {"missing_scope": "unauthorized"}
_GRANT = {"grant_for_create": True}


@pytest.mark.parametrize(
    ("token", "settings", "module", "options", "expected"),
    [
        ("wrong", {}, monitor_client, _NEW, _TOKEN),
        ("wrong", {"unauthenticated_status": 403}, monitor_client, _NEW, _TOKEN),
        ("wrong", {"unauthenticated_status": 403, **_SILENT}, monitor_client, _NEW, _TOKEN),
        ("nothing", _SILENT, monitor_client, _NEW, _READ),
        ("read_only", {}, monitor_client, _NEW, _HAS),
        ("read_only", _SILENT, monitor_client, _NEW, _CREATE),
        ("read_only", _401, monitor_client, _NEW, _HAS),
        ("read_only", {**_401, **_SILENT}, monitor_client, _NEW, _CREATE),
        ("no_plan", _GRANT, monitor_client, _NEW, f"{_USER} needs the grant add_acme."),
        ("no_plan", {**_GRANT, **_SILENT}, monitor_client, _NEW, _CREATE),
        ("all", {}, monitor_client, _NEW, "The token has the scope *; its user does not have this access."),
        ("some", {}, monitor_client, {"id": 1, **_NEW}, f"{_USER} does not have this access."),
        ("some", {}, monitor_client, {"id": 1, "state": "absent"}, f"{_USER} does not have this access."),
        ("no_plan", {}, monitor_plan, _SMALL, _GRANTS),
        ("no_plan", {"forbidden_status": 401, **_SILENT}, monitor_plan, _SMALL, f"{_TOKEN} {_IF} {_GRANTS}"),
        ("adder", {}, monitor_plan, _SMALL, f"{_USER} needs the grant acme_subscription."),
    ],
)
def test_missing_access_is_named(
    emulator: Emulator, token: str, settings: Any, module: Module, options: dict[str, Any], expected: str
) -> None:
    """Observed: "statuses", "scopes of the token", "grant for a create": also with 401, which is not a bad token."""
    emulator.configure(**settings, brand="acme")
    emulator.seed(labels=["web1"])
    emulator.set_token("nothing", scopes=[])
    emulator.set_token("all", scopes=["*"])
    emulator.set_token("some", read_only_ids=[1])
    emulator.set_token("adder", grants={"add_monitor": True})
    emulator.tokens["wrong"] = "wrong-token-0123456789"
    message = failed(emulator, module, token=token, brand="acme", **options)
    assert message.endswith(f" {expected}")
    assert "wrong-token" not in message


def test_a_refusal_of_a_token_that_has_the_scope_is_not_blamed_on_the_scope(emulator: Emulator) -> None:
    emulator.fault(operation="list_clients", kind="status", status=403, body={"message": "Blocked by policy"})
    message = failed(emulator, monitor_client_info, token="read_only")
    assert "the service returned 403: Blocked by policy (GET " in message
    assert message.endswith("The token has the scope monitor:read_only; its user does not have this access.")


@pytest.mark.parametrize("status", [401, 403])
def test_a_public_call_that_is_refused_is_not_blamed_on_the_token(emulator: Emulator, status: int) -> None:
    emulator.fault(operation="list_regions", kind="status", status=status)
    message = failed(emulator, region_info)
    assert message.endswith("This operation is public, so no token was sent: check base_url, and any proxy before it.")


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"kind": "html"}, "not JSON but text/html"),
        ({"kind": "status", "body": {"message": "Blocked: {token}"}}, "Blocked: <token> (GET "),
    ],
    ids=str,
)
def test_a_refusal_of_a_gateway_is_not_blamed_on_the_token(emulator: Emulator, fault: Any, text: str) -> None:
    """Observed: "errors"."""
    emulator.configure(scope_headers=False)
    body = {name: each.format(token=emulator.tokens["read_write"]) for name, each in fault.get("body", {}).items()}
    emulator.fault(operation="list_clients", status=403, **{**fault, **({"body": body} if body else {})})
    message = failed(emulator, monitor_clients, labels=["web1"])
    assert f"the service returned 403: {text}" in message
    assert message.endswith("). Check base_url, and any proxy before it: another server may have responded.")


@pytest.mark.parametrize(
    ("token", "headers", "warned"), [("read_only", 1, 1), ("read_only", 0, 0), ("read_write", 1, 0)]
)
def test_check_mode_warns_of_a_missing_scope(emulator: Emulator, token: str, headers: int, warned: int) -> None:
    emulator.configure(scope_headers=bool(headers), brand="acme")
    emulator.seed(labels=["web1"])
    for module, options in (
        (monitor_client, {"label": "web2"}),
        (monitor_clients, {"labels": ["web1"], "state": "absent"}),
        (monitor_plan, {"min_clients": 3}),
    ):
        values = parameters(emulator, module, token, **options, brand="acme")
        result = module.MODULE.execute(values, check_mode=True, diff=False)
        expected = "The token has the scopes acme:read_only, and a change needs the scope acme:read_write: the "
        assert (result["changed"], "warnings" in result) == (True, warned)
        assert not warned or result["warnings"] == [f"{expected}service will refuse what check mode predicts."]
    values = parameters(emulator, monitor_client, token, brand="acme", label="web1")
    assert "warnings" not in monitor_client.MODULE.execute(values, check_mode=True, diff=False)


@pytest.mark.parametrize("status", [404, 410])
def test_a_client_that_is_gone_when_it_is_deleted(emulator: Emulator, status: int) -> None:
    """Observed: "statuses": 404 or 410 on delete means that it is done."""
    emulator.seed(labels=["web1", "web2"])
    emulator.fault(kind="status", status=status, operation="delete_client", match={"label": "web1"})
    result = go(emulator, monitor_clients, labels=["web1", "web2"], state="absent")
    assert result["deleted"] == ["web1", "web2"]


@pytest.mark.parametrize(
    "page", [{"kind": "text"}, {"kind": "html"}, {"kind": "status", "body": {"message": "no route"}}]
)
@pytest.mark.parametrize("operation", ["get_client", "delete_client"])
def test_404_of_a_gateway_does_not_mean_that_a_client_is_gone(
    emulator: Emulator, operation: str, page: dict[str, Any]
) -> None:
    """Observed: "errors": a gateway in front responds with its own pages."""
    emulator.seed(labels=["web1"])
    emulator.fault(**page, status=404, operation=operation, times=-1)
    hint = "the service returned 404: .* Check base_url, which includes the version segment, and brand"
    with pytest.raises(TaskFailure, match=hint):
        go(emulator, monitor_clients, labels=["web1"], state="absent")
    with pytest.raises(ApiError, match=hint):
        go(emulator, monitor_client, id=1, state="absent")
    assert labels(emulator) == ["web1"]


def test_many_labels_on_an_account_with_many_other_clients(emulator: Emulator) -> None:
    desired = [f"web-{number:04}" for number in range(60)]
    emulator.seed(700)
    result = go(emulator, monitor_clients, labels=desired, concurrency=3)
    log = emulator.requests()
    made = Counter(entry["operation"] for entry in log)
    assert made == {"list_clients": 2, "get_plan": 1, "create_client": 60}
    assert sum(made.values()) == result["api_usage"]["requests"]
    assert len({entry["connection"] for entry in log}) <= 3
    assert result["created"] == desired
    assert len(result["key_owners"]) == 760
    emulator.clear_log()
    again = go(emulator, monitor_clients, labels=desired, concurrency=3)
    assert again["changed"] is False
    assert [entry["operation"] for entry in emulator.requests()] == ["list_clients"] * 2
    assert again["clients"].keys() == result["clients"].keys()
    assert again["key_owners"] == result["key_owners"]
