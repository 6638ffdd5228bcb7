# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inspected hosts and accounts as an audit gets them, for the tests of its parts."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import (
    Account,
    Host,
    Report,
    audit,
    facts_of,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import Step, steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import table

TIERS: tuple[dict[str, Any], ...] = tuple(
    {"id": f"monitor-{size}", "label": f"Monitor {size}", "clients_included": size, "price": {"monthly": price}}
    for size, price in ((3, 10.0), (10, 20), (40, 60.5))
)


def fingerprint(label: str) -> str:
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:12]


TIME = "2026-01-02T03:04:05Z"
# What a file has whose owner, group or mode is not as expected.
PERMISSIONS = {
    "owner": {"found": "app", "expected": "root"},
    "group": {"found": "app", "expected": "adm"},
    "mode": {"found": "0644", "expected": "0600"},
}


def inspected(host: str, key_owner: str = "own", **facts: Any) -> Host:
    facts["permissions"] = {name: PERMISSIONS[name] for name in facts.get("differs", ()) if name in PERMISSIONS}
    if key_owner == "own":
        facts = {"owner_label": host, "key_fingerprint": fingerprint(host), **facts}
    if key_owner == "other":
        facts = {"key_fingerprint": fingerprint(facts["owner_label"]), **facts}
    return Host(host, host, facts_of({"label": host, "key_owner": key_owner, "differs": [], **facts}))


def unreachable(host: str) -> Host:
    return Host(host, host, facts_of({"unreachable": True, "msg": "Task failed: no\n route"}))


def account(labels: Iterable[str], masked: Iterable[str] = (), **facts: Any) -> Account:
    """An account with clients of these labels, the keys of some of them masked."""
    hidden = set(masked)
    keys = {label: None if label in hidden else fingerprint(label) for label in labels}
    return Account({label: {"key_fingerprint": key, "keys_masked": not key} for label, key in keys.items()}, **facts)


def report(
    inspections: Iterable[Host],
    known: Account,
    inventory: Iterable[str] = (),
    orphan_pattern: str = ".*",
    absent: Collection[str] = (),
) -> Report:
    """An audit of these hosts; the inventory has others besides."""
    hosts = list(inspections)
    labels = {host: host for host in [*(one.host for one in hosts), *inventory]}
    return audit(hosts, known, labels, generated_at=TIME, orphan_pattern=orphan_pattern, absent=absent)


def states(made: Report) -> dict[str, tuple[str, ...]]:
    return {finding.host: finding.states for finding in made.hosts}


def details(made: Report) -> Mapping[str, str]:
    return {finding.host: finding.detail for finding in made.hosts}


def of(made: Report, host: str) -> Host:
    return next(finding for finding in made.hosts if finding.host == host)


def every_state(*more: Host) -> Report:
    seen = [
        unreachable("gone"),
        inspected("clone", "other", owner_label="web"),
        inspected("renamed", "other", owner_label="old"),
        inspected("stranger", "unknown", key_fingerprint=fingerprint("?")),
        inspected("web"),
        inspected("new", "no_file"),
        inspected("empty", "no_key"),
        Host("closed", "closed", facts_of({"msg": "no sudo"})),
        inspected("edited", differs=["content"]),
        inspected("pending", service_state="active", service_differs=["restart"]),
        inspected("stopped", service_state="inactive", service_differs=["state"]),
        inspected("disabled", service_state="active", service_differs=["enabled"]),
        inspected("open", differs=["mode"]),
        inspected("fine"),
        *more,
    ]
    hosts = {one.host for one in seen}
    return report(seen, account({*hosts - {"new", "renamed"}, "old", "older"}, plan=TIERS[1], tiers=TIERS))


def made(of: Report, *, limited: bool = False) -> tuple[str, list[Step]]:
    todo = steps(of, limited=limited)
    return table(of, todo), todo
