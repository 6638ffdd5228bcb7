# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several audits as one: what their documents hold about hosts becomes inspections again. Pure.

A joined report is about the hosts as their audits inspected them, and about the account and the inventory as they are
now: whose a key is depends on its fingerprint and on the clients that there are now.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import KeyState
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import (
    MOST_NAMES,
    SCHEMA_VERSION,
    Account,
    Inspection,
    Source,
    facts_of,
    natural,
)

# What an audit's document holds about a host.
Entry = t.Mapping[str, t.Any]

# The states of a file that holds a key, so that its owner can be determined again.
_WITH_KEY = ("own", "other", "unknown")


def _is_text_or_null(value: t.Any) -> bool:
    return value is None or isinstance(value, str)


# The members that hold the facts of a host, from which findings are made; `reason` is why there are none.
_FACTS: dict[str, Callable[[t.Any], bool]] = {
    "reached": lambda value: isinstance(value, bool),
    "reason": _is_text_or_null,
    "key_owner": lambda value: value is None or value in t.get_args(KeyState),
    "owner_label": _is_text_or_null,
    "key_fingerprint": _is_text_or_null,
    "differs": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "service_state": _is_text_or_null,
}


@dataclasses.dataclass(frozen=True)
class Slice:
    """An audit that was read: what its document holds about each host."""

    name: str
    generated_at: str
    at: datetime.datetime
    hosts: Mapping[str, Entry]


@dataclasses.dataclass(frozen=True)
class Joined:
    """The inspections of all slices, and what is to be known about the slices; see :class:`.findings.Report`."""

    inspections: tuple[Inspection, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...]


def parse(name: str, document: t.Any) -> Slice:
    """A document of schema :data:`.findings.SCHEMA_VERSION`; InputError for anything else."""
    if not isinstance(document, dict) or "schema_version" not in document:
        raise InputError(
            f"{name} is not an audit: it has no schema_version. Choose what monitor_agent_audit_json wrote."
        )
    version = document["schema_version"]
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{name} has the schema version {version!r}, and only version {SCHEMA_VERSION} can be joined. Audit its "
            "hosts again, with the version of monitor.cloud that joins them."
        )
    if "audits" in document:
        raise InputError(f"{name} is a joined report itself. Leave it out, and choose the audits that it was made of.")
    hosts = document.get("hosts")
    if not isinstance(hosts, list):
        raise _invalid(name, "hosts is missing or invalid")
    entries = {_host(name, number, entry): t.cast("Entry", entry) for number, entry in enumerate(hosts)}
    if len(entries) != len(hosts):
        raise _invalid(name, "it has a host twice")
    try:
        at = datetime.datetime.fromisoformat(str(document.get("generated_at")))
        # A time without a zone cannot be compared.
        at - datetime.datetime.now(datetime.UTC)
    except (ValueError, TypeError):
        raise _invalid(name, "generated_at is missing or invalid") from None
    return Slice(name, str(document["generated_at"]), at, entries)


def _host(name: str, number: int, entry: t.Any) -> str:
    """The name of a host, if all facts of its entry are valid."""
    if not isinstance(entry, dict) or not isinstance(entry.get("host"), str):
        raise _invalid(name, f"hosts[{number}].host is missing or invalid")
    for member, is_valid in _FACTS.items():
        if member not in entry or not is_valid(entry[member]):
            raise _invalid(name, f"hosts[{number}].{member} is missing or invalid")
    return str(entry["host"])


def _invalid(name: str, problem: str) -> InputError:
    return InputError(f"{name} is not a valid audit: {problem}. Audit its hosts again.")


def join(
    slices: Sequence[Slice],
    hosts: Sequence[str],
    account: Account,
    labels: Mapping[str, str],
    *,
    now: datetime.datetime,
    max_age: float,
) -> Joined:
    """Join slices for ``hosts``. ``labels`` gives the label of each host of the whole inventory.

    Of a host that several slices have, the latest counts. A slice is stale if ``max_age`` hours lie between it and now;
    0 allows any age.
    """
    chosen, differing = _latest(slices, set(hosts))
    used = collections.Counter(one.name for one in chosen.values())
    sources = [
        Source(one.name, one.generated_at, used[one.name], bool(used[one.name]) and _is_stale(one, now, max_age))
        for one in slices
    ]
    inspections, changed = [], []
    for host in hosts:
        if host not in chosen:
            inspections.append(Inspection(host, labels[host], facts_of(None), audited=False))
            continue
        entry = chosen[host].hosts[host]
        owner = _owner_now(entry, account, labels[host])
        if owner != (entry["key_owner"], entry["owner_label"]):
            changed.append(host)
        # An entry can hold anything else too.
        facts = {**{name: entry[name] for name in _FACTS}, "key_owner": owner[0], "owner_label": owner[1]}
        inspections.append(Inspection(host, labels[host], facts))
    notes = [_note_of_stale(source, max_age) for source in sources if source.stale]
    notes += [
        f"{later} and {earlier} differ about {_hosts(names)}. {later} is later, and counts."
        for (later, earlier), names in differing.items()
    ]
    if changed:
        notes.append(f"Since it was audited, the account has changed for the key on {_hosts(changed)}. Audit again.")
    if gone := {host for one in slices for host in one.hosts if host not in labels}:
        notes.append(f"Left out, because the inventory does not have them: {_hosts(gone)}.")
    return Joined(tuple(inspections), tuple(sources), tuple(notes))


def _latest(slices: Sequence[Slice], hosts: set[str]) -> tuple[dict[str, Slice], dict[tuple[str, str], list[str]]]:
    """The latest slice of each host, and hosts that an earlier one has otherwise, by the names of the later and it."""
    chosen: dict[str, Slice] = {}
    differing: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    # Of two of the same second, the one that was given last counts.
    for one in sorted(slices, key=lambda one: one.at):
        for host in hosts.intersection(one.hosts):
            before = chosen.get(host)
            if before and any(before.hosts[host][name] != one.hosts[host][name] for name in _FACTS):
                differing[one.name, before.name].append(host)
            chosen[host] = one
    return chosen, differing


def _is_stale(one: Slice, now: datetime.datetime, max_age: float) -> bool:
    # One from the future would never become stale.
    return bool(max_age) and abs((now - one.at).total_seconds()) > max_age * 3600


def _note_of_stale(source: Source, max_age: float) -> str:
    number = f"{source.hosts} finding{' is' if source.hosts == 1 else 's are'}"
    return (
        f"{source.name} was made at {source.generated_at}, more than {max_age:g} hours from now, and {number} from it. "
        "Audit its hosts again."
    )


def _owner_now(entry: Entry, account: Account, label: str) -> tuple[t.Any, t.Any]:
    """Whose key a host carries, and the owner's label, by the clients that there are now."""
    state, owner = entry["key_owner"], entry["owner_label"]
    if state not in _WITH_KEY:
        return state, owner
    found = account.key_owners.get(entry["key_fingerprint"])
    if found is None and owner in account.masked_labels:
        # Its key cannot be read now; it could when the host was audited.
        found = owner
    if found is None:
        return "unknown", None
    return ("own" if found == label else "other"), found


def _hosts(names: Iterable[str]) -> str:
    ordered = sorted(names, key=natural)
    number = "1 host" if len(ordered) == 1 else f"{len(ordered)} hosts"
    return f"{number} ({listed(ordered, MOST_NAMES, str)})"
