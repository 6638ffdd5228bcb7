#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manage many monitoring clients in one task that reads the account once."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_clients
short_description: Manage the monitoring clients of a fleet
version_added: 1.0.0
description:
  - Makes sure that a client exists, or is absent, for each of many labels. Reads the account once, then creates only
    the missing clients, several at a time.
  - Several controllers can run the task at the same time. After an interruption, the task can run again. No label gets
    two clients.
  - Renames clients first, then deletes, then creates clients, so that deleted clients do not count for the plan.
  - Reads each client again right before its deletion. If another user has renamed the client, the task warns and keeps
    the client. If the client is not found, the task still sends the delete request, because a replica of the service
    may not have the client yet.
  - If several clients have the same label, this label fails, and none of these clients is changed.
  - Invalid options fail before any change. If the service returns another client than requested, the task stops.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.changes, monitor.cloud._shared.keys,
  monitor.cloud._shared.sealed]
options:
  labels:
    description: Labels of the clients, 3 to 32 characters each. The filter P(monitor.cloud.client_labels#filter)
      returns the labels that the role uses for hosts. Many services do not accept dots in labels. A number is an error,
      because YAML reads V(1.10) as V(1.1). Put numbers in quotes.
    type: list
    elements: raw
    required: true
  state:
    description: Whether the clients must exist. V(absent) deletes the clients with all their data on the service.
    type: str
    choices: [present, absent]
    default: present
  renames:
    description:
      - New labels by old label. The task renames clients before all other changes. Cannot be used with O(state=absent).
      - If only the new label has a client, nothing is changed. The task fails before any change if both labels have a
        client, if a label is both old and new, or if neither label has a client and O(labels) does not contain the new
        label.
    type: dict
    default: {}
  prune:
    description: Whether to delete the clients that are not in O(labels) and whose label matches O(prune_pattern).
      Cannot be used with O(state=absent).
    type: bool
    default: false
  prune_pattern:
    description: Regular expression that must match the whole label of a client to prune. Required with O(prune=true).
    type: str
  prune_limit:
    description: The largest number of clients that the task may prune. If more clients match, the task fails before any
      change.
    type: int
    default: 10
  verify:
    description: Whether to read each client of O(labels) also by its id, because the list may contain deleted clients.
      If the service no longer has a client, the task creates a client with the same label.
    type: bool
    default: false
  check_capacity:
    description: Whether to check, before any change, if the paid plan includes enough clients. Clients that the task
      will delete do not count. If the plan cannot be read, the task warns.
    type: bool
    default: true
  allow_failures:
    description: Whether the task succeeds even if some labels fail. RV(failures) has the reasons.
    type: bool
    default: false
  concurrency:
    description: Number of requests that are sent at the same time. At most 1000.
    type: int
    default: 8
seealso: [{module: monitor.cloud.monitor_client}, {module: monitor.cloud.agent_config}]
"""

EXAMPLES = r"""
- name: Register every host of the play, once
  monitor.cloud.monitor_clients:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
    labels: "{{ (ansible_play_hosts_all | monitor.cloud.client_labels(hostvars)).values() | list }}"
  run_once: true
  delegate_to: localhost

# The next tasks get the address and the token from environment variables.
- name: Make web1 to web3 the only clients whose label starts with web
  monitor.cloud.monitor_clients:
    labels: [web1, web2, web3]
    prune: true
    prune_pattern: web.*

- name: Give a client another label
  monitor.cloud.monitor_clients:
    labels: [web2]
    renames: {web3: www3}

- name: Delete clients that are no longer needed
  monitor.cloud.monitor_clients:
    labels: [web1, web2, www3]
    state: absent
"""

RETURN = r"""
clients:
  description:
    - Clients by label. Contains the existing clients of O(labels) and O(renames), and clients that could not be pruned.
      With O(state=absent), contains only the clients that could not be deleted.
    - Each client has the fields of RV(monitor.cloud.monitor_client#module:client). In check mode, the id and the key
      fingerprint of a new client are null.
  returned: success
  type: dict
key_owners:
  description: Label by key fingerprint, for every client of the account with a readable key.
  returned: success
  type: dict
  sample: {1f3a5c7e9b2d: web1}
created: {description: Labels of created clients., returned: if options are valid, type: list, elements: str}
renamed: {description: New labels of renamed clients., returned: if options are valid, type: list, elements: str}
deleted: {description: Labels of deleted clients., returned: if options are valid, type: list, elements: str}
unchanged: {description: Labels of unchanged clients., returned: if options are valid, type: list, elements: str}
failures: {description: "Reason of each failure, by label.", returned: if options are valid, type: dict}
cost:
  description: Text of one line. The text compares the number of clients with the plan, counts the clients to create,
    and names the next tier or the required tier, with the price per month.
  returned: in check mode, if clients would be created and O(check_capacity=true)
  type: str
  sample: "Clients: 8 of 10 that monitor-10 includes, 20 a month; 2 more to register."
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients import apply
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Fleet, reconcile_fleet
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import as_text
from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import listed
from ansible_collections.monitor.cloud.plugins.module_utils._clients.views import Views
from ansible_collections.monitor.cloud.plugins.module_utils._module import INCLUDE_KEYS, Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Client

OPTIONS = {
    # The type str would turn a nested list into one label. Then prune would delete the clients of the nested list.
    "labels": {"type": "list", "elements": "raw", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "include_keys": INCLUDE_KEYS,
    "seal_keys": INCLUDE_KEYS,
    "renames": {"type": "dict", "default": {}},
    "prune": {"type": "bool", "default": False},
    "prune_pattern": {"type": "str"},
    "prune_limit": {"type": "int", "default": 10},
    "verify": {"type": "bool", "default": False},
    "check_capacity": {"type": "bool", "default": True},
    "allow_failures": {"type": "bool", "default": False},
    "concurrency": {"type": "int", "default": 8},
}
_SKIP_CHECK = "To skip this check, set check_capacity: false (role: monitor_agent_check_capacity)."
_LISTED = {"create": "created", "rename": "renamed", "delete": "deleted", "none": "unchanged"}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the clients, read the plan if a client must be created, and make the changes."""
    fleet = _fleet(params)
    current = api.list_clients()
    if params["verify"]:
        current = apply.without_deleted(api, current, fleet.labels)
    changes = reconcile_fleet(current, fleet)
    warnings: list[str] = []
    cost = ""
    if params["check_capacity"]:
        warnings, cost = apply.ensure_capacity(api, changes, len(current), check_mode=check_mode, advice=_SKIP_CHECK)
    done = apply.carry_out(api, changes, check_mode=check_mode)
    result = _summary(done)
    result["warnings"] = [*warnings, *apply.not_deleted(done)]
    if cost:
        result["cost"] = cost
    if result["failures"] and not params["allow_failures"]:
        raise TaskFailure(_failure_message(result), result)
    try:
        result.update(_clients(api, current, done, include_keys=params["include_keys"]))
    except ApiError as error:
        raise TaskFailure(str(error), result) from error
    made = [entry.change for entry in done if entry.change.changed and not entry.error]
    result["diff"] = Views(current).diff((change.before, change.after) for change in made)
    return result


def _fleet(params: Params) -> Fleet:
    prune_pattern = None
    if params["prune"]:
        prune_pattern = params["prune_pattern"]
    return Fleet(
        labels=[as_text(label) for label in params["labels"]],
        present=params["state"] == "present",
        renames={old: as_text(new) for old, new in params["renames"].items()},
        prune_pattern=prune_pattern,
        prune_limit=params["prune_limit"],
    )


def _clients(api: Api, current: Sequence[Client], done: Sequence[apply.ChangeResult], *, include_keys: bool) -> Result:
    """Return the clients by label after all changes, and the owners of all keys. ``current``: the clients before."""
    deleted = {entry.change.before["id"] for entry in done if entry.change.action == "delete" and entry.error is None}
    remaining = [client for client in current if client["id"] not in deleted]
    views, clients = apply.views_of(api, remaining, [entry.client for entry in done], include_keys=include_keys)
    shown = {}
    for client, entry in zip(clients, done):
        if client and not entry.renamed_meanwhile:
            shown[client["label"]] = views.show(client)
    return {"clients": shown, "key_owners": views.key_owners()}


def _summary(done: Sequence[apply.ChangeResult]) -> Result:
    lists: dict[str, list[str]] = {name: [] for name in _LISTED.values()}
    failures = {}
    changed = False
    for entry in done:
        if entry.error is not None:
            failures[entry.change.label] = str(entry.error)
            continue
        lists[_LISTED[entry.change.action]].append(entry.change.label)
        changed = changed or entry.change.changed
    return {"changed": changed, **lists, "failures": failures}


def _failure_message(result: Result) -> str:
    failures = result["failures"]
    alike: dict[str, list[str]] = {}
    for label, reason in failures.items():
        alike.setdefault(reason.replace(repr(label), "").replace(" (not tried)", ""), []).append(label)
    shown = []
    for label, *others in list(alike.values())[:3]:
        shown.append(failures[label])
        if others:
            shown.append(f"Failed for the same reason: {listed(others)}.")
    if len(alike) > 3:
        shown.append(f"More reasons are in 'failures' of the result: {len(alike) - 3}.")
    number = "1 label" if len(failures) == 1 else f"{len(failures)} labels"
    made = ", ".join(f"{name} {len(result[name])}" for name in _LISTED.values())
    return f"{number} failed. {' '.join(shown)} Other labels: {made}."


MODULE = Module(run, OPTIONS, {"required_if": [("prune", True, ["prune_pattern"])]})
main = MODULE.main

if __name__ == "__main__":
    main()
