# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run knows of all hosts of the inventory, not only of those of its play."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterable, Mapping

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import TEMPLATE, TRUSTS_MARKED


class Inventory(t.NamedTuple):
    """Label and result by host; hosts whose monitoring is to be removed; hosts of unknown label (``unreadable``).

    A label that the host's own task rendered counts before the inventory's. If the label is unknown, ``labels`` has the
    one that is derived from the name.
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
        label, is_known = None, False
        with contextlib.suppress(InputError, AnsibleError):
            own = hostvars[host]
            label = client_label(host, host_variables({host: own}, host).get("monitor_agent_label"))
            is_known = True
            # Since 2.19 only the use of a value raises the error of its template.
            if str(own.get("monitor_agent_state")) == "absent":
                found.absent.add(host)
        # A failed host, or one that a condition leaves out, can still have the result of an earlier audit.
        result = own.get(config) if host in active else None
        found.results[host] = result if isinstance(result, Mapping) else {}
        rendered = found.results[host].get("label")
        found.labels[host] = client_label(host, rendered or label)
        if not is_known and not rendered:
            found.unreadable.append(host)
    return found


def services(hosts: Iterable[str], variables: Mapping[str, t.Any]) -> set[str]:
    """The services of the agents on these hosts. Variables of other hosts have no defaults of the role."""
    found, default = set(), variables.get("monitor_agent_service")
    for host in hosts:
        with contextlib.suppress(AnsibleError):
            found.add(str(variables["hostvars"][host].get("monitor_agent_service") or default))
    return found


def host_of(label: str | None, variables: Mapping[str, t.Any], *, but: str) -> tuple[str | None, list[str]]:
    """A host other than ``but`` that has the label in this run or in the inventory; and hosts of unknown label.

    The search ends at the first host, so names that give the label come first: the variables of each host take time.
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
    "This label is that of the inventory: group_vars, host_vars, extra variables and facts of this run count, "
    "variables of plays, roles and tasks do not. Set the variable in the inventory, or check the password of its vault."
)


def host_variables(hostvars: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of a host; InputError if its label cannot be read."""
    try:
        own = hostvars[host]
        label = own.get("monitor_agent_label")
        # Use the value: since 2.19 only that raises the error of a template, or of a vault without its password.
        text = str(label)
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InputError(f"monitor_agent_label of host {host}: {reason}. {_COUNTS}") from None
    # Before 2.19 hostvars return a failing template unchanged, as text that is not marked as unsafe.
    if not TRUSTS_MARKED and TEMPLATE.search(text) and not hasattr(label, "__UNSAFE__"):
        raise InputError(f"monitor_agent_label of host {host}: the template {text!r} fails. {_COUNTS}")
    return t.cast("Mapping[str, t.Any]", own)
