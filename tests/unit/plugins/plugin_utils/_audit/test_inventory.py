# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.inventory import host_of, read_inventory


class _Locked(dict[str, Any]):
    """The variables of a host whose label cannot be decrypted."""

    def get(self, key: str, default: Any = None) -> Any:
        if key == "monitor_agent_label":
            raise ValueError("no password.")
        return super().get(key, default)


def test_the_whole_inventory_counts_and_results_of_active_hosts_only() -> None:
    own = {
        "web.1": {"audit": {"changed": False}, "monitor_agent_label": "web1"},
        "failed": {"audit": {"changed": False}, "monitor_agent_state": "absent"},
        "locked": _Locked(),
        # A task of the host rendered the label.
        "of_play": _Locked(audit={"label": "rendered"}),
    }
    hosts = {"ansible_play_hosts": ["web.1", "of_play"], "ansible_play_hosts_all": ["web.1", "failed", "localhost"]}
    variables = {"hostvars": {**own, "localhost": {}}, "groups": {"all": list(own)}, **hosts}
    inventory = read_inventory(variables, "audit")
    names = {host: host for host in ("failed", "locked", "localhost")}
    assert inventory.labels == {"web.1": "web1", "of_play": "rendered", **names}
    assert inventory.results == {
        **dict.fromkeys(names, {}),
        **{host: own[host]["audit"] for host in ("web.1", "of_play")},
    }
    assert (inventory.absent, inventory.unreadable) == ({"failed"}, ["locked"])


def test_the_host_of_a_label() -> None:
    own = {
        "web.1": {"monitor_agent_label": "web1"},
        "locked": _Locked(),
        "plain": {},
        "self": {"monitor_agent_label": "mine"},
    }
    variables = {"hostvars": own, "groups": {"all": list(own)}, "ansible_play_hosts_all": []}
    # The search finds host "plain" by its name, before the search reads the variables of "locked".
    expected = {"web1": ("web.1", ["locked"]), "plain": ("plain", []), "mine": (None, ["locked"])}
    assert {label: host_of(label, variables, but="self") for label in expected} == expected
