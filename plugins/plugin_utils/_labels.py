# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The labels of all hosts of the inventory: the only rule for the label of a host.

1. The label that agent_info rendered on the host in this run. This label can use variables of the play, and facts.
2. The label that the inventory sets (monitor_agent_label).
3. The label derived from the name of the host.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import OMITTED, TEMPLATE, TRUSTS_MARKED, is_omitted

_COUNTS = (
    "The label of another host can use group_vars, host_vars, extra variables and facts of this run, but no variables "
    "of plays, roles and tasks. Set the variable in the inventory, or check the password of its vault."
)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A host of the inventory. ``given``: its label in the inventory, None if unknown. ``result``: of this run."""

    host: str
    variables: Mapping[str, t.Any]
    result: Mapping[str, t.Any]
    given: str | None
    problem: str = ""

    @property
    def rendered(self) -> str | None:
        return self.result.get("label")

    @property
    def label(self) -> str:
        return self.rendered or self.given or client_label(self.host)

    @property
    def is_known(self) -> bool:
        return bool(self.rendered) or self.given is not None


def entries(variables: Mapping[str, t.Any], inspected: str = "") -> Iterator[Entry]:
    """Return all hosts of the inventory and of the play. ``inspected``: the variable with the result of agent_info."""
    hosts = [*variables["groups"]["all"], *variables["ansible_play_hosts_all"]]
    for host in dict.fromkeys(hosts):
        yield _entry(host, variables["hostvars"], inspected)


def _entry(host: str, hostvars: Mapping[str, t.Any], inspected: str) -> Entry:
    try:
        own = hostvars[host]
    except AnsibleError as error:
        # For example, the password of a vault is missing.
        reason = str(error).rstrip(".")
        return Entry(host, {}, {}, None, f"monitor_agent_label of host {host}: {reason}. {_COUNTS}")
    result = own.get(inspected)
    if not isinstance(result, Mapping):
        result = {}
    try:
        return Entry(host, own, result, inventory_label(host, own))
    except InputError as error:
        return Entry(host, own, result, None, str(error))


def inventory_label(host: str, own: Mapping[str, t.Any]) -> str:
    """Return the label of a host as the inventory sets it. Raise InputError if the label cannot be read."""
    try:
        label = own.get("monitor_agent_label")
        # Use the value: since ansible-core 2.19, errors of templates and vaults are raised only when the value is used.
        text = str(label)
    except OMITTED:
        return client_label(host)
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InputError(f"monitor_agent_label of host {host}: {reason}. {_COUNTS}") from None
    # Before ansible-core 2.19, hostvars returns a failing template unchanged, and not marked as unsafe.
    if not TRUSTS_MARKED and TEMPLATE.search(text) and not hasattr(label, "__UNSAFE__"):
        raise InputError(f"monitor_agent_label of host {host}: the template {text!r} fails. {_COUNTS}")
    if is_omitted(label, own):
        return client_label(host)
    return client_label(host, label)


def unknown_labels(hosts: Sequence[str]) -> str:
    """Return a sentence about hosts whose label cannot be read, such as a label in a vault with another password."""
    return f"Labels are unknown, because variables of these hosts cannot be read: {listed(hosts, 5, str)}."
