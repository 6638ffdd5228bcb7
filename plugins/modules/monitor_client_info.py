#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read monitoring clients."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_client_info
short_description: Read monitoring clients
version_added: 1.0.0
description: Returns all monitoring clients of the account, or the requested clients. A missing client is not an error.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.info, monitor.cloud._shared.keys,
  monitor.cloud._shared.sealed]
options:
  id: {description: Id of the only client to return. Cannot be used with O(label) or O(label_pattern)., type: str}
  label: {description: Label of the only client to return. Cannot be used with O(label_pattern)., type: raw}
  label_pattern: {description: "Regular expression that must match the whole label of a client.", type: str}
seealso: [{module: monitor.cloud.monitor_client}, {module: monitor.cloud.monitor_clients}]
"""

EXAMPLES = r"""
- name: Read all clients
  monitor.cloud.monitor_client_info:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
  register: result

- name: Show how many clients have a readable key
  ansible.builtin.debug:
    msg: "{{ result.clients | rejectattr('keys_masked') | length }} of {{ result.clients | length }}"

# This task gets the address and the token from environment variables.
- name: Read the clients of the web servers
  monitor.cloud.monitor_client_info:
    label_pattern: web[0-9]+
"""

RETURN = r"""
clients:
  description: The clients, in the order of the service, each with the fields of
    RV(monitor.cloud.monitor_client#module:client).
  returned: success
  type: list
  elements: dict
account_url: {description: Base URL of the service that the task used., returned: success, type: str}
account_fingerprint: {description: "First digits of a hash of base URL, brand and token.", returned: success, type: str}
read_only:
  description: Whether the token has read-only access. False if the service does not report the access.
  returned: success
  type: bool
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients.apply import views_of
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import as_text
from ansible_collections.monitor.cloud.plugins.module_utils._clients.patterns import compiled
from ansible_collections.monitor.cloud.plugins.module_utils._module import (
    INCLUDE_KEYS,
    Module,
    Params,
    Result,
    account_fingerprint,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Client

OPTIONS = {
    "id": {"type": "str"},
    "label": {"type": "raw"},
    "label_pattern": {"type": "str"},
    "include_keys": INCLUDE_KEYS,
    "seal_keys": INCLUDE_KEYS,
}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the client that has the id. If no id is given, read all clients."""
    is_selected = _selection(params)
    if params["id"] is None:
        account = api.list_clients()
        clients = list(filter(is_selected, account))
    else:
        client = api.get_client(params["id"])
        clients = [client] if client else []
        account = clients
        if client and params["include_keys"]:
            # Read all clients to recognize masks: a mask can look like a key, but several clients have the same mask.
            account = api.list_clients()
    views, clients = views_of(api, account, clients, include_keys=params["include_keys"])
    return {
        "changed": False,
        "clients": [views.show(client) for client in clients],
        "account_url": api.http.settings.base_url,
        "account_fingerprint": account_fingerprint(params),
        "read_only": api.reads_only,
    }


def _selection(params: Params) -> t.Callable[[Client], bool]:
    """Return a function that selects clients. Raise InputError if an option is invalid, before the first request."""
    if params["label"] is not None:
        label = as_text(params["label"])
        return lambda client: bool(client["label"] == label)
    if params["label_pattern"] is not None:
        expression = compiled(params["label_pattern"], "label_pattern")
        return lambda client: client["label"] is not None and bool(expression.fullmatch(client["label"]))
    return lambda client: True


MODULE = Module(run, OPTIONS, {"mutually_exclusive": [("id", "label", "label_pattern")]})
main = MODULE.main

if __name__ == "__main__":
    main()
