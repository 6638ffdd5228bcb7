# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists that are incomplete or late, or that hold clients without a label or several of one."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import (
    ApiError,
    InputError,
    MonitorError,
    TaskFailure,
)
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Module, go, labels, run_all_forms, writes

_TWICE = "The label 'web1' has 2 clients, with the ids 1 and 2"


pytestmark = pytest.mark.usefixtures("quick_backoff")


@pytest.mark.parametrize(
    ("module", "operation", "options"),
    [
        (monitor_client_info, "list_clients", {}),
        (monitor_client, "list_clients", {"label": "web1"}),
        (monitor_clients, "list_clients", {"labels": ["web1"], "prune": True, "prune_pattern": "seed-.*"}),
        (monitor_clients, "list_clients", {"labels": ["seed-00001"], "state": "absent"}),
        (monitor_subscription_info, "list_subscriptions", {}),
        (region_info, "list_regions", {}),
    ],
)
def test_a_part_of_a_list_is_never_taken_for_the_whole(
    emulator: Emulator, module: Module, operation: str, options: dict[str, Any]
) -> None:
    emulator.seed(100)
    emulator.fault(kind="edit", operation=operation, add={"results": 250, "pages": 1}, times=-1)
    with pytest.raises(ApiError, match=r"the service announced 250 entries and returned \d+ \(GET ") as failed:
        go(emulator, module, **options)
    assert failed.value.outcome == "not_done"
    assert len(emulator.requests(operation)) == 2
    assert writes(emulator) == []


def test_a_service_that_returns_the_first_page_again_and_again(emulator: Emulator) -> None:
    """It ignores page; what is seen twice counts once."""
    clients = emulator.seed(100)
    body = {"data": clients, "page": 1, "pages": 3, "results": 250}
    emulator.fault(kind="status", status=200, body=body, operation="list_clients", times=-1)
    with pytest.raises(ApiError, match="announced 250 entries and returned 100"):
        go(emulator, monitor_client_info)


@pytest.mark.parametrize("pages", [["1 2 2"], ["1 2", "2 3"]], ids=str)
def test_a_stable_list_with_one_client_twice_is_whole(emulator: Emulator, pages: list[str]) -> None:
    """As many entries came as were announced: the service itself counts that client twice."""
    clients = {str(client["id"]): client for client in emulator.seed(3)}
    entries = [[clients[each] for each in page.split()] for page in pages]
    for number, data in enumerate(entries, 1):
        body = {"data": data, "page": number, "pages": len(pages), "results": sum(map(len, entries))}
        match = {"page": None if number == 1 else number}
        emulator.fault(kind="status", status=200, body=body, operation="list_clients", times=-1, match=match)
    shown = go(emulator, monitor_client_info)["clients"]
    assert [client["id"] for client in shown] == sorted({client["id"] for page in entries for client in page})
    assert len(emulator.requests("list_clients")) == 2 * len(pages)


def test_results_that_counts_one_page_does_not_cost_more_reads(emulator: Emulator) -> None:
    """A label is missing if two reads return the same list, whatever number the service announced."""
    emulator.seed(40)
    emulator.fault(kind="edit", operation="list_clients", add={"results": 25}, times=-1)
    emulator.fault(kind="drop", operation="create_client")
    assert go(emulator, monitor_clients, labels=["web1"], page_size=25)["created"] == ["web1"]
    # Two reads of two pages before the create, and two to find out whether it was done.
    assert len(emulator.requests("list_clients")) == 8


def test_a_list_that_is_short_once_is_read_again(emulator: Emulator) -> None:
    emulator.seed(3)
    emulator.fault(kind="edit", operation="list_clients", add={"results": 5})
    assert len(go(emulator, monitor_client_info)["clients"]) == 3
    assert len(emulator.requests("list_clients")) == 2


def test_a_client_without_a_label_does_not_block_the_account(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "none", "web2"])
    emulator.configure(null_labels=["none"])
    shown = go(emulator, monitor_client_info)["clients"]
    assert [(client["id"], client["label"]) for client in shown] == [(1, "web1"), (2, None), (3, "web2")]
    matched = go(emulator, monitor_client_info, label_pattern=".*")["clients"]
    assert [client["id"] for client in matched] == [1, 3]
    surplus: dict[str, Any] = {"prune": True, "prune_pattern": ".*"}
    result = run_all_forms(emulator, monitor_clients, labels=["web1", "web3"], **surplus)
    assert (result["created"], result["deleted"]) == (["web3"], ["web2"])
    assert result["account_labels"] == sorted(result["key_owners"].values()) == ["web1", "web3"]
    assert labels(emulator) == ["none", "web1", "web3"]
    run_all_forms(emulator, monitor_client, changes=False, label="None", state="absent")


@pytest.mark.parametrize("options", [{"label": "web2"}, {"state": "absent"}])
def test_a_client_without_a_label_is_renamed_and_deleted_by_its_id(emulator: Emulator, options: dict[str, Any]) -> None:
    emulator.seed(labels=["none"])
    emulator.configure(null_labels=["none"])
    result = run_all_forms(emulator, monitor_client, changes=True, **{"id": 1, **options})
    assert list(result["diff"]["before"]) == ["client 1"]
    assert labels(emulator) == ([] if "state" in options else ["web2"])


def _two_of_one_label(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web1~", "web2"])
    emulator.configure(double_labels=["web1~"])


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_two_clients_with_one_label_are_named_and_left_alone(emulator: Emulator, state: str, check_mode: bool) -> None:
    _two_of_one_label(emulator)
    with pytest.raises(InputError, match=_TWICE):
        go(emulator, monitor_client, label="web1", state=state, check_mode=check_mode)
    desired = ["web1", "web2" if state == "absent" else "web3"]
    with pytest.raises(TaskFailure, match=_TWICE):
        go(emulator, monitor_clients, labels=desired, state=state, check_mode=check_mode)
    assert {"web1", "web1~"} <= set(labels(emulator))
    result = go(emulator, monitor_clients, labels=desired, state=state, check_mode=check_mode, allow_failures=True)
    assert list(result["failures"]) == ["web1"]
    assert "web1" not in result["clients"]


@pytest.mark.parametrize(
    "options",
    [
        {"labels": [], "renames": {"web1": "www1"}},
        {"labels": [], "renames": {"www1": "web1"}},
        {"labels": ["web1"], "renames": {"www1": "web1"}},
        {"labels": ["web2"], "prune": True, "prune_pattern": "web1"},
    ],
)
def test_clients_that_share_a_label_are_neither_renamed_nor_pruned(emulator: Emulator, options: dict[str, Any]) -> None:
    _two_of_one_label(emulator)
    with pytest.raises(TaskFailure, match=_TWICE):
        go(emulator, monitor_clients, **options)
    assert writes(emulator) == []


def test_one_of_two_is_deleted_by_its_id_and_others_are_not_concerned(emulator: Emulator) -> None:
    _two_of_one_label(emulator)
    go(emulator, monitor_clients, labels=["web2", "web3"])
    go(emulator, monitor_client, id=2, state="absent")
    run_all_forms(emulator, monitor_client, changes=False, label="web1")
    assert labels(emulator) == ["web1", "web2", "web3"]


@pytest.mark.parametrize("status", [400, 409])
def test_a_label_that_is_taken_while_the_list_is_late(emulator: Emulator, status: int) -> None:
    emulator.seed(labels=["web1"])
    emulator.configure(list_lag=4, duplicate_status=status)
    result = go(emulator, monitor_client, label="web1")
    assert (result["changed"], result["client"]["id"]) == (False, 1)
    assert len(emulator.requests("list_clients")) == 5
    emulator.reset()
    emulator.configure(list_lag=4, duplicate_status=status)
    emulator.fault(kind="lost_response", operation="create_client")
    many = go(emulator, monitor_clients, labels=["web1", "web2"])
    assert sorted(many["created"]) == labels(emulator) == ["web1", "web2"]


def test_a_label_that_is_taken_and_never_listed(emulator: Emulator) -> None:
    emulator.seed(labels=["web1"])
    emulator.configure(list_lag=10_000)
    with pytest.raises(MonitorError, match="Label must be unique") as failed:
        go(emulator, monitor_client, label="web1", retry_timeout=0.3)
    assert "run again later, or use a token that sees all clients" in str(failed.value)
    assert "retry_timeout (0.3 s)" in str(failed.value)
