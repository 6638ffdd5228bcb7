# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Facts, Host, Inventory, Wanted
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import Joined
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import (
    Account,
    Finding,
    Report,
    report_of,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import Step, steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.table import table

TIERS: tuple[dict[str, Any], ...] = tuple(
    {"id": f"monitor-{size}", "label": f"Monitor {size}", "clients_included": size, "price": {"monthly": price}}
    for size, price in ((3, 10.0), (10, 20), (40, 60.5))
)
TIME = "2026-01-02T03:04:05Z"
ABSENT = Wanted(state="absent")
# The actual and the expected value of each attribute of a file.
_PERMISSIONS = {
    "owner": ("app", "root"),
    "group": ("app", "adm"),
    "mode": ("0644", "0600"),
    "acl": ("user:app:r--", "none"),
}


def inspected(host: str, key_owner: str = "own", **facts: Any) -> Host:
    """Return a host with facts. ``facts``: members of Facts. A host with a key has the key of its owner_label."""
    owner = host if key_owner == "own" else facts.get("owner_label")
    members: dict[str, Any] = {
        "label": host,
        "path": "/etc/agent.conf",
        "kind": "missing" if key_owner == "no_file" else "file",
        "key_owner": key_owner,
        "owner_label": owner,
        "key_fingerprint": fingerprint(owner) if owner else None,
        "permissions": permissions(facts.get("differs", ())),
        **facts,
    }
    return Host(host, members["label"], Facts(**members), reached=True)


def permissions(names: Iterable[str]) -> dict[str, dict[str, str]]:
    pairs = {name: _PERMISSIONS[name] for name in names if name in _PERMISSIONS}
    return {name: {"found": found, "expected": expected} for name, (found, expected) in pairs.items()}


def unreachable(host: str) -> Host:
    return Host(host, host, reason="no route.")


def failed(host: str, reason: str = "no sudo.") -> Host:
    return Host(host, host, reason=reason, reached=True)


def account(labels: Iterable[str], masked: Collection[str] = (), **facts: Any) -> Account:
    """Return an account with clients. ``masked``: labels of the clients whose keys the service masks."""
    keys = {label: None if label in masked else fingerprint(label) for label in labels}
    return Account({label: {"key_fingerprint": key, "keys_masked": not key} for label, key in keys.items()}, **facts)


def report(
    inspections: Iterable[Host],
    known: Account,
    inventory: Iterable[str] = (),
    *,
    orphan_pattern: str = ".*",
    absent: Collection[str] = (),
    unreadable: Mapping[str, str] | None = None,
    joined: Joined | None = None,
) -> Report:
    """Return the report of an audit. ``inventory``: more hosts, which are not inspected."""
    hosts = [_absent(host) if host.name in absent else host for host in inspections]
    labels = {host: host for host in inventory}
    labels.update({host.name: host.label for host in hosts})
    of_inventory = Inventory(labels, frozenset(absent), unreadable=unreadable or {})
    changes = decide(hosts, known, of_inventory, orphan_pattern=orphan_pattern)
    return report_of(hosts, changes, known, generated_at=TIME, joined=joined)


def _absent(host: Host) -> Host:
    if host.facts is None:
        return host
    return dataclasses.replace(host, facts=dataclasses.replace(host.facts, wanted=ABSENT))


def states(made: Report) -> dict[str, tuple[str, ...]]:
    return {finding.name: finding.states for finding in made.hosts}


def of(made: Report, host: str) -> Finding:
    return next(finding for finding in made.hosts if finding.name == host)


def every_host(*more: Host) -> list[Host]:
    """Return hosts that have all states in the account of :func:`account_of`."""
    service: dict[str, Any] = {"service": "my agent", "service_state": "active"}
    return [
        unreachable("gone"),
        *(inspected(host, "other", owner_label=owner) for host, owner in {"clone": "web", "renamed": "old"}.items()),
        inspected("stranger", "unknown", key_fingerprint=fingerprint("?")),
        *(inspected(host, key) for host, key in {"web": "own", "new": "no_file", "empty": "no_key"}.items()),
        failed("closed"),
        *(inspected(host, differs=[name]) for host, name in {"edited": "content", "open": "mode"}.items()),
        inspected("pending", **service, service_outdated=True),
        inspected("stopped", **{**service, "service_state": "inactive"}),
        inspected("disabled", **service, service_enabled="disabled"),
        inspected("fine", **service, service_enabled="enabled"),
        *more,
    ]


def account_of(hosts: Iterable[Host], masked: Collection[str] = ()) -> Account:
    labels = {host.name for host in hosts} - {"new", "renamed"}
    return account([*labels, "old", "older"], masked, plan=TIERS[1], tiers=TIERS)


def every_state(*more: Host, joined: Joined | None = None) -> Report:
    hosts = every_host(*more)
    return report(hosts, account_of(hosts), joined=joined)


def made(of: Report, *, limited: bool = False) -> tuple[str, list[Step]]:
    todo = steps(of, limited=limited)
    return table(of, todo), todo
