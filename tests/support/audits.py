# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Collection, Iterable
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
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
TIME = "2026-01-02T03:04:05Z"
# The actual and the expected value of each attribute of a file.
_PERMISSIONS = {"owner": ("app", "root"), "group": ("app", "adm"), "mode": ("0644", "0600")}
_PERMISSIONS["acl"] = ("user:app:r--", "none")


def inspected(host: str, key_owner: str = "own", **facts: Any) -> Host:
    differs = [name for name in facts.get("differs", ()) if name in _PERMISSIONS]
    facts["permissions"] = {name: dict(zip(("found", "expected"), _PERMISSIONS[name], strict=True)) for name in differs}
    owner = host if key_owner == "own" else facts.get("owner_label")
    key = {"owner_label": owner, "key_fingerprint": fingerprint(owner)} if owner else {}
    return Host(host, host, facts_of({"label": host, "key_owner": key_owner, "differs": [], **key, **facts}))


def unreachable(host: str) -> Host:
    return Host(host, host, facts_of({"unreachable": True, "msg": "Task failed: no\n route"}))


def account(labels: Iterable[str], masked: Collection[str] = (), **facts: Any) -> Account:
    """Return an account with clients. ``masked``: labels of the clients whose keys the service masks."""
    keys = {label: None if label in masked else fingerprint(label) for label in labels}
    return Account({label: {"key_fingerprint": key, "keys_masked": not key} for label, key in keys.items()}, **facts)


def report(
    inspections: Iterable[Host], known: Account, inventory: Iterable[str] = (), orphan_pattern: str = ".*",
    absent: Collection[str] = (),
) -> Report:  # fmt: skip
    """Return the report of an audit. ``inventory``: more hosts, which are not inspected."""
    hosts = list(inspections)
    labels = {host: host for host in [*(host.host for host in hosts), *inventory]}
    return audit(hosts, known, labels, generated_at=TIME, orphan_pattern=orphan_pattern, absent=absent)


def states(made: Report) -> dict[str, tuple[str, ...]]:
    return {finding.host: finding.states for finding in made.hosts}


def of(made: Report, host: str) -> Host:
    return next(finding for finding in made.hosts if finding.host == host)


def every_state(*more: Host, masked: Collection[str] = ()) -> Report:
    seen = [
        unreachable("gone"),
        *(inspected(host, "other", owner_label=owner) for host, owner in {"clone": "web", "renamed": "old"}.items()),
        inspected("stranger", "unknown", key_fingerprint=fingerprint("?")),
        *(inspected(host, key) for host, key in {"web": "own", "new": "no_file", "empty": "no_key"}.items()),
        Host("closed", "closed", facts_of({"msg": "no sudo"})),
        *(inspected(host, differs=[name]) for host, name in {"edited": "content", "open": "mode"}.items()),
        inspected("pending", service_state="active", service_differs=["restart"]),
        inspected("stopped", service="my agent", service_state="inactive", service_differs=["state"]),
        inspected("disabled", service_state="active", service_differs=["enabled"]),
        inspected("fine"),
        *more,
    ]
    hosts = {host.host for host in seen}
    return report(seen, account([*hosts - {"new", "renamed"}, "old", "older"], masked, plan=TIERS[1], tiers=TIERS))


def made(of: Report, *, limited: bool = False) -> tuple[str, list[Step]]:
    todo = steps(of, limited=limited)
    return table(of, todo), todo
