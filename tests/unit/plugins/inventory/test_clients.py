# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of hosts for labels, which other users of the account choose."""

from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.inventory.clients import InventoryModule, _names_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError


def test_no_label_becomes_an_option_a_group_or_the_controller() -> None:
    names = _names_of(["web-1", "-oProxyCommand=id", "all", "localhost", "a b"], [])
    assert {label: names[label] for label in ("web-1", "all", "localhost")} == {
        "web-1": "web-1", "all": "client-all", "localhost": "client-localhost"
    }  # fmt: skip
    assert not [name for name in names.values() if name.startswith("-") or " " in name]
    assert _names_of(["localhost"], ["localhost"]) == {"localhost": "localhost"}
    with pytest.raises(InputError, match="'all' and 'client-all' would be the same host client-all"):
        _names_of(["all", "client-all"], [])


def test_only_its_own_files_are_read(tmp_path: Path) -> None:
    for name, read in {"a.monitor_clients.yml": True, "a.monitor_clients.yaml": True, "monitor.yml": False}.items():
        (tmp_path / name).touch()
        assert InventoryModule().verify_file(f"{tmp_path}/{name}") is read
