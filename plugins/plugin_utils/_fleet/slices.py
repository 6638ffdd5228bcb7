# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of hosts from the JSON reports of earlier audits, to join several audits into one report. Pure.

A joined report combines facts of hosts from earlier audits with the present account and inventory. Key fingerprints
in the present account determine the owner of each key.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import (
    Account,
    Facts,
    Host,
    Inventory,
    facts_of,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import named, natural_sort_key

# The version of the JSON report (docs/audit.schema.json).
SCHEMA_VERSION = 3
# The clocks of two controllers can differ by this number of seconds.
_CLOCK_DIFFERENCE = 60
# With these values of key_owner, the file has a key. Find the owner of the key again in the present account.
_WITH_KEY = ("own", "other", "unknown")
_FACTS = tuple(field.name for field in dataclasses.fields(Facts))


@dataclasses.dataclass(frozen=True)
class Slice:
    """An audit to join: the time of the audit, and the facts of each host."""

    name: str
    made: datetime.datetime
    hosts: Mapping[str, Host]

    def is_future(self, now: datetime.datetime) -> bool:
        """Whether the audit has a later time than ``now``, so that its real time is unknown."""
        return (self.made - now).total_seconds() > _CLOCK_DIFFERENCE

    def problem(self, now: datetime.datetime, max_age: float) -> str:
        """Return a sentence if the audit is stale; empty if the audit is recent enough."""
        made = f"{self.name} was made at {format_time(self.made)}"
        if self.is_future(now):
            return f"{made}, which is in the future. Check the clock of its controller, and audit its hosts again."
        if max_age and (now - self.made).total_seconds() > max_age * 3600:
            return f"{made}, more than {max_age:g} hours ago. Audit its hosts again."
        return ""


@dataclasses.dataclass(frozen=True)
class Joined:
    """The audits of a joined report (name, time, number of hosts, whether stale), and sentences about them."""

    sources: Sequence[dict[str, t.Any]] = ()
    notes: Sequence[str] = ()


def parse_time(generated_at: t.Any) -> datetime.datetime:
    """Return the time of a report in UTC. Raise ValueError or OverflowError if the time is invalid or has no zone."""
    return datetime.datetime.strptime(str(generated_at), "%Y-%m-%dT%H:%M:%S%z").astimezone(datetime.timezone.utc)


def format_time(at: datetime.datetime) -> str:
    """Return a time in UTC in the format of reports."""
    return at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def parse(name: str, document: t.Any) -> Slice:
    """Return the audit from a document. Raise InputError if the document has another schema version, or is invalid."""
    version = None
    if isinstance(document, dict):
        version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{name} is not an audit with the schema version {SCHEMA_VERSION}: its version is {version!r}. "
            "Choose a file that monitor_agent_audit_json of this version wrote, or audit the hosts again."
        )
    if "audits" in document:
        raise InputError(f"{name} was written by the playbook report. Choose the files of the original audits instead.")
    try:
        hosts = {entry["host"]: _host(entry) for entry in document["hosts"]}
    except (KeyError, TypeError) as error:
        raise InputError(f"{name} is not a valid audit: {error!r}. Audit its hosts again.") from None
    return Slice(name, _time_of(name, document), hosts)


def _time_of(name: str, document: Mapping[str, t.Any]) -> datetime.datetime:
    try:
        return parse_time(document.get("generated_at"))
    except (OverflowError, ValueError):
        raise InputError(
            f"{name} is not a valid audit: generated_at is not a time such as 2026-01-02T03:04:05Z. Audit its hosts "
            "again."
        ) from None


def _host(entry: Mapping[str, t.Any]) -> Host:
    """Return a host with its facts. The states in the document are ignored, because they are decided again."""
    facts = facts_of({name: entry[name] for name in _FACTS})
    return Host(entry["host"], entry["label"], facts, entry["reason"] or "", reached=entry["reached"])


def join(
    slices: Sequence[Slice],
    hosts: Sequence[str],
    account: Account,
    inventory: Inventory,
    *,
    now: datetime.datetime,
    max_age: float,
) -> tuple[list[Host], Joined]:
    """Return the hosts with the facts of the slices. If a host is in several slices, use the latest slice.

    A slice is stale if it is older than ``max_age`` hours (0: no limit), or if its time is in the future.
    """
    chosen = _latest(slices, hosts, now)
    counts = collections.Counter(audit.name for audit in chosen.values())
    sources: list[dict[str, t.Any]] = []
    notes = []
    for audit in slices:
        used = counts[audit.name]
        problem = ""
        if used:
            problem = audit.problem(now, max_age)
        generated_at = format_time(audit.made)
        sources.append({"name": audit.name, "generated_at": generated_at, "hosts": used, "stale": bool(problem)})
        if problem:
            notes.append(problem)
    gone = {host for audit in slices for host in audit.hosts if host not in inventory.labels}
    if gone:
        names = named(sorted(gone, key=natural_sort_key))
        notes.append(f"Hosts left out, because the inventory does not contain them: {len(gone)} ({names}).")
    joined = [_joined(host, chosen.get(host), account, inventory) for host in hosts]
    return joined, Joined(sources, notes)


def _latest(slices: Sequence[Slice], hosts: Sequence[str], now: datetime.datetime) -> dict[str, Slice]:
    """Return the latest slice of each host. A slice from the future counts only if the host is in no other slice."""

    def order(audit: Slice) -> tuple[bool, datetime.datetime]:
        return not audit.is_future(now), audit.made

    chosen = {}
    for audit in sorted(slices, key=order):
        for host in hosts:
            if host in audit.hosts:
                chosen[host] = audit
    return chosen


def _joined(name: str, audit: Slice | None, account: Account, inventory: Inventory) -> Host:
    """Return a host with its facts from a slice. The clients that exist now determine the owner of the key."""
    label = inventory.labels[name]
    if audit is None:
        return Host(name, label, audited=False)
    found = audit.hosts[name]
    if name in inventory.unreadable:
        # The slice knew facts or a vault password that this run does not know.
        label = found.label
    facts = found.facts
    if facts is None:
        return dataclasses.replace(found, label=label)
    facts = dataclasses.replace(facts, label=label)
    if facts.key_owner in _WITH_KEY:
        owner = account.key_owners.get(facts.key_fingerprint or "")
        facts = dataclasses.replace(facts, key_owner=_owner_state(owner, label, account), owner_label=owner)
    return dataclasses.replace(found, label=label, facts=facts)


def _owner_state(owner: str | None, label: str, account: Account) -> str:
    if owner is None and label in account.masked_labels:
        # The key may be the host's own key.
        return "unverifiable"
    if owner is None:
        return "unknown"
    if owner == label:
        return "own"
    return "other"
