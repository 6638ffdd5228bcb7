# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services of this family differ: the modules do their work with each of them. Docstrings name what was observed.

And what is sent and what is not: tokens, headers, few connections; what refusals mean.
"""

import json
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
    monitor_plan_info,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.servers import Account, Open, as_json, service
from ansible_collections.monitor.cloud.tests.support.tasks import (
    Module,
    as_module,
    failed,
    go,
    labels,
    parameters,
    run_all_forms,
    writes,
)


def _story(emulator: Emulator, **options: Any) -> None:
    """The life of a few clients and of the plan, with each write operation."""
    run_all_forms(emulator, monitor_clients, labels=["web1", "web2"], **options)
    run_all_forms(emulator, monitor_clients, labels=["web2"], renames={"web1": "www1"}, **options)
    www1 = next(client for client in emulator.clients() if client["label"] == "www1")
    run_all_forms(emulator, monitor_client, id=www1["id"], label="www2", **options)
    run_all_forms(emulator, monitor_plan, min_clients=4, **options)
    assert go(emulator, monitor_plan_info, **options)["clients_included"] == 10
    run_all_forms(emulator, monitor_clients, labels=["web2", "www2"], state="absent", **options)
    run_all_forms(emulator, monitor_plan, subscription="free", **options)
    assert labels(emulator) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"update_verb": "put_only", "error_field": "missing"},
        {"delete_status": 204, "error_field": "null", "past_end": "empty", "strict_labels": True},
        {"brand": "acme", "page_size_max": 100},
        {"apps_as_integers": True, "extra_fields": True, "plan_empty_string": True},
    ],
    ids=["put", "204", "acme", "more fields"],
)
def test_all_operations_in_one_sequence(emulator: Emulator, settings: dict[str, Any]) -> None:
    """Observed: "label on create", "product word": a label is always sent; paths, tiers and fields have the word."""
    emulator.configure(**settings)
    _story(emulator, brand=settings.get("brand", "monitor"))


def test_only_a_service_that_responds_with_405_gets_a_put(emulator: Emulator) -> None:
    """Observed: "client update": it gets one POST, whatever the number of renames."""
    emulator.configure(update_verb="put_only")
    emulator.seed(3)
    renames = {label: f"new-{label}" for label in labels(emulator)}
    assert len(go(emulator, monitor_clients, labels=[], renames=renames, concurrency=1)["renamed"]) == 3
    assert [entry["method"] for entry in writes(emulator)] == ["POST", "PUT", "PUT", "PUT"]
    emulator.configure(update_verb="post")
    for status in (400, 404):
        emulator.clear_log()
        emulator.fault(kind="status", status=status, operation="update_client", match={"method": "POST"}, times=-1)
        with pytest.raises(TaskFailure, match=f"the service returned {status}"):
            go(emulator, monitor_clients, labels=[], renames={labels(emulator)[0]: "new"})
        assert [entry["method"] for entry in writes(emulator)] == ["POST"]
        emulator.clear_faults()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"errors": [{"field": "page_size", "reason": "Must be 25-100"}]}),
        (422, {"errors": [{"reason": "Must be 25-100"}]}),
        (422, {"detail": [{"loc": ["query", "page_size"], "msg": "Must be 25-100"}]}),
    ],
)
def test_page_size_falls_back_once_per_process(emulator: Emulator, status: int, body: dict[str, Any]) -> None:
    """Observed: "page_size": 500, then 100, then none, whatever the service or a gateway names."""
    refusal = {"kind": "status", "status": status, "body": body, "operation": "list_clients"}
    emulator.seed(150)
    for times, expected in ((1, ["page_size=100", "page_size=100&page=2"]), (2, ["page_size=100", "", "page=2"])):
        emulator.fault(**refusal, times=times)
        emulator.clear_log()
        assert len(go(emulator, monitor_client_info)["clients"]) == 150
        assert [entry["query"] for entry in emulator.requests()] == ["page_size=500", *expected]
    emulator.fault(**refusal, times=-1)
    emulator.clear_log()
    for options in ({}, {"page_size": 30}):
        assert f"the service returned {status}" in failed(emulator, monitor_client_info, **options)
    queries = [entry["query"] for entry in emulator.requests()]
    assert queries == ["page_size=500", "page_size=100", "", "page_size=30"]


def test_regions_are_requested_without_a_page_size(emulator: Emulator) -> None:
    """Observed: "/regions/availability": followed to the last page."""
    result = go(emulator, region_info, token=None, include_availability=True)
    assert sum(len(region["availability"]) for region in result["regions"]) == 500
    assert sorted(entry["query"] for entry in emulator.requests()) == ["", "", "page=2", "page=3", "page=4", "page=5"]


def test_a_list_that_changes_while_it_is_read(emulator: Emulator) -> None:
    """Observed: "a list that changes while it is read": a client that moves to a page that was read already is found,
    although the number of clients is the announced one; a client on two pages: tests/faults/test_moving_lists.py."""
    emulator.seed(labels=["old1"])
    kept = {client["label"] for client in emulator.seed(60)}
    changes = {"delete": ["old1"]}
    emulator.fault(kind="meanwhile", operation="list_clients", match={"page": None}, done=True, changes=changes)
    clients = go(emulator, monitor_client_info, page_size=25)["clients"]
    assert kept <= {client["label"] for client in clients}
    assert len({client["id"] for client in clients}) == len(clients)


@pytest.mark.parametrize(
    ("plan_null", "reason"),
    [("unchanged", "the service confirmed 'monitor-10' instead"), ("refused", "monitor_subscription must be one")],
)
def test_a_service_that_does_not_switch_to_free(emulator: Emulator, plan_null: str, reason: str) -> None:
    """Observed: "plan null"."""
    emulator.configure(plan_null=plan_null)
    emulator.set_plan("monitor-10")
    message = failed(emulator, monitor_plan, subscription="free")
    assert message.startswith("Could not switch the plan to free: ") and reason in message


def test_a_full_free_plan_fails_with_the_reason_of_the_service(emulator: Emulator) -> None:
    """Observed: "too many clients for the plan"."""
    emulator.configure(free_limit=2)
    result = go(emulator, monitor_clients, labels=["web1", "web2", "web3"], allow_failures=True)
    assert len(result["created"]) == 2
    (reason,) = result["failures"].values()
    assert "Your subscription does not include any more clients." in reason
    assert result["changed"] is True


@pytest.mark.parametrize(
    ("module", "options", "token", "fault", "reason"),
    [
        (
            monitor_clients,
            {"labels": ["web1"]},
            "read_write",
            {"kind": "html", "status": 200},
            "not JSON but",
        ),
        (monitor_client, {"label": "web1"}, "read_write", {"kind": "drop"}, "no response"),
        (monitor_clients, {"labels": ["web1"]}, "no_plan", None, "account_access"),
        (monitor_client, {"label": "web1"}, "no_plan", None, "account_access"),
    ],
)
def test_a_plan_that_cannot_be_read_blocks_no_create(
    emulator: Emulator, module: Module, options: dict[str, Any], token: str, fault: Any, reason: str
) -> None:
    """Observed: "plan view without the grant": or the endpoint of the plan may be missing."""
    emulator.configure(forbidden_status=401 if module is monitor_client else 403)
    if fault:
        emulator.fault(**fault, operation="get_plan", times=-1)
    (warning,) = go(emulator, module, **options, token=token, retry_timeout=0.2)["warnings"]
    assert warning.startswith("Whether the plan has room for the new clients was not checked. Could not read the plan")
    assert reason in warning and "To skip this check, set check_capacity: false" in warning
    assert labels(emulator) == ["web1"]
    emulator.clear_log()
    assert go(emulator, monitor_clients, labels=["web2"], token=token, check_capacity=False)["warnings"] == []
    assert emulator.requests("get_plan") == []


# Requests, and refusals


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


_READ = "It needs the scope acme:read_only."
_CREATE = "It needs the scope acme:read_write and the grant add_acme."
_WRITE = "It needs the scope acme:read_write."
_GRANTS = "It needs the scope acme:read_only and one of the grants account_access, acme_subscription, add_acme."
_NEW = {"label": "web2"}
_SMALL = {"min_clients": 1}
_SILENT = {"scope_headers": False}


@pytest.mark.parametrize(
    ("token", "settings", "module", "options", "expected"),
    [
        ("wrong", {}, monitor_client, _NEW, _READ),
        ("wrong", {"unauthenticated_status": 403}, monitor_client, _NEW, _READ),
        ("nothing", _SILENT, monitor_client, _NEW, _READ),
        ("read_only", {}, monitor_client, _NEW, _CREATE),
        ("read_only", {"missing_scope": "unauthorized"}, monitor_client, _NEW, _CREATE),
        ("no_plan", {"grant_for_create": True}, monitor_client, _NEW, _CREATE),
        ("some", {}, monitor_client, {"id": 1, "state": "absent"}, _WRITE),
        ("no_plan", {}, monitor_plan, _SMALL, _GRANTS),
        ("no_plan", {"forbidden_status": 401}, monitor_plan, _SMALL, _GRANTS),
        ("adder", {}, monitor_plan, _SMALL, "and the grant acme_subscription."),
    ],
)
def test_missing_access_is_named(
    emulator: Emulator, token: str, settings: Any, module: Module, options: dict[str, Any], expected: str
) -> None:
    """Observed: "statuses", "scopes of the token", "grant for a create": also with 401, which is not a bad token."""
    emulator.configure(**settings, brand="acme")
    emulator.seed(labels=["web1"])
    emulator.set_token("nothing", scopes=[])
    emulator.set_token("some", read_only_ids=[1])
    emulator.set_token("adder", grants={"add_monitor": True})
    emulator.tokens["wrong"] = "wrong-token-0123456789"
    message = failed(emulator, module, token=token, brand="acme", **options)
    assert message.endswith(f" {expected}")
    assert "check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)" in message
    assert "wrong-token" not in message


_GATEWAY = "). Check base_url, and any proxy before it: another server may have responded."
_POLICY = {"kind": "status", "body": {"message": "Blocked: TOKEN"}}


@pytest.mark.parametrize(
    ("operation", "status", "fault", "text"),
    [
        ("list_clients", 403, _POLICY, "Blocked: <token> (GET "),
        ("list_clients", 403, {"kind": "html"}, "not JSON but "),
        ("list_regions", 401, {"kind": "status"}, "401 Gateway Trouble (GET "),
        ("list_regions", 403, {"kind": "status"}, "403 Gateway Trouble (GET "),
    ],
)
def test_a_refusal_is_not_blamed_on_the_token(
    emulator: Emulator, operation: str, status: int, fault: dict[str, Any], text: str
) -> None:
    """Observed: "errors": of a gateway, of a policy, or of a call that needs none."""
    given = json.loads(json.dumps(fault).replace("TOKEN", emulator.tokens["read_write"]))
    emulator.fault(**given, operation=operation, status=status)
    message = failed(emulator, region_info if operation == "list_regions" else monitor_client_info)
    assert f"the service returned {status}: {text}" in message
    assert message.endswith(_GATEWAY)


@pytest.mark.parametrize(
    ("token", "headers", "warned"),
    [("read_only", True, True), ("read_only", False, False), ("read_write", True, False)],
)
def test_check_mode_warns_of_a_missing_scope(emulator: Emulator, token: str, headers: bool, warned: bool) -> None:
    emulator.configure(scope_headers=headers)
    emulator.seed(labels=["web1"])
    expected = "The token has read-only access: the service will refuse what check mode predicts."
    for module, options, changes in (
        (monitor_client, {"label": "web2"}, True),
        (monitor_client, {"label": "web1"}, False),
        (monitor_clients, {"labels": ["web1"], "state": "absent"}, True),
        (monitor_plan, {"min_clients": 3}, True),
    ):
        result = module.MODULE.execute(parameters(emulator, module, token, **options), check_mode=True, diff=False)
        assert result["changed"] is changes
        assert result.get("warnings") == ([expected] if warned and changes else None)


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
    assert Counter(entry["operation"] for entry in log) == {"list_clients": 2, "get_plan": 1, "create_client": 60}
    assert len(log) == result["api_usage"]["requests"]
    assert len({entry["connection"] for entry in log}) <= 3
    assert (result["created"], len(result["key_owners"])) == (desired, 760)
    emulator.clear_log()
    again = go(emulator, monitor_clients, labels=desired, concurrency=3)
    assert again["changed"] is False
    assert [entry["operation"] for entry in emulator.requests()] == ["list_clients"] * 2
    assert again["clients"].keys() == result["clients"].keys()
    assert again["key_owners"] == result["key_owners"]


def test_a_client_whose_id_is_text(opened: Open) -> None:
    """Messages propose to rename or delete a client by its id, so the option takes such an id."""
    account, listener = service(opened)
    uuid = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    client = {**Account.CLIENT, "id": uuid}
    replies = {"GET": client, "POST": {**client, "label": "www1"}, "DELETE": {}}
    account.there, account.overrides = [client], {(method, uuid): as_json(value) for method, value in replies.items()}
    for module, options in (
        (monitor_client_info, {}),
        (monitor_client, {}),
        (monitor_client, {"label": "www1"}),
        (monitor_client, {"state": "absent"}),
    ):
        result = as_module(module, {"id": uuid, **options}, account)[0]
        assert "msg" not in result
        (shown,) = result.get("clients") or [result["client"]]
        assert shown["id"] == uuid
    assert [request.method for request in listener.requests if request.method != "GET"] == ["POST", "DELETE"]
