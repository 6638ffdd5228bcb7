# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import steps
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    every_state,
    failed,
    inspected,
    made,
    report,
    unreachable,
)

_NAMES = ["web-1", "a.b", "-oProxyCommand=id", "--check", "a b", "$(id)", "'; id #", "é", "a\nb", "~web", "@web", ""]
_PRUNE = "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true ansible-playbook -i '/srv/my hosts' monitor.cloud.prune -e "


def test_one_command_repairs_all_that_a_rollout_repairs() -> None:
    todo = steps(every_state(), limited=False, sources=["/srv/my hosts"])
    start = "ansible-playbook -i '/srv/my hosts' monitor.cloud."
    repaired = {
        "foreign_key": "clone",
        "unknown_key": "stranger",
        "not_registered": "new",
        "not_configured": "empty",
        "outdated": "edited",
        "restart_pending": "pending",
        "agent_stopped": "stopped",
        "agent_disabled": "disabled",
        "wrong_permissions": "open",
    }
    assert [(step.kind, step.shell.removeprefix(start)) for step in todo] == [
        ("plan", ""),
        ("unreachable", "audit --limit gone"),
        ("renamed", "adopt --limit renamed"),
        ("unverifiable", "audit --limit closed"),
        ("rollout", f"rollout --limit {','.join(repaired.values())}"),
        ("orphans", ""),
    ]
    [rollout] = [step for step in todo if step.kind == "rollout"]
    assert all(f"({kind}): 1" in rollout.text for kind in repaired)
    assert rollout.text.endswith("read the log on its host: journalctl -u 'my agent'.")


_BROKEN: dict[str, Host] = {
    "foreign_key": inspected("web", "other", owner_label="db"),
    "unknown_key": inspected("web", "unknown", key_fingerprint="?"),
    "not_configured": inspected("web", "no_key"),
    "outdated": inspected("web", differs=["content"]),
    "restart_pending": inspected("web", service="agent", service_state="active", service_outdated=True),
    "agent_stopped": inspected("web", service="agent", service_state="failed"),
    "agent_disabled": inspected("web", service="agent", service_state="active", service_enabled="disabled"),
    "wrong_permissions": inspected("web", differs=["owner"]),
}


@pytest.mark.parametrize("kind", _BROKEN)
def test_a_single_kind_of_finding_has_its_own_advice(kind: str) -> None:
    of = report([_BROKEN[kind]], account(["web", "db"]), ["db"])
    [step] = made(of)[1]
    assert (step.kind, step.shell) == (kind, "ansible-playbook monitor.cloud.rollout --limit web")
    assert step.heading.endswith(f"({kind})")
    assert ("journalctl -u agent." in step.text) is (kind == "agent_stopped")


def test_a_host_that_was_not_inspected_is_audited_again_first() -> None:
    commands = {step.kind: step.shell for step in made(report([failed("web"), unreachable("db")], account([])))[1]}
    assert commands == {
        "unreachable": "ansible-playbook monitor.cloud.audit --limit db",
        "unverifiable": "ansible-playbook monitor.cloud.audit --limit web",
    }


def test_prune_names_the_clients_and_the_inventory() -> None:
    [step] = steps(report([inspected("web")], account(["web", "old"])), limited=False, sources=["/srv/my hosts"])
    assert (step.kind, step.shell) == ("orphans", f"{_PRUNE}prune_pattern=old -e prune_limit=1")


@pytest.mark.parametrize("name", _NAMES)
def test_only_plain_names_are_in_commands(name: str) -> None:
    of = report([inspected(name, "no_file"), inspected("web-9", "no_file")], account([name, "web-9"]))
    [step] = made(of)[1]
    plain = name in _NAMES[:2]
    assert {*step.shell.rpartition(" ")[2].split(",")} == {"web-9", *[name] * plain}
    assert (f"with special characters: {name}. Choose these hosts by a group." in step.text) is not plain
    orphans = made(report([], account([name])))[1][0]
    pattern = f"prune_pattern={name}" if name == "web-1" else "'prune_pattern=a[.]b'"
    assert orphans.shell.endswith(f" -e {pattern} -e prune_limit=1") if plain else not orphans.shell
    assert (f"special characters: {name}." in orphans.text) is not plain


def test_clones_of_a_client_without_a_host_get_new_clients() -> None:
    """Several hosts carry the key of client old. No host has the label old."""
    seen = [*(inspected(host, "other", owner_label="old") for host in ("app-1", "app-2")), inspected("web", "no_file")]
    seen += [inspected(f"db-{number}") for number in range(2)]
    commands = {step.kind: step.shell for step in made(report(seen, account(["old", "web", "db-0", "db-1"])))[1]}
    assert commands == {
        "not_configured": "ansible-playbook monitor.cloud.rollout --limit web",
        "clones": "ansible-playbook monitor.cloud.rollout -e monitor_agent_replace_key=true --limit app-1,app-2",
    }
    # If the hosts have clients, an ordinary rollout gives the hosts the keys of their own clients.
    commands = {
        step.kind: step.shell
        for step in made(report(seen, account(["old", "app-1", "app-2", "web", "db-0", "db-1"])))[1]
    }
    assert commands == {"rollout": "ansible-playbook monitor.cloud.rollout --limit app-1,app-2,web"}


def test_a_client_with_another_label_that_cannot_be_adopted_has_advice_about_both_causes() -> None:
    """The client may belong to another user, because its label does not match the pattern."""
    seen = [inspected("web", "other", owner_label="theirs"), inspected("db"), inspected("fine")]
    [step] = made(report(seen, account(["theirs", "db", "fine"]), orphan_pattern="ours.*"))[1]
    assert (step.kind, step.names, step.shell) == ("other_label", ("web",), "")
    for part in ("host was renamed", "set_fact sets monitor_agent_label", "in the same play", "replace_key=true"):
        assert part in step.text


def test_neither_adopt_nor_prune_is_proposed_if_the_labels_of_most_hosts_differ() -> None:
    seen = [inspected(f"web-{number}", "other", owner_label=f"web-{number}-prod") for number in range(3)]
    seen += [inspected("db", differs=["mode"]), inspected("fine")]
    known = account([*(f"web-{number}-prod" for number in range(3)), "db", "fine", "old"])
    todo = made(report(seen, known))[1]
    assert {step.kind: step.names for step in todo} == {
        "other_label": ("web-0", "web-1", "web-2"),
        "wrong_permissions": ("db",),
        "orphans": ("old",),
    }
    assert [step.kind for step in todo if step.shell] == ["wrong_permissions"]
    # With one host less, the hosts count as renamed.
    commands = {step.kind: step.shell for step in made(report(seen[1:], account(list(known.clients)[1:])))[1]}
    assert commands["renamed"] == "ansible-playbook monitor.cloud.adopt --limit web-1,web-2"
    assert " monitor.cloud.prune -e prune_pattern=old " in commands["orphans"]


_OWN = inspected("web", differs=["mode"])
_CLONE = inspected("clone", "other", owner_label="web")
_RENAMED = inspected("new", "other", owner_label="old")
_MOVED = inspected("db", "other", owner_label="other")


@pytest.mark.parametrize(
    ("seen", "absent", "expected"),
    [
        # Hosts that share a key are not renamed hosts.
        ([_OWN, _CLONE], [], {"rollout": ("clone", "web")}),
        ([_RENAMED, _CLONE], [], {"undecided": ("clone", "new")}),
        ([_MOVED], [], {"undecided": ("db",)}),
        # A host of another slice may carry the key of this client.
        ([inspected("web", "no_file")], ["web"], {"undecided": ("web",)}),
        ([_OWN], ["web"], {"absent": ("web",)}),
        ([inspected("web", "no_file"), inspected("x")], [], {"not_configured": ("web",)}),
    ],
)
def test_a_limited_audit_proposes_only_what_is_right_whatever_other_hosts_carry(
    seen: list[Host], absent: list[str], expected: dict[str, tuple[str, ...]]
) -> None:
    known = account(["web", "old", "db", "other", "clone", "older", "x"])
    todo = made(report(seen, known, ["web", "other", "db", "clone"], absent=absent), limited=True)[1]
    assert todo[-1].kind == "orphans" and "Audit the whole inventory" in todo[-1].text
    assert {step.kind: step.names for step in todo[:-1]} == expected
    assert {step.kind for step in todo if not step.shell} == {"orphans", *expected} & {"orphans", "undecided"}


def test_hosts_that_are_to_be_absent_have_a_command_of_their_own() -> None:
    seen = [inspected("open", differs=["mode"]), inspected("old", differs=["mode"]), unreachable("gone")]
    seen += [inspected("moved", "other", owner_label="former")]
    todo = made(report(seen, account(["open", "old", "gone", "former"]), absent=["old", "gone", "moved"]))[1]
    names = {step.kind: step.names for step in todo}
    assert names == {"unreachable": ("gone",), "wrong_permissions": ("open",), "absent": ("moved", "old")}


def test_names_of_one_machine_get_no_rollout() -> None:
    seen = [inspected("twin-1", machine="1"), inspected("twin-2", "other", owner_label="twin-1", machine="1")]
    seen += [inspected(f"new-{number}", "no_file", machine="2") for number in (1, 2)]
    [step] = made(report(seen, account(["twin-1", "twin-2"])))[1]
    assert (step.kind, step.names, step.shell) == ("same_machine", ("twin-2", "twin-1", "new-1", "new-2"), "")
    assert "Keep one name of each machine" in step.text


def test_prune_has_the_limit_that_it_needs_and_a_full_largest_plan_no_command() -> None:
    names = [f"web-{number}" for number in range(41)]
    of = report([inspected("new", "no_file")], account(names, plan=TIERS[2], tiers=TIERS), ["web-0"])
    plan, _rollout, prune = made(of)[1]
    assert (plan.kind, plan.shell) == ("plan", "")
    assert "42 are needed: prune first, or ask the provider." in plan.text
    assert prune.shell.endswith("prune_limit=40")


def test_hosts_whose_label_cannot_be_read_are_named() -> None:
    of = report([], account(["old"]), ["db"], unreadable={"db": "The vault has another password."})
    [named] = steps(of, limited=True)
    [limited] = steps(report([], account(["old"]), ["db"]), limited=True)
    assert named.text.startswith(limited.text) and not named.shell and not limited.shell
    added = named.text.removeprefix(limited.text)
    assert added == " The labels of these hosts are unknown: db. The vault has another password."


def test_prune_is_not_proposed_if_it_would_refuse() -> None:
    """The label of a host that was not inspected may differ too."""
    seen = [inspected("web", "other", owner_label="former"), inspected("db"), unreachable("gone")]
    todo = {step.kind: step for step in made(report(seen, account(["former", "db", "gone", "old"])))[1]}
    assert todo["orphans"].shell == "" and "were not inspected: gone. Repair" in todo["orphans"].text
    assert todo["renamed"].shell.endswith("adopt --limit web")


def test_a_host_that_may_be_renamed_is_not_rolled_out() -> None:
    seen = [inspected("new", "unverifiable"), inspected("new-2", "unknown"), inspected("fresh", "no_file")]
    todo = made(report(seen, account(["old"], masked=["old"])))[1]
    names = {step.kind: step.names for step in todo}
    assert names == {"not_registered": ("fresh",), "unverifiable": ("new", "new-2"), "orphans": ("old",)}
    assert "First find out whose key is on new, new-2" in todo[-1].text


def test_hosts_without_an_audit_limit_a_joined_report() -> None:
    seen = [*(Host(host, host, audited=False) for host in ("web", "db")), _RENAMED]
    commands = {step.kind: step.shell for step in made(report(seen, account(["web", "db", "old", "older"])))[1]}
    audit = "ansible-playbook monitor.cloud.audit --limit db,web"
    assert commands == {"unreachable": audit, "undecided": "", "orphans": ""}
