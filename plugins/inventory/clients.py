# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin ``clients``, which adds a host for each client of an account."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clients
short_description: The monitoring clients of an account as hosts
version_added: 1.0.0
description:
  - Adds a host for each monitoring client. The fields of RV(monitor.cloud.monitor_client#module:client), except keys,
    are variables of the host with the prefix C(monitor_), such as C(monitor_id). A read-only token is enough.
  - The name of the host is the label, if the label is safe. A safe label consists of letters, digits, C(.), C(-) and
    C(_), does not begin with C(.) or C(-), and is not V(all), V(ungrouped) or a name of the controller. For any other
    label, such as C(-oProxyCommand=COMMAND), the name of the host is the start of the label, C(-) and 8 digits of a
    hash. If two labels give the same name, the plugin fails.
  - If the role P(monitor.cloud.monitor_agent#role) would derive another label from the name of the host, the variable
    C(monitor_agent_label) contains the label.
  - In O(compose), derive C(ansible_host) from C(inventory_hostname), because C(monitor_label) may be unsafe.
  - Give this source after all other sources. In a directory, its file name must sort last. If a later source adds a
    host with the name of a client, a user who can choose labels could set C(monitor_agent_label) of this host.
  - The name of the configuration file must end in C(.monitor_clients.yml) or C(.monitor_clients.yaml).
  - The options of the connection and O(label_pattern) may be templates, but templates cannot use variables of hosts.
author: [monitor.cloud contributors (!UNKNOWN)]
extends_documentation_fragment:
  [constructed, inventory_cache, monitor.cloud._shared.connection, monitor.cloud._shared.environment]
options:
  plugin: {description: Name of this plugin., type: str, required: true, choices: [monitor.cloud.clients]}
  label_pattern: {description: Regular expression that must match the whole label of a client., type: str, default: .*}
"""

EXAMPLES = r"""
# The file account.monitor_clients.yml. MONITOR_BASE_URL and MONITOR_API_TOKEN contain address and token.
plugin: monitor.cloud.clients
# This file adds groups by monitored application, groups by the first part of the label, and a group of masked keys.
keyed_groups:
  - key: monitor_apps | dict2items | selectattr('value') | map(attribute='key')
    prefix: app
  - key: monitor_label | regex_replace('-.*', '')
    prefix: kind
groups:
  masked: monitor_key_fingerprint is none
compose:
  ansible_host: inventory_hostname ~ '.example.com'
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/monitor-clients
"""

import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import (
    LOCALHOST,
    client_label,
    derived_name,
    is_plain_name,
)
from ansible_collections.monitor.cloud.plugins.module_utils._clients.patterns import compiled
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, account_fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT, Client
from ansible_collections.monitor.cloud.plugins.plugin_utils._account import connection_params, read_clients
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import as_data, plain

_ENDINGS = (".monitor_clients.yml", ".monitor_clients.yaml")
# Names of core groups and of the controller. A host with such a name would replace the group or the controller.
_RESERVED = ("all", "ungrouped", *LOCALHOST)
_VARIABLES = (*(name for name in CLIENT.fields if name not in CLIENT.secret), "key_fingerprint")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "monitor.cloud.clients"

    def verify_file(self, path: str) -> bool:
        return bool(BaseInventoryPlugin.verify_file(self, path)) and path.endswith(_ENDINGS)

    def set_options(self, task_keys: t.Any = None, var_options: t.Any = None, direct: t.Any = None) -> None:
        # Render templates first, because set_options cannot convert a template to a number.
        self.given = dict(direct or {})
        for name in self.given.keys() & {*CONNECTION_OPTIONS, "label_pattern"}:
            self.given[name] = self.templar.template(self.given[name])
        super().set_options(task_keys, var_options, self.given)  # type: ignore[no-untyped-call]

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache=cache)
        self._read_config_data(path)
        try:
            expression = compiled(self.get_option("label_pattern"), "label_pattern")
            clients = self._clients(path, refresh=not cache)
            # Add no host for a client without a label.
            labelled = {client["label"]: client for client in clients if client["label"] is not None}
            labels = _labels_by_name(list(filter(expression.fullmatch, labelled)), inventory.hosts)
        except MonitorError as error:
            raise AnsibleParserError(str(error)) from None
        for name, label in labels.items():
            self._add(inventory, name, labelled[label])

    def _clients(self, path: str, *, refresh: bool) -> list[Client]:
        """Return the clients without their keys, from the cache if the cache is enabled and contains the account."""
        params = connection_params(self.get_option, self.given)
        cached: t.Any = {}
        if self.get_option("cache"):
            cached = self._cache
        # Environment variables can set another account for the same file, so the cache key contains the account.
        key = f"{self.get_cache_key(path)}_{account_fingerprint(params)}"
        if refresh or key not in cached:
            cached[key] = list(map(_known_fields, read_clients(params)))
        return list(cached[key])

    def _add(self, inventory: t.Any, name: str, client: Client) -> None:
        known_before = name in inventory.hosts
        host = inventory.add_host(name)
        # Set only known fields. With the field agent_base_url, a user who can write to the cache could get the token.
        variables = {f"monitor_{field}": as_data(plain(client.get(field))) for field in _VARIABLES}
        if client_label(host) != client["label"] and not known_before:
            # The role finds the client by this label. Set no label for a host of another source: a user who can change
            # labels in the account could give this host the key of another client.
            variables["monitor_agent_label"] = variables["monitor_label"]
        for variable, value in variables.items():
            inventory.set_variable(host, variable, value)
        strict = self.get_option("strict")
        known = {**variables, "inventory_hostname": host}
        self._set_composite_vars(self.get_option("compose"), known, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), known, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), known, host, strict=strict)


def _known_fields(client: Client) -> Client:
    return {name: client.get(name) for name in _VARIABLES}


def _labels_by_name(labels: t.Sequence[str], hosts: t.Collection[str]) -> dict[str, str]:
    """Return labels by host name. ``hosts``: hosts of other sources. Raise InputError if two names are equal."""
    # The role derives the label of a host such as web-1.example.com. A client with a derived label belongs to its host.
    known = {client_label(host): host for host in hosts}
    taken = {*_RESERVED, *map(known.get, labels)}
    names: dict[str, str] = {}
    for label in labels:
        name = known.get(label) or _host_name(label, taken)
        if names.setdefault(name, label) != label:
            raise InputError(
                f"The clients {names[name]!r} and {label!r} would be the same host {name}. Rename one of the clients, "
                "or exclude one client with label_pattern."
            )
    return names


def _host_name(label: str, taken: t.Collection[str | None]) -> str:
    # Every user of the account can choose labels. For a host named -oProxyCommand=COMMAND, ssh runs COMMAND.
    if is_plain_name(label) and label not in taken:
        return label
    return derived_name(label)
