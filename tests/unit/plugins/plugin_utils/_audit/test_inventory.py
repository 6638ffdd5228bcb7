# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The labels, results and states of the whole inventory."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.inventory import host_variables, read_inventory


class _Locked(dict[str, Any]):
    """The variables of a host with a label in a vault, of which the password is unknown."""

    def get(self, key: str, default: Any = None) -> Any:
        raise ValueError("no password.")


def test_the_whole_inventory_counts_and_results_of_active_hosts_only() -> None:
    own = {
        "web.1": {"audit": {"changed": False}, "monitor_agent_label": "web1"},
        "failed": {"audit": {"changed": False}, "monitor_agent_state": "absent"},
        "locked": _Locked(),
    }
    variables = {"hostvars": {**own, "localhost": {}}, "groups": {"all": list(own)}, "ansible_play_hosts": ["web.1"]}
    found = read_inventory({**variables, "ansible_play_hosts_all": ["web.1", "failed", "localhost"]}, "audit")
    assert found.labels == {"web.1": "web1", "failed": "failed", "locked": "locked", "localhost": "localhost"}
    assert found.results == {"web.1": {"changed": False}, "failed": {}, "locked": {}, "localhost": {}}
    assert (found.absent, found.unreadable) == ({"failed"}, ["locked"])
    with pytest.raises(InputError, match="monitor_agent_label of host locked: no password. Check its template"):
        host_variables(own, "locked")
