# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters client_label and client_labels."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import unknown_labels
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.inventory import host_variables


def client_label(host: str) -> str:
    """A valid label for a host's name; see :func:`.fields.client_label`."""
    if not isinstance(host, str):
        raise AnsibleFilterError("client_label takes the name of a host as text. Put a number in quotes.")
    return fields.client_label(host)


def client_labels(hosts: Sequence[str], hostvars: Mapping[str, t.Any]) -> dict[str, str]:
    """Host → label, with monitor_agent_label of the inventory. AnsibleFilterError if two hosts have the same label."""
    if isinstance(hosts, str):
        raise AnsibleFilterError("client_labels takes a list of hosts. Use client_label for one host.")
    own, unreadable = {}, []
    try:
        # groups.all, because before 2.19 hostvars has the implicit localhost too, after a task is delegated to it.
        everyone = host_variables(hostvars, hosts[0])["groups"]["all"] if hosts else ()
        for host in dict.fromkeys([*hosts, *everyone]):
            try:
                own[host] = host_variables(hostvars, host).get("monitor_agent_label")
            except InputError:
                if host in hosts:
                    raise
                unreadable.append(host)
        found = fields.labels_of_hosts(list(hosts), own, own.get)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None
    if unreadable:
        Display().warning(unknown_labels(unreadable))
    return found


class FilterModule:
    def filters(self) -> dict[str, t.Any]:
        return {"client_label": client_label, "client_labels": client_labels}
