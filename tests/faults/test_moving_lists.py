# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A concurrent writer creates, renames and deletes clients while lists are read and clients are pruned.

Nothing is created twice, and nothing is pruned that is not surplus at that moment. In most tests the emulator makes the
changes of the other one, at a call of choice, so that nothing depends on time.
"""

import json
import random
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, short_or_long, tally
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go, labels

PAGE = 25
_OLD = [f"old-{number:02}" for number in range(10)]
_KEEP = [f"keep-{number:02}" for number in range(30)]
_DESIRED = [f"web-{number:02}" for number in range(30)]
# At the calls of a run that prunes: what they do is done before or after the other one acts.
MOMENTS: dict[str, dict[str, Any]] = {
    "after page 1": {"operation": "list_clients", "skip": 0, "done": True},
    "before page 2": {"operation": "list_clients", "match": {"page": 2}},
    "after page 2": {"operation": "list_clients", "match": {"page": 2}, "done": True},
    "after the last page": {"operation": "list_clients", "match": {"page": 3}, "done": True},
    "before a create": {"operation": "create_client", "skip": 2},
    "after a create": {"operation": "create_client", "skip": 2, "done": True},
    "before the first read": {"operation": "get_client"},
    "before a later read": {"operation": "get_client", "skip": 1},
    "before a delete": {"operation": "delete_client"},
    "after a delete": {"operation": "delete_client", "done": True},
}


pytestmark = pytest.mark.usefixtures("quick_backoff")


def _seed(emulator: Emulator) -> None:
    """Sixty clients on three pages: surplus ones on all of them, and most of the desired ones."""
    emulator.seed(labels=[*_OLD[:4], *_KEEP[:18], *_OLD[4:7], *_DESIRED[:24], *_OLD[7:], *_KEEP[18:]])


def _prune(emulator: Emulator, **options: Any) -> Result:
    surplus: dict[str, Any] = {"prune": True, "prune_pattern": "old-.*", "prune_limit": 12}
    return go(emulator, monitor_clients, labels=_DESIRED, page_size=PAGE, **surplus, **options)


def _check(emulator: Emulator, result: Result) -> None:
    """Whatever the other controller did, the desired clients are there, once, and as reported."""
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
    # With one worker, deletes come in the order of the list, so that these are still to come; creates come after them.
    changes = {"rename": {"old-05": "keep-05-again", "old-09": "old-of-them", "keep-29": "old-keep"}}
    late = MOMENTS[moment]["operation"] == "create_client"
    if late:
        changes = {"rename": {"keep-29": "old-keep"}}
    emulator.fault(kind="meanwhile", **MOMENTS[moment], changes=changes)
    result = _prune(emulator, concurrency=8 if "page" in moment else 1)
    _check(emulator, result)
    assert emulator.faults() == []
    there = {client["label"]: client["id"] for client in emulator.clients()}
    if "page" not in moment:
        # As long as the list is read, a label that matches is found to be surplus.
        assert there["old-keep"] == ids["keep-29"]
    if not late:
        spared = {"keep-05-again": ids["old-05"]}
        if "page" not in moment:
            spared["old-of-them"] = ids["old-09"]
        assert spared.items() <= there.items()
        assert set(result["deleted"]).isdisjoint(spared)
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
        "Client 2 was not deleted: its label was 'old-2' when the list was read, and is 'new-2' now."
    ]
    assert len(emulator.requests("get_client")) == 2, "one read for each client to delete"
    emulator.clear_log()
    assert go(emulator, monitor_clients, **options)["changed"] is False
    assert len(emulator.requests()) == 1, "a prune without surplus costs no request"


@pytest.mark.parametrize("moment", ["before a create", "before the first read", "after a delete"])
def test_a_client_that_is_created_during_the_run_is_not_pruned(emulator: Emulator, moment: str) -> None:
    """Not even under the label of a surplus client, which another controller deleted first."""
    _seed(emulator)
    changes = {"delete": ["old-08"], "create": ["old-08", "old-new"]}
    emulator.fault(kind="meanwhile", **MOMENTS[moment], changes=changes)
    result = _prune(emulator, concurrency=1)
    _check(emulator, result)
    assert labels(emulator) == sorted([*_DESIRED, *_KEEP, "old-08", "old-new"])


@pytest.mark.parametrize("module", ["monitor_clients", "monitor_client"])
def test_absent_deletes_the_client_that_has_the_label_now(emulator: Emulator, module: str) -> None:
    emulator.seed(labels=["web-1", "web-2"])
    emulator.fault(kind="meanwhile", operation="list_clients", done=True, changes={"rename": {"web-1": "www-1"}})
    if module == "monitor_clients":
        result = go(emulator, monitor_clients, labels=["web-1"], state="absent")
    else:
        result = go(emulator, monitor_client, label="web-1", state="absent")
        assert result["client"] == {}
    assert_sound(emulator, json.dumps(result), faults=1)
    assert result["changed"] is False
    assert "is 'www-1' now" in result["warnings"][0]
    assert labels(emulator) == ["web-2", "www-1"]


@pytest.mark.parametrize("seed", range(short_or_long(20, 2000)))
def test_many_changes_at_many_calls(emulator: Emulator, seed: int) -> None:
    """Each seed is a story of its own: which calls the other one uses, and what for."""
    chance = random.Random(seed)
    _seed(emulator)
    emulator.configure(list_order=chance.choice(["oldest", "newest"]), past_end=chance.choice(["not_found", "empty"]))
    saved = chance.sample(_OLD, 3)
    for number in range(chance.randint(1, 8)):
        changes: dict[str, Any] = {
            "delete": chance.sample(_KEEP, chance.randint(0, 2)),
            "create": [f"theirs-{number}-{one}" for one in range(chance.randint(0, 2))],
            "rename": {chance.choice(_KEEP): f"moved-{number}"} if chance.random() < 0.5 else {},
        }
        operation = chance.choice(["list_clients", "create_client", "get_client"])
        if saved and chance.random() < 0.4:
            # Before a read, since a change between the read and the delete can't be detected.
            old = saved.pop()
            changes["rename"][old] = f"saved-{old}"
        done = operation != "get_client" and chance.random() < 0.5
        skip = chance.randint(0, 6)
        emulator.fault(kind="meanwhile", operation=operation, skip=skip, done=done, changes=changes)
    result = _prune(emulator, concurrency=1)
    _check(emulator, result)
    # The label that a client had when it was deleted: not one that was kept, or created by another controller.
    gone = {entry["label"] for entry in emulator.requests("delete_client")}
    assert gone <= set(_OLD) & set(result["deleted"])
    assert not gone & set(labels(emulator))


@pytest.mark.parametrize("past_end", ["not_found", "empty"])
def test_a_client_that_every_read_misses_is_found(emulator: Emulator, past_end: str) -> None:
    """Observed: "page past the end". The service knows the label, and reports it at the create; the list is read until
    it shows the client."""
    emulator.configure(list_order="newest", past_end=past_end)
    emulator.seed(labels=["web-1", *_KEEP[:24]])
    # The last one of page 1 gets to page 2 before the one is read, and back before the other is.
    emulator.fault(
        kind="meanwhile", operation="list_clients", match={"page": None}, times=4, changes={"create": ["new"]}
    )
    emulator.fault(kind="meanwhile", operation="list_clients", match={"page": 2}, times=4, changes={"delete": ["new"]})
    result = go(emulator, monitor_clients, labels=["web-1"], page_size=PAGE)
    assert_sound(emulator, json.dumps(result), faults=8)
    tally(converged=1)
    assert emulator.faults() == []
    assert (result["created"], result["unchanged"], result["clients"]["web-1"]["id"]) == ([], ["web-1"], 1)
