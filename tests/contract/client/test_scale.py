# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A thousand labels on an account with a thousand other clients: few reads, one create each, few connections."""

from __future__ import annotations

from collections import Counter

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go, writes

_LABELS = [f"web-{number:04}" for number in range(1000)]


@pytest.mark.parametrize("concurrency", [8, 3])
def test_a_thousand_labels(emulator: Emulator, concurrency: int) -> None:
    emulator.seed(1000)
    result = go(emulator, monitor_clients, labels=_LABELS, concurrency=concurrency)
    log = emulator.requests()
    made = Counter(entry["operation"] for entry in log)
    assert made["create_client"] == 1000
    assert made["list_clients"] <= 4
    assert made["get_plan"] == 1
    assert sum(made.values()) == result["api_usage"]["requests"]
    assert len({entry["connection"] for entry in log}) <= concurrency
    assert result["created"] == _LABELS
    assert len(result["account_labels"]) == 2000
    emulator.clear_log()
    again = go(emulator, monitor_clients, labels=_LABELS, concurrency=concurrency)
    assert again["changed"] is False
    assert writes(emulator) == []
    assert len(emulator.requests()) == 4
    assert again["clients"].keys() == result["clients"].keys()
    assert again["key_owners"] == result["key_owners"]
