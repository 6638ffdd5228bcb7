# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Join several audits into one report: convert the JSON documents of audits to inspected hosts. Pure.

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
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

# The clocks of two controllers can differ by this number of seconds.
_CLOCK_DIFFERENCE = 60
# With these values of key_owner, the file has a key. Find the owner of the key again in the present account.
_WITH_KEY = ("own", "other", "unknown")


@dataclasses.dataclass(frozen=True)
class Slice:
    """An audit to join: the time of the audit, and the facts of each host."""

    name: str
    made: datetime.datetime
    hosts: Mapping[str, dict[str, t.Any]]

    def is_future(self, now: datetime.datetime) -> bool:
        """Whether the audit has a later time than ``now``, so that its real time is unknown."""
        return (self.made - now).total_seconds() > _CLOCK_DIFFERENCE

    def problem(self, now: datetime.datetime, max_age: float) -> str:
        """Return a sentence if the audit is stale; empty if the audit is recent enough."""
        made = f"{self.name} was made at {findings.format_time(self.made)}"
        if self.is_future(now):
            return f"{made}, which is in the future. Check the clock of its controller, and audit its hosts again."
        if max_age and (now - self.made).total_seconds() > max_age * 3600:
            return f"{made}, more than {max_age:g} hours ago. Audit its hosts again."
        return ""


def parse(name: str, document: t.Any) -> Slice:
    """Return the audit from a document. Raise InputError if the document has another schema version, or is invalid."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != findings.SCHEMA_VERSION:
        raise InputError(
            f"{name} is not an audit with the schema version {findings.SCHEMA_VERSION}: its version is {version!r}. "
            "Choose a file that monitor_agent_audit_json of this version wrote, or audit the hosts again."
        )
    if "audits" in document:
        raise InputError(f"{name} was written by the playbook report. Choose the files of the original audits instead.")
    try:
        members = findings.facts_of({})
        hosts = {entry["host"]: {member: entry[member] for member in members} for entry in document["hosts"]}
    except (KeyError, TypeError) as error:
        raise InputError(f"{name} is not a valid audit: {error!r}. Audit its hosts again.") from None
    return Slice(name, _time_of(name, document), hosts)


def _time_of(name: str, document: Mapping[str, t.Any]) -> datetime.datetime:
    try:
        return findings.parse_time(document.get("generated_at"))
    except (OverflowError, ValueError):
        raise InputError(
            f"{name} is not a valid audit: generated_at is not a time such as 2026-01-02T03:04:05Z. Audit its hosts "
            "again."
        ) from None


def join(
    slices: Sequence[Slice],
    hosts: Sequence[str],
    account: findings.Account,
    labels: Mapping[str, str],
    *,
    now: datetime.datetime,
    max_age: float,
) -> tuple[list[findings.Host], dict[str, t.Any]]:
    """Return the inspected hosts of all slices, and the fields of a joined report (:class:`.findings.Report`).

    ``labels``: the label of each host of the whole inventory. If a host is in several slices, use the latest slice.
    A slice is stale if it is older than ``max_age`` hours (0: no limit), or if its time is in the future.
    """
    chosen: dict[str, Slice] = {}
    # Begin with audits from the future: each other audit of a host replaces these audits.
    for audit in sorted(slices, key=lambda audit: (not audit.is_future(now), audit.made)):
        chosen.update(dict.fromkeys(filter(audit.hosts.__contains__, hosts), audit))
    counts = collections.Counter(audit.name for audit in chosen.values())
    sources, notes = [], []
    for audit in slices:
        used = counts[audit.name]
        problem = audit.problem(now, max_age) if used else ""
        generated_at = findings.format_time(audit.made)
        sources.append({"name": audit.name, "generated_at": generated_at, "hosts": used, "stale": bool(problem)})
        if problem:
            notes.append(problem)
    facts = {host: audit.hosts[host] for host, audit in chosen.items()}
    inspected = [_inspected(host, labels[host], facts.get(host), account) for host in hosts]
    if gone := {host for audit in slices for host in audit.hosts if host not in labels}:
        names = findings.named(sorted(gone, key=findings.natural_sort_key))
        notes.append(f"Hosts left out, because the inventory does not contain them: {len(gone)} ({names}).")
    return inspected, {"sources": sources, "notes": notes}


def _inspected(host: str, label: str, facts: dict[str, t.Any] | None, account: findings.Account) -> findings.Host:
    """Return a host with its facts from a slice. The clients that exist now determine the owner of the key."""
    if facts is None:
        return findings.Host(host, label, findings.facts_of({}), audited=False)
    if facts["key_owner"] not in _WITH_KEY:
        return findings.Host(host, label, facts)
    owner = account.key_owners.get(facts["key_fingerprint"])
    state = "unknown" if owner is None else "own" if owner == label else "other"
    return findings.Host(host, label, {**facts, "key_owner": state, "owner_label": owner})
