# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Host, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import steps
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    every_state,
    inspected,
    made,
    report,
    unreachable,
)

_NAMES = ["web-1", "a.b", "-oProxyCommand=id", "--check", "a b", "$(id)", "'; id #", "é", "a\nb", "~web", "@web", ""]
_PRUNE = "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true ansible-playbook -i '/srv/my hosts' monitor.cloud.prune -e "


def test_each_finding_has_a_sentence_and_a_command_to_paste() -> None:
    todo = steps(every_state(), limited=False, sources=["/srv/my hosts"])
    rollouts = {"foreign_key": "clone", "unknown_key": "stranger", "not_registered": "new", "not_configured": "empty"}
    last = {"outdated": "edited", "restart_pending": "pending", "agent_stopped": "stopped"}
    last |= {"agent_disabled": "disabled", "wrong_permissions": "open"}
    expected = {
        "plan": "",
        "unreachable": "audit --limit gone",
        "renamed": "adopt --limit renamed",
        "rollout": f"rollout --limit {','.join({**rollouts, **last}.values())}",
        **{state: f"rollout --limit {host}" for state, host in rollouts.items()},
        "unverifiable": "audit --limit closed",
        **{state: f"rollout --limit {host}" for state, host in last.items()},
    }
    start = "ansible-playbook -i '/srv/my hosts' monitor.cloud."
    shown = [(step.kind, step.shell.removeprefix(start)) for step in todo]
    assert shown == [*expected.items(), ("orphans", f"{_PRUNE}prune_pattern=older -e prune_limit=1")]
    assert [step.kind for step in todo if "journalctl -u 'my agent'." in step.text] == ["agent_stopped"]


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


@pytest.mark.parametrize(("labels", "given"), [("old", " -e monitor_agent_replace_key=true"), ("old app-1 app-2", "")])
def test_a_rollout_that_gives_a_clone_a_new_client_has_the_variable_for_it(labels: str, given: str) -> None:
    """Both clones carry the key of client old. No host has the label old."""
    seen = [*(inspected(host, "other", owner_label="old") for host in ("app-1", "app-2")), inspected("web", "no_file")]
    commands = {step.kind: step.shell for step in made(report(seen, account([*labels.split(), "web"])))[1]}
    assert commands["foreign_key"] == f"ansible-playbook monitor.cloud.rollout{given} --limit app-1,app-2"
    assert ("rollout" in commands) is (given == "")


_OWN = inspected("web", differs=["mode"])
_CLONE, _RENAMED = inspected("clone", "other", owner_label="web"), inspected("new", "other", owner_label="old")
_MOVED = inspected("db", "other", owner_label="other")


@pytest.mark.parametrize(
    ("seen", "absent", "expected"),
    [
        # Hosts that share a key are not renamed hosts.
        ([_OWN, _CLONE], [], {"foreign_key": ("clone",), "wrong_permissions": ("web",)}),
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
    assert {step.kind: step.names for step in todo[:-1] if step.kind != "rollout"} == expected
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
    of = report([], account(["old"]))
    [named], [limited] = (steps(of, limited=True, unreadable=hosts) for hosts in (["db"], []))
    assert named.text.startswith(limited.text) and "db" in named.text.removeprefix(limited.text)


def test_a_host_that_may_be_renamed_is_not_rolled_out() -> None:
    seen = [inspected("new", "unverifiable"), inspected("new-2", "unknown"), inspected("fresh", "no_file")]
    todo = made(report(seen, account(["old"], masked=["old"])))[1]
    names = {step.kind: step.names for step in todo}
    assert names == {"not_registered": ("fresh",), "unverifiable": ("new", "new-2"), "orphans": ("old",)}
    assert "First find out whose key is on new, new-2" in todo[-1].text


def test_hosts_without_an_audit_limit_a_joined_report() -> None:
    seen = [*(Host(host, host, facts_of({}), audited=False) for host in ("web", "db")), _RENAMED]
    commands = {step.kind: step.shell for step in made(report(seen, account(["web", "db", "old", "older"])))[1]}
    audit = "ansible-playbook monitor.cloud.audit --limit db,web"
    assert commands == {"unreachable": audit, "undecided": "", "orphans": ""}
