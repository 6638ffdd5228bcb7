# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters; that Ansible finds them is tests/fleet/test_documents.py."""

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.monitor.cloud.plugins.filter.client_label import FilterModule


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
