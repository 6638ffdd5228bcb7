# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run knows of the hosts of the whole inventory, and not only of those of its play."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import TRUSTS_MARKED


class Inventory(t.NamedTuple):
    """Host → label; host → result of a task; the hosts whose monitoring is to be removed; those of unknown label.

    The label of a host of unknown label is the one that is derived from its name.
    """

    labels: dict[str, str]
    results: dict[str, Mapping[str, t.Any]]
    absent: set[str]
    unreadable: list[str]


def read_inventory(variables: Mapping[str, t.Any], config: t.Any) -> Inventory:
    """The inventory of a run. ``config`` names the variable that holds the result of each host."""
    hostvars, active = variables["hostvars"], set(variables["ansible_play_hosts"])
    found = Inventory({}, {}, set(), [])
    for host in dict.fromkeys([*variables["groups"]["all"], *variables["ansible_play_hosts_all"]]):
        own: Mapping[str, t.Any] = {}
        try:
            own = host_variables(hostvars, host)
        except InputError:
            found.unreadable.append(host)
        found.labels[host] = client_label(host, own.get("monitor_agent_label"))
        if own.get("monitor_agent_state") == "absent":
            found.absent.add(host)
        result = own.get(config)
        # A host that failed in an earlier play, or that a condition leaves out, has the result of an earlier audit.
        found.results[host] = result if isinstance(result, Mapping) and host in active else {}
    return found


def host_variables(hostvars: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of a host; InputError if its label cannot be read, with or without the others."""
    try:
        own = hostvars[host]
        label = own.get("monitor_agent_label")
        # Since 2.19 a template that fails, or a vault without its password, raises an error when the value is used.
        text = str(label)
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"monitor_agent_label of host {host}: {reason}. Check its template, or the password of its vault."
        ) from None
    # Before 2.19 hostvars return a template that fails unchanged, as text that is not marked as data.
    if not TRUSTS_MARKED and "{{" in text and not hasattr(label, "__UNSAFE__"):
        raise InputError(f"monitor_agent_label of host {host}: the template {text!r} fails. Check its variables.")
    return t.cast("Mapping[str, t.Any]", own)
