# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services of this family differ: the modules do their work with each of them. Docstrings name what was observed."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.servers import Account, Open, as_json, service
from ansible_collections.monitor.cloud.tests.support.tasks import (
    Module,
    Result,
    as_module,
    failed,
    go,
    labels,
    run_all_forms,
    writes,
)


def _story(emulator: Emulator, **options: Any) -> None:
    """The life of a few clients and of the plan, with each write operation."""
    created = run_all_forms(emulator, monitor_clients, labels=["web1", "web2"], **options)["clients"]
    assert {type(value) for client in created.values() for value in client["apps"].values()} == {bool}
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
        {"update_verb": "put_only", "apps_as_integers": True, "extra_fields": True, "error_field": "missing"},
        {
            "delete_status": 204,
            "error_field": "null",
            "past_end": "empty",
            "strict_labels": True,
            "label_required": True,
        },
        {"brand": "acme", "page_size_max": 100, "page_size_status": 422, "key_format": "plain_hex"},
    ],
    ids=["put", "204", "acme"],
)
def test_all_operations_in_one_sequence(emulator: Emulator, settings: dict[str, Any]) -> None:
    """Observed: "label on create", "product word": a label is always sent; paths, tiers and fields have the word."""
    emulator.configure(**settings)
    _story(emulator, brand=settings.get("brand", "monitor"))


@pytest.mark.parametrize(
    ("verb", "methods"),
    [("put_only", ["POST", "PUT", "PUT", "PUT", "PUT"]), ("post", ["POST", "POST", "POST", "POST"])],
)
def test_a_service_that_renames_by_put_gets_one_post(emulator: Emulator, verb: str, methods: list[str]) -> None:
    """Observed: "client update"."""
    emulator.configure(update_verb=verb)
    emulator.seed(4)
    old = labels(emulator)
    result = go(emulator, monitor_clients, labels=[], renames={label: f"new-{label}" for label in old}, concurrency=1)
    assert len(result["renamed"]) == 4
    assert [entry["method"] for entry in writes(emulator)] == methods


@pytest.mark.parametrize("status", [400, 404])
def test_no_refusal_but_405_is_followed_by_a_put(emulator: Emulator, status: int) -> None:
    emulator.seed(1)
    (old,) = labels(emulator)
    emulator.fault(kind="status", status=status, operation="update_client", match={"method": "POST"}, times=-1)
    with pytest.raises(TaskFailure, match=f"the service returned {status}"):
        go(emulator, monitor_clients, labels=[], renames={old: "new"})
    assert [entry["method"] for entry in writes(emulator)] == ["POST"]
    assert labels(emulator) == [old]


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


def test_page_size_of_the_task_is_used_or_refused(emulator: Emulator) -> None:
    emulator.seed(60)
    assert len(go(emulator, monitor_client_info, page_size=30)["clients"]) == 60
    assert len(emulator.requests()) == 2
    assert "page_size must be between 25 and 500" in failed(emulator, monitor_client_info, page_size=10)


def test_regions_are_requested_without_a_page_size(emulator: Emulator) -> None:
    """Observed: "/regions/availability": followed to the last page."""
    result = go(emulator, region_info, token=None, include_availability=True)
    assert sum(len(region["availability"]) for region in result["regions"]) == 500
    assert sorted(entry["query"] for entry in emulator.requests()) == ["", "", "page=2", "page=3", "page=4", "page=5"]


@pytest.mark.parametrize(
    ("order", "changes"),
    [("oldest", [{"delete": ["old1"]}]), ("newest", [{"create": ["new1"]}, {"create": ["new2"]}])],
)
def test_a_list_that_changes_while_it_is_read(emulator: Emulator, order: str, changes: list[dict[str, Any]]) -> None:
    """Observed: "a list that changes while it is read": a client that moves to a page that was read already is found,
    although the number of clients is the announced one; a client on two pages is listed once."""
    emulator.configure(list_order=order)
    emulator.seed(labels=["old1"])
    kept = {client["label"] for client in emulator.seed(60)}
    for change in changes:
        emulator.fault(kind="meanwhile", operation="list_clients", match={"page": None}, done=True, changes=change)
    clients = go(emulator, monitor_client_info, page_size=25)["clients"]
    assert kept <= {client["label"] for client in clients}
    assert len({client["id"] for client in clients}) == len(clients)


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


@pytest.mark.parametrize("plan_null", ["unchanged", "refused"])
def test_a_service_that_does_not_switch_to_free(emulator: Emulator, plan_null: str) -> None:
    """Observed: "plan null"."""
    emulator.configure(plan_null=plan_null)
    emulator.set_plan("monitor-10")
    message = failed(emulator, monitor_plan, subscription="free")
    messages = {
        "unchanged": "the service confirmed 'monitor-10' instead",
        "refused": "monitor_subscription must be one",
    }
    assert message.startswith("Could not switch the plan to free: ")
    assert messages[plan_null] in message


def test_a_full_free_plan_fails_with_the_reason_of_the_service(emulator: Emulator) -> None:
    """Observed: "too many clients for the plan"."""
    emulator.configure(free_limit=2)
    result: Result = go(emulator, monitor_clients, labels=["web1", "web2", "web3"], allow_failures=True)
    assert len(result["created"]) == 2
    (reason,) = result["failures"].values()
    assert "Your subscription does not include any more clients." in reason
    assert result["changed"] is True


@pytest.mark.parametrize(
    "fault", [{"kind": "status", "status": 404}, {"kind": "html", "status": 200}, {"kind": "drop"}]
)
@pytest.mark.parametrize(
    ("module", "options"), [(monitor_clients, {"labels": ["web1"]}), (monitor_client, {"label": "web1"})]
)
def test_a_plan_that_cannot_be_read_blocks_no_create(
    emulator: Emulator, module: Module, options: dict[str, Any], fault: dict[str, Any]
) -> None:
    """The endpoint of the plan may be missing."""
    emulator.fault(**fault, operation="get_plan", times=-1)
    result = go(emulator, module, **options, retry_timeout=0.2)
    assert labels(emulator) == ["web1"]
    (warning,) = result["warnings"]
    assert "was not checked. Could not read the plan: " in warning
    assert "To skip this check, set check_capacity: false" in warning
    if module is monitor_clients:
        emulator.clear_log()
        assert go(emulator, module, labels=["web2"], check_capacity=False)["warnings"] == []
        assert emulator.requests("get_plan") == []


@pytest.mark.parametrize("status", [401, 403])
def test_the_capacity_check_is_left_to_the_service_without_the_grant(emulator: Emulator, status: int) -> None:
    """Observed: "plan view without the grant"."""
    emulator.configure(forbidden_status=status)
    result = go(emulator, monitor_clients, token="no_plan", labels=["web1"])
    assert result["created"] == ["web1"]
    (warning,) = result["warnings"]
    assert warning.startswith("Whether the plan has room for the new clients was not checked. Could not read the plan")
    assert "account_access" in warning
    assert go(emulator, monitor_clients, token="no_plan", labels=["web1"])["warnings"] == []
