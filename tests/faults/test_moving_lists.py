# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

PAGE = 25
_OLD = [f"old-{number:02}" for number in range(10)]
_KEEP = [f"keep-{number:02}" for number in range(30)]
_DESIRED = [f"web-{number:02}" for number in range(30)]
# At one of these requests another controller changes the account: before the request, or after the request (`done`).
MOMENTS: dict[str, dict[str, Any]] = {
    "after page 1": {"operation": "list_clients", "skip": 0, "done": True},
    "before page 2": {"operation": "list_clients", "match": {"page": 2}},
    "after the last page": {"operation": "list_clients", "match": {"page": 3}, "done": True},
    "before a create": {"operation": "create_client", "skip": 2},
    "before the first read": {"operation": "get_client"},
    "before a delete": {"operation": "delete_client"},
    "after a delete": {"operation": "delete_client", "done": True},
}


pytestmark = pytest.mark.usefixtures("quick_backoff")


def _seed(emulator: Emulator) -> None:
    """Create 64 clients, which fill three pages. Each page has clients to prune."""
    emulator.seed(labels=[*_OLD[:4], *_KEEP[:18], *_OLD[4:7], *_DESIRED[:24], *_OLD[7:], *_KEEP[18:]])


def _prune(emulator: Emulator, **options: Any) -> Result:
    surplus: dict[str, Any] = {"prune": True, "prune_pattern": "old-.*", "prune_limit": 12}
    return go(emulator, monitor_clients, labels=_DESIRED, page_size=PAGE, **surplus, **options)


def _check(emulator: Emulator, result: Result) -> None:
    assert_sound(emulator, json.dumps(result), faults=1)
    real = {client["label"]: client["id"] for client in emulator.clients()}
    assert result["failures"] == {}
    assert {label: client["id"] for label, client in result["clients"].items()} == {
        label: real[label] for label in _DESIRED
    }
    tally(converged=1)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_client_that_is_renamed_during_the_run_is_not_pruned(emulator: Emulator, moment: str) -> None:
    _seed(emulator)
    ids = {client["label"]: client["id"] for client in emulator.clients()}
    # With concurrency 1, the task deletes clients in the order of the list, then creates clients.
    late = "create" in moment
    reading = "page" in moment
    changes = {} if late else {"old-05": "keep-05-again", "old-09": "old-of-them"}
    changes["keep-29"] = "old-keep"
    emulator.fault(kind="meanwhile", **MOMENTS[moment], changes={"rename": changes})
    result = _prune(emulator, concurrency=8 if reading else 1)
    _check(emulator, result)
    assert emulator.faults() == []
    there = {client["label"]: client["id"] for client in emulator.clients()}
    # If a client gets a matching label while the task reads the list, the task prunes the client.
    kept = {new: ids[old] for old, new in changes.items() if not reading or not new.startswith("old")}
    assert kept.items() <= there.items()
    assert set(result["deleted"]).isdisjoint(kept)
    assert not set(_OLD) & set(there)
    assert set(there) >= {*_DESIRED, *_KEEP[:29]}


def test_the_result_names_clients_that_were_not_pruned(emulator: Emulator) -> None:
    emulator.seed(labels=["old-1", "old-2", "web-1"])
    emulator.fault(kind="meanwhile", operation="get_client", changes={"rename": {"old-2": "new-2"}})
    options: dict[str, Any] = {"labels": ["web-1"], "prune": True, "prune_pattern": "old.*", "concurrency": 1}
    result = go(emulator, monitor_clients, **options)
    assert_sound(emulator, json.dumps(result), faults=1)
    assert (result["deleted"], result["unchanged"]) == (["old-1"], ["web-1", "old-2"])
    assert list(result["clients"]) == ["web-1"]
    assert sorted(result["key_owners"].values()) == ["new-2", "web-1"]
    assert list(result["diff"]["before"]) == ["old-1"]
    assert result["warnings"] == [
        "Client 2 was not deleted, because it was renamed: its label was 'old-2' when the list was "
        "read, and is 'new-2' now."
    ]
    assert len(emulator.requests("get_client")) == 2, "one read for each client to delete"
    emulator.clear_log()
    assert go(emulator, monitor_clients, **options)["changed"] is False
    assert len(emulator.requests()) == 1, "a prune without clients to delete sends no other request"


def test_a_client_that_every_read_misses_is_found(emulator: Emulator) -> None:
    """Observed: "page past the end". If the label is taken, the task reads the list until the list shows the client."""
    emulator.configure(list_order="newest")
    emulator.seed(labels=["web-1", *_KEEP[:24]])
    # The task misses the client, which is on page 2 while the task reads page 1, and then on page 1.
    emulator.fault(
        kind="meanwhile", operation="list_clients", match={"page": None}, times=4, changes={"create": ["new"]}
    )
    emulator.fault(kind="meanwhile", operation="list_clients", match={"page": 2}, times=4, changes={"delete": ["new"]})
    result = go(emulator, monitor_clients, labels=["web-1"], page_size=PAGE)
    assert_sound(emulator, json.dumps(result), faults=8)
    tally(converged=1)
    assert emulator.faults() == []
    assert (result["created"], result["unchanged"], result["clients"]["web-1"]["id"]) == ([], ["web-1"], 1)
