# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys that the service masks, and two runs at once: no mask is taken for a key, no label gets two clients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go, labels, writes

_SECRETS = {"api_key", "install_code"}
_MASK_IN_KEY_FORM = "AAAAAAAA-BBBB-CCCC-DDDDEEEEFFFF0000"


def _assert_masked(client: Result) -> None:
    assert client["keys_masked"] is True
    assert client["key_fingerprint"] is None
    assert not _SECRETS & set(client)


@pytest.mark.parametrize(
    "mask",
    [
        {"mask_text": "[REDACTED]"},
        {"mask_text": "***"},
        {"mask_text": ""},
        {"mask_text": "*" * 35},
        {"mask_text": _MASK_IN_KEY_FORM},
        {"mask_kind": "missing"},
        {"mask_kind": "cut_short"},
    ],
    ids=str,
)
def test_masks_are_detected_by_every_module(emulator: Emulator, mask: dict[str, Any]) -> None:
    """Field note "api_key, install_code"."""
    emulator.seed(labels=["web1", "web2"])
    emulator.configure(**mask)
    listed = go(emulator, monitor_client_info, token="read_only", include_keys=True)["clients"]
    many = go(emulator, monitor_clients, token="read_only", labels=["web1", "web2"], include_keys=True)
    one = go(emulator, monitor_client, token="read_only", label="web1", include_keys=True)["client"]
    for client in (*listed, *many["clients"].values(), one):
        _assert_masked(client)
    assert many["key_owners"] == {}
    assert writes(emulator) == []


def test_access_differs_from_client_to_client(emulator: Emulator) -> None:
    """Field note "api_key, install_code"."""
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.set_token("some", scopes=["monitor:read_write"], read_only_ids=[2])
    result = go(emulator, monitor_clients, token="some", labels=["web1", "web2", "web3"], include_keys=True)
    _assert_masked(result["clients"]["web2"])
    assert sorted(result["key_owners"].values()) == ["web1", "web3"]
    real = {client["label"]: client["api_key"] for client in emulator.clients()}
    assert result["clients"]["web1"]["api_key"] == real["web1"]
    assert result["clients"]["web3"]["api_key"] == real["web3"]


@pytest.mark.parametrize("mask_text", ["[REDACTED]", _MASK_IN_KEY_FORM])
def test_keys_masked_in_the_response_to_a_create(emulator: Emulator, mask_text: str) -> None:
    emulator.configure(mask_labels=["web1", "web2"], mask_text=mask_text)
    result = go(emulator, monitor_clients, labels=["web1", "web2", "web3"], include_keys=True)
    for label in ("web1", "web2"):
        _assert_masked(result["clients"][label])
    assert result["clients"]["web3"]["keys_masked"] is False


def test_two_runs_at_once_make_one_client_for_each_label(emulator: Emulator) -> None:
    """Field note "duplicate label": another controller was faster; its client is adopted."""
    desired = [f"web{number:02}" for number in range(60)]
    emulator.configure(latency_ms=2)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda dummy: go(emulator, monitor_clients, labels=desired), range(4)))
    assert labels(emulator) == desired
    created = [label for result in results for label in result["created"]]
    assert sorted(created) == desired
    real = {client["label"]: client["id"] for client in emulator.clients()}
    for result in results:
        assert sorted(result["created"] + result["unchanged"]) == desired
        assert result["changed"] is bool(result["created"])
        assert {label: client["id"] for label, client in result["clients"].items()} == real
        assert result["account_labels"] == desired


@pytest.mark.usefixtures("quick_backoff")
@pytest.mark.parametrize("settings", [{"duplicate_status": 409}, {"duplicate_reason": "Taken"}, {}], ids=str)
def test_another_controller_creates_while_the_list_is_late(emulator: Emulator, settings: dict[str, Any]) -> None:
    """Field note "duplicate label": the list does not show the clients yet, then their creates are refused."""
    emulator.configure(**settings, list_lag=4)
    emulator.seed(labels=["web1", "web2"])
    result = go(emulator, monitor_clients, labels=["web1", "web2", "web3"])
    assert (result["created"], result["unchanged"]) == (["web3"], ["web1", "web2"])
    assert len(emulator.requests("list_clients")) == 5
    emulator.seed(labels=["web4"])
    one = go(emulator, monitor_client, label="web4")
    assert (one["changed"], one["client"]["id"]) == (False, emulator.clients()[-1]["id"])
    emulator.fault(kind="lost_response", operation="create_client")
    assert sorted(go(emulator, monitor_clients, labels=["web5", "web6"])["created"]) == ["web5", "web6"]
    assert labels(emulator) == [f"web{number}" for number in range(1, 7)]


def test_two_runs_that_delete_at_once(emulator: Emulator) -> None:
    desired = [seeded["label"] for seeded in emulator.seed(40)]
    options: dict[str, Any] = {"labels": desired, "state": "absent"}
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda dummy: go(emulator, monitor_clients, **options), range(2)))
    assert all(result["failures"] == {} for result in results)
    assert labels(emulator) == []


def test_a_label_that_another_client_got_before_the_rename(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    only_first = {"data": emulator.clients()[:1], "page": 1, "pages": 1, "results": 1}
    emulator.fault(kind="status", status=200, body=only_first, operation="list_clients")
    with pytest.raises(TaskFailure, match="Could not rename client 1 to 'web2': the service returned 400: label: "):
        go(emulator, monitor_clients, labels=[], renames={"web1": "web2"})
    assert labels(emulator) == ["web1", "web2"]
