# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin clients: adds a host for each client of an account."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clients
short_description: The monitoring clients of an account as hosts
version_added: 1.0.0
description:
  - Adds a host for each monitoring client. The fields of the client, without keys, are variables with the prefix
    C(monitor_), such as C(monitor_id), C(monitor_label) and C(monitor_apps). C(monitor_key_fingerprint) is the first 12
    hexadecimal digits of the SHA-256 of the key, null if the key is masked. A token with read-only access is enough.
  - The name of the host is the label of the client if the label has only letters, digits, C(.), C(-) and C(_), and does
    not begin with C(.) or C(-). For any other label the name is the start of the label, C(-) and 8 hexadecimal digits
    of a hash. Every user of the account can choose labels, and C(ssh) reads C(-oProxyCommand=COMMAND) as an option.
  - The labels V(all), V(ungrouped), V(localhost), V(127.0.0.1) and V(::1) have another meaning as names of hosts. A
    host with such a label is named C(client-all) and so on, unless an earlier source has a host with the label as name.
  - Fails if two labels give the same name.
  - If the role P(monitor.cloud.monitor_agent#role) would derive another label from the name of the host, the host also
    has the variable C(monitor_agent_label).
  - Derive C(ansible_host) in O(compose) from C(inventory_hostname), not from C(monitor_label), because a label can
    begin with C(-) or contain any character.
  - Give this source last, or in a directory with a name that sorts last. Any user of the account can choose labels. If
    a later source adds a host with the name of a client, this user could set C(monitor_agent_label) of the host.
  - The name of the configuration file ends in C(.monitor_clients.yml) or C(.monitor_clients.yaml).
  - The options of the connection and O(label_pattern) may be templates, but templates cannot use variables of hosts.
author:
  - monitor.cloud contributors (!UNKNOWN)
extends_documentation_fragment:
  [constructed, inventory_cache, monitor.cloud._shared.connection, monitor.cloud._shared.environment]
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [monitor.cloud.clients]
  label_pattern:
    description: Regular expression that must match the whole label of a client. If not set, each client is a host.
    type: str
"""

EXAMPLES = r"""
# account.monitor_clients.yml. The address and the token come from MONITOR_BASE_URL and MONITOR_API_TOKEN.
plugin: monitor.cloud.clients

# Groups of hosts by monitored application, by the first part of the label, and a group of hosts with masked keys.
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
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, account_fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT
from ansible_collections.monitor.cloud.plugins.plugin_utils._account import connection_params, read_clients
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import as_data
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import plain

_ENDINGS = (".monitor_clients.yml", ".monitor_clients.yaml")
# Names of groups in core, and names of the controller. A host with such a name would replace the group or controller.
_RESERVED = ("all", "ungrouped", "localhost", "127.0.0.1", "::1")
_VARIABLES = (*(name for name in CLIENT.fields if name not in CLIENT.secret), "key_fingerprint")
# The options that can be templates. Options of core, such as compose, have expressions, not templates.
_TEMPLATES = {*CONNECTION_OPTIONS, "label_pattern"}


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "monitor.cloud.clients"

    def verify_file(self, path: str) -> bool:
        return bool(BaseInventoryPlugin.verify_file(self, path)) and path.endswith(_ENDINGS)

    def set_options(self, task_keys: t.Any = None, var_options: t.Any = None, direct: t.Any = None) -> None:
        # Render templates first: set_options converts types, and cannot convert a template to a number.
        self.given = dict(direct or {})
        for name in self.given.keys() & _TEMPLATES:
            self.given[name] = self.templar.template(self.given[name])
        super().set_options(task_keys, var_options, self.given)  # type: ignore[no-untyped-call]

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache=cache)
        self._read_config_data(path)
        pattern = self.get_option("label_pattern")
        try:
            expression = fields.compiled(".*" if pattern is None else pattern, "label_pattern")
            clients = self._clients(path, refresh=not cache)
            # A client without a label has no host.
            labelled = {client["label"]: client for client in clients if client["label"] is not None}
            names = _names_of([label for label in labelled if expression.fullmatch(label)], inventory.hosts)
        except MonitorError as error:
            raise AnsibleParserError(str(error)) from None
        for label, name in names.items():
            self._add(inventory, name, labelled[label])

    def _clients(self, path: str, *, refresh: bool) -> list[fields.Client]:
        """Return the clients without their keys, from the cache if the cache is enabled and contains the account."""
        params = connection_params(self.get_option, self.given)
        use_cache = bool(self.get_option("cache"))
        # Add the fingerprint, because the same path can be used with another account from environment variables.
        key = f"{self.get_cache_key(path)}_{account_fingerprint(params)}"
        if use_cache and not refresh and key in self._cache:
            return list(self._cache[key])
        clients = [{name: client.get(name) for name in _VARIABLES} for client in read_clients(params)]
        if use_cache:
            self._cache[key] = clients
        return clients

    def _add(self, inventory: InventoryData, name: str, client: fields.Client) -> None:
        known_before, host = name in inventory.hosts, inventory.add_host(name)
        # Set only known fields: a user who can write to the cache could add agent_base_url, and so receive the token.
        variables = {f"monitor_{field}": as_data(plain(client.get(field))) for field in _VARIABLES}
        if fields.client_label(host) != client["label"] and not known_before:
            # Without monitor_agent_label the role would not find the client of the host. Do not set this variable for a
            # host of another source: a user who can name clients could choose the client of the host.
            variables["monitor_agent_label"] = variables["monitor_label"]
        for variable, value in variables.items():
            inventory.set_variable(host, variable, value)
        strict, known = self.get_option("strict"), {**variables, "inventory_hostname": host}
        self._set_composite_vars(self.get_option("compose"), known, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), known, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), known, host, strict=strict)


def _names_of(labels: t.Sequence[str], hosts: t.Collection[str]) -> dict[str, str]:
    """Return the name of the host of each label. Raise InputError if two labels give one name.

    ``hosts`` are names from other sources.
    """
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    # The role derives a label from a name such as web-1.example.com: the client of this label is that host.
    known = {fields.client_label(host): host for host in hosts}
    own = {label: known[label] for label in labels if label in known}
    taken = set(own.values())
    for label in labels:
        name = f"client-{label}" if label in _RESERVED and label not in hosts else label
        # Every user of the account can choose labels: as a host name, ssh would run the label -oProxyCommand=COMMAND.
        usable = fields.is_plain_name(name) and name not in taken
        names[label] = own.get(label) or (name if usable else fields.derived_name(label))
        if (other := owners.setdefault(names[label], label)) != label:
            raise InputError(
                f"The clients {other!r} and {label!r} would be the same host {names[label]}. Rename one of them, "
                "or exclude one of them with label_pattern."
            )
    return names
