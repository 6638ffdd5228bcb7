# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters client_label and client_labels."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import TRUSTS_MARKED


def client_label(host: str) -> str:
    """A valid label for a host's name; see :func:`.fields.client_label`."""
    if not isinstance(host, str):
        raise AnsibleFilterError("client_label takes the name of a host as text. Put a number in quotes.")
    return fields.client_label(host)


def client_labels(hosts: Sequence[str], hostvars: Mapping[str, t.Any]) -> dict[str, str]:
    """Host → label, with monitor_agent_label of the inventory. All labels of ``hostvars`` must differ."""
    if isinstance(hosts, str):
        raise AnsibleFilterError("client_labels takes a list of hosts. Use client_label for one host.")
    try:
        return fields.labels_of_hosts(list(hosts), hostvars, lambda host: _own_label(hostvars, host))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None


def _own_label(hostvars: Mapping[str, t.Any], host: str) -> t.Any:
    """The label that the inventory sets for a host, None if it sets none; InputError if it cannot be read."""
    try:
        label = hostvars[host].get("monitor_agent_label")
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
    return label


class FilterModule:
    def filters(self) -> dict[str, t.Any]:
        return {"client_label": client_label, "client_labels": client_labels}
