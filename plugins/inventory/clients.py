# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account's clients as an inventory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clients
short_description: The monitoring clients of an account as hosts
version_added: 1.0.0
description:
  - Makes a host of each monitoring client, with its fields as variables, and none of its keys.
  - The host has the name of the client's label; if that holds control characters, one that the filter
    P(monitor.cloud.client_label#filter) derives from it.
  - The labels V(all), V(ungrouped), V(localhost), V(127.0.0.1) and V(::1) have a meaning of their own as names of
    hosts. Hosts of these labels are C(client-all) and so on, unless a source before this one has a host of the name.
  - Its variables are C(monitor_id), C(monitor_label), C(monitor_apps), C(monitor_created), C(monitor_updated) and
    C(monitor_key_fingerprint), the first 12 hexadecimal digits of the SHA-256 of its key, null if it is masked.
  - A host from whose name another label would be derived has C(monitor_agent_label) too, by which the role
    P(monitor.cloud.monitor_agent#role) finds its client.
  - The name of its configuration file ends in C(.monitor_clients.yml) or C(.monitor_clients.yaml).
  - A token with read-only access is enough; O(api_token) may be a template.
author:
  - monitor.cloud contributors (!UNKNOWN)
extends_documentation_fragment:
  - constructed
  - inventory_cache
  - monitor.cloud._shared.connection
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [monitor.cloud.clients]
  base_url: {env: [{name: MONITOR_BASE_URL}]}
  api_token: {env: [{name: MONITOR_API_TOKEN}]}
  brand: {env: [{name: MONITOR_BRAND}]}
  validate_certs: {env: [{name: MONITOR_VALIDATE_CERTS}]}
  ca_path: {env: [{name: MONITOR_CA_PATH}]}
  allow_http: {env: [{name: MONITOR_ALLOW_HTTP}]}
  timeout: {env: [{name: MONITOR_TIMEOUT}]}
  retry_timeout: {env: [{name: MONITOR_RETRY_TIMEOUT}]}
  label_pattern:
    description: Regular expression that the whole label must match. If not set, all clients are hosts.
    type: str
"""

EXAMPLES = r"""
# account.monitor_clients.yml: address and token come from MONITOR_BASE_URL and MONITOR_API_TOKEN.
plugin: monitor.cloud.clients

# Hosts by what is monitored on them, by the first part of their label, and those whose key can't be read.
keyed_groups:
  - key: monitor_apps | dict2items | selectattr('value') | map(attribute='key')
    prefix: app
  - key: monitor_label | regex_replace('-.*', '')
    prefix: kind
groups:
  masked: monitor_key_fingerprint is none
compose:
  ansible_host: monitor_label ~ '.example.com'
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_timeout: 600
cache_connection: ~/.cache/monitor-clients

# $ ansible-inventory -i account.monitor_clients.yml --graph
# @all:
#   |--@ungrouped:
#   |--@app_mysql:
#   |  |--db-1
#   |--@kind_db:
#   |  |--db-1
#   |--@kind_web:
#   |  |--web-1
#   |  |--web-2
"""

import os
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, connect
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import as_data

_ENDINGS = (".monitor_clients.yml", ".monitor_clients.yaml")
# Names of core's groups, and those by which tasks reach the controller: a host of such a name would replace it.
_RESERVED = ("all", "ungrouped", "localhost", "127.0.0.1", "::1")
_VARIABLES = ("id", "label", "apps", "created", "updated", "key_fingerprint")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "monitor.cloud.clients"

    def verify_file(self, path: str) -> bool:
        return bool(BaseInventoryPlugin.verify_file(self, path)) and path.endswith(_ENDINGS)

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache=cache)
        config = self._read_config_data(path)
        pattern = self.get_option("label_pattern")
        try:
            expression = fields.compiled(".*" if pattern is None else pattern, "label_pattern")
            clients = self._clients(path, config, refresh=not cache)
        except MonitorError as error:
            raise AnsibleParserError(str(error)) from error
        for client in clients:
            # A client without a label belongs to no host.
            if client["label"] is not None and expression.fullmatch(client["label"]):
                self._add(inventory, client)

    def _clients(self, path: str, config: Mapping[str, t.Any], *, refresh: bool) -> list[fields.Client]:
        """The clients without their keys, from the cache if it is used and has them."""
        params = {name: self.get_option(name) for name in CONNECTION_OPTIONS}
        params["brand"] = params["brand"] or CONNECTION_OPTIONS["brand"]["default"]
        for name in ("allow_http", "validate_certs"):
            # Core takes any other text for false: an empty variable would turn the check of certificates off.
            given = config.get(name, os.environ.get(f"MONITOR_{name.upper()}"))
            try:
                params[name] = CONNECTION_OPTIONS[name]["default"] if given in (None, "") else boolean(given)
            except TypeError as error:
                raise InputError(f"{name} is invalid: {error}") from error
        params["api_token"] = str(self.templar.template(params["api_token"] or ""))
        use_cache = bool(self.get_option("cache"))
        # Another account has another entry, wherever its address and token come from.
        account = fields.fingerprint("\n".join(str(params[name]) for name in ("base_url", "brand", "api_token")))
        key = f"{self.get_cache_key(path)}_{account}"
        if use_cache and not refresh and key in self._cache:
            return list(self._cache[key])
        found = connect(params).list_clients()
        views = fields.Views(found)
        clients = [{name: views.show(client).get(name) for name in _VARIABLES} for client in found]
        if use_cache:
            self._cache[key] = clients
        return clients

    def _add(self, inventory: InventoryData, client: fields.Client) -> None:
        label = str(client["label"])
        # Core prints names of hosts as they are, control characters included.
        name = f"client-{label}" if label in _RESERVED and label not in inventory.hosts else label
        host = inventory.add_host(as_data(name if name.isprintable() else fields.client_label(name)))
        variables = {f"monitor_{name}": as_data(value) for name, value in client.items()}
        if fields.client_label(host) != label:
            # Role and playbooks would take it for a host without a client, and the client for one without a host.
            variables["monitor_agent_label"] = as_data(label)
        for name, value in variables.items():
            inventory.set_variable(host, name, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)
