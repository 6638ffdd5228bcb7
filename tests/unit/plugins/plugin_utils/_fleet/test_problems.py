# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.tests.support.fleet import absent, account, host, inventory, unreached

NAMES = [f"web-{number}" for number in range(1, 8)]
FIVE = "web-1, web-2, web-3, web-4, web-5 and 2 more"

# For each kind of warning: seven hosts, the labels of the account, and the end or beginning of the warning.
KINDS: dict[str, tuple[Sequence[Host], Sequence[str], str]] = {
    "keys of other clients": (
        [host(name, "old") for name in NAMES],
        ["old", *NAMES],
        "web-4 (client 'old'), web-5 (client 'old') and 2 more.",
    ),
    "unknown keys": ([host(name, "unknown") for name in NAMES], NAMES, f"own key: {FIVE}."),
    "kept files": ([host(name, "unverifiable") for name in NAMES], NAMES, f"so their files were kept: {FIVE}. "),
    "claimed clients": (
        [
            *[host(f"new-{name}", name) for name in NAMES],
            *[absent(name, "no_file") for name in NAMES],
        ],
        NAMES,
        "'web-5' of web-5 (carried by new-web-5) and 2 more. Run monitor.cloud.adopt, or set",
    ),
    "kept clients of no host": (
        [absent(name, f"old-{name}") for name in NAMES],
        [f"old-{name}" for name in NAMES],
        "'old-web-4', 'old-web-5' and 2 more. To delete a client with its data, run monitor.cloud.retire with its "
        "label: -e labels=old-web-1",
    ),
    "kept clients of hosts": (
        [unreached("db"), *[absent(name, "db") for name in NAMES]],
        ["db"],
        "'db' of db (carried by web-4), 'db' of db (carried by web-5) and 2 more. If two of these names are one "
        "machine, its file was removed and its service was stopped: roll out the remaining host again.",
    ),
    "unknown owners": (
        [host(name, "no_file", unknown_owner="the user app") for name in NAMES],
        NAMES,
        "web-4 (the user app), web-5 (the user app) and 2 more.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_one_warning_of_a_kind_and_it_names_five_hosts(kind: str) -> None:
    hosts, labels, part = KINDS[kind]
    [warning] = decide(hosts, account(labels), inventory(hosts), predicts=True).warnings
    assert part in warning


@pytest.mark.parametrize(
    ("labels", "command"),
    [(["db; reboot", "{{ x }}", "db-1"], "-e labels=db-1"), (["db,web", "-x"], "-e labels=LABEL")],
)
def test_the_command_in_a_warning_has_no_label_with_special_characters(labels: Sequence[str], command: str) -> None:
    hosts = [absent(f"web-{number}", label) for number, label in enumerate(labels)]
    [warning] = decide(hosts, account(labels), inventory(hosts)).warnings
    assert warning.endswith(command)


def test_hosts_with_a_problem_or_of_an_earlier_batch_are_in_no_warning() -> None:
    hosts = [
        host("web-1", "unknown", problem="the disk is full"),
        host("web-2", "unknown", decides=False),
        unreached("web-3"),
        absent("web-4", "unverifiable"),
    ]
    assert decide(hosts, account(), inventory(hosts)).warnings == []


def test_warnings_are_only_about_what_is_done() -> None:
    owner: dict[str, Any] = {"unknown_owner": "the user app"}
    hosts = [
        host("web-1", "no_file", installs=True, **owner),
        absent("web-2", "no_key", **owner),
        host("web-3", **owner),
        host("web-4", "unverifiable"),
    ]
    made = decide(hosts, account(["web-3"]), inventory(hosts), predicts=True)
    assert made.hosts["web-4"].steps == ["create", "write"]
    assert made.warnings == []


def test_a_host_that_was_not_inspected_has_no_problem() -> None:
    hosts = [unreached("web-1", label="same"), unreached("web-2", label="same")]
    made = decide(hosts, account(), inventory(hosts))
    assert [change.problem for change in made.hosts.values()] == ["", ""]


def test_the_texts_of_the_longest_sentences() -> None:
    hosts = [host("web-1", "old"), host("one", "older", label="two"), host("three", "two")]
    made = decide(hosts, account(["old", "older", "two"]), inventory(hosts))
    assert made.hosts["web-1"].problem == (
        "web-1 carries the key of client 'old'. No host of the inventory has this label, and the account has no client "
        "'web-1'. Nothing was created. If the host was renamed, or its label was changed, run monitor.cloud.adopt to "
        "keep the client and its history. If a play, a role or set_fact sets monitor_agent_label, set it in the "
        "inventory instead, or run the audit in the same play. To give the host a new client, set "
        "monitor_agent_replace_key: true."
    )
    assert made.hosts["one"].problem == (
        "one carries the key of client 'older', and another host carries the key of client 'two'. Nothing was changed. "
        "If the hosts were renamed, run monitor.cloud.adopt to keep the clients and their history: each run renames "
        "one of the clients. To give the host the key of client 'two' instead, set monitor_agent_replace_key: true."
    )
