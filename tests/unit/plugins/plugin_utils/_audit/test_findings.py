# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import functools
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import STATES, Host, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import adoption
from ansible_collections.monitor.cloud.tests.support.audits import account, inspected, of, report, states, unreachable

_web = functools.partial(inspected, "web")
_FOREIGN = _web("other", owner_label="old")
_CARRIES = "Carries the key of client 'old'"
_NO_RESULT = Host("web", "web", facts_of({}))
_FAILED: dict[str, Any] = {"failed": True, "msg": "none", "service_state": "missing", "service_differs": ["state"]}
_LOOP: dict[str, Any] = {"service": "agent", "service_state": "activating", "service_differs": ["state", "enabled"]}


@pytest.mark.parametrize(
    ("seen", "expected", "detail"),
    [
        (_web(), "ok", ""),
        (_web(differs=["mode"]), "wrong_permissions", "mode 0644 instead of 0600."),
        (_web(differs=["acl"]), "wrong_permissions", "Not as expected: acl user:app:r-- instead of none."),
        (_web(differs=["type"]), "outdated", "but the path is a symbolic link instead of a file."),
        (_web(differs=["content", "mode"]), "outdated wrong_permissions", "differs. Not as expected: mode"),
        (_web(service_differs=["restart"]), "restart_pending", "The agent was not restarted since its"),
        (_web(service_state="inactive"), "ok", ""),
        (_web(**_LOOP), "agent_stopped agent_disabled", "its service agent is activating. The agent does not start"),
        (_web(**_FAILED), "agent_stopped", "is missing. A rollout would fail: none."),
        (_web("no_file", differs=["content"]), "not_configured", "There is no configuration."),
        (_web("no_key"), "not_configured", "There is no key in the"),
        (_web("other", owner_label="db", differs=["content"]), "foreign_key", "of client 'db'. No host"),
        (_web("unknown", key_fingerprint="?", differs=["content"]), "unknown_key", "that no client of the"),
        (_web("unverifiable"), "unverifiable", "The configuration can't be read as this user."),
        (unreachable("web"), "unreachable", "Could not be reached: no route."),
        (_NO_RESULT, "unreachable", "the host failed earlier, could not be reached, or was excluded by a condition."),
        (dataclasses.replace(_NO_RESULT, audited=False), "unreachable", "none of the joined audits contains the host."),
        (Host("web", "web", facts_of({"msg": ""})), "unverifiable", "Could not be inspected: no reason given."),
    ],
)
@pytest.mark.parametrize("registered", [True, False])
def test_the_states_of_a_host(seen: Host, expected: str, detail: str, registered: bool) -> None:
    applying = set(expected.split()) if registered else {*expected.split(), "not_registered"} - {"ok"}
    finding = of(report([seen], account(["web", "db"] if registered else ["db"])), "web")
    assert finding.states == tuple(state for state in STATES if state in applying)
    assert detail in finding.detail and bool(finding.detail) is (finding.state != "ok")


def test_hosts_that_share_a_key_are_named() -> None:
    seen = [
        inspected("web-1"),
        *(inspected(host, "other", owner_label="web-1") for host in ("web-2", "web-10")),
        *(inspected(host, "unknown", key_fingerprint="?") for host in ("app-1", "app-2")),
    ]
    made = report(seen, account(["web-1", "web-2", "app-1", "app-2"]))
    shared = {"web-1": ("web-2", "web-10"), "web-2": ("web-1", "web-10"), "web-10": ("web-1", "web-2")}
    assert {finding.host: finding.shared_with for finding in made.hosts} == {
        **shared,
        "app-1": ("app-2",),
        "app-2": ("app-1",),
    }
    assert "of client 'web-1'. This client belongs to host web-1. The same key is on" in of(made, "web-2").detail
    assert [states(made)[host][:2] for host in ("web-1", "web-10", "app-1")] == [
        ("shared_key",), ("foreign_key", "shared_key"), ("unknown_key", "shared_key")
    ]  # fmt: skip


def test_several_names_of_one_machine() -> None:
    hosts = ["twin-2", "twin-10"]
    seen = [inspected(host, "other", owner_label="twin-1", machine="1") for host in hosts]
    made = report([*seen, inspected("twin-1", machine="1"), inspected("web", machine="2")], account([*hosts, "twin-1"]))
    names = {finding.host: finding.same_machine for finding in made.hosts}
    assert names == {
        "twin-1": ("twin-2", "twin-10"),
        "twin-2": ("twin-1", "twin-10"),
        "twin-10": ("twin-1", "twin-2"),
        "web": (),
    }
    detail = (
        "The same key is on twin-2, twin-10. The inventory has this machine under other names too: twin-2, twin-10."
    )
    assert of(made, "twin-1").detail == detail


def test_a_key_is_unverifiable_if_keys_are_masked() -> None:
    seen = [_web("unknown", key_fingerprint="!"), inspected("db", "unverifiable", key_fingerprint="!")]
    made = report(seen, account(["web", "db"], masked=["db"]))
    assert states(made) == dict.fromkeys(("web", "db"), ("shared_key", "unverifiable"))
    assert {finding.adoption for finding in made.hosts} == {"unknown"}
    assert "masked keys: 1." in of(made, "web").detail and "The service masks keys" in of(made, "db").detail


def test_keys_that_the_token_cannot_compare_are_no_drift() -> None:
    masked = {"key_fingerprint": "!"}
    assert report([_web("unverifiable", **masked)], account(["web"], masked=["web"])).drift == ""
    # The host counts as drift if it has another state, if its file is unreadable, or if the token can read other keys.
    for facts, labels in (({**masked, "service_differs": ["state"]}, ["web"]), ({}, ["web"]), (masked, [])):
        assert report([_web("unverifiable", **facts)], account(["web"], masked=labels)).drift == "1 unverifiable"


@pytest.mark.parametrize(
    ("seen", "labels", "inventory", "expected", "detail"),
    [
        (inspected("web"), "web", "", "nothing", ""),
        (unreachable("web"), "web", "", "unknown", "Could not be reached: no route."),
        (inspected("web", "unverifiable"), "web", "", "unknown", "The configuration can't be read as this user."),
        (_FOREIGN, "old", "", "adopt", "Client 'old' gets the label 'web'."),
        (_FOREIGN, "old web", "old", "conflict", f"{_CARRIES}. This client belongs to host old."),
        (
            _FOREIGN, "old web", "", "conflict",
            f"{_CARRIES}. No host of the inventory has this label, and another client has the label 'web'.",
        ),
    ],
)  # fmt: skip
def test_what_adopt_would_do_and_why(seen: Host, labels: str, inventory: str, expected: str, detail: str) -> None:
    finding = of(report([seen], account(labels.split()), inventory.split()), "web")
    assert (finding.adoption, adoption(finding)) == (expected, detail)


@pytest.mark.parametrize(
    ("owners", "labels", "adoptions", "renames"),
    [
        ({"new": "old", "web": "web"}, "old web", "adopt nothing", {"old": "new"}),
        # Several hosts carry the same key.
        ({"app-1": "old", "app-2": "old"}, "old", "conflict conflict", {}),
        ({"app-2": "old", "old": "old"}, "old", "conflict nothing", {}),
        # Chains of renamed hosts: each host carries the key of another host's client.
        ({"web2": "web1", "web3": "web2", "web4": "web3"}, "web1 web2 web3", "later later adopt", {"web3": "web4"}),
        ({"web-2": "web-1", "web-3": "web-2"}, "web-1 web-2 web-3", "conflict conflict", {}),
        ({"web-2": "web-1", "web-3": "web-2", "web-4": "web-2"}, "web-1 web-2", "conflict conflict conflict", {}),
        ({"web-1": "web-2", "web-2": "web-3", "web-3": "web-1"}, "web-1 web-2 web-3", "conflict " * 3, {}),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_client_goes_with_the_only_host_that_carries_its_key(
    owners: dict[str, str], labels: str, adoptions: str, renames: dict[str, str], order: int
) -> None:
    seen = [
        inspected(host) if host == owner else inspected(host, "other", owner_label=owner)
        for host, owner in list(owners.items())[::order]
    ]
    made = report(seen, account(labels.split()))
    assert [of(made, host).adoption for host in owners] == adoptions.split()
    assert made.renames == renames
    assert made.account["clients_missing"] == len(set(owners) - set(labels.split())) - len(renames)


def test_hosts_that_are_to_be_absent() -> None:
    for labels, key, expected in ((["web"], "own", ("outdated",)), ([], "no_file", ("ok",))):
        assert states(report([inspected("web", key)], account(labels), absent=["web"])) == {"web": expected}
    # A renamed host can keep the client of an absent host, unless the absent host still carries the key.
    seen, known = [_FOREIGN, unreachable("old")], account(["old"])
    assert report(seen, known, absent=["old"]).renames == {"old": "web"}
    assert report(seen, known).renames == report([_FOREIGN, inspected("old")], known, absent=["old"]).renames == {}
    of_another = report([_FOREIGN], known, orphan_pattern="ours")
    assert of_another.renames == {} and "does not match orphan_pattern" in of_another.hosts[0].detail


def test_only_clients_of_no_host_of_the_inventory_are_orphans() -> None:
    known = account(["web", "db", "old-10", "old-9", "else"])
    assert report([inspected("web")], known, ["db"]).orphans == ["else", "old-9", "old-10"]
    assert report([inspected("web")], known, ["db"], "old-.*").orphans == ["old-9", "old-10"]
    assert report([inspected("web")], known, ["db"], "old").orphans == []
    with pytest.raises(InputError, match="orphan_pattern"):
        report([inspected("web")], known, [], "(")


def test_the_worst_states_come_first_then_names_in_natural_order() -> None:
    seen = [inspected("b"), inspected("a10"), inspected("a9"), inspected("z", "no_file"), unreachable("y")]
    made = report(seen, account(["a9", "a10", "b", "y", "z"]))
    assert [finding.host for finding in made.hosts] == ["y", "z", "a9", "a10", "b"]
    assert list(made.counts.items()) == [("unreachable", 1), ("not_configured", 1), ("ok", 3)]
    names = ["", "9", "10", "web", "web-9", "web-9a", "web-09b", "web-10", "é"]
    assert sorted({*names}, key=findings.natural_sort_key) == names


def test_a_reason_is_one_line_of_bounded_length() -> None:
    long = facts_of({"msg": "\x1b[31m" + "x" * 5000})
    assert long["reason"] == f"\ufffd[31m{'x' * 295}…"
