# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.filter.client_label import FilterModule


def _hostvars(**labels: Any) -> dict[str, Any]:
    groups = {"groups": {"all": list(labels)}}
    hosts = {host: {"monitor_agent_label": label, **groups} for host, label in labels.items()}
    # Before ansible-core 2.19, hostvars can contain the implicit localhost, which is in no group.
    return {**hosts, "localhost": {"monitor_agent_label": "database", **groups}}


_INVENTORY = _hostvars(web1=None, web2=None, **{"db.1": "database"}, x="")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("client_label", ["web1"], "web1"),
        # Never change derived labels: a release with other labels would create a second client for each host.
        ("client_label", ["web1.example.com"], "web1-example-com-82c1a348"),
        ("client_label", ["a-very-long-host-name-of-a-machine.example.com"], "a-very-long-host-name-o-47ce9c85"),
        ("client_labels", [["web1", "db.1"], _INVENTORY], {"web1": "web1", "db.1": "database"}),
        ("client_labels", ["web1", _INVENTORY], "takes a list of hosts"),
        ("client_labels", [["web1"], _hostvars(web1=None, w="web1")], "have the same label 'web1'"),
        # Hosts outside the list may share a label.
        ("client_labels", [["web1"], _hostvars(web1=None, a="same", b="same")], {"web1": "web1"}),
        ("client_labels", [[], {}], {}),
        ("client_labels", [["web1"], _hostvars(web1=83)], "The label 83 of host web1 is not text"),
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


def test_one_warning_names_the_hosts_whose_labels_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: warnings.append(text))
    labels = FilterModule().filters()["client_labels"](["web1"], _hostvars(web1=None, a=83, b=["x"]))
    assert labels == {"web1": "web1"}
    assert warnings == ["Labels are unknown, because variables of these hosts cannot be read: a, b."]
