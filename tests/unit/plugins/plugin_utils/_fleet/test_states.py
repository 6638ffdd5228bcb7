# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import functools
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host, Wanted
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import natural_sort_key
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.states import TITLES
from ansible_collections.monitor.cloud.tests.support.audits import (
    account,
    failed,
    inspected,
    of,
    report,
    states,
    unreachable,
)

_web = functools.partial(inspected, "web")
_agent = functools.partial(inspected, "web", service="agent")
_RUNS: dict[str, Any] = {"service": "agent", "service_state": "active", "service_enabled": "enabled"}
_NO_RESULT = Host("web", "web")
_OPTIONAL = Wanted(service_state="", service_enabled=False)
_STOPPED = Wanted(service_state="stopped", service_enabled=False)


@pytest.mark.parametrize(
    ("seen", "expected", "detail"),
    [
        (_web(), "ok", ""),
        (_web(differs=["mode"]), "wrong_permissions", "mode 0644 instead of 0600."),
        (_web(differs=["type"]), "outdated", "but the path is a symbolic link instead of a file."),
        (_web(differs=["content", "mode"]), "outdated wrong_permissions", "differs. Not as expected: mode"),
        (_web(**_RUNS), "ok", ""),
        (_web(**_RUNS, service_outdated=True), "restart_pending", "The agent was not restarted since its"),
        (_web(**_RUNS, wanted=_STOPPED), "outdated", "runs, but monitor_agent_service_state is stopped."),
        (_agent(service_state="inactive", wanted=_OPTIONAL), "ok", ""),
        (_agent(service_state="inactive", wanted=_STOPPED), "ok", ""),
        (_agent(service_state="active", service_enabled="disabled"), "agent_disabled", "does not start at boot"),
        (
            _agent(service_state="activating", service_enabled="disabled"), "agent_stopped agent_disabled",
            "its service agent is activating. The agent does not start",
        ),
        (_agent(service_state="missing"), "agent_stopped", "is missing. A rollout would fail: web has no service"),
        (_agent(service_state="masked", wanted=Wanted(service_state="")), "agent_stopped", "is masked."),
        (_agent(service_state=None), "ok", ""),
        (_web("no_file", differs=["content"]), "not_configured", "There is no configuration /etc/agent.conf."),
        (_web("no_key"), "not_configured", "There is no key in the configuration /etc/agent.conf."),
        (_web("unknown", key_fingerprint="?", differs=["content"]), "unknown_key", "that no client of the"),
        (_web("unverifiable"), "unverifiable", "The configuration /etc/agent.conf can't be read as this user."),
        (unreachable("web"), "unreachable", "Could not be reached: no route."),
        (_NO_RESULT, "unreachable", "the host failed earlier, could not be reached, or was excluded by a condition."),
        (dataclasses.replace(_NO_RESULT, audited=False), "unreachable", "none of the joined audits contains the host."),
        (failed("web", "no reason given."), "unverifiable", "Could not be inspected: no reason given."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("registered", [True, False])
def test_the_states_of_a_host(seen: Host, expected: str, detail: str, registered: bool) -> None:
    applying = set(expected.split())
    labels = ["db"]
    if registered:
        labels.append("web")
    else:
        applying = applying - {"ok"} | {"not_registered"}
    finding = of(report([seen], account(labels)), "web")
    assert finding.states == tuple(state for state in TITLES if state in applying)
    assert detail in finding.detail and bool(finding.detail) is (finding.state != "ok")


_FOREIGN = _web("other", owner_label="old")


@pytest.mark.parametrize(
    ("seen", "labels", "inventory", "pattern", "expected", "adoption", "detail"),
    [
        (_web(), "web", "", ".*", "ok", "nothing", ""),
        (unreachable("web"), "web", "", ".*", "unreachable", "unknown", "Could not be reached: no route."),
        (_web("unverifiable"), "web", "", ".*", "unverifiable", "unknown", "can't be read as this user."),
        # No client has the label of the host, and no host has the label of the client.
        (
            _FOREIGN, "old", "", ".*", "other_label", "adopt",
            "Carries the key of client 'old', and the account has no client 'web'. No host of the inventory has the "
            "label 'old'. The host was renamed, its label was changed, or a play sets monitor_agent_label.",
        ),
        (_FOREIGN, "old", "", "ours", "other_label", "conflict", "does not match monitor_agent_audit_orphan_pattern."),
        # A clone: a rollout gives the host its own client.
        (
            _FOREIGN, "old", "old", ".*", "foreign_key not_registered", "conflict",
            "Carries the key of client 'old'. The client 'old' belongs to host old. The account has no client 'web'.",
        ),
        (_FOREIGN, "old web", "old", ".*", "foreign_key", "conflict", "The client 'old' belongs to host old."),
        (_FOREIGN, "old web", "", ".*", "foreign_key", "conflict", "No host of the inventory has the label 'old'."),
    ],
)  # fmt: skip
def test_the_states_of_a_host_with_the_key_of_another_client(
    seen: Host, labels: str, inventory: str, pattern: str, expected: str, adoption: str, detail: str
) -> None:
    finding = of(report([seen], account(labels.split()), inventory.split(), orphan_pattern=pattern), "web")
    assert (finding.states, finding.adoption) == (tuple(expected.split()), adoption)
    assert detail in finding.detail


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
    adopted = {finding.host.owner_label: finding.label for finding in made.hosts if finding.adoption == "adopt"}
    assert adopted == renames


@pytest.mark.parametrize(
    ("seen", "labels", "absent", "expected"),
    [
        ([_web()], "web", "web", {"web": "outdated"}),
        ([_web("no_file", kind="missing")], "", "web", {"web": "ok"}),
        # A stopped, disabled or missing service of an absent host is as expected.
        ([_agent("no_file", service_state="inactive", service_enabled="disabled")], "", "web", {"web": "ok"}),
        ([_agent("no_file", service_state="missing")], "", "web", {"web": "ok"}),
        ([_agent("no_file", service_state="active")], "", "web", {"web": "outdated"}),
        # A renamed host can keep the client of an absent host, unless the absent host still carries the key.
        ([_FOREIGN, unreachable("old")], "old", "old", {"web": "other_label adopt", "old": "unreachable unknown"}),
        (
            [_FOREIGN, inspected("old")], "old", "old",
            {"web": "foreign_key shared_key not_registered conflict", "old": "shared_key outdated"},
        ),
        (
            [_FOREIGN, unreachable("old")], "old", "",
            {"web": "foreign_key not_registered conflict", "old": "unreachable unknown"},
        ),
    ],
)  # fmt: skip
def test_hosts_that_are_to_be_absent(seen: list[Host], labels: str, absent: str, expected: dict[str, str]) -> None:
    made = report(seen, account(labels.split()), absent=absent.split())
    found = {}
    for finding in made.hosts:
        words = [*finding.states]
        if finding.adoption != "nothing":
            words.append(finding.adoption)
        found[finding.name] = " ".join(words)
    assert found == expected


def test_a_host_that_was_not_inspected_is_not_registered_only_if_its_label_is_certain() -> None:
    seen = [unreachable("web"), unreachable("leaving"), failed("unknown")]
    made = report(seen, account([]), absent=["leaving"], unreadable={"unknown": "The template fails."})
    assert states(made) == {
        "web": ("unreachable", "not_registered"),
        "leaving": ("unreachable",),
        "unknown": ("unverifiable",),
    }


def test_hosts_that_share_a_key_are_named() -> None:
    seen = [
        inspected("web-1"),
        *(inspected(host, "other", owner_label="web-1") for host in ("web-2", "web-10")),
        *(inspected(host, "unknown", key_fingerprint="?") for host in ("app-1", "app-2")),
    ]
    made = report(seen, account(["web-1", "web-2", "app-1", "app-2"]))
    assert {finding.name: finding.shared_with.names for finding in made.hosts} == {
        "web-1": ("web-2", "web-10"),
        "web-2": ("web-1", "web-10"),
        "web-10": ("web-1", "web-2"),
        "app-1": ("app-2",),
        "app-2": ("app-1",),
    }
    assert [states(made)[host][:2] for host in ("web-1", "web-10", "app-1")] == [
        ("shared_key",), ("foreign_key", "shared_key"), ("unknown_key", "shared_key")
    ]  # fmt: skip
    assert "The client 'web-1' belongs to host web-1. The same key is on web-1, web-10." in of(made, "web-2").detail
    # The host whose client has the key names the hosts whose rollout repairs the state.
    assert of(made, "web-1").detail.endswith("so the rollout of web-2, web-10 repairs this.")
    assert "repairs" not in of(made, "app-1").detail + of(made, "web-2").detail


def test_at_most_five_hosts_with_the_same_key_are_named() -> None:
    seen = [inspected(f"web-{number}", "other", owner_label="old") for number in range(1, 9)]
    finding = of(report(seen, account(["old"])), "web-1")
    assert finding.shared_with.names == ("web-2", "web-3", "web-4", "web-5", "web-6")
    assert finding.shared_with.count == 7
    assert "The same key is on web-2, web-3, web-4, web-5, web-6 and 2 more." in finding.detail


def test_several_names_of_one_machine() -> None:
    hosts = ["twin-2", "twin-10"]
    seen = [inspected(host, "other", owner_label="twin-1", machine="1") for host in hosts]
    made = report([*seen, inspected("twin-1", machine="1"), inspected("web", machine="2")], account([*hosts, "twin-1"]))
    assert {finding.name: finding.same_machine.names for finding in made.hosts} == {
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


def test_orphans_have_no_host_of_the_inventory_and_no_inspected_host_carries_their_keys() -> None:
    known = account(["web", "db", "old-10", "old-9", "else"])
    assert report([inspected("web")], known, ["db"]).orphans == ["else", "old-9", "old-10"]
    assert report([inspected("web")], known, ["db"], orphan_pattern="old-.*").orphans == ["old-9", "old-10"]
    assert report([inspected("web")], known, ["db"], orphan_pattern="old").orphans == []
    assert report([_web("other", owner_label="old-9")], known, ["db"]).orphans == ["else", "old-10"]
    with pytest.raises(InputError, match="orphan_pattern"):
        report([inspected("web")], known, [], orphan_pattern="(")


def test_names_are_sorted_in_natural_order() -> None:
    names = ["", "9", "10", "web", "web-9", "web-9a", "web-09b", "web-10", "é"]
    assert sorted({*names}, key=natural_sort_key) == names
