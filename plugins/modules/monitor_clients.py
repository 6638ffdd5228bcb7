#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manage many monitoring clients at once, with one read of the account."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_clients
short_description: Manage the monitoring clients of a fleet
version_added: 1.0.0
description:
  - Makes sure that a client exists, or is absent, for each of many labels. The account is read once, then only what is
    missing is created, several at a time.
  - Safe to run from several controllers at once, and after an interrupted run. No label ever gets two clients.
  - Renames come first, then deletes, then creates, so that pruned clients make room in the plan.
  - Each client is read again right before it is deleted. If it was renamed since the list was read, it is kept, with a
    warning. If this read does not find it, it is deleted all the same, because a replica of the service may be late.
  - If several clients have one label, that label fails, and none of these clients is changed.
  - Invalid input is refused before anything is written. A response about another client ends the task.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.changes, monitor.cloud._shared.keys,
  monitor.cloud._shared.sealed]
options:
  labels:
    description: Labels of the clients, 3 to 32 characters each. P(monitor.cloud.client_labels#filter) derives them from
      hosts. Numbers are refused, because YAML reads V(1.10) as V(1.1), and V(0123) as V(83). Use quotes.
    type: list
    elements: raw
    required: true
  state:
    description: Whether the clients have to exist. V(absent) deletes them with all that the service stored for them.
    type: str
    choices: [present, absent]
    default: present
  renames:
    description:
      - Clients to rename first, old label to new label. Not with O(state=absent).
      - If only the new label exists, there is nothing to do. If both exist, for chains and swaps, and if neither exists
        and O(labels) lacks the new label, the task fails before anything is changed.
    type: dict
    default: {}
  prune:
    description: Whether to delete clients that O(labels) does not name and whose label matches O(prune_pattern). Not
      with O(state=absent).
    type: bool
    default: false
  prune_pattern:
    description: Regular expression that must match the whole label of a client to prune. Required with O(prune=true).
    type: str
  prune_limit:
    description: The most clients that a task may prune. If there are more, the task fails before it deletes any.
    type: int
    default: 10
  verify:
    description: Whether to read each listed client of O(labels) by its id too, because the list may be late. A client
      that the service no longer has is created.
    type: bool
    default: false
  check_capacity:
    description: Whether to check, before anything is changed, if the paid plan includes enough clients, without those
      to be deleted. The plan is read only if a client is to be created. If the plan cannot be read, the task warns.
    type: bool
    default: true
  allow_failures:
    description: Whether the task succeeds although some labels failed, with the reasons in RV(failures).
    type: bool
    default: false
  concurrency:
    description: How many requests are sent at a time; at most 1000.
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

# The next tasks get address and token from the environment.
- name: Make web1 to web3 the only clients whose label starts with web
  monitor.cloud.monitor_clients:
    labels: [web1, web2, web3]
    prune: true
    prune_pattern: web.*

- name: Give a client another label
  monitor.cloud.monitor_clients:
    labels: [web2]
    renames: {web3: www3}

- name: Delete what is no longer needed
  monitor.cloud.monitor_clients:
    labels: [web1, web2, www3]
    state: absent
"""

RETURN = r"""
clients:
  description:
    - The existing clients of O(labels) and O(renames), by label, and clients that could not be pruned. After
      O(state=absent), only clients that could not be deleted.
    - Each has the fields of RV(monitor.cloud.monitor_client#module:client). In check mode, id and key fingerprint of a
      new client are null.
  returned: success
  type: dict
key_owners:
  description: The label by key fingerprint, for every client of the account whose key is readable.
    M(monitor.cloud.agent_config) finds by this whose key a host carries, without the keys of other hosts.
  returned: success
  type: dict
  sample: {1f3a5c7e9b2d: web1}
created: {description: Labels of created clients., returned: once something was tried, type: list, elements: str}
renamed: {description: New labels of renamed clients., returned: once something was tried, type: list, elements: str}
deleted: {description: Labels of deleted clients., returned: once something was tried, type: list, elements: str}
unchanged: {description: Labels with nothing to do., returned: once something was tried, type: list, elements: str}
failures: {description: Why labels failed; reason by label., returned: once something was tried, type: dict}
cost:
  description: One line with the number of clients, of those that the plan includes, and of those to be created, and the
    tier that includes all, with prices per month.
  returned: in check mode, if clients would be created and O(check_capacity=true)
  type: str
  sample: "Clients: 8 of 10 that monitor-10 includes, 20 a month; 2 more to register."
api_usage: {description: "Requests, retries among them, and seconds waited.", returned: when sent, type: dict}
"""

from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients import apply
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Fleet, reconcile_fleet
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import Views, as_text, listed
from ansible_collections.monitor.cloud.plugins.module_utils._module import INCLUDE_KEYS, Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, TaskFailure

OPTIONS = {
    # The type str would turn a nested list into one label, and prune would delete the clients in that list.
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
_LISTED = {"create": "created", "rename": "renamed", "delete": "deleted", "none": "unchanged"}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the clients, and the plan if something is to be created; then make the changes."""
    fleet = Fleet(
        labels=[as_text(label) for label in params["labels"]],
        present=params["state"] == "present",
        renames={old: as_text(new) for old, new in params["renames"].items()},
        prune_pattern=params["prune_pattern"] if params["prune"] else None,
        prune_limit=params["prune_limit"],
    )
    current = api.list_clients()
    if params["verify"]:
        current = apply.without_deleted(api, current, fleet.labels)
    changes = reconcile_fleet(current, fleet)
    warnings: list[str] = []
    cost = ""
    if params["check_capacity"]:
        warnings, cost = apply.ensure_capacity(api, changes, len(current), check_mode=check_mode)
    done = apply.carry_out(api, changes, check_mode=check_mode)
    result = {**_summary(done), **({"cost": cost} if cost else {}), "warnings": [*warnings, *apply.not_deleted(done)]}
    if result["failures"] and not params["allow_failures"]:
        raise TaskFailure(_failure_message(result), result)
    gone = {entry.change.before["id"] for entry in done if entry.change.action == "delete" and entry.error is None}
    remaining = [client for client in current if client["id"] not in gone]
    try:
        views, clients = apply.views_of(
            api, remaining, [entry.client for entry in done], include_keys=params["include_keys"]
        )
    except ApiError as error:
        raise TaskFailure(str(error), result) from error
    made = [entry.change for entry in done if entry.change.changed and not entry.error]
    return {
        **result,
        "clients": {
            client["label"]: views.show(client)
            for client, entry in zip(clients, done)
            if client and not entry.renamed_meanwhile
        },
        "key_owners": views.key_owners(),
        "diff": Views(current).diff((change.before, change.after) for change in made),
    }


def _summary(done: Sequence[apply.ChangeResult]) -> Result:
    lists: dict[str, list[str]] = {name: [] for name in _LISTED.values()}
    for entry in done:
        if entry.error is None:
            lists[_LISTED[entry.change.action]].append(entry.change.label)
    return {
        "changed": any(entry.change.changed for entry in done if entry.error is None),
        **lists,
        "failures": {entry.change.label: str(entry.error) for entry in done if entry.error is not None},
    }


def _failure_message(result: Result) -> str:
    failures = result["failures"]
    alike: dict[str, list[str]] = {}
    for label, reason in failures.items():
        alike.setdefault(reason.replace(repr(label), "").replace(" (not tried)", ""), []).append(label)
    shown = []
    for label, *others in list(alike.values())[:3]:
        shown.append(failures[label] + (f" The same happened to {listed(others)}." if others else ""))
    if len(alike) > 3:
        shown.append(f"There are {len(alike) - 3} more reasons in the return value failures.")
    number = "1 label" if len(failures) == 1 else f"{len(failures)} labels"
    made = ", ".join(f"{name} {len(result[name])}" for name in _LISTED.values())
    return f"{number} failed. {' '.join(shown)} Of the others: {made}."


MODULE = Module(run, OPTIONS, {"required_if": [("prune", True, ["prune_pattern"])]})
main = MODULE.main

if __name__ == "__main__":
    main()
