# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""monitor_client, option by option: check mode, run, run again, undo."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go, labels, run_all_forms, sent, writes


def test_label_creates_finds_and_absent_undoes(emulator: Emulator) -> None:
    emulator.seed(labels=["other"])
    result = run_all_forms(emulator, monitor_client, label="web1")
    assert result["client"]["label"] == "web1"
    assert result["diff"] == {"before": {}, "after": {"web1": "new"}}
    removed = run_all_forms(emulator, monitor_client, label="web1", state="absent")
    assert removed["client"] == result["client"]
    assert removed["diff"] == {"before": {"web1": result["client"]["key_fingerprint"]}, "after": {}}
    assert labels(emulator) == ["other"]


@pytest.mark.parametrize(
    ("options", "changes", "label", "left"),
    [
        ({"label": "web1"}, False, "web1", ["web1", "web2"]),
        ({"id": 1}, False, "web1", ["web1", "web2"]),
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
    assert labels(emulator) == left


def test_id_and_label_rename_and_rename_back(emulator: Emulator) -> None:
    (seeded,) = emulator.seed(labels=["web1"])
    result = run_all_forms(emulator, monitor_client, id=seeded["id"], label="www")
    fingerprint = result["client"]["key_fingerprint"]
    assert result["client"]["label"] == "www"
    assert result["diff"] == {"before": {"web1": fingerprint}, "after": {"www": fingerprint}}
    run_all_forms(emulator, monitor_client, id=seeded["id"], label="web1")
    (client,) = emulator.clients()
    assert {**client, "updated": None} == {**seeded, "updated": None}


def test_absent_by_id_and_another_label_deletes_nothing(emulator: Emulator) -> None:
    (seeded,) = emulator.seed(labels=["web1"])
    with pytest.raises(InputError, match="Client 1 has the label 'web1', not 'web2': not deleted"):
        go(emulator, monitor_client, id=seeded["id"], label="web2", state="absent")
    assert writes(emulator) == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_rename_onto_the_label_of_another_is_refused(emulator: Emulator, check_mode: bool) -> None:
    emulator.seed(labels=["web1", "web2"])
    with pytest.raises(InputError, match=r"Client 1 \('web1'\) can't get the label 'web2': client 2 has it"):
        go(emulator, monitor_client, check_mode=check_mode, id=1, label="web2")
    assert writes(emulator) == []


def test_include_keys_shows_keys_and_changes_nothing_else(emulator: Emulator) -> None:
    result = run_all_forms(emulator, monitor_client, label="web1")
    (client,) = emulator.clients()
    with_keys = go(emulator, monitor_client, label="web1", include_keys=True)["client"]
    secrets = {name: client[name] for name in ("api_key", "install_code")}
    assert with_keys == {**result["client"], **secrets}
    created = go(emulator, monitor_client, label="web2", include_keys=True)["client"]
    assert created["api_key"] == emulator.clients()[1]["api_key"]
    removed = go(emulator, monitor_client, id=1, state="absent", include_keys=True)["client"]
    assert removed["api_key"] == client["api_key"]


def test_which_requests_are_made(emulator: Emulator) -> None:
    go(emulator, monitor_client, label="web1")
    assert sent(emulator) == [("GET", "/monitor/clients"), ("GET", "/monitor/plan"), ("POST", "/monitor/clients")]
    emulator.clear_log()
    result = go(emulator, monitor_client, id=1)
    assert sent(emulator) == [("GET", "/monitor/clients/1")]
    assert result["api_usage"] == {"requests": 1, "retries": 0, "waited": 0.0}
    emulator.clear_log()
    go(emulator, monitor_client, id=1, label="www")
    assert sent(emulator) == [
        ("GET", "/monitor/clients/1"),
        ("GET", "/monitor/clients"),
        ("POST", "/monitor/clients/1"),
    ]
    emulator.clear_log()
    go(emulator, monitor_client, id=1, state="absent")
    assert sent(emulator) == [("GET", "/monitor/clients/1"), ("DELETE", "/monitor/clients/1")]
