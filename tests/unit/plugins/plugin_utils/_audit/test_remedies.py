# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done about the findings of an audit, and the commands that do it."""

import json
import shlex
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Host, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import WIDTH
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    every_state,
    inspected,
    made,
    report,
    unreachable,
)

_DELETE = "Run it without --check to delete them."
_ADOPT = "adopt lets a renamed host keep its client."


def test_each_finding_has_a_step_and_its_command() -> None:
    of = every_state()
    commands = {step.kind: step.shell for step in made(of, "my inventory.yml")[1]}
    start = "ansible-playbook -i 'my inventory.yml' monitor.cloud"
    expected = {
        # Rollouts may fail before it is done.
        "plan": "ansible localhost -m monitor.cloud.monitor_plan -a min_clients=14",
        "unreachable": "ansible -i 'my inventory.yml' gone -m ansible.builtin.raw -a true",
        "foreign_key": f"{start}.rollout -e target=clone",
        "renamed": f"{start}.adopt -e target=renamed",
        "unknown_key": f"{start}.rollout -e target=stranger",
        "not_registered": f"{start}.rollout -e target=new",
        "not_configured": f"{start}.rollout -e target=empty",
        "unverifiable": f"{start}.audit -e target=closed",
        "outdated": f"{start}.rollout -e target=edited",
        "restart_pending": f"{start}.rollout -e target=pending",
        "agent_stopped": "ansible -i 'my inventory.yml' stopped -m ansible.builtin.raw -a 'systemctl start "
        '{{ monitor_agent_service | default("monitor-agent") }}; systemctl status --no-pager '
        '{{ monitor_agent_service | default("monitor-agent") }}\'',
        "wrong_permissions": f"{start}.rollout -e target=open",
        # Not the client that a renamed host is to keep.
        "orphans": f'{start}.prune --check -e \'{{"prune_pattern": "older"}}\'',
    }
    assert list(commands.items()) == list(expected.items())


def test_a_renamed_host_that_has_a_client_too_is_named() -> None:
    seen = [inspected(host, "other", owner_label=owner) for host, owner in {"new": "old", "db": "web"}.items()]
    clones = [inspected(host, "other", owner_label="older") for host in ("app-1", "app-2")]
    known = account(["new", "db", "old", "web", "older", "app-1", "app-2"])
    [step] = [step for step in made(report([*seen, *clones], known, ["web"]))[1] if step.kind == "foreign_key"]
    assert "First check new: no other host carries the key" in step.text
    # Each rollout gives it the key of its other name.
    assert "If the finding returns for the other host, both are one machine" in step.text
    [step] = made(report([seen[1]], known, ["new", "web", "old", "older", "app-1", "app-2"]))[1]
    assert "First check" not in step.text


def test_from_a_part_of_the_inventory_neither_adopt_nor_prune_is_proposed() -> None:
    todo = made(every_state(), partial="The inventory is a list of hosts")[1]
    assert {step.kind for step in todo if not step.command} == {"renamed", "orphans"}


def test_hosts_that_are_to_be_absent_have_a_command_of_their_own() -> None:
    seen = [inspected("open", differs=["mode"]), inspected("old", differs=["mode"]), unreachable("gone")]
    seen += [inspected("empty", "no_file"), inspected("new", "no_file"), inspected("off", service_state="failed")]
    seen += [inspected("moved", "other", owner_label="former")]
    # The others carry their keys too.
    seen += [inspected("first", differs=["content"]), inspected("second", "other", owner_label="first")]
    seen += [inspected("third", differs=["content"]), inspected("fourth", "other", owner_label="third")]
    absent = {one.host for one in seen} - {"open", "new", "first", "second"}
    known = account(["open", "old", "gone", "off", "former", "first", "third"])
    todo = made(report(seen, known, absent=absent))[1]
    assert {step.kind: step.names for step in todo} == {
        "unreachable": ("gone",), "not_registered": ("new",), "wrong_permissions": ("open",),
        "foreign_key": ("second",), "outdated": ("first",), "absent": ("fourth", "moved", "third", "off", "old"),
    }  # fmt: skip


def _arguments(text: str, title: str) -> list[str]:
    """The command under a title of the table, as a shell reads it."""
    command = text[text.index(title) :]
    command = command[command.index("\n    ansible") :].partition("\n\n")[0]
    return shlex.split(command.replace("\\\n", ""))


def test_a_long_list_is_exact_and_printed_in_full_or_goes_to_a_file_beside_the_reports() -> None:
    names = [f"web-{number:04}" for number in range(500)]
    orphans = [f"old-{number}" for number in range(300)]
    of = report([inspected(name, "no_file") for name in names], account([*names, *orphans, "theirs"]), [], "old-.*")
    text, todo = made(of)
    commands = {step.kind: step.command for step in todo}
    assert _arguments(text, "Not configured") == list(commands["not_configured"])
    assert commands["not_configured"][-1] == f"target={','.join(names)}"
    assert _arguments(text, "Clients without a host: 300.") == list(commands["orphans"])
    variables = json.loads(commands["orphans"][-1])
    assert (variables["prune_limit"], sorted(variables["prune_pattern"].split("|"))) == (300, sorted(orphans))
    assert max(map(len, text.splitlines())) <= WIDTH

    step = made(of, report_stem="reports/audit")[1][0]
    assert step.shell.endswith("monitor.cloud.rollout --limit @reports/audit.not_configured.hosts")
    assert step.hosts_file == ("reports/audit.not_configured.hosts", "".join(f"{name}\n" for name in names))
    # If such a path would be read as several.
    step = made(of, report_stem="a, b/audit")[1][0]
    assert (step.hosts_file, step.command) == (None, commands["not_configured"])


def test_what_no_command_line_takes_is_not_proposed() -> None:
    names = [f"web-{number:04}.{'x' * 20}" for number in range(5000)]
    orphans = [f"old-{number:027}" for number in range(4000)]
    of = report([inspected(name, "no_file") for name in names], account([*names, *orphans]), [])
    text, todo = made(of)
    assert [(step.kind, step.command) for step in todo] == [("not_configured", ()), ("orphans", ())]
    assert "ansible" not in text and "audit again with monitor_agent_audit_json" in " ".join(text.split())
    assert made(of, report_stem="audit")[1][0].command[-1] == "@audit.not_configured.hosts"


def test_a_plan_that_no_tier_is_larger_than_has_no_command() -> None:
    of = report([], account([f"web-{number}" for number in range(41)], plan=TIERS[2], tiers=TIERS), ["web-0"])
    step = made(of)[1][0]
    assert (step.kind, step.command) == ("plan", ()) and "No tier is known that includes as many" in step.text


@pytest.mark.parametrize(("orphans", "limit"), [(10, None), (11, 11)])
def test_prune_gets_a_limit_if_its_own_is_too_low(orphans: int, limit: int | None) -> None:
    of = report([], account([f"old-{number}" for number in range(orphans)]))
    assert json.loads(made(of)[1][0].command[-1]).get("prune_limit") == limit


def test_commands_repeat_the_options_of_the_run() -> None:
    of = every_state()
    run: dict[str, Any] = {
        "options": ["--become"],
        "extra_vars": [
            "@vars.yml",
            {"target": "all", "x": "1", "monitor_agent_audit_html": "a.html", "y": "a b"},
            {"monitor_agent_audit_orphan_pattern": "old"},
        ],
        "lacks": " Add my_token again.",
        "service": {"base_url": "https://monitor.example.com/v4", "api_token": "SECRET"},
    }
    todo = {step.kind: step for step in made(of, **run)[1]}
    start = "ansible-playbook -i inventory --become monitor.cloud"
    extra = '-e @vars.yml -e x=1 -e \'{"y": "a b"}\''
    assert todo["outdated"].shell == f"{start}.rollout {extra} -e target=edited"
    assert todo["unreachable"].shell == f"ansible -i inventory --become gone -m ansible.builtin.raw -a true {extra}"
    assert "monitor_agent_audit_" not in todo["renamed"].shell
    assert "monitor_agent_audit_html" not in todo["unverifiable"].shell
    assert json.loads(todo["plan"].command[-1]) == {"min_clients": 14, "base_url": "https://monitor.example.com/v4"}
    assert "MONITOR_API_TOKEN" in todo["plan"].text
    assert todo["outdated"].text.endswith("template. Add my_token again.")
    assert "SECRET" not in str(todo)


def test_a_host_that_may_be_renamed_is_not_rolled_out() -> None:
    seen = [inspected("new", "unverifiable"), inspected("new-2", "unknown"), inspected("fresh", "no_file")]
    todo = made(report(seen, account(["old"], masked=["old"])))[1]
    names = {step.kind: step.names for step in todo}
    assert names == {"not_registered": ("fresh",), "unverifiable": ("new", "new-2"), "orphans": ("old",)}
    assert "First find out whose key is on new, new-2: adopt lets a renamed host keep its client." in todo[-1].text


@pytest.mark.parametrize(
    ("seen", "hosts"),
    [
        ([inspected("web")], []),
        # Of hosts that were not inspected.
        ([inspected("web"), unreachable("gone")], ["gone", "other"]),
        # Former ones of hosts that have one.
        ([inspected("web", "unverifiable", key_fingerprint="?"), inspected("db")], ["web"]),
        ([unreachable("web"), inspected("db")], ["web"]),
    ],
)
def test_orphans_may_be_clients_of_hosts_whose_key_is_not_known(seen: list[Host], hosts: list[str]) -> None:
    inventory = ["db", "other"] if len(hosts) > 1 else ["db"]
    text = made(report(seen, account(["web", "db", "old"]), inventory))[1][-1].text
    assert text.endswith(f" First find out whose key is on {', '.join(hosts)}: {_ADOPT}" if hosts else _DELETE), text


def test_hosts_that_no_audit_has_are_to_be_audited() -> None:
    seen = [Host(host, host, facts_of({}), audited=False) for host in ("web", "db")]
    of = report([*seen, unreachable("gone")], account(["web", "db", "gone"]))
    variables = {
        "monitor_agent_audit_html": "joined.html",
        "monitor_agent_audit_orphan_pattern": "ours",
        "monitor_agent_config_path": "/etc/a",
    }
    reports = ["monitor_agent_audit_json", "monitor_agent_audit_html"]
    commands = {step.kind: step.shell for step in made(of, extra_vars=(variables,), reports=reports)[1]}
    # Its report is another one than the joined one, and clients of other users are none of ours in it either.
    assert commands["not_audited"] == (
        "ansible-playbook -i inventory monitor.cloud.audit -e monitor_agent_audit_orphan_pattern=ours "
        "-e monitor_agent_config_path=/etc/a -e monitor_agent_audit_json=not_audited.json "
        "-e monitor_agent_audit_html= -e target=db,web"
    )
    reach = "ansible -i inventory gone -m ansible.builtin.raw -a true -e monitor_agent_config_path=/etc/a"
    assert commands["unreachable"] == reach
