# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read labels and results of all hosts of the inventory, not only of the hosts of the play."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import TEMPLATE, TRUSTS_MARKED


class Inventory(t.NamedTuple):
    """Labels and results by host. ``absent``: hosts with state absent. ``unreadable``: hosts whose label is unknown.

    The label that a task of the host rendered takes precedence over the label in the inventory. If the label is
    unknown, ``labels`` has the label derived from the name of the host.
    """

    labels: dict[str, str]
    results: dict[str, Mapping[str, t.Any]]
    absent: set[str]
    unreadable: list[str]


def read_inventory(variables: Mapping[str, t.Any], config: t.Any) -> Inventory:
    """Return the inventory of a run. ``config``: the name of the variable that contains the result of each host."""
    hostvars, active = variables["hostvars"], set(variables["ansible_play_hosts"])
    inventory = Inventory({}, {}, set(), [])
    for host in dict.fromkeys([*variables["groups"]["all"], *variables["ansible_play_hosts_all"]]):
        own: Mapping[str, t.Any] = {}
        label, is_known = None, False
        with contextlib.suppress(InputError, AnsibleError):
            own = hostvars[host]
            label = client_label(host, host_variables({host: own}, host).get("monitor_agent_label"))
            is_known = True
            # Since ansible-core 2.19, a failing template raises the error only when the value is used.
            if str(own.get("monitor_agent_state")) == "absent":
                inventory.absent.add(host)
        # A failed or excluded host can still have the result of an earlier audit, so ignore results of inactive hosts.
        result = own.get(config) if host in active else None
        inventory.results[host] = result if isinstance(result, Mapping) else {}
        rendered = inventory.results[host].get("label")
        inventory.labels[host] = client_label(host, rendered or label)
        if not is_known and not rendered:
            inventory.unreadable.append(host)
    return inventory


def host_of(label: str | None, variables: Mapping[str, t.Any], *, but: str) -> tuple[str | None, list[str]]:
    """Return a host other than ``but`` that has the label, and the hosts whose label is unknown.

    To read the variables of a host takes time. So begin with hosts whose name results in the label, and stop at the
    first host with the label.
    """
    unknown = []
    names = dict.fromkeys([*variables["groups"]["all"], *variables["ansible_play_hosts_all"]])
    for host in sorted(names.keys() - {but}, key=lambda name: (client_label(name) != label, name)):
        try:
            rendered = (variables["hostvars"][host].get("monitor_agent_inspected") or {}).get("label")
            given = rendered or host_variables(variables["hostvars"], host).get("monitor_agent_label")
        except (InputError, AnsibleError):
            unknown.append(host)
            continue
        if client_label(host, given) == label:
            return host, unknown
    return None, unknown


_COUNTS = (
    "The label of another host can use group_vars, host_vars, extra variables and facts of this run, but no variables "
    "of plays, roles and tasks. Set the variable in the inventory, or check the password of its vault."
)


def host_variables(hostvars: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """Return the variables of a host. Raise InputError if the label of the host cannot be read."""
    try:
        own = hostvars[host]
        label = own.get("monitor_agent_label")
        # Use the value: since ansible-core 2.19, errors of templates and vaults are raised only when the value is used.
        text = str(label)
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InputError(f"monitor_agent_label of host {host}: {reason}. {_COUNTS}") from None
    # Before ansible-core 2.19, hostvars returns a failing template unchanged, and not marked as unsafe.
    if not TRUSTS_MARKED and TEMPLATE.search(text) and not hasattr(label, "__UNSAFE__"):
        raise InputError(f"monitor_agent_label of host {host}: the template {text!r} fails. {_COUNTS}")
    return t.cast("Mapping[str, t.Any]", own)
