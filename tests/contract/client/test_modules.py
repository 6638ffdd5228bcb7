# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules that change something, option by option: check mode, run, run again, undo."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Module, go, labels, run_all_forms, sent

_WEB: dict[str, Any] = {"prune": True, "prune_pattern": "web.*"}
_RENAME = {"renames": {"web1": "www1"}}


# One client


@pytest.mark.parametrize(
    ("options", "changes", "label", "left"),
    [
        ({"label": "web1"}, False, "web1", ["web1", "web2"]),
        ({"id": 1}, False, "web1", ["web1", "web2"]),
        ({"id": 1, "label": "www1"}, True, "www1", ["www1", "web2"]),
        ({"label": "web3", "state": "absent"}, False, None, ["web1", "web2"]),
        ({"id": 4711, "state": "absent"}, False, None, ["web1", "web2"]),
        ({"id": 1, "state": "absent"}, True, "web1", ["web2"]),
        ({"id": 1, "label": "web1", "state": "absent"}, True, "web1", ["web2"]),
    ],
    ids=str,
)
def test_present_and_absent_by_label_and_id(
    emulator: Emulator, options: dict[str, Any], changes: bool, label: str | None, left: list[str]
) -> None:
    emulator.seed(labels=["web1", "web2"])
    result = run_all_forms(emulator, monitor_client, changes=changes, **options)
    client = result["client"]
    assert (client.get("id"), client.get("label")) == (1 if label else None, label)
    assert result["diff"]["before"] == ({"web1": client["key_fingerprint"]} if label else {})
    assert label != "www1" or result["diff"]["after"] == {"www1": client["key_fingerprint"]}
    assert [client["label"] for client in emulator.clients()] == left


@pytest.mark.parametrize(
    ("module", "options", "expected"),
    [
        (monitor_client, {"label": "web2"}, "GET clients, GET plan, POST clients"),
        (monitor_client, {"id": 1}, "GET clients/1"),
        (monitor_client, {"id": 1, "label": "www"}, "GET clients/1, GET clients, POST clients/1"),
        (monitor_client, {"id": 1, "state": "absent"}, "GET clients/1, DELETE clients/1"),
        (monitor_clients, {"labels": ["web1"]}, "GET clients"),
        (monitor_clients, {"labels": ["web1", "web2"]}, "GET clients, GET plan, POST clients"),
        (monitor_clients, {"labels": ["web1", "web2"], "check_capacity": False}, "GET clients, POST clients"),
        (monitor_plan_info, {"count_clients": False}, "GET plan"),
    ],
)
def test_which_requests_are_made(emulator: Emulator, module: Module, options: dict[str, Any], expected: str) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["web1"])
    usage = go(emulator, module, **options)["api_usage"]
    made = [f"{method} {path.removeprefix('/monitor/')}" for method, path in sent(emulator)]
    assert ", ".join(made) == expected
    assert usage == {"requests": len(made), "retries": 0, "waited": 0.0}


# Many clients


def _lists(result: dict[str, object]) -> dict[str, object]:
    return {name: result[name] for name in ("created", "renamed", "deleted", "unchanged") if result[name]}


@pytest.mark.parametrize(
    ("there", "options", "expected"),
    [
        ([], {"labels": ["web1"], "state": "absent"}, {"unchanged": ["web1"]}),
        (["web1", "web2"], {"labels": ["web1"], "state": "absent"}, {"deleted": ["web1"]}),
        (["db1", "web2"], {"labels": ["web1", "web2"]}, {"created": ["web1"], "unchanged": ["web2"]}),
        (["other"], {"labels": []}, {}),
        (["www1"], {"labels": [], **_RENAME}, {"unchanged": ["www1"]}),
        ([], {"labels": ["www1"], **_RENAME}, {"created": ["www1"]}),
        (["web1", "web2"], {"labels": ["www1"], **_RENAME, **_WEB}, {"renamed": ["www1"], "deleted": ["web2"]}),
        (["web1", "web2"], {"labels": ["web1"], "prune_pattern": "web.*"}, {"unchanged": ["web1"]}),
        (
            ["web1", "web2", "web3"],
            {"labels": ["web1"], **_WEB, "prune_limit": 2},
            {"deleted": ["web2", "web3"], "unchanged": ["web1"]},
        ),
    ],
    ids=str,
)
def test_what_is_done(
    emulator: Emulator, there: list[str], options: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    emulator.seed(labels=there)
    result = run_all_forms(emulator, monitor_clients, changes=bool(expected.keys() - {"unchanged"}), **options)
    assert _lists(result) == expected
    assert result["account_labels"] == labels(emulator)
    assert set(result["diff"]["after"]) == {*expected.get("created", []), *expected.get("renamed", [])}
    assert set(result["diff"]["before"]) == set(there) - set(labels(emulator))
    kept = [label for name, changed in expected.items() for label in changed if name != "deleted"]
    assert list(result["clients"]) == ([] if "state" in options else kept)


def test_a_prune_makes_room_in_a_full_plan(emulator: Emulator) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["old1", "old2", "web1"])
    options: dict[str, Any] = {"labels": ["web1", "web2", "web3"], "prune": True, "prune_pattern": "old.*"}
    result = run_all_forms(emulator, monitor_clients, **options)
    assert _lists(result) == {"created": ["web2", "web3"], "deleted": ["old1", "old2"], "unchanged": ["web1"]}
    undo: dict[str, Any] = {"labels": ["old1", "old2", "web1"], "prune": True, "prune_pattern": "web.*"}
    run_all_forms(emulator, monitor_clients, **undo, check_capacity=False)
    assert labels(emulator) == ["old1", "old2", "web1"]


# The plan


@pytest.mark.parametrize("subscription", ["monitor-3", "free"])
def test_allow_over_capacity(emulator: Emulator, subscription: str) -> None:
    emulator.seed(4)
    emulator.set_plan("monitor-10")
    run_all_forms(emulator, monitor_plan, subscription=subscription, allow_over_capacity=True)
    run_all_forms(emulator, monitor_plan, subscription="monitor-10")


def test_plan_info(emulator: Emulator) -> None:
    emulator.seed(2)
    free = go(emulator, monitor_plan_info, token="read_only")
    expected = {"changed": False, "plan": {}, "free": True, "clients_used": 2, "clients_included": None}
    assert {**free, "api_usage": None} == {**expected, "api_usage": None}
    emulator.set_plan("monitor-10")
    # Where the service does not report the number of clients, they are listed.
    emulator.fault(kind="edit", operation="list_clients", remove=["results"], times=-1)
    paid = go(emulator, monitor_plan_info, check_mode=True)
    shown = [paid["plan"]["id"], *(paid[name] for name in ("free", "clients_used", "clients_included"))]
    assert shown == ["monitor-10", False, 2, 10]
    assert "clients_used" not in go(emulator, monitor_plan_info, count_clients=False)
