# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account's clients as an inventory. Section 4.1 of the API document."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clients
short_description: The monitoring clients of an account as hosts
version_added: 0.1.0
description:
  - Makes a host of each monitoring client, with what the service says of it as variables, and none of its keys.
  - The host has the name of the client's label; where that holds control characters, one that the filter
    P(monitor.cloud.client_label#filter) makes of it.
  - Its variables are C(monitor_id), C(monitor_label), C(monitor_apps),
    C(monitor_created), C(monitor_updated) and C(monitor_key_fingerprint). That is the start of the SHA-256 of its key,
    12 hexadecimal digits, or null where the service masks the key.
  - The name of its configuration file ends in C(.monitor_clients.yml) or C(.monitor_clients.yaml).
author:
  - monitor.cloud contributors (!UNKNOWN)
requirements:
  - Python library C(requests) for the interpreter that runs Ansible.
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description: Marks the file as one for this plugin.
    type: str
    required: true
    choices: [monitor.cloud.clients]
  base_url:
    description:
      - Address of the service, version segment included, for example V(https://api.example.com/v4).
      - Must be C(https), unless it leads to the loopback interface or O(allow_http=true).
    type: str
    required: true
    env:
      - name: MONITOR_BASE_URL
  api_token:
    description: Token; read-only access is enough. May be a template.
    type: str
    required: true
    env:
      - name: MONITOR_API_TOKEN
  brand:
    description: The product word that the service uses in paths.
    type: str
    default: monitor
    env:
      - name: MONITOR_BRAND
  validate_certs:
    description: Whether to check the certificate of the service.
    type: bool
    default: true
    env:
      - name: MONITOR_VALIDATE_CERTS
  ca_path:
    description: File or directory with certificates of the authorities to trust, in PEM format.
    type: path
    env:
      - name: MONITOR_CA_PATH
  allow_http:
    description: Whether O(base_url) may be C(http) to a host other than the loopback interface.
    type: bool
    default: false
    env:
      - name: MONITOR_ALLOW_HTTP
  timeout:
    description: Seconds to wait for a connection, and for each part of an answer.
    type: float
    default: 30.0
    env:
      - name: MONITOR_TIMEOUT
  retry_timeout:
    description: Seconds within which an operation is tried again where the service or the network fails.
    type: float
    default: 120.0
    env:
      - name: MONITOR_RETRY_TIMEOUT
  page_size:
    description: Items per page when the list is read. If not set, the largest page that the service takes.
    type: int
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

import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.monitor.cloud.plugins.module_utils._connect import connect
from ansible_collections.monitor.cloud.plugins.module_utils._errors import MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import Client, Views, fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._labels import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._patterns import compiled, matching

if t.TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

_ENDINGS = (".monitor_clients.yml", ".monitor_clients.yaml")
_CONNECTION = (
    "base_url",
    "api_token",
    "brand",
    "validate_certs",
    "ca_path",
    "allow_http",
    "timeout",
    "retry_timeout",
    "page_size",
)
_VARIABLES = ("id", "label", "apps", "created", "updated", "key_fingerprint")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "monitor.cloud.clients"

    def verify_file(self, path: str) -> bool:
        return bool(BaseInventoryPlugin.verify_file(self, path)) and path.endswith(_ENDINGS)

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        BaseInventoryPlugin.parse(self, inventory, loader, path, cache=cache)
        BaseInventoryPlugin._read_config_data(self, path)
        pattern = self._option("label_pattern")
        try:
            if pattern is not None:
                compiled(pattern, "label_pattern")
            clients = self._clients(path, refresh=not cache)
            labels = [client["label"] for client in clients]
            wanted = set(labels if pattern is None else matching(pattern, "label_pattern", labels))
        except MonitorError as error:
            raise AnsibleParserError(str(error)) from error
        for client in clients:
            if client["label"] in wanted:
                self._add(inventory, client)

    def _option(self, name: str) -> t.Any:
        return BaseInventoryPlugin.get_option(self, name)

    def _clients(self, path: str, *, refresh: bool) -> list[Client]:
        """The clients without their keys, from the cache if that is used and has them."""
        params = {name: self._option(name) for name in _CONNECTION}
        params["api_token"] = str(self.templar.template(params["api_token"]))
        use_cache = bool(self._option("cache"))
        # Another account has another entry, wherever its address and token come from.
        account = fingerprint("\n".join(str(params[name]) for name in ("base_url", "brand", "api_token")))
        key = f"{Cacheable.get_cache_key(self, path)}_{account}"
        if use_cache and not refresh and key in self._cache:
            return list(self._cache[key])
        there = connect(params).list_clients()
        views = Views(there)
        clients = [{name: views.show(client).get(name) for name in _VARIABLES} for client in there]
        if use_cache:
            self._cache[key] = clients
        return clients

    def _add(self, inventory: InventoryData, client: Client) -> None:
        label = str(client["label"])
        # Core prints names of hosts as they are, also one that would steer a terminal.
        host = inventory.add_host(label if label.isprintable() else client_label(label))
        variables = {f"monitor_{name}": value for name, value in client.items()}
        for name, value in variables.items():
            inventory.set_variable(host, name, value)
        strict = self._option("strict")
        Constructable._set_composite_vars(self, self._option("compose"), variables, host, strict=strict)
        Constructable._add_host_to_composed_groups(self, self._option("groups"), variables, host, strict=strict)
        Constructable._add_host_to_keyed_groups(self, self._option("keyed_groups"), variables, host, strict=strict)
