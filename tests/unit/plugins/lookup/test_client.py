# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients by their labels, without keys; by Ansible, and with errors: tests/contract/test_inventory.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.lookup import client
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS


def test_clients_in_the_order_of_the_labels_from_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found, reads = {"id": 1, "label": "web1"}, []

    def read(params: dict[str, Any]) -> list[dict[str, Any]]:
        reads.append(params["brand"])
        return [found]

    monkeypatch.setattr(client, "read_clients", read)
    monkeypatch.setattr(client, "_accounts", {})
    lookup: Any = client.LookupModule()
    monkeypatch.setattr(lookup, "set_options", lambda **options: None)
    monkeypatch.setattr(lookup, "get_option", dict.fromkeys(CONNECTION_OPTIONS).get)
    for _time in range(2):
        assert lookup.run(["none", "web1"]) == [{}, found]
    assert reads == ["monitor"]
