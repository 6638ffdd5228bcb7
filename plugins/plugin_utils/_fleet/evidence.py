# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the facts of all hosts together show, such as two hosts with one key, or a renamed host. Pure."""

from __future__ import annotations

import collections
import typing as t
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.patterns import matching
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Account, Host, Inventory
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import Others, natural_sort_key, others_in

# How a renamed host can keep the client whose key it carries.
# adopt: the client gets the label of the host.
# later: a later run renames the client, because another client still has the label.
# conflict: the client cannot be kept. unknown: the owner of the key is unknown.
# nothing: the host carries no key of another client.
# The names of the option orphan_pattern in messages.
_PATTERN = "orphan_pattern (of the role: monitor_agent_audit_orphan_pattern; of the playbook prune: prune_pattern)"
Adoption = t.Literal["adopt", "later", "conflict", "unknown", "nothing"]


class Evidence:
    """All hosts at once, to answer questions about a host that need the other hosts.

    ``unclaimed``: labels of clients that no host of the inventory has. ``orphans``: unclaimed labels of clients whose
    key no inspected host carries. Both only have labels that match ``orphan_pattern``.
    """

    def __init__(
        self, hosts: Sequence[Host], account: Account, inventory: Inventory, orphan_pattern: str = ".*"
    ) -> None:
        self.account = account
        self.inventory = inventory
        self.hosts = {host.name: host for host in hosts}
        self._positions = {host.name: position for position, host in enumerate(hosts)}
        self._hosts_with = _hosts_by_label(inventory)
        self._carriers = _hosts_by_key(hosts)
        self._machines = _hosts_by_machine(hosts)
        self._holders = {machine: self._holder(machine) for machine, names in self._machines.items() if len(names) > 1}
        without_host = [label for label in account.clients if label not in self._hosts_with]
        self.unclaimed = sorted(matching(orphan_pattern, _PATTERN, without_host), key=natural_sort_key)
        carried = {host.facts.owner_label for host in hosts if host.facts is not None}
        self.orphans = [label for label in self.unclaimed if label not in carried]
        self.adoptions = self._adoptions()
        # A client that a renamed host needs must not be deleted.
        self._claims = {self.hosts[name].owner_label: name for name in self.adoptions}

    def _holder(self, machine: str) -> str:
        present = [self.hosts[name] for name in self._machines[machine] if not self.hosts[name].is_absent]
        # The order of the play, so that the host of an earlier batch comes before the hosts of later batches.
        present.sort(key=self._position)
        for host in present:
            if host.facts is not None and host.facts.key_owner == "own":
                return host.name
        return next((host.name for host in present), "")

    def _position(self, host: Host) -> int:
        return self._positions[host.name]

    def others_with_label(self, host: Host) -> list[str]:
        return [name for name in self._hosts_with.get(host.label, ()) if name != host.name]

    def others_with_key(self, host: Host) -> Others:
        """Return other hosts that carry the same key."""
        if host.facts is None or not host.facts.key_fingerprint:
            return Others()
        return others_in(self._carriers[host.facts.key_fingerprint], host.name)

    def others_on_machine(self, host: Host) -> Others:
        """Return other hosts of the inventory that are the same machine and have the same path."""
        if host.facts is None or not host.facts.machine:
            return Others()
        return others_in(self._machines[host.facts.machine], host.name)

    def machine_holder(self, host: Host) -> str:
        """Return which of several names of one machine may write its file: the name that has the key, else the first.

        Return an empty text if the machine has only one name, or if all its names are to be removed.
        """
        if host.facts is None:
            return ""
        return self._holders.get(host.facts.machine or "", "")

    def host_of_key(self, host: Host) -> str:
        """Return another host of the inventory whose client has the key that this host carries, or an empty text."""
        for name in self._hosts_with.get(host.owner_label, ()):
            if name != host.name:
                return name
        return ""

    def claimed_by(self, label: str) -> str:
        """Return the renamed host that needs the client with this label, or an empty text."""
        return self._claims.get(label, "")

    def adoption(self, host: Host) -> Adoption:
        """Return how the host can keep the client whose key it carries."""
        if host.facts is None or host.facts.key_owner == "unverifiable":
            return "unknown"
        if host.facts.key_owner == "other":
            return self.adoptions.get(host.name, "conflict")
        if host.facts.key_owner == "unknown" and self.account.masked_labels:
            return "unknown"
        return "nothing"

    def is_clone(self, host: Host) -> bool:
        """Return whether the host carries the key of another host of the inventory, and was not renamed."""
        return bool(self.host_of_key(host)) and host.name not in self.adoptions

    def has_other_label(self, host: Host) -> bool:
        """Return whether the client of the host probably has a label that differs from the label of the host.

        No client has the label of the host, and the host carries the key of a client that is not a clone's.
        """
        if host.facts is None or host.facts.key_owner != "other" or host.label in self.account.clients:
            return False
        return not self.is_clone(host)

    def _adoptions(self) -> dict[str, Adoption]:
        """Return how each renamed host can keep the client whose key it carries.

        Renames can form a chain: web-1 became web-2, and web-2 became web-3. No host may have the old label of the
        first host. No client may have the new label of the last host. The client of the last host is renamed first.
        """
        # A renamed host can also keep the client of an absent host. Any other client can belong to another user.
        absent = [self.inventory.labels[name] for name in self.inventory.absent if name in self.inventory.labels]
        free = {*self.unclaimed, *absent}
        carriers = {}
        for host in self.hosts.values():
            if _needs_other_client(host) and not self.others_with_key(host):
                carriers[host.owner_label] = host
        adoptions: dict[str, Adoption] = {}
        for first in [host for owner, host in carriers.items() if owner in free]:
            chain = _chain(first, carriers)
            last = chain[-1]
            if last.label in self.account.clients or self.others_with_label(last):
                continue
            for host in chain:
                adoptions[host.name] = "later"
            adoptions[last.name] = "adopt"
        return adoptions


def _hosts_by_label(inventory: Inventory) -> dict[str, list[str]]:
    hosts_with = collections.defaultdict(list)
    for name, label in inventory.labels.items():
        # After an earlier batch or play has removed a host, another host may use its label.
        if name not in inventory.removed:
            hosts_with[label].append(name)
    return dict(hosts_with)


def _hosts_by_key(hosts: Sequence[Host]) -> dict[str, list[str]]:
    carriers = collections.defaultdict(list)
    for host in _sorted(hosts):
        if host.facts is not None and host.facts.key_fingerprint:
            carriers[host.facts.key_fingerprint].append(host.name)
    return carriers


def _hosts_by_machine(hosts: Sequence[Host]) -> dict[str, list[str]]:
    machines = collections.defaultdict(list)
    for host in _sorted(hosts):
        if host.facts is not None and host.facts.machine:
            machines[host.facts.machine].append(host.name)
    return machines


def _sorted(hosts: Sequence[Host]) -> list[Host]:
    return sorted(hosts, key=_order)


def _order(host: Host) -> str:
    return natural_sort_key(host.name)


def _chain(first: Host, carriers: dict[str, Host]) -> list[Host]:
    """Return the hosts that were renamed in turn: each host has the key of the client with the label of the next."""
    chain = [first]
    while chain[-1].label in carriers:
        chain.append(carriers.pop(chain[-1].label))
    return chain


def _needs_other_client(host: Host) -> bool:
    """Return whether a host carries the key of another client, and is neither removed nor gets a new key."""
    facts = host.facts
    return facts is not None and facts.key_owner == "other" and not facts.is_absent and not facts.wanted.replace_key
