# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import HostChange, decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.evidence import Evidence
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Account, Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import Others
from ansible_collections.monitor.cloud.tests.support.fleet import RUNS, absent, account, host, inventory, unreached


@dataclasses.dataclass
class Row:
    """Hosts and clients, and what is decided.

    ``expected``: the client and the steps of each host, or ``refuse:`` and a part of the problem. ``warnings``: a part
    of each warning. ``found``: more fields of the decision about a host. ``given``: fields of the inventory.
    ``options``: arguments of decide.
    """

    hosts: Sequence[Host]
    clients: Sequence[str] | Account
    expected: Mapping[str, str]
    _: dataclasses.KW_ONLY
    create: Collection[str] = ()
    renames: Mapping[str, str] = dataclasses.field(default_factory=dict)
    orphans: Sequence[str] = ()
    orphan_problem: str = ""
    warnings: Sequence[str] = ()
    found: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


REPLACED = "Each host gets its own key: "
STRANGE = "These hosts carry a key of no client of this account, possibly of another account."
KEPT_FILES = "The keys of these hosts can't be compared, so their files were kept: "
KEPT = "Clients of no host of the inventory were kept, although removed hosts carried their keys: "
KEPT_OF_HOSTS = "Clients of other hosts were kept, although removed hosts carried their keys: "
CLAIMED = "Clients were kept, because renamed hosts carry their keys: "
SAME_LABEL = "have the same label"
NO_HOST = "carries the key of client 'old'. No host of the inventory has this label, and"
ADOPT = "run monitor.cloud.adopt to keep the client"

KEYS = {
    "own key": Row([host("web-1")], ["web-1"], {"web-1": "keep:"}),
    "own key, and the file differs": Row([host("web-1", differs=["mode"])], ["web-1"], {"web-1": "keep: write"}),
    "no file": Row([host("web-1", "no_file")], ["web-1"], {"web-1": "verify: verify write"}, create=["web-1"]),
    "no key": Row([host("web-1", "no_key")], ["web-1"], {"web-1": "verify: verify write"}, create=["web-1"]),
    "unknown key": Row(
        [host("web-1", "unknown")],
        ["web-1"],
        {"web-1": "verify: verify write"},
        create=["web-1"],
        warnings=[f"{STRANGE} Each host gets its own key: web-1."],
        found={"web-1": {"adoption": "nothing"}},
    ),
    "two hosts with the keys of each other": Row(
        [host("web-1", "web-2"), host("web-2", "web-1")],
        ["web-1", "web-2"],
        {"web-1": "verify: verify write", "web-2": "verify: verify write"},
        create=["web-1", "web-2"],
        warnings=[f"{REPLACED}web-1 (client 'web-2'), web-2 (client 'web-1')."],
        found={"web-1": {"adoption": "conflict", "owner_host": "web-2"}},
    ),
    "registered host with the key of a client of no host": Row(
        [host("web-1", "old")],
        ["web-1", "old"],
        {"web-1": "verify: verify write"},
        create=["web-1"],
        warnings=[f"{REPLACED}web-1 (client 'old')."],
        found={"web-1": {"adoption": "conflict", "owner_host": ""}},
    ),
    "masked key": Row(
        [host("web-1", "unverifiable", key_fingerprint="?")],
        account(masked=["web-1"]),
        {"web-1": "keep:"},
        warnings=[f"{KEPT_FILES}web-1."],
        found={"web-1": {"adoption": "unknown"}},
    ),
    "masked key, and an installer": Row(
        [host("web-1", "unverifiable", installs=True)],
        account(masked=["web-1"]),
        {"web-1": "keep: install"},
        warnings=[f"{KEPT_FILES}web-1."],
    ),
    "masked key, and a file that can't be written": Row(
        [host("web-1", "unverifiable", problem="the file is immutable")],
        account(masked=["web-1"]),
        {"web-1": "keep:"},
        warnings=[f"{KEPT_FILES}web-1."],
    ),
    "masked key, but no file": Row(
        [host("web-1", "no_file")], account(masked=["web-1"]), {"web-1": "verify: verify write"}, create=["web-1"]
    ),
    "unknown key, and another client is masked": Row(
        [host("web-1", "unknown")],
        account(["web-1"], masked=["web-2"]),
        {"web-1": "verify: verify write"},
        create=["web-1"],
        orphans=["web-2"],
        warnings=[STRANGE],
        found={"web-1": {"adoption": "unknown"}},
    ),
    "unreadable file": Row(
        [host("web-1", "unverifiable", installs=True)],
        ["web-1"],
        {"web-1": "keep: install"},
        warnings=[f"{KEPT_FILES}web-1."],
    ),
    "unreadable file, because become is missing": Row(
        [host("web-1", "unverifiable", problem="this user can't write in /etc/monitor/")],
        ["web-1"],
        {"web-1": "refuse: agent.conf can't be changed: this user can't write in /etc/monitor/. Use become"},
    ),
    "new host": Row([host("web-1", "no_file")], [], {"web-1": "create: create write"}, create=["web-1"]),
    "new host without a key": Row([host("web-1", "no_key")], [], {"web-1": "create: create write"}, create=["web-1"]),
    "new host with an unreadable file": Row(
        [host("web-1", "unverifiable")], [], {"web-1": "create: create write"}, create=["web-1"]
    ),
    "new host with an unknown key": Row(
        [host("web-1", "unknown")],
        [],
        {"web-1": "create: create write"},
        create=["web-1"],
        warnings=[STRANGE],
        found={"web-1": {"adoption": "nothing"}},
    ),
    "host that was not inspected": Row(
        [unreached("web-1")],
        ["db"],
        {"web-1": "keep:"},
        orphans=["db"],
        found={"web-1": {"adoption": "unknown", "states": ("unreachable", "not_registered")}},
    ),
}

RENAMES = {
    "clone": Row(
        [host("web-1"), host("web-2", "web-1")],
        ["web-1"],
        {"web-1": "keep:", "web-2": "create: create write"},
        create=["web-2"],
        warnings=[f"{REPLACED}web-2 (client 'web-1')."],
        found={
            "web-1": {"adoption": "nothing", "shared_with": Others(("web-2",), 1)},
            "web-2": {"adoption": "conflict", "shared_with": Others(("web-1",), 1), "owner_host": "web-1"},
        },
    ),
    "clone of a host that was not inspected": Row(
        [unreached("web-1"), host("web-2", "web-1")],
        ["web-1"],
        {"web-1": "keep:", "web-2": "create: create write"},
        create=["web-2"],
        warnings=[REPLACED],
    ),
    "two clones of a client of no host": Row(
        [host("web-1", "old"), host("web-2", "old")],
        ["old"],
        {"web-1": f"refuse: web-1 {NO_HOST}", "web-2": f"refuse: web-2 {NO_HOST}"},
        found={"web-1": {"adoption": "conflict", "states": ("shared_key", "other_label")}},
    ),
    "renamed host": Row(
        [host("web-1", "old")],
        ["old"],
        {"web-1": f"refuse: web-1 {NO_HOST} the account has no client 'web-1'. Nothing was created."},
        renames={"old": "web-1"},
        found={"web-1": {"adoption": "adopt", "states": ("other_label",)}},
    ),
    "renamed host, and the label of another host is unknown": Row(
        [host("web-1", "old")],
        ["old"],
        {"web-1": "refuse: has this label (but the labels of these hosts are unknown: db, db-2), and the account"},
        renames={"old": "web-1"},
        orphan_problem="The labels of these hosts are unknown: db, db-2. A vault is locked.",
        given={"labels": {"db": "db"}, "unreadable": {"db": "A vault is locked.", "db-2": "Another reason."}},
    ),
    "renamed host with replace_key": Row(
        [host("web-1", "old", replace_key=True)],
        ["old"],
        {"web-1": "create: create write"},
        create=["web-1"],
        warnings=[REPLACED],
        found={"web-1": {"adoption": "conflict", "states": ("other_label",)}},
    ),
    "renamed host, and a client that may belong to another user": Row(
        [host("web-1", "db-1")],
        ["db-1", "web-9"],
        {"web-1": f"refuse: {ADOPT}"},
        orphans=["web-9"],
        found={"web-1": {"adoption": "conflict", "states": ("other_label",)}},
        options={"orphan_pattern": "web-.*"},
    ),
    "host renamed to the label of another host": Row(
        [host("web-1", "old", label="same"), unreached("web-2", label="same")],
        ["old"],
        {"web-1": f"refuse: {SAME_LABEL} 'same'", "web-2": "keep:"},
        orphan_problem="and these hosts were not inspected: web-2. Repair these hosts first.",
        found={"web-1": {"adoption": "conflict"}},
    ),
    "chain of renames": Row(
        [host("one", "old", label="web-1"), host("two", "web-1", label="web-2"), host("db")],
        ["old", "web-1", "db"],
        {
            "one": "refuse: one carries the key of client 'old', and another host carries the key of client 'web-1'",
            "two": "refuse: The host one of this client is to be removed or was renamed, and the account has no client",
            "db": "keep:",
        },
        renames={"web-1": "web-2"},
        found={"one": {"adoption": "later"}, "two": {"adoption": "adopt", "states": ("other_label",)}},
    ),
    "chain of renames with replace_key": Row(
        [
            host("one", "old", label="web-1", replace_key=True),
            host("two", "web-1", label="web-2", replace_key=True),
        ],
        ["old", "web-1"],
        {"one": "verify: verify write", "two": "create: create write"},
        create=["web-1", "web-2"],
        warnings=[REPLACED],
    ),
    "chain of three renames": Row(
        [
            host("three", "web-2", label="web-3"),
            host("one", "old", label="web-1"),
            host("two", "web-1", label="web-2"),
        ],
        ["old", "web-1", "web-2"],
        {
            "one": "refuse: another host carries the key of client 'web-1'",
            "two": "refuse: another host carries the key of client 'web-2'",
            "three": "refuse: The host two of this client is to be removed or was renamed",
        },
        renames={"web-2": "web-3"},
        found={"one": {"adoption": "later"}, "two": {"adoption": "later"}},
    ),
    "two hosts with keys of clients of no host, and only one can be renamed": Row(
        [host("web-1", "old"), host("web-2", "older")],
        ["old", "older", "web-1"],
        {"web-1": "verify: verify write", "web-2": f"refuse: {ADOPT}"},
        create=["web-1"],
        renames={"older": "web-2"},
        warnings=[REPLACED],
    ),
    "chain of renames to an absent host": Row(
        [host("one", "old", label="web-1"), absent("two", "web-1", label="web-2")],
        ["old", "web-1"],
        {"one": "verify: verify write", "two": "keep: remove"},
        create=["web-1"],
        warnings=[REPLACED, KEPT_OF_HOSTS],
        found={"one": {"adoption": "conflict"}, "two": {"adoption": "conflict"}},
    ),
    "chain of renames to a label that a client has": Row(
        [host("one", "old", label="web-1"), host("two", "web-1", label="web-2")],
        ["old", "web-1", "web-2"],
        {"one": "verify: verify write", "two": "verify: verify write"},
        create=["web-1", "web-2"],
        warnings=[REPLACED],
        found={"one": {"adoption": "conflict"}, "two": {"adoption": "conflict"}},
    ),
    "renamed host with the client of an absent host": Row(
        [host("web-3", "web-4"), unreached("web-4")],
        ["web-4"],
        {"web-3": "refuse: The host web-4 of this client is to be removed or was renamed", "web-4": "keep:"},
        renames={"web-4": "web-3"},
        orphan_problem="These hosts carry keys of clients with another label: web-3.",
        given={"absent": {"web-4", "host without a label"}},
    ),
}

REMOVALS = {
    "absent host": Row(
        [absent("web-1", **RUNS, uninstall=True)], ["web-1"], {"web-1": "delete: stop uninstall remove delete_client"}
    ),
    "absent host with only a file": Row([absent("web-1", "no_key")], [], {"web-1": "keep: remove"}),
    "absent host with only a link": Row([absent("web-1", "no_file", kind="link")], [], {"web-1": "keep: remove"}),
    "absent host with only a client": Row([absent("web-1", "no_file")], ["web-1"], {"web-1": "delete: delete_client"}),
    "absent host, and nothing is left": Row(
        [absent("web-1", "no_file", service="agent", service_state="missing")], [], {"web-1": "keep:"}
    ),
    "absent host whose service starts at boot": Row(
        [absent("web-1", "no_file", service="agent", service_state="inactive", service_enabled="enabled-runtime")],
        [],
        {"web-1": "keep: stop"},
    ),
    "absent host whose disabled service runs": Row(
        [absent("web-1", "no_file", service="agent", service_state="activating", service_enabled="disabled")],
        [],
        {"web-1": "keep: stop"},
    ),
    "absent host without a service in the inventory": Row(
        [absent("web-1", "no_file", service_state="active", service_enabled="enabled")], [], {"web-1": "keep:"}
    ),
    "absent host with a masked key": Row(
        [absent("web-1", "unverifiable")], account(masked=["web-1"]), {"web-1": "delete: remove delete_client"}
    ),
    "absent host with the key of another host": Row(
        [absent("web-1", "web-2"), host("web-2")],
        ["web-1", "web-2"],
        {"web-1": "delete: remove delete_client", "web-2": "keep:"},
        warnings=[f"{KEPT_OF_HOSTS}'web-2' of web-2 (carried by web-1)."],
        found={"web-1": {"kept": "web-2", "owner_host": "web-2"}},
    ),
    "absent host with the key of a client of no host": Row(
        [absent("web-1", "old")],
        ["web-1", "old"],
        {"web-1": "delete: remove delete_client"},
        warnings=[
            f"{KEPT}'old'. To delete a client with its data, run monitor.cloud.retire with its label: -e labels=old"
        ],
        found={"web-1": {"kept": "old"}},
    ),
    "absent host that was renamed": Row(
        [absent("web-1", "old")],
        ["old"],
        {"web-1": "keep: remove"},
        warnings=[KEPT],
        found={"web-1": {"kept": "old", "claimed_by": ""}},
    ),
    "client that a renamed host needs": Row(
        [host("web-3", "web-4"), absent("web-4", "no_file")],
        ["web-4"],
        {"web-3": "refuse: The host web-4 of this client is to be removed or was renamed", "web-4": "keep:"},
        renames={"web-4": "web-3"},
        warnings=[f"{CLAIMED}'web-4' of web-4 (carried by web-3)."],
        found={"web-4": {"claimed_by": "web-3"}},
    ),
    "client that a renamed host with replace_key does not need": Row(
        [host("web-3", "web-4", replace_key=True), absent("web-4", "no_file")],
        ["web-4"],
        {"web-3": "create: create write", "web-4": "delete: delete_client"},
        create=["web-3"],
        warnings=[REPLACED],
    ),
    "client that an absent host carries": Row(
        [absent("web-3", "web-4"), absent("web-4", "no_file")],
        ["web-4"],
        {"web-3": "keep: remove", "web-4": "delete: delete_client"},
        warnings=[KEPT_OF_HOSTS],
    ),
    "token with read-only access": Row(
        [absent("web-1"), absent("web-2", "no_key"), host("web-3")],
        account(["web-1", "web-3"], read_only=True),
        {"web-1": "refuse: so the client 'web-1' can't be deleted.", "web-2": "keep: remove", "web-3": "keep:"},
    ),
}

MACHINES = {
    "two names, and one name has the key": Row(
        [host("a-1", "web-2", machine="m"), host("web-2", machine="m")],
        ["web-2"],
        {
            "a-1": "refuse: web-2 and a-1 are the same machine, so /etc/monitor/agent.conf keeps the key of web-2.",
            "web-2": "keep:",
        },
        found={"a-1": {"same_machine": Others(("web-2",), 1)}},
    ),
    "two new names": Row(
        [host("web-2", "no_file", machine="m"), host("web-1", "no_file", machine="m"), host("db", machine="n")],
        ["db"],
        {
            "web-2": "create: create write",
            "web-1": "refuse: web-2 and web-1 are the same machine",
            "db": "keep:",
        },
        create=["web-2"],
    ),
    "two names, and one name is absent": Row(
        [absent("web-1", "web-2", machine="m", **RUNS), host("web-2", machine="m", **RUNS)],
        ["web-1", "web-2"],
        {"web-1": "delete: delete_client", "web-2": "keep:"},
        warnings=[KEPT_OF_HOSTS],
    ),
    "two names, and the name with the key is absent": Row(
        [absent("web-1", machine="m"), host("web-2", "web-1", machine="m")],
        ["web-1"],
        {"web-1": "delete: delete_client", "web-2": "create: create write"},
        create=["web-2"],
        warnings=[REPLACED],
    ),
    "two names, and both are absent": Row(
        [absent("web-1", machine="m"), absent("web-2", "web-1", machine="m")],
        ["web-1"],
        {"web-1": "delete: remove delete_client", "web-2": "keep: remove"},
        warnings=[KEPT_OF_HOSTS],
    ),
    "two names of a machine with a masked key": Row(
        [host("web-1", "unverifiable", machine="m"), host("web-2", "unverifiable", machine="m")],
        account(masked=["web-1", "web-2"]),
        {"web-1": "keep:", "web-2": "keep:"},
        warnings=[f"{KEPT_FILES}web-1, web-2."],
    ),
    "the other name is of an earlier batch": Row(
        [host("web-1", "no_file", machine="m", decides=False), host("web-2", "no_file", machine="m")],
        [],
        {"web-1": "create: create write", "web-2": "refuse: web-1 and web-2 are the same machine"},
    ),
    "machines are unknown": Row(
        [host("web-1", "no_file"), host("web-2", "no_file")],
        [],
        {"web-1": "create: create write", "web-2": "create: create write"},
        create=["web-1", "web-2"],
    ),
}

INVENTORIES = {
    "two hosts with one label": Row(
        [host("web-1", "no_file", label="web"), host("web-2", "no_file", label="web"), host("db", "no_file")],
        [],
        {"web-1": f"refuse: {SAME_LABEL} 'web'", "web-2": f"refuse: {SAME_LABEL} 'web'", "db": "create: create write"},
        create=["db"],
    ),
    "a host outside the batch has the label": Row(
        [host("web-1", "no_file", label="web")],
        ["web"],
        {"web-1": "refuse: web-1 and web-2 have the same label 'web', but each host needs its own client."},
        given={"labels": {"web-2": "web"}},
    ),
    "an earlier play removed the host with the label": Row(
        [host("web-1", "no_file", label="web")],
        [],
        {"web-1": "create: create write"},
        create=["web"],
        given={"labels": {"web-2": "web"}, "absent": {"web-2"}, "removed": frozenset({"web-2"})},
    ),
    "labels that differ only by case": Row(
        [host("one", "no_file", label="Web-1"), host("two", label="web-1")],
        ["web-1"],
        {"one": "create: create write", "two": "keep:"},
        create=["Web-1"],
    ),
    "another account": Row(
        [host("web-1", "no_file"), host("web-2", "no_file"), host("web-3", "no_file")],
        account(fingerprint="a"),
        {
            "web-1": "create: create write",
            "web-2": "refuse: web-2 uses another account than the first host of its batch: monitor_agent_base_url,",
            "web-3": "create: create write",
        },
        create=["web-1", "web-3"],
        given={"accounts": {"web-1": "a", "web-2": "b"}},
    ),
    "the account has no fingerprint": Row(
        [host("web-1")], ["web-1"], {"web-1": "keep:"}, given={"accounts": {"web-1": "a"}}
    ),
    "hosts of an earlier batch are only evidence": Row(
        [host("web-1", "no_file", decides=False), host("web-2", "old", decides=False), host("web-3", "unknown")],
        ["old", "older"],
        {
            "web-1": "create: create write",
            "web-2": f"refuse: web-2 {NO_HOST}",
            "web-3": "create: create write",
        },
        create=["web-3"],
        orphans=["older"],
        warnings=[f"{STRANGE} Each host gets its own key: web-3."],
    ),
    "a label in this run differs from the inventory": Row(
        [host("web-1")],
        ["web-1"],
        {"web-1": "keep:"},
        warnings=["monitor_agent_label of web-1 differs from the label in the inventory."],
        given={"differing": "web-1"},
    ),
}

ORPHANS = {
    "clients without a host": Row(
        [host("web-1"), unreached("web-3")],
        ["web-1", "web-10", "web-2", "web-3", "db-1"],
        {"web-1": "keep:", "web-3": "keep:"},
        orphans=["db-1", "web-2", "web-10"],
    ),
    "the pattern of clients without a host": Row(
        [host("web-1")],
        ["web-1", "web-2", "web-2b"],
        {"web-1": "keep:"},
        orphans=["web-2"],
        options={"orphan_pattern": "web-."},
    ),
    "client of no host, whose key an absent host carries": Row(
        [absent("web-1", "old")], ["old", "older"], {"web-1": "keep: remove"}, orphans=["older"], warnings=[KEPT]
    ),
    "other label, and a host that was not inspected": Row(
        [host("web-1", "old"), unreached("web-2"), unreached("web-3")],
        ["old", "older"],
        {"web-1": f"refuse: {ADOPT}", "web-2": "keep:", "web-3": "keep:"},
        renames={"old": "web-1"},
        orphans=["older"],
        orphan_problem="These hosts carry keys of clients with another label: web-1. So the labels of the inventory "
        "may differ from the labels that the rollout uses, and these hosts were not inspected: web-2, web-3. Repair "
        "these hosts first.",
    ),
    "other label, and a masked client": Row(
        [host("web-1", "old"), host("web-2")],
        account(["old", "web-2"], masked=["web-9", "web-10"]),
        {"web-1": f"refuse: {ADOPT}", "web-2": "keep:"},
        renames={"old": "web-1"},
        orphans=["web-9", "web-10"],
        orphan_problem="web-1. So the labels of the inventory may differ from the labels that the rollout uses, and "
        "the keys of these clients are masked: 'web-10', 'web-9'. Use a token that can read all keys.",
    ),
    "other label, and nothing is unknown": Row(
        [host("web-1", "old")],
        ["old", "older"],
        {"web-1": f"refuse: {ADOPT}"},
        renames={"old": "web-1"},
        orphans=["older"],
    ),
    "a host that was not inspected, and a masked client": Row(
        [host("web-1"), unreached("web-2")],
        account(["web-1", "old"], masked=["older"]),
        {"web-1": "keep:", "web-2": "keep:"},
        orphans=["old", "older"],
    ),
}


def service(steps: str, *, create: bool = False, **facts: Any) -> Row:
    """Return a row of a host with a service, and its own key, or no file if ``create``."""
    known = {**RUNS, **facts}
    if create:
        return Row([host("web-1", "no_file", **known)], [], {"web-1": steps}, create=["web-1"])
    return Row([host("web-1", **known)], ["web-1"], {"web-1": steps})


NO_SERVICE = "refuse: web-1 has no service agent: install the agent (monitor_agent_packages), choose another service"
MASKED_SERVICE = "refuse: The service agent of web-1 is masked. Run systemctl unmask agent on the host, or set"
WRITES = "create: create write service"

SERVICES = {
    "runs": service("keep:"),
    "runs, and the file is written": service(f"{WRITES} restart_after_change", create=True),
    "no service is named": service("keep:", service="", service_state="inactive"),
    "stopped": service("keep: service start", service_state="inactive"),
    "failed": service("keep: service start", service_state="failed"),
    "crashes repeatedly": service("keep: service restart", service_state="activating"),
    "reloads": service("keep:", service_state="reloading"),
    "state is unknown": service("keep:", service_state=None),
    "state is unknown, and the file is written": service(
        f"{WRITES} restart_after_change", create=True, service_state=None
    ),
    "outdated": service("keep: service restart", service_outdated=True),
    "outdated, but stopped": service("keep: service start", service_outdated=True, service_state="inactive"),
    "disabled": service("keep: service enable", service_enabled="disabled"),
    "disabled and stopped": service("keep: service enable start", service_enabled="disabled", service_state="inactive"),
    "disabled as desired": service("keep:", service_enabled="disabled", wanted_enabled=False),
    "missing": service(NO_SERVICE, service_state="missing", differs=["mode"]),
    "missing, and an installer": service(
        "create: create install write service start restart_after_change",
        create=True,
        service_state="missing",
        service_enabled=None,
        installs=True,
    ),
    "missing, and must only start at boot": service(NO_SERVICE, service_state="missing", wanted_state="stopped"),
    "missing as desired": service(
        "keep:", service_state="missing", service_enabled=None, wanted_state="", wanted_enabled=False
    ),
    "masked": service(MASKED_SERVICE, service_state="masked"),
    "masked, and an installer": service(MASKED_SERVICE, service_state="masked", installs=True),
    "masked, and must be stopped": service(
        "keep:", service_state="masked", wanted_state="stopped", wanted_enabled=False
    ),
    "an installer": service("keep: install write service restart_after_change", installs=True),
    "wanted stopped, and stopped": service("keep:", service_state="inactive", wanted_state="stopped"),
    "wanted stopped, and runs": service("keep: service stop", wanted_state="stopped", service_outdated=True),
    "wanted stopped, and crashes": service("keep: service stop", service_state="activating", wanted_state="stopped"),
    "wanted stopped, and an installer may start it": service(
        "keep: install write service stop", service_state="missing", wanted_state="stopped", installs=True
    ),
    "wanted stopped, disabled, and the file is written": service(
        f"{WRITES} enable", create=True, service_state="inactive", service_enabled="disabled", wanted_state="stopped"
    ),
    "wanted stopped, and the file is written": service(
        "create: create write", create=True, service_state="inactive", wanted_state="stopped"
    ),
    "any state, and runs": service("keep:", wanted_state=""),
    "any state, runs, and is outdated": service("keep: service restart", wanted_state="", service_outdated=True),
    "any state, runs, and the file is written": service(f"{WRITES} restart_after_change", create=True, wanted_state=""),
    "any state, and stopped": service("keep:", service_state="inactive", wanted_state=""),
    "any state, stopped, and the file is written": service(
        "create: create write", create=True, service_state="inactive", wanted_state=""
    ),
    "any state, stopped, and an installer may start it": service(
        "keep: install write service restart_if_running", service_state="inactive", wanted_state="", installs=True
    ),
    "any state, and missing": service(NO_SERVICE, service_state="missing", wanted_state=""),
}

FILES = {
    "a file that can't be written": Row(
        [host("web-1", "no_file", problem="there is no directory /etc/monitor/")],
        [],
        {"web-1": "refuse: can't be changed: there is no directory /etc/monitor/. Use become, repair the host,"},
    ),
    "a file that can't be removed": Row(
        [absent("web-1", problem="the file is immutable")], ["web-1"], {"web-1": "refuse: the file is immutable"}
    ),
    "a file that can't be written, but need not": Row(
        [host("web-1", problem="the file is immutable")], ["web-1"], {"web-1": "keep:"}
    ),
    "a file that can't be removed, but is missing": Row(
        [absent("web-1", "no_file", problem="the mount is read-only")], ["web-1"], {"web-1": "delete: delete_client"}
    ),
    "an unknown owner": Row(
        [host("web-1", "no_file", unknown_owner="the user app")],
        [],
        {"web-1": "refuse: can't be changed: the host does not know the user app."},
    ),
    "an unknown owner that a package may add": Row(
        [host("web-1", "no_file", unknown_owner="the user app", installs=True)],
        [],
        {"web-1": "create: create install write"},
        create=["web-1"],
    ),
    "an unknown owner in check mode": Row(
        [host("web-1", "no_file", unknown_owner="the user app")],
        [],
        {"web-1": "create: create write"},
        create=["web-1"],
        warnings=["so an earlier task must add it: web-1 (the user app)."],
        options={"predicts": True},
    ),
    "an unknown owner of a file that need not be written": Row(
        [host("web-1", unknown_owner="the user app")], ["web-1"], {"web-1": "keep:"}, options={"predicts": True}
    ),
    "an unknown owner and a file that can't be written in check mode": Row(
        [host("web-1", "no_file", unknown_owner="the user app", problem="the disk is full")],
        [],
        {"web-1": "refuse: the disk is full"},
        options={"predicts": True},
    ),
}

TABLES = {
    "keys": KEYS,
    "renames": RENAMES,
    "removals": REMOVALS,
    "machines": MACHINES,
    "inventories": INVENTORIES,
    "orphans": ORPHANS,
    "services": SERVICES,
    "files": FILES,
}
ROWS = {f"{table}: {name}": row for table, rows in TABLES.items() for name, row in rows.items()}


def shown(change: HostChange) -> str:
    if change.problem:
        assert (change.client, change.steps) == ("refuse", [])
        return f"refuse: {change.problem}"
    return f"{change.client}: {' '.join(change.steps)}".rstrip()


def assert_parts(parts: Sequence[str], texts: Sequence[str]) -> None:
    """Assert that each text contains its part."""
    assert len(parts) == len(texts), texts
    for part, text in zip(parts, texts, strict=True):
        assert part in text


@pytest.mark.parametrize("name", ROWS)
def test_the_decision(name: str) -> None:
    row = ROWS[name]
    known = row.clients if isinstance(row.clients, Account) else account(row.clients)
    made = decide(row.hosts, known, inventory(row.hosts, **row.given), **row.options)
    decided = {host: shown(change) for host, change in made.hosts.items()}
    assert decided.keys() == row.expected.keys()
    for host_name, expected in row.expected.items():
        kind, _, part = expected.partition(": ")
        if kind == "refuse":
            assert decided[host_name].startswith("refuse: ")
            assert part in decided[host_name]
        else:
            assert decided[host_name] == expected
    assert made.create == list(row.create)
    assert made.renames == row.renames
    assert made.orphans == list(row.orphans)
    assert row.orphan_problem in made.orphan_problem
    assert bool(row.orphan_problem) == bool(made.orphan_problem)
    assert_parts(row.warnings, made.warnings)
    for host_name, fields in row.found.items():
        change = made.hosts[host_name]
        assert {field: getattr(change, field) for field in fields} == fields


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(InputError, match=r"prune_pattern\) '\(' is not a valid regular expression"):
        decide([], account(), inventory([]), orphan_pattern="(")


def test_a_decision_as_plain_data() -> None:
    clones = [host(f"web-{number}", "old", machine="m") for number in range(1, 9)]
    change = decide(clones, account(["old"]), inventory(clones)).hosts["web-2"].as_dict()
    assert change["shared_with"] == change["same_machine"] == ["web-1", "web-3", "web-4", "web-5", "web-6"]
    assert (change["host"], change["label"], change["client"], change["steps"]) == ("web-2", "web-2", "refuse", [])


def test_questions_about_a_host_that_was_not_inspected() -> None:
    missing = unreached("web-1")
    hosts = [missing, host("web-2", machine="m"), host("web-3", machine="m")]
    evidence = Evidence(hosts, account(["web-2"]), inventory(hosts))
    assert evidence.others_with_key(missing) == evidence.others_on_machine(missing) == Others()
    assert evidence.machine_holder(missing) == ""
    assert evidence.has_other_label(missing) is False
