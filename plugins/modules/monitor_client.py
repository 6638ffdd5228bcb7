#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find, create, rename or delete one monitoring client."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_client
short_description: Manage one monitoring client
version_added: 1.0.0
description:
  - Makes sure that a monitoring client exists, has the given label, or does not exist.
  - To register many hosts use M(monitor.cloud.monitor_clients), because that module reads the account only once.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.changes, monitor.cloud._shared.keys]
options:
  label:
    description:
      - Label of the client, 3 to 32 characters, unique in the account. Required without O(id).
      - Without O(id), the label selects the client to find, create or delete. With O(id), the client that has this id
        gets the label.
      - A number is an error, because YAML reads V(1.10) as V(1.1). Put numbers in quotes.
    type: raw
  id:
    description: Id of the client. With O(state=present) the client must exist. With O(state=absent) and O(label), the
      task fails if the client has another label.
    type: str
  state:
    description: Whether the client must exist. V(absent) deletes the client with all its data on the service. The agent
      on the host stays installed. If the client is renamed during the task, the task warns and keeps the client.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: monitor.cloud.monitor_clients
  - module: monitor.cloud.monitor_client_info
"""

EXAMPLES = r"""
- name: Make sure that a client exists
  monitor.cloud.monitor_client:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
    label: web1
  register: result

# The next tasks get the address and the token from environment variables.
- name: Rename the client
  monitor.cloud.monitor_client:
    id: "{{ result.client.id }}"
    label: web1-old

- name: Delete the client
  monitor.cloud.monitor_client:
    label: web1-old
    state: absent
"""

RETURN = r"""
client:
  description:
    - The client. O(state=absent) returns the deleted client, or an empty dictionary if there was no client to delete.
    - In check mode, RV(client.id) and RV(client.key_fingerprint) of a new client are null.
  returned: success
  type: dict
  contains:
    id: {description: "Unique id of the client, a number or text.", type: raw}
    label: {description: Label of the client., type: str}
    apps: {description: "Application, such as C(mysql), and whether the agent monitors it.", type: dict}
    created: {description: "Time of creation, such as V(2026-01-02T03:04:05).", type: str}
    updated: {description: Time of the last update., type: str}
    key_fingerprint: {description: First 12 hexadecimal digits of the SHA-256 of the key. Null if masked., type: str}
    keys_masked: {description: "Whether the service masked a key, for example for a read-only token.", type: bool}
    mask_reason: {description: "Why the keys count as masked, and what to do.", returned: if masked, type: str}
    api_key: {description: The key for the agent., returned: "with O(include_keys=true), if not masked", type: str}
    install_code: {description: The install code., returned: "with O(include_keys=true), if not masked", type: str}
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients import apply, changes
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import as_text, check_label
from ansible_collections.monitor.cloud.plugins.module_utils._module import INCLUDE_KEYS, Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Client

OPTIONS = {
    # The type str would turn the number 1.10 into "1.1".
    "label": {"type": "raw"},
    "id": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "include_keys": INCLUDE_KEYS,
}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Find, create, update or delete the client. Read all clients only if the task needs them."""
    label = _valid_label(params)
    client_id = params["id"]
    present = params["state"] == "present"
    current: list[Client] = []
    if client_id is None:
        current = api.list_clients()
        change = changes.labelled_client(changes.by_label(current), label, present=present)
    else:
        change = _change_by_id(api, client_id, label, present=present)
        if params["include_keys"]:
            # Read all clients to recognize masks: a mask can look like a key, but several clients have the same mask.
            current = api.list_clients()
    warnings, dummy = apply.ensure_capacity(api, [change], len(current))
    (done,) = apply.carry_out(api, [change], check_mode=check_mode)
    if done.error is not None:
        raise done.error
    change = done.change
    client = done.client if change.after else change.before
    known = [*current, change.before, done.client]
    try:
        views, (client,) = apply.views_of(api, known, [client], include_keys=params["include_keys"])
    except ApiError as error:
        raise TaskFailure(str(error), {"changed": change.changed}) from error
    return {
        "changed": change.changed,
        "client": views.show(client),
        "diff": views.diff([(change.before, change.after)]),
        "warnings": [*warnings, *apply.not_deleted([done])],
    }


def _valid_label(params: Params) -> t.Any:
    """Return the option ``label`` as text, or None. Raise InputError if it is invalid, or if id is null too."""
    label = params["label"]
    if label is None:
        if params["id"] is None:
            raise InputError(
                "label and id are null. Give label or id. In check mode, a client that an earlier task creates has no "
                "id."
            )
        return None
    text = as_text(label)
    check_label(text)
    return text


def _change_by_id(api: Api, client_id: str, label: str | None, *, present: bool) -> changes.Change:
    client = _client_by_id(api, client_id)
    if client is None and present:
        raise InputError(
            f"There is no client with the id {client_id}. Check the id. To create a client, give only a label."
        )
    if client is None:
        return changes.absent(label or client_id)
    has_label = label in (None, client["label"])
    if not present and not has_label:
        raise InputError(
            f"Client {client_id} was not deleted, because its label is {client['label']!r}, not {label!r}. Give only "
            "id, or only label."
        )
    if not present:
        return changes.delete(client)
    if label is None or has_label:
        return changes.keep(client)
    changes.check_is_free(client, label, api.list_clients())
    return changes.rename(client, label)


def _client_by_id(api: Api, client_id: str) -> Client | None:
    client = api.get_client(client_id)
    if client is not None:
        return client
    # Also search the list, because the request may have reached a replica that does not have the client yet.
    for other in api.list_clients():
        if str(other["id"]) == client_id:
            return other
    return None


MODULE = Module(run, OPTIONS, {"required_one_of": [("label", "id")]})
main = MODULE.main

if __name__ == "__main__":
    main()
