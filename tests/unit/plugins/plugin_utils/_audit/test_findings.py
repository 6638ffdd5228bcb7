# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The states of hosts, the orphans and the account: what an audit makes of what was registered."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import STATES, Inspection, audit, natural
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    details,
    inspected,
    of,
    report,
    states,
    unreachable,
)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (inspected("web"), "ok"),
        (inspected("web", differs=["mode"]), "wrong_permissions"),
        (inspected("web", differs=["owner"]), "wrong_permissions"),
        (inspected("web", differs=["group"]), "wrong_permissions"),
        (inspected("web", differs=["content"]), "outdated"),
        (inspected("web", differs=["type"]), "outdated"),
        (inspected("web", differs=["content", "mode"]), "outdated wrong_permissions"),
        (inspected("web", differs=["restart"]), "restart_pending"),
        (inspected("web", differs=["content", "restart"]), "outdated restart_pending"),
        (inspected("web", service_state=None), "ok"),
        (inspected("web", service_state="active"), "ok"),
        (inspected("web", service_state="failed", differs=["mode"]), "agent_stopped wrong_permissions"),
        (inspected("web", service_state="activating", differs=["restart"]), "restart_pending agent_stopped"),
        (inspected("web", "no_file", differs=["content"]), "not_configured"),
        (inspected("web", "no_key", differs=["content", "mode"]), "not_configured wrong_permissions"),
        (inspected("web", "other", owner_label="db", differs=["content"]), "foreign_key"),
        (inspected("web", "unknown", key_fingerprint="?", differs=["content"]), "unknown_key"),
        (inspected("web", "unverifiable"), "unverifiable"),
        (unreachable("web"), "unreachable"),
        (Inspection("web", "web", None), "unreachable"),
        (Inspection("web", "web", {"msg": "no sudo password"}), "unverifiable"),
        (inspected("web", msg="its directory is read-only", differs=["mode"]), "wrong_permissions"),
    ],
)
@pytest.mark.parametrize("registered", [True, False])
def test_the_states_of_a_host(seen: Inspection, expected: str, registered: bool) -> None:
    applying = set(expected.split()) if registered else {*expected.split(), "not_registered"} - {"ok"}
    found = states(report([seen], account(["web", "db"] if registered else ["db"])))["web"]
    assert found == tuple(state for state in STATES if state in applying)


def test_hosts_that_share_a_key_are_named_whoever_owns_it() -> None:
    seen = [
        inspected("web-1"),
        inspected("web-2", "other", owner_label="web-1"),
        inspected("web-10", "other", owner_label="web-1"),
        inspected("app-1", "unknown", key_fingerprint="?"),
        inspected("app-2", "unknown", key_fingerprint="?"),
        inspected("ok"),
        unreachable("gone"),
    ]
    made = report(seen, account(["web-1", "web-2", "app-1", "app-2", "ok", "gone"]))
    assert {finding.host: finding.shared_with for finding in made.hosts} == {
        "web-1": ("web-2", "web-10"),
        "web-2": ("web-1", "web-10"),
        "web-10": ("web-1", "web-2"),
        "app-1": ("app-2",),
        "app-2": ("app-1",),
        "ok": (),
        "gone": (),
    }
    assert states(made)["web-1"] == ("shared_key",)
    assert states(made)["web-10"] == ("foreign_key", "shared_key", "not_registered")
    assert states(made)["app-1"] == ("unknown_key", "shared_key")
    assert of(made, "web-2").owner_label == "web-1"


def test_the_owner_of_a_foreign_key_is_named_with_its_host_if_it_has_one() -> None:
    seen = [inspected("web", "other", owner_label="db"), inspected("app", "other", owner_label="old")]
    found = details(report(seen, account(["web", "app", "db", "old"]), ["db"]))
    assert found["web"] == "Carries the key of 'db', the client of host db."
    assert found["app"] == "Carries the key of 'old', which no host of the inventory has."


def test_a_key_is_unverifiable_if_keys_are_masked() -> None:
    seen = [inspected("web", "unknown", key_fingerprint="?"), inspected("db", "unverifiable", key_fingerprint="!")]
    made = report(seen, account(["web", "db"], masked=["db"]))
    assert states(made) == {"web": ("unverifiable",), "db": ("unverifiable",)}
    assert "1 are masked" in details(made)["web"]
    assert "read-write access" in details(made)["db"]


def test_an_unreadable_file_is_reported_apart_from_masked_keys() -> None:
    made = report([inspected("web", "unverifiable")], account(["web"]))
    assert details(made)["web"] == "The configuration can't be read as this user."


def test_clones_are_reported_though_all_keys_are_masked() -> None:
    seen = [inspected(host, "unverifiable", key_fingerprint="same") for host in ("web", "db")]
    made = report(seen, account(["web", "db"], masked=["web", "db"]))
    assert states(made) == dict.fromkeys(("web", "db"), ("shared_key", "unverifiable"))


def test_orphans_are_judged_against_the_whole_inventory() -> None:
    known = account(["web", "db", "old-10", "old-9", "else"])
    assert report([inspected("web")], known, ["db"]).orphans == ("else", "old-9", "old-10")
    assert report([inspected("web")], known, ["db"], "old-.*").orphans == ("old-9", "old-10")
    assert report([inspected("web")], known, ["db"], "old").orphans == ()
    with pytest.raises(InputError, match="orphan_pattern"):
        report([inspected("web")], known, [], "(")


def test_a_label_of_its_own_is_that_of_the_host() -> None:
    seen = [Inspection("web.example.com", "web", {"label": "web", "key_owner": "own", "differs": []})]
    made = audit(seen, account(["web"]), {"web.example.com": "web"}, generated_at="")
    assert states(made) == {"web.example.com": ("ok",)}
    assert made.orphans == ()


def test_the_worst_states_come_first_then_names_in_natural_order() -> None:
    seen = [inspected("b"), inspected("a10"), inspected("a9"), inspected("z", "no_file"), unreachable("y")]
    made = report(seen, account(["a9", "a10", "b", "y", "z"]))
    assert [finding.host for finding in made.hosts] == ["y", "z", "a9", "a10", "b"]
    assert list(made.counts.items()) == [("unreachable", 1), ("not_configured", 1), ("ok", 3)]


def test_names_sort_as_people_count() -> None:
    names = ["web-10", "web-9", "web", "10", "9", "web-9a", "é", "٣", ""]
    assert sorted(names, key=natural) == ["", "9", "10", "web", "web-9", "web-9a", "web-10", "é", "٣"]


@pytest.mark.parametrize(
    ("seen", "labels", "drift"),
    [
        ([inspected("web")], ["web"], False),
        ([], [], False),
        ([inspected("web", differs=["mode"])], ["web"], True),
        ([unreachable("web")], ["web"], True),
        ([inspected("web")], ["web", "old"], True),
    ],
)
def test_drift(seen: list[Inspection], labels: list[str], drift: bool) -> None:
    assert report(seen, account(labels)).drift is drift


@pytest.mark.parametrize(
    ("plan", "labels", "hosts", "expected"),
    [
        ({}, 2, 3, {"plan": None, "free": True, "clients_included": None, "price": None, "next_tier": "monitor-3"}),
        ({}, 4, 4, {"free": True, "next_tier": "monitor-10"}),
        (TIERS[1], 2, 3, {"plan": "monitor-10", "free": False, "clients_included": 10, "next_tier": "monitor-40"}),
        (TIERS[0], 2, 12, {"plan": "monitor-3", "clients_missing": 10, "next_tier": "monitor-40"}),
        (TIERS[2], 2, 3, {"plan": "monitor-40", "price": {"monthly": 60.5}, "next_tier": None}),
        (None, 2, 3, {"plan": None, "free": None, "clients_included": None, "next_tier": None, "problem": "no grant"}),
    ],
)
def test_the_plan_and_the_next_tier(plan: Any, labels: int, hosts: int, expected: dict[str, Any]) -> None:
    names = [f"host-{number}" for number in range(hosts)]
    known = account(names[:labels], plan=plan, tiers=TIERS, plan_problem="no grant" if plan is None else None)
    found = report([inspected(name) for name in names], known).account
    tier = found["next_tier"]
    shown = {**found, "next_tier": tier and tier["id"]}
    assert {name: shown[name] for name in expected} == expected
    assert (found["clients_used"], found["clients_missing"]) == (labels, hosts - labels)


def test_a_reason_is_one_line_of_bounded_length() -> None:
    assert details(report([unreachable("web")], account(["web"])))["web"] == "Could not be reached: no route."
    long = Inspection("web", "web", {"msg": "\x1b[31m" + "x" * 5000})
    found = details(report([long], account(["web"])))["web"]
    assert len(found) < 400
    assert found.isprintable()
