# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the hosts and the inventory of a run from the variables of a task."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import has_valid_length
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host, Inventory, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._labels import Entry, entries

_LONGEST_REASON = 300


@dataclasses.dataclass
class Run:
    """What a run knows. ``hosts``: hosts of the play, in its order. ``names``: names of all variables of the batch."""

    hosts: list[Host]
    inventory: Inventory
    names: set[str]


def read_run(variables: Mapping[str, t.Any], inspected: str) -> Run:
    """Read the variables of each host of the inventory once."""
    reader = _Reader(variables)
    for entry in entries(variables, inspected):
        reader.add(entry)
    return Run(reader.hosts, reader.inventory(), reader.names)


class _Reader:
    def __init__(self, variables: Mapping[str, t.Any]) -> None:
        self._batch = set(variables["ansible_play_batch"])
        self._active = set(variables["ansible_play_hosts"])
        self._of_play = set(variables["ansible_play_hosts_all"])
        self.hosts: list[Host] = []
        self.names = set(variables)
        self._labels: dict[str, str] = {}
        self._absent: set[str] = set()
        self._removed: set[str] = set()
        self._unreadable: dict[str, str] = {}
        self._accounts: dict[str, str] = {}
        self._differing = ""

    def inventory(self) -> Inventory:
        return Inventory(
            labels=self._labels,
            absent=frozenset(self._absent),
            removed=frozenset(self._removed),
            unreadable=self._unreadable,
            differing=self._differing,
            accounts=self._accounts,
        )

    def add(self, entry: Entry) -> None:
        # Skip an invalid label of the inventory, so that only the host with this label fails later.
        if has_valid_length(entry.label):
            self._labels[entry.host] = entry.label
        if not entry.is_known:
            self._unreadable[entry.host] = entry.problem
        if _is_absent(entry):
            self._absent.add(entry.host)
            if self._was_removed(entry):
                self._removed.add(entry.host)
        if entry.host in self._of_play:
            is_active = entry.host in self._active
            self.hosts.append(_host(entry, decides=entry.host in self._batch, is_active=is_active))
            self._compare_labels(entry)
        if entry.host in self._batch:
            self.names.update(map(str, entry.variables))
            account = entry.result.get("account")
            if account:
                self._accounts[entry.host] = account

    def _was_removed(self, entry: Entry) -> bool:
        """Return whether an earlier batch or play removed an absent host. A host that failed may still be monitored."""
        has_failed = entry.host in self._of_play and entry.host not in self._active
        return entry.host not in self._batch and not has_failed and facts_of(entry.result) is not None

    def _compare_labels(self, entry: Entry) -> None:
        """Note the first host of the play whose label differs, so that the warning is the same in each batch."""
        is_known = entry.rendered is not None and entry.given is not None
        if is_known and entry.rendered != entry.given and not self._differing:
            self._differing = entry.host


def _is_absent(entry: Entry) -> bool:
    wanted = entry.result.get("wanted")
    if wanted:
        return bool(wanted.get("state") == "absent")
    with contextlib.suppress(AnsibleError):
        return str(entry.variables.get("monitor_agent_state")) == "absent"
    return False


def _host(entry: Entry, *, decides: bool, is_active: bool) -> Host:
    """Return a host. A failed or excluded host can still have the result of an earlier task, so ignore it."""
    result: Mapping[str, t.Any] = {}
    if is_active and not entry.result.get("skipped"):
        result = entry.result
    facts = facts_of(result)
    reason = ""
    if result and facts is None:
        reason = reason_of(result.get("msg"))
    reached = bool(result) and not result.get("unreachable")
    return Host(entry.host, entry.label, facts, reason, reached=reached, decides=decides)


def reason_of(message: t.Any) -> str:
    """Return a message as one line of limited length that ends with a period."""
    words = str(message or "no reason given")[: 10 * _LONGEST_REASON].replace("Task failed: ", "").split()
    text = printable(" ".join(words), "\ufffd")
    if len(text) > _LONGEST_REASON:
        return f"{text[:_LONGEST_REASON]}…"
    if text.endswith((".", "!", "?", "…")):
        return text
    return f"{text}."
