# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters, inventory and lookup; by Ansible: tests/fleet/test_documents.py, tests/contract/test_inventory.py."""

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.monitor.cloud.plugins.filter.client_label import FilterModule
from ansible_collections.monitor.cloud.plugins.inventory.clients import InventoryModule, _names_of
from ansible_collections.monitor.cloud.plugins.lookup import client
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._account import connection_params, own_message


def _hostvars(**labels: Any) -> dict[str, Any]:
    """hostvars, in which the implicit localhost is in no group, as before ansible-core 2.19."""
    groups = {"groups": {"all": list(labels)}}
    own = {host: {"monitor_agent_label": label, **groups} for host, label in labels.items()}
    return {**own, "localhost": {"monitor_agent_label": "database", **groups}}


_INVENTORY = _hostvars(web1=None, web2=None, **{"db.1": "database"}, x="")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("client_label", ["web1"], "web1"),
        # Labels are for ever: a release that derives others would make a second client for each host.
        ("client_label", ["web1.example.com"], "web1-example-com-82c1a348"),
        ("client_label", ["..."], "host-ab5df625"),
        ("client_label", ["web 1"], "web-1-5bcf3c83"),
        ("client_label", ["a-very-long-host-name-of-a-machine.example.com"], "a-very-long-host-name-o-47ce9c85"),
        ("client_labels", [["web1", "db.1"], _INVENTORY], {"web1": "web1", "db.1": "database"}),
        ("client_labels", [["x"], _INVENTORY], {"x": "x-2d711642"}),
        ("client_labels", ["web1", _INVENTORY], "takes a list of hosts"),
        ("client_labels", [["web1"], _hostvars(web1=None, w="web1")], "have the same label 'web1'"),
        ("client_label", [7], "takes the name of a host as text. Put a number in quotes.$"),
        # Such as a client with its keys.
        ("client_label", [{"label": "web1"}], "takes the name of a host as text. Put a number in quotes.$"),
    ],
)
def test_filters(name: str, arguments: list[Any], expected: Any) -> None:
    run = FilterModule().filters()[name]
    if isinstance(expected, str) and " " in expected:
        with pytest.raises(AnsibleFilterError, match=expected):
            run(*arguments)
    else:
        assert run(*arguments) == expected


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


@pytest.mark.parametrize(("given", "expected"), [("", True), (None, True), ("no", False), (True, True)])
def test_only_a_false_turns_the_check_of_certificates_off(given: Any, expected: bool) -> None:
    params = connection_params(dict.fromkeys(CONNECTION_OPTIONS).get, {"validate_certs": given})
    assert (params["validate_certs"], params["brand"]) == (expected, "monitor")
    with pytest.raises(InputError, match="allow_http is invalid"):
        connection_params(dict.fromkeys(CONNECTION_OPTIONS).get, {"allow_http": "maybe"})


def test_a_message_names_the_options_of_the_plugin() -> None:
    message = own_message(InputError.missing_option("base_url"))
    assert "MONITOR_BASE_URL" in message and "monitor_agent" not in message
