# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several audits joined into one: their documents are turned back into inspected hosts. Pure.

A joined report is about the hosts as their audits inspected them, and about the account and the inventory as they are
now: the owner of a key is found by its fingerprint among the clients that exist now.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

# The states of a file with a key, whose owner is determined again.
_WITH_KEY = ("own", "other", "unknown")
# Seconds by which the clocks of two controllers may differ.
_LARGEST_SKEW = 600


@dataclasses.dataclass(frozen=True)
class Slice:
    """An audit to join: when it was made, as text and as a time, and the facts of each host."""

    name: str
    generated_at: str
    made: datetime.datetime
    hosts: Mapping[str, dict[str, t.Any]]


def parse(name: str, document: t.Any) -> Slice:
    """A document of schema :data:`.findings.SCHEMA_VERSION`; InputError for anything else."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != findings.SCHEMA_VERSION:
        raise InputError(
            f"{name} is not an audit with the schema version {findings.SCHEMA_VERSION}: it has {version!r}. Choose "
            "what monitor_agent_audit_json of this version of monitor.cloud wrote, or audit its hosts again."
        )
    if "audits" in document:
        raise InputError(f"{name} was written by the playbook report. Choose the files of the original audits instead.")
    try:
        members = findings.facts_of({})
        hosts = {entry["host"]: {member: entry[member] for member in members} for entry in document["hosts"]}
        made = findings.parse_time(document["generated_at"])
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{name} is not a valid audit: {error!r}. Audit its hosts again.") from None
    return Slice(name, findings.format_time(made), made, hosts)


def join(
    slices: Sequence[Slice],
    hosts: Sequence[str],
    account: findings.Account,
    labels: Mapping[str, str],
    *,
    now: datetime.datetime,
    max_age: float,
) -> tuple[list[findings.Host], dict[str, t.Any]]:
    """The inspected hosts of all slices, and the members of a joined report; see :class:`.findings.Report`.

    ``labels`` gives the label of each host of the whole inventory. Of a host in several slices the latest counts, and
    one from the future last. A slice is stale if it is older than ``max_age`` hours, or further in the future than
    clocks differ; 0 allows any age.
    """
    chosen: dict[str, Slice] = {}
    # Slices from the future come first, so that a wrong clock does not win. Of equal times, the last given counts.
    for audit in sorted(slices, key=lambda audit: (audit.made <= now, audit.made)):
        chosen.update(dict.fromkeys(filter(audit.hosts.__contains__, hosts), audit))
    counts = collections.Counter(audit.name for audit in chosen.values())
    sources, notes = [], []
    for audit in slices:
        used, age = counts[audit.name], (now - audit.made).total_seconds()
        stale = bool(used and max_age) and not -_LARGEST_SKEW <= age <= max_age * 3600
        sources.append({"name": audit.name, "generated_at": audit.generated_at, "hosts": used, "stale": stale})
        if stale:
            when = f"more than {max_age:g} hours ago" if age > 0 else "in the future, so a clock is wrong"
            notes.append(f"{audit.name} was made at {audit.generated_at}, {when}. Audit its hosts again.")
    facts = {host: audit.hosts[host] for host, audit in chosen.items()}
    inspected = [_inspected(host, labels[host], facts.get(host), account) for host in hosts]
    if gone := {host for audit in slices for host in audit.hosts if host not in labels}:
        names = findings.named(sorted(gone, key=findings.natural_sort_key))
        notes.append(f"Left out, because not in the inventory: {len(gone)} hosts ({names}).")
    return inspected, {"sources": sources, "notes": notes}


def _inspected(host: str, label: str, facts: dict[str, t.Any] | None, account: findings.Account) -> findings.Host:
    """A host with its facts, if a slice has the host. The clients that exist now determine the owner of its key."""
    if facts is None:
        return findings.Host(host, label, findings.facts_of({}), audited=False)
    if facts["key_owner"] not in _WITH_KEY:
        return findings.Host(host, label, facts)
    owner = account.key_owners.get(facts["key_fingerprint"])
    if owner is None and facts["owner_label"] in account.masked_labels:
        # The key of this client is masked now, but was readable when the host was audited.
        owner = facts["owner_label"]
    state = "unknown" if owner is None else "own" if owner == label else "other"
    return findings.Host(host, label, {**facts, "key_owner": state, "owner_label": owner})
