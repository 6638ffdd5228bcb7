# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which clients hosts keep, and which conflicts are left."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.plugin_utils._adoption import adoptions, renames
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Account, Look
from ansible_collections.monitor.cloud.tests.unit.audits import account, look, unreachable


def judged(looks: list[Look], known: Account, *others: str) -> tuple[dict[str, str], dict[str, str]]:
    """Action by host, and the renames."""
    everyone = {host: host for host in [*(one.host for one in looks), *others]}
    found = adoptions(looks, known, everyone)
    return {one.host: one.action for one in found}, renames(found)


def test_a_renamed_host_keeps_its_client() -> None:
    seen = [look("new", "other", owner_label="old"), look("web")]
    assert judged(seen, account(["old", "web"])) == ({"new": "adopt", "web": "nothing"}, {"old": "new"})


def test_conflicts_are_left() -> None:
    cases = {
        "two hosts carry the key": (
            [look("app-1", "other", owner_label="old"), look("app-2", "other", owner_label="old")],
            [],
        ),
        "its owner carries it too": ([look("old"), look("app-2", "other", owner_label="old")], []),
        "its owner is another host of the inventory": ([look("app-2", "other", owner_label="old")], ["old"]),
    }
    for case, (seen, others) in cases.items():
        actions, wanted = judged(seen, account(["old"]), *others)
        assert set(actions.values()) <= {"conflict", "nothing"}, case
        assert actions["app-2"] == "conflict", case
        assert wanted == {}, case


def test_a_label_that_another_client_has_is_a_conflict() -> None:
    actions, wanted = judged([look("new", "other", owner_label="old")], account(["old", "new"]))
    assert (actions, wanted) == ({"new": "conflict"}, {})


def test_a_label_that_no_service_takes_is_a_conflict() -> None:
    assert judged([look("x" * 33, "other", owner_label="old")], account(["old"])) == ({"x" * 33: "conflict"}, {})


def test_what_is_not_known_is_left_and_said() -> None:
    seen = [
        unreachable("gone"),
        Look("late", "late", None),
        look("masked", "unverifiable", key_fingerprint="?"),
        look("maybe", "unknown", key_fingerprint="!"),
        look("empty", "no_file"),
    ]
    actions, wanted = judged(seen, account(["masked", "maybe"], masked=["masked"]))
    assert actions == {
        "gone": "unknown",
        "late": "unknown",
        "masked": "unknown",
        "maybe": "unknown",
        "empty": "nothing",
    }
    assert wanted == {}


def test_a_swap_is_left() -> None:
    seen = [look("app-1", "other", owner_label="app-2"), look("app-2", "other", owner_label="app-1")]
    assert judged(seen, account(["app-1", "app-2"])) == ({"app-1": "conflict", "app-2": "conflict"}, {})
