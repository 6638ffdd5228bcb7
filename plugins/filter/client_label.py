# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters client_label and client_labels."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._role_variables import own_label


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
        return fields.labels_of_hosts(list(hosts), hostvars, functools.partial(own_label, hostvars))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"client_label": client_label, "client_labels": client_labels}
