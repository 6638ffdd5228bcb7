# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    monitor_subscription_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Module, failed, go, labels, run_all_forms, writes

pytestmark = pytest.mark.usefixtures("quick_backoff")

_SURPLUS: dict[str, Any] = {"prune": True, "prune_pattern": "old.*"}
_ABSENT = {"labels": ["web2", "web3"], "state": "absent", "concurrency": 1}
_RENAME = {"labels": ["new1"], "renames": {"web2": "www2"}, **_SURPLUS}


@pytest.mark.parametrize(
    ("operation", "module", "options", "problem"),
    [
        ("get_client", monitor_client, {"label": "web2", "state": "absent"}, "the id 1 instead of 2"),
        ("get_client", monitor_client_info, {"id": 2}, "the id 1 instead of 2"),
        ("get_client", monitor_clients, _ABSENT, "the id 1 instead of 2"),
        ("get_client", monitor_clients, {"labels": ["new1"], **_SURPLUS}, "the id 1 instead of 4"),
        ("update_client", monitor_client, {"id": 2, "label": "www2"}, "the id 1 instead of 2"),
        ("update_client", monitor_clients, _RENAME, "the id 1 instead of 2"),
        ("create_client", monitor_client, {"label": "web9"}, "the label 'web1' instead of 'web9'"),
        # The list of this task does not contain the client that the response is about.
        ("create_client", monitor_client, {"label": "new9"}, "the label 'new8' instead of 'new9'"),
        ("create_client", monitor_clients, {"labels": ["new9"]}, "the label 'new8' instead of 'new9'"),
    ],
)
def test_a_response_about_another_client(
    emulator: Emulator, operation: str, module: Module, options: dict[str, Any], problem: str
) -> None:
    """The message must not advise to delete a client that the task did not create."""
    emulator.seed(labels=["web1", "web2", "web3", "old1"])
    other: dict[str, Any] = {"id": 1}
    if operation == "create_client":
        other = {"id": 1, "label": "web1"} if "web1" in problem else {"id": 8, "label": "new8"}
    emulator.fault(kind="edit", operation=operation, add=other, times=-1)
    message = failed(emulator, module, **options)
    assert problem in message and "delete it" not in message and "Delete" not in message
    assert ("The service may have made the change" in message) is (operation == "update_client")
    assert [entry["operation"] for entry in writes(emulator)] == [operation] * (operation != "get_client")


def test_a_create_that_returns_another_label(emulator: Emulator) -> None:
    emulator.seed(labels=["old1"])
    emulator.configure(label_form="lower_case")
    desired = ["Web1", *(f"next{n:04}" for n in range(20))]
    message = failed(emulator, monitor_clients, labels=desired, concurrency=1, **_SURPLUS)
    assert "Could not create client 'Web1': the service returned the label 'web1' instead of 'Web1'" in message
    assert "If the service changes labels, use the label 'web1'." in message and "delete it" not in message
    assert [entry["operation"] for entry in writes(emulator)] == ["delete_client", "create_client"]


@pytest.mark.parametrize("there", ["WEB1", "web 1"])
def test_a_label_that_clashes_by_case_or_white_space_is_named(emulator: Emulator, there: str) -> None:
    emulator.seed(labels=[there])
    body = {"errors": [{"field": "label", "reason": "Label must be unique."}]}
    emulator.fault(kind="status", status=400, body=body, operation="create_client")
    message = failed(emulator, monitor_client, label="web1")
    assert f"The account has a client {there!r}, and the service treats both labels as equal." in message
    assert len(emulator.requests("create_client")) == 1


@pytest.mark.parametrize("empty", [False, True])
def test_a_rename_that_returns_another_label(emulator: Emulator, empty: bool) -> None:
    """Observed: "statuses"."""
    emulator.seed(labels=["old1", "old2"])
    emulator.configure(label_form="lower_case")
    if empty:
        emulator.fault(kind="status", status=204, operation="update_client", done=True, times=-1)
    message = failed(
        emulator, monitor_clients, labels=["new1"], renames={"old1": "Web1", "old2": "new2"}, concurrency=1
    )
    assert "the service returned the label 'web1' instead of 'Web1'" in message
    assert "Client 1 now has the wrong value: update it again by its id (monitor_client)." in message
    assert "The service may have made the change" not in message
    assert [entry["operation"] for entry in writes(emulator)] == ["update_client"]


@pytest.mark.parametrize(
    ("module", "operation", "options"),
    [
        (monitor_clients, "list_clients", {"labels": ["web1"], "prune": True, "prune_pattern": "seed-.*"}),
        (monitor_subscription_info, "list_subscriptions", {}),
    ],
)
def test_a_part_of_a_list_is_never_taken_for_the_whole(
    emulator: Emulator, module: Module, operation: str, options: dict[str, Any]
) -> None:
    emulator.seed(100)
    emulator.fault(kind="edit", operation=operation, add={"results": 250, "pages": 1}, times=-1)
    message = failed(emulator, module, **options)
    assert "the service announced 250 entries and returned" in message and "may have made" not in message
    assert (len(emulator.requests(operation)), writes(emulator)) == (2, [])


@pytest.mark.parametrize(
    ("reads", "results", "shown", "pages_read"),
    [
        # The service counts a client twice.
        ([["1 2 2"]], 3, [1, 2], 2),
        # The pages have no fixed order, so a client can be on two pages.
        ([["1 2", "2 3"], ["1 3", "3 1"], ["4 1", "1 4"]], 4, [1, 2, 3, 4], 6),
        # The field ``results`` contains the number of clients on a page, not in the list.
        ([["1 2", "3 4"]], 2, [1, 2, 3, 4], 4),
    ],
)
def test_how_often_lists_are_read(
    emulator: Emulator, reads: list[list[str]], results: int, shown: list[int], pages_read: int
) -> None:
    clients = {str(client["id"]): client for client in emulator.seed(4)}
    for pages in reads:
        for number, entries in enumerate(pages, 1):
            data = [clients[each] for each in entries.split()]
            body = {"data": data, "page": number, "pages": len(pages), "results": results}
            fault = {"match": {"page": None if number == 1 else number}, "times": -1 if pages is reads[-1] else 1}
            emulator.fault(kind="status", status=200, body=body, operation="list_clients", **fault)
    found = go(emulator, monitor_client_info)["clients"]
    assert sorted(client["id"] for client in found) == shown
    assert len(emulator.requests("list_clients")) == pages_read


def test_a_client_without_a_label_does_not_block_the_account(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "none", "web2"])
    emulator.configure(null_labels=["none"])
    for pattern, labelled in ((None, ["web1", None, "web2"]), (".*", ["web1", "web2"])):
        shown = go(emulator, monitor_client_info, label_pattern=pattern)["clients"]
        assert [client["label"] for client in shown] == labelled
    result = run_all_forms(emulator, monitor_clients, labels=["web1", "web3"], prune=True, prune_pattern=".*")
    assert (result["created"], result["deleted"]) == (["web3"], ["web2"])
    assert sorted(result["key_owners"].values()) == ["web1", "web3"]
    renamed = run_all_forms(emulator, monitor_client, id=2, label="web2")
    assert list(renamed["diff"]["before"]) == ["client 2"]
    assert labels(emulator) == ["web1", "web2", "web3"]


def test_a_label_that_is_taken_and_never_listed_is_an_error_at_once(emulator: Emulator) -> None:
    emulator.seed(labels=["web1"])
    emulator.configure(list_lag=10_000)
    result = go(emulator, monitor_clients, labels=["web1", "web2"], allow_failures=True)
    assert (result["created"], list(result["failures"])) == (["web2"], ["web1"])
    reason = result["failures"]["web1"]
    assert "Label must be unique" in reason and "this token cannot read, has the label. Use a token" in reason
    assert len(emulator.requests("create_client")) == len(emulator.requests("list_clients")) == 2


_NOT_FOUND = {"kind": "status", "status": 404, "body": {"errors": [{"reason": "Not found"}]}, "operation": "get_client"}


def test_a_listed_client_that_one_read_lacks_is_deleted(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.fault(**_NOT_FOUND, times=-1)
    run_all_forms(emulator, monitor_client, label="web1", state="absent")
    run_all_forms(emulator, monitor_clients, labels=["web2"], state="absent")
    assert labels(emulator) == ["web3"]


def test_a_rename_that_a_late_replica_shows_later_or_never(emulator: Emulator) -> None:
    """The response to the update shows the old label. The first two reads, or all reads, show the old label."""
    emulator.seed(labels=["old1", "old2", "old3"])
    for number, times in ((1, -1), (2, 2)):
        fault = {"kind": "edit", "add": {"label": f"old{number}"}, "match": {"label": f"new{number}"}}
        emulator.fault(**fault, operation="update_client", times=-1)
        emulator.fault(**fault, operation="get_client", times=times)
    emulator.fault(**_NOT_FOUND, match={"label": "new2"})
    options: dict[str, Any] = {"renames": {f"old{n}": f"new{n}" for n in (1, 2, 3)}, "concurrency": 1}
    result = go(emulator, monitor_clients, labels=["web1"], **options, retry_timeout=1.0, allow_failures=True)
    reason = result["failures"].pop("new1")
    assert "Could not rename client 1 to 'new1': the service accepted the update, but still shows the label" in reason
    assert "The service may have made the change: run again to find out." in reason
    assert (result["failures"], result["renamed"], result["created"]) == ({}, ["new2", "new3"], ["web1"])
    assert labels(emulator) == ["new1", "new2", "new3", "web1"]
    assert len(emulator.requests("update_client")) == 3


@pytest.mark.parametrize("tier", ["monitor-10", "free"])
def test_a_switch_of_the_plan_with_an_empty_response(emulator: Emulator, tier: str) -> None:
    """Observed: "statuses", "plan null". After an empty response, the module reads the plan."""
    emulator.set_plan("monitor-3")
    emulator.fault(kind="status", status=204, operation="update_plan")
    assert "the service confirmed 'monitor-3' instead" in failed(emulator, monitor_plan, subscription=tier)
    emulator.fault(kind="status", status=204, operation="update_plan", done=True)
    assert go(emulator, monitor_plan, subscription=tier)["plan"].get("id", "free") == tier


@pytest.mark.parametrize("body", ["{}", "null", ""])
def test_an_empty_value_is_the_free_plan_and_a_done_delete(emulator: Emulator, body: str) -> None:
    """If the response to a create request is empty, the module finds the client in the list."""
    emulator.seed(labels=["old1", "old2"])
    json_text = {"kind": "html", "status": 200, "body": body, "headers": {"Content-Type": "application/json"}}
    emulator.fault(**json_text, operation="get_plan", times=-1)
    emulator.fault(**json_text, operation="delete_client", done=True, times=-1)
    if not body:
        emulator.fault(**json_text, operation="create_client", done=True)
    result = go(emulator, monitor_clients, labels=["web1"], **_SURPLUS)
    assert (result["created"], result["deleted"], len(writes(emulator))) == (["web1"], ["old1", "old2"], 3)
    plan = go(emulator, monitor_plan_info)
    assert (plan["plan"], plan["free"], plan["clients_included"]) == ({}, True, None)
