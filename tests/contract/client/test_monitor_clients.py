# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""monitor_clients, option by option: check mode, run, run again, undo."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go, labels, run_all_forms, sent, writes


def _lists(result: dict[str, object]) -> dict[str, object]:
    return {name: result[name] for name in ("created", "renamed", "deleted", "unchanged") if result[name]}


def test_labels_are_created_and_absent_undoes(emulator: Emulator) -> None:
    emulator.seed(labels=["other", "web2"])
    result = run_all_forms(emulator, monitor_clients, labels=["web1", "web2", "web3"])
    assert _lists(result) == {"created": ["web1", "web3"], "unchanged": ["web2"]}
    assert list(result["clients"]) == ["web1", "web2", "web3"]
    assert all(client["label"] == label for label, client in result["clients"].items())
    assert result["account_labels"] == ["other", "web1", "web2", "web3"]
    assert sorted(result["key_owners"].values()) == result["account_labels"]
    assert result["diff"] == {"before": {}, "after": {"web1": "new", "web3": "new"}}
    undone = run_all_forms(emulator, monitor_clients, labels=["web1", "web3"], state="absent")
    assert _lists(undone) == {"deleted": ["web1", "web3"]}
    assert undone["clients"] == {}
    assert undone["account_labels"] == ["other", "web2"]
    assert set(undone["diff"]["before"]) == {"web1", "web3"}
    assert labels(emulator) == ["other", "web2"]


_WEB: dict[str, Any] = {"prune": True, "prune_pattern": "web.*"}
_RENAME = {"renames": {"web1": "www1"}}


@pytest.mark.parametrize(
    ("there", "options", "expected"),
    [
        ([], {"labels": ["web1"], "state": "absent"}, {"unchanged": ["web1"]}),
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
    kept = [label for name, changed in expected.items() for label in changed if name != "deleted"]
    assert list(result["clients"]) == ([] if "state" in options else kept)


def test_renames_and_back(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2", "other"])
    result = run_all_forms(emulator, monitor_clients, labels=["www2"], renames={"web1": "www1", "web2": "www2"})
    assert _lists(result) == {"renamed": ["www1", "www2"]}
    assert sorted(result["clients"]) == ["www1", "www2"]
    assert result["account_labels"] == ["other", "www1", "www2"]
    assert set(result["diff"]["before"]) == {"web1", "web2"}
    assert set(result["diff"]["after"]) == {"www1", "www2"}
    run_all_forms(emulator, monitor_clients, labels=[], renames={"www1": "web1", "www2": "web2"})
    assert labels(emulator) == ["other", "web1", "web2"]


def test_prune_deletes_what_matches_and_is_not_named(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2", "web3", "xweb4", "web5x", "db1"])
    options: dict[str, Any] = {"labels": ["web1", "new1"], "prune": True, "prune_pattern": "web[0-9]"}
    result = run_all_forms(emulator, monitor_clients, **options)
    assert _lists(result) == {"created": ["new1"], "deleted": ["web2", "web3"], "unchanged": ["web1"]}
    assert labels(emulator) == ["db1", "new1", "web1", "web5x", "xweb4"]
    assert result["account_labels"] == labels(emulator)
    assert set(result["diff"]["before"]) == {"web2", "web3"}
    assert set(result["diff"]["after"]) == {"new1"}


def test_include_keys(emulator: Emulator) -> None:
    emulator.seed(labels=["web1"])
    result = go(emulator, monitor_clients, labels=["web1", "web2"], include_keys=True)
    for client in emulator.clients():
        shown = result["clients"][client["label"]]
        assert (shown["api_key"], shown["install_code"]) == (client["api_key"], client["install_code"])


def test_check_capacity_reads_the_plan_only_for_creates(emulator: Emulator) -> None:
    emulator.set_plan("monitor-3")
    go(emulator, monitor_clients, labels=["web1"], check_capacity=False)
    assert ("GET", "/monitor/plan") not in sent(emulator)
    emulator.clear_log()
    go(emulator, monitor_clients, labels=["web1"])
    assert sent(emulator) == [("GET", "/monitor/clients")]
    emulator.clear_log()
    go(emulator, monitor_clients, labels=["web1", "web2"])
    assert sent(emulator) == [("GET", "/monitor/clients"), ("GET", "/monitor/plan"), ("POST", "/monitor/clients")]


@pytest.mark.parametrize("check_mode", [True, False])
def test_planned_labels_need_room_only_if_they_have_no_client(emulator: Emulator, check_mode: bool) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["web1"])
    options: dict[str, Any] = {"labels": ["web1", "web2"], "check_mode": check_mode}
    with pytest.raises(InputError, match="is too small: it includes 3 clients, and 4 are needed"):
        go(emulator, monitor_clients, planned_labels=["web3", "web4"], **options)
    assert writes(emulator) == []
    result = go(emulator, monitor_clients, planned_labels=["web1", "web2", "web3"], **options)
    assert _lists(result) == {"created": ["web2"], "unchanged": ["web1"]}


def test_a_rename_in_a_full_plan_succeeds(emulator: Emulator) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["web1", "web2"])
    run_all_forms(emulator, monitor_clients, labels=["web3", "www1"], renames={"web1": "www1"})
    assert labels(emulator) == ["web2", "web3", "www1"]


def test_a_prune_makes_room_in_a_full_plan(emulator: Emulator) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["old1", "old2", "web1"])
    options: dict[str, Any] = {"labels": ["web1", "web2", "web3"], "prune": True, "prune_pattern": "old.*"}
    result = run_all_forms(emulator, monitor_clients, **options)
    assert _lists(result) == {"created": ["web2", "web3"], "deleted": ["old1", "old2"], "unchanged": ["web1"]}
    undo: dict[str, Any] = {"labels": ["old1", "old2", "web1"], "prune": True, "prune_pattern": "web.*"}
    run_all_forms(emulator, monitor_clients, **undo, check_capacity=False)
    assert labels(emulator) == ["old1", "old2", "web1"]


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_prune_that_makes_too_little_room_is_refused_before_it_deletes(emulator: Emulator, check_mode: bool) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["old1", "web1", "web2"])
    options: dict[str, Any] = {"labels": ["web1", "web2", "web3", "web4"], "prune": True, "prune_pattern": "old.*"}
    reason = (
        r"is too small: it includes 3 clients, and 4 are needed\..* keep their clients if you run monitor\.cloud\.adopt"
    )
    with pytest.raises(InputError, match=reason):
        go(emulator, monitor_clients, check_mode=check_mode, **options)
    assert writes(emulator) == []
