# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which clients renamed hosts keep, and which conflicts are left."""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Inspection
from ansible_collections.monitor.cloud.tests.support.audits import account, inspected, report, unreachable


def test_a_renamed_host_keeps_its_client() -> None:
    made = report([inspected("new", "other", owner_label="old"), inspected("web")], account(["old", "web"]))
    assert {one.host: one.adoption for one in made.hosts} == {"new": "adopt", "web": "nothing"}
    assert made.renames == {"old": "new"}


@pytest.mark.parametrize(
    ("carriers", "labels", "others"),
    [
        pytest.param({"app-1": "old", "app-2": "old"}, ["old"], [], id="two hosts carry the key"),
        pytest.param({"old": "old", "app-2": "old"}, ["old"], [], id="its owner carries it too"),
        pytest.param({"app-2": "old"}, ["old"], ["old"], id="its owner is another host of the inventory"),
        pytest.param({"new": "old"}, ["old", "new"], [], id="another client has the label"),
        pytest.param({"x" * 33: "old"}, ["old"], [], id="no service accepts the label"),
        pytest.param({"app-1": "app-2", "app-2": "app-1"}, ["app-1", "app-2"], [], id="a swap"),
    ],
)
def test_conflicts_are_left(carriers: dict[str, str], labels: list[str], others: list[str]) -> None:
    seen = [
        inspected(host) if host == owner else inspected(host, "other", owner_label=owner)
        for host, owner in carriers.items()
    ]
    made = report(seen, account(labels), others)
    expected = {host: "nothing" if host == owner else "conflict" for host, owner in carriers.items()}
    assert {one.host: one.adoption for one in made.hosts} == expected
    assert made.renames == {}


def test_hosts_without_a_known_key_owner_are_left_and_reported() -> None:
    seen = [
        unreachable("gone"),
        Inspection("late", "late", None),
        inspected("masked", "unverifiable", key_fingerprint="?"),
        inspected("maybe", "unknown", key_fingerprint="!"),
        inspected("empty", "no_file"),
    ]
    made = report(seen, account(["masked", "maybe"], masked=["masked"]))
    assert {one.host: one.adoption for one in made.hosts} == {
        "gone": "unknown",
        "late": "unknown",
        "masked": "unknown",
        "maybe": "unknown",
        "empty": "nothing",
    }
    assert made.renames == {}
