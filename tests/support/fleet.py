# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts, accounts and inventories for tests of the decision, and variables of a run."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Account, Facts, Host, Inventory, Wanted

PATH = "/etc/monitor/agent.conf"
# A service that runs, is enabled, and has read its configuration.
RUNS: dict[str, Any] = {"service": "agent", "service_state": "active", "service_enabled": "enabled"}
# Arguments of host() that are fields of Wanted. Facts has the fields service_state and service_enabled too.
_WANTED = {
    "state": "state",
    "replace_key": "replace_key",
    "installs": "installs",
    "uninstall": "uninstall",
    "wanted_state": "service_state",
    "wanted_enabled": "service_enabled",
}


def host(name: str, key: str = "own", *, label: str = "", decides: bool = True, **facts: Any) -> Host:
    """Return an inspected host, with the label ``name``. The other arguments are fields of Facts, or of ``_WANTED``.

    ``key``: a value of key_owner, or the label of another client, whose key the host then carries.
    """
    label = label or name
    wanted = {field: facts.pop(argument) for argument, field in _WANTED.items() if argument in facts}
    known = {"label": label, "path": PATH, "kind": "file", **_key(name, label, key), **facts}
    return Host(name, label, Facts(**known, wanted=Wanted(**wanted)), reached=True, decides=decides)


def _key(name: str, label: str, key: str) -> dict[str, Any]:
    if key == "own":
        return {"key_owner": "own", "owner_label": label, "key_fingerprint": fingerprint(label)}
    if key == "no_file":
        return {"key_owner": "no_file", "kind": "missing", "differs": ["content"]}
    if key in ("no_key", "unverifiable"):
        return {"key_owner": key, "differs": ["content"]}
    if key == "unknown":
        return {"key_owner": "unknown", "key_fingerprint": f"unknown key of {name}", "differs": ["content"]}
    return {"key_owner": "other", "owner_label": key, "key_fingerprint": fingerprint(key), "differs": ["content"]}


def absent(name: str, key: str = "own", **facts: Any) -> Host:
    """Return an inspected host that is to be removed."""
    return host(name, key, state="absent", **facts)


def unreached(name: str, *, label: str = "") -> Host:
    """Return a host that was not inspected."""
    return Host(name, label or name, reason="no route to host.")


def account(labels: Iterable[str] = (), *, masked: Collection[str] = (), **fields: Any) -> Account:
    """Return an account with clients. ``masked``: labels of clients whose keys the token cannot read."""
    keys = {label: fingerprint(label) for label in labels}
    keys.update(dict.fromkeys(masked, ""))
    return Account({label: {"label": label, "key_fingerprint": key or None} for label, key in keys.items()}, **fields)


def inventory(hosts: Iterable[Host], **fields: Any) -> Inventory:
    """Return the inventory of the hosts. ``labels``: labels of more hosts. ``fields``: more fields of Inventory."""
    hosts = list(hosts)
    labels = {each.name: each.label for each in hosts} | fields.pop("labels", {})
    known_absent = {each.name for each in hosts if each.is_absent} | fields.pop("absent", set())
    return Inventory(labels, absent=frozenset(known_absent), **fields)


def run_variables(
    hosts: Mapping[str, Mapping[str, Any]], *, batch: str = "", failed: str = "", other_plays: str = ""
) -> dict[str, Any]:
    """Return the variables of a task.

    ``hosts``: variables of each host, with the result ``inspected``. ``batch`` (default: all hosts of the play),
    ``failed`` and ``other_plays`` (hosts that are not in the play) are names of hosts, separated by spaces.
    """
    of_play = [name for name in hosts if name not in other_plays.split()]
    return {
        "groups": {"all": list(hosts)},
        "hostvars": hosts,
        "ansible_play_hosts_all": of_play,
        "ansible_play_hosts": [name for name in of_play if name not in failed.split()],
        "ansible_play_batch": [name for name in batch.split() or of_play if name not in failed.split()],
    }


def inspection(label: str, key: str = "own", **facts: Any) -> dict[str, Any]:
    """Return the result of agent_info on a host with this label. The arguments are as those of :func:`host`."""
    found = host(label, key, **facts).facts
    assert found is not None
    return {"changed": False, "failed": False, **dataclasses.asdict(found)}
