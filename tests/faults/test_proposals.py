# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands that an audit proposes, run as it prints them: they change what the finding names, and nothing else."""

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import HOSTS, ORPHANS, break_all
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.hosts import USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import TEMPLATES, Controller, Local, Run, texts
from ansible_collections.monitor.cloud.tests.support.steps import snapshots

AUDIT = "monitor.cloud.audit"
# A title, what it means, and the command below: lines that end in a backslash go on.
_PROPOSAL = re.compile(
    r"^  (\w[^.\n(:]*?)(?: \(\w+\))?(?:: \d+)?\. (?:.+\n)+?(    ansible(?:.*\\\n)*.*)$", re.MULTILINE
)


def proposals(audit: Run) -> dict[str, str]:
    """The commands of an audit's output by the title of their finding, as they are printed."""
    assert audit.code == 0, audit.output
    return dict(_PROPOSAL.findall(audit.output.partition("What to do:\n")[2]))


class Fleet(Local):
    """Hosts that are directories, and what a command changes: files on hosts, and the account."""

    def audit(self, *options: str, **environment: str) -> dict[str, str]:
        before = snapshots(self)
        run = self.run(AUDIT, *options, **environment)
        assert_sound(self.service, run.output)
        assert (run.writes(), snapshots(self)) == ([], before)
        return proposals(run)

    def does(
        self,
        command: str,
        *,
        hosts: Collection[str] = (),
        writes: Collection[str] = (),
        code: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        """Run a command as it is printed: it changes these hosts, makes these calls, and nothing else."""
        before = snapshots(self)
        run = self.shell(command, **(environment or {}))
        assert_sound(self.service, run.output, faults=1)
        assert run.code == code, f"{command}\n{run.output}"
        after = snapshots(self)
        assert {host for host in before if before[host] != after[host]} == set(hosts), command
        assert sorted(run.writes()) == sorted(writes), command
        tally(converged=1)
        return run


@pytest.fixture
def fleet_of(emulator: Emulator, tmp_path: Path) -> Fleet:
    emulator.configure(validate_responses=False)
    return Fleet(tmp_path, emulator)


def test_each_proposal_fixes_its_finding(fleet_of: Fleet) -> None:
    of = fleet_of
    of.add(*HOSTS)
    break_all(of)
    of.service.set_plan("monitor-10")
    # Other users of the account judge their own clients and the plan.
    found = of.audit("-e", "monitor_agent_audit_orphan_pattern=old-name", "-e", "monitor_agent_check_capacity=false")
    assert set(found) == {
        "Unreachable", "Key of another client", "Renamed hosts",
        "Unknown key", "Not registered", "Not configured", "Restart pending",
        "Not verifiable", "Outdated configuration", "Wrong permissions", "The plan is too small",
    }  # fmt: skip
    # Each host has its own, and none is that of the report, which needs none.
    assert "--connection" not in "".join(found.values())
    of.does(found["Unreachable"], code=4)
    gone = of.host_vars["gone"]
    of.host_vars["gone"] = {"ansible_connection": "local", "ansible_python_interpreter": "/nowhere/python"}
    of.inventory()
    of.does(found["Unreachable"])
    of.host_vars["gone"] = gone
    of.inventory()
    of.does(found["Not verifiable"])
    of.does(found["Key of another client"], hosts=["clone-1", "clone-2"])
    of.does(f"{found['Renamed hosts']} --check")
    of.does(found["Renamed hosts"], writes=["update_client renamed"])
    assert of.read("renamed") == of.expected("renamed")
    of.does(found["The plan is too small"], writes=["update_plan"])
    of.does(found["Unknown key"], hosts=["strange-1", "strange-2"], writes=["create_client strange-1"])
    of.does(found["Not registered"], hosts=["fresh"], writes=["create_client fresh"])
    of.does(found["Not configured"], hosts=["empty"])
    of.does(found["Outdated configuration"], hosts=["edited"])
    of.does(found["Wrong permissions"], hosts=["open"])

    shutil.rmtree(of.path("closed"))
    found = of.audit()
    assert set(found) == {"Unreachable", "Not configured", "Restart pending", "Clients without a host"}
    of.does(found["Not configured"], hosts=["closed"])
    of.does(found["Clients without a host"])
    gone_for_good = [f"delete_client {label}" for label in ORPHANS if label != "old-name"]
    of.does(found["Clients without a host"].replace(" --check", ""), writes=gone_for_good)


def test_what_counts_for_the_play_of_the_audit_only_is_named(fleet_of: Fleet) -> None:
    fleet_of.add("web-1")
    site = fleet_of.directory / "site"
    (site / "group_vars").mkdir(parents=True)
    role = {"name": "monitor.cloud.monitor_agent", "tasks_from": "audit", "rolespec_validate": False}
    use, timeout = {"ansible.builtin.import_role": role}, {"monitor_agent_timeout": 20}
    play = {"hosts": "all", "gather_facts": False, "tasks": [use]}
    own = {"vars": {"monitor_agent_service": ""}, "vars_files": ["more.yml"], "tasks": [{**use, "vars": timeout}]}
    imported = {"ansible.builtin.import_playbook": AUDIT, "vars": {**timeout, "monitor_agent_audit_json": "a"}}
    for name, content in {
        "group_vars/all.yml": {"monitor_agent_config_template": "api_key.j2"},
        "more.yml": {"monitor_agent_config_mode": "0640"},
        "own.yml": [{**play, **own}],
        "import.yml": [imported],
        "plain.yml": [play],
        "hosts.yml": {"all": {"hosts": {"web-2": {"ansible_connection": "local"}}}},
    }.items():
        (site / name).write_text(json.dumps(content), encoding="utf-8")
    for command, expected in {
        "site/own.yml": {"monitor_agent_service, monitor_agent_timeout, more.yml, site/group_vars."},
        "site/import.yml": {"monitor_agent_timeout."},
        "site/plain.yml": {"site/group_vars."},
        # Beside the inventory they count for all commands.
        f"site/plain.yml -i {site / 'hosts.yml'}": set(),
        AUDIT: set(),
    }.items():
        output = " ".join(fleet_of.run(*command.split()).output.split())
        assert "What to do: " in output
        named = re.findall("The command lacks what counts for this play only: (.*?) Add the values with -e.", output)
        assert set(named) == expected, command


def test_hosts_whose_monitoring_is_to_be_removed(fleet_of: Fleet) -> None:
    fleet_of.add("web-1", "web-2", "web-3", "old-1", "old-2", "old-3", "old-4")
    fleet_of.service.seed(labels=["web-1", "old-1", "old-2", "old-4"])
    # Its machine is called web-3 now.
    fleet_of.write("web-3", fleet_of.expected("old-4"))
    for name in ("web-1", "old-1"):
        fleet_of.write(name, f"{fleet_of.expected(name)}# edited\n")
    for name in ("old-1", "old-2", "old-3", "old-4"):
        fleet_of.host_vars[name]["monitor_agent_state"] = "{{ 'absent' }}" if name == "old-1" else "absent"
    found = fleet_of.audit()
    assert set(found) == {"Renamed hosts", "Not registered", "Outdated configuration", "Monitoring to be removed"}
    fleet_of.does(found["Renamed hosts"], writes=["update_client web-3"])
    fleet_of.does(found["Not registered"], hosts=["web-2"], writes=["create_client web-2"])
    fleet_of.does(found["Outdated configuration"], hosts=["web-1"])
    writes = ["delete_client old-1", "delete_client old-2"]
    fleet_of.does(found["Monitoring to be removed"], hosts=["old-1"], writes=writes)
    assert fleet_of.audit("-e", "monitor_agent_audit_fail_on_drift=true") == {}


def test_the_client_of_another_user_is_not_adopted(fleet_of: Fleet) -> None:
    fleet_of.add("web-1")
    fleet_of.service.seed(labels=["theirs-1"])
    fleet_of.write("web-1", texts(fleet_of.service.clients())["theirs-1"])
    fleet_of.group_vars["monitor_agent_audit_orphan_pattern"] = "web-.*"
    found = fleet_of.audit()
    assert set(found) == {"Key of another client"}
    assert "conflict" in fleet_of.does("ansible-playbook -i inventory.yml monitor.cloud.adopt").output
    fleet_of.does(found["Key of another client"], hosts=["web-1"], writes=["create_client web-1"])
    assert fleet_of.audit() == {}


def test_names_that_moved_on_keep_their_clients(fleet_of: Fleet) -> None:
    fleet_of.add("web-2", "web-3", "web-4")
    fleet_of.service.seed(labels=["web-1", "web-2", "web-3"])
    written = texts(fleet_of.service.clients())
    for number in (2, 3, 4):
        fleet_of.write(f"web-{number}", written[f"web-{number - 1}"])
    for number in (4, 3, 2):
        found = fleet_of.audit()
        assert set(found) == {"Renamed hosts"}
        run = fleet_of.does(found["Renamed hosts"], writes=[f"update_client web-{number}"])
        assert ("Run it again." in run.output) is (number > 2)
    assert fleet_of.audit() == {}
    assert texts(fleet_of.service.clients()) == {f"web-{number}": written[f"web-{number - 1}"] for number in (2, 3, 4)}


_SLICE = "This audit can be that of a slice"
_PARTS: dict[str, tuple[str, dict[str, object], str]] = {
    "a list": ("-i web-2,", {}, "The inventory is a list of hosts"),
    "not read": ("-i missing.yml -i inventory.yml", {}, "A source of the inventory could not be"),
    "an artifact": ("-i inventory.yml", {"monitor_agent_audit_artifact": "monitor_audit"}, _SLICE),
    "a job of a workflow": ("-i inventory.yml", {"awx_workflow_job_id": 7}, _SLICE),
}


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_of_the_inventory_proposes_neither_adopt_nor_prune(fleet_of: Fleet, part: str) -> None:
    sources, more, reason = _PARTS[part]
    fleet_of.add("web-2")
    # The renamed machine may be a clone of web-1, which is not in this inventory.
    fleet_of.service.seed(labels=["web-1", "old-1"])
    fleet_of.write("web-2", texts(fleet_of.service.clients())["web-1"])
    given = {"ansible_connection": "local", "monitor_agent_config_path": str(fleet_of.path("web-2")), **more}
    fleet_of.inventory()
    audit = fleet_of.shell(f"ansible-playbook {sources} {AUDIT} -e '{json.dumps(given)}'")
    assert_sound(fleet_of.service, audit.output)
    assert audit.code == 0, audit.output
    todo = " ".join(audit.output.partition("What to do:\n")[2].split())
    assert f"Renamed hosts: 1. {reason}" in todo and f"Clients without a host: 1. {reason}" in todo
    assert "ansible-playbook" not in todo and "Audit again with the whole inventory." in todo


def test_an_audit_of_a_few_hosts_replaces_no_report_of_all(fleet_of: Fleet) -> None:
    fleet_of.add("web-1", "web-2")
    fleet_of.service.seed(labels=["web-1", "theirs-1"])
    fleet_of.path("web-1").mkdir(parents=True)
    fleet_of.group_vars["monitor_agent_audit_metrics"] = "audit.prom"
    (fleet_of.directory / "vars.yml").write_text("monitor_agent_audit_junit: audit.xml\n", encoding="utf-8")
    given = [
        *("-e", "monitor_agent_audit_html=audit.html", "-e", "monitor_agent_audit_json=audit.json", "-e", "@vars.yml"),
        *("-e", "monitor_agent_audit_orphan_pattern=ours-.*"),
    ]
    found = fleet_of.audit(*given)
    before = {path.name: path.read_bytes() for path in fleet_of.directory.glob("audit.*")}
    assert sorted(before) == ["audit.html", "audit.json", "audit.prom", "audit.xml"]
    run = fleet_of.does(found["Not verifiable"])
    assert {path.name: path.read_bytes() for path in fleet_of.directory.glob("audit.*")} == before
    assert "Clients without a host" not in run.output


_LABELS = ["a.b", "a b{{ 7 }}", "x|y", "it's $(id)", "~web", '"quoted"', "back\\slash", "{% if %}", "é\U0001f600é"]
_LABELS += ["{{7}}{%x%}{#';$(touch x)`x`\\{"]
# What is deleted; then clients that an orphan pattern leaves out, or whose labels resemble the others.
_ORPHANS = {
    "more than prune_limit": ([f"ours-{index:027}" for index in range(12)], ["theirs-1"]),
    "special characters": (_LABELS, []),
}


@pytest.mark.parametrize("case", _ORPHANS)
def test_exactly_the_orphans_of_the_audit_are_deleted(fleet_of: Fleet, case: str) -> None:
    orphans, left_out = _ORPHANS[case]
    fleet_of.add("web-1", "web", "aXb", "ours-x")
    fleet_of.monitor()
    fleet_of.service.seed(labels=[*left_out, *orphans])
    pattern = ["-e", "monitor_agent_audit_orphan_pattern=ours-.*"] if left_out else []
    command = fleet_of.audit(*pattern)["Clients without a host"]
    assert "Would be removed, clients without a host: " in fleet_of.does(command).output
    command = command.replace(" --check", "")
    fleet_of.does(command, writes=[f"delete_client {label}" for label in orphans])
    assert "No client without a host has a label that matches" in fleet_of.does(command).output


_SPECIAL = (
    "web 1", "web$(id)", "web'; id #", 'web"x', *TEMPLATES, "web\\x41", "wéb", "-x", "web,2", "~web",
    "!web", "web*", "@web", "web?.example", "group",
)  # fmt: skip


def test_host_names_with_special_characters_are_exact_patterns(fleet_of: Fleet) -> None:
    # The last four have no file as well, and are not audited. Two of them are the group's.
    fleet_of.add(*_SPECIAL, "web", "web-2", "webx.example", "webA")
    inventory, limit = fleet_of.directory / "groups.yml", fleet_of.directory / "limit"
    inventory.write_text("group: {hosts: {web-2: {}, webA: {}}}\n", encoding="utf-8")
    limit.write_text("\n".join([*_SPECIAL, "!web-2", "!webA"]), encoding="utf-8")
    found = fleet_of.audit("-i", str(inventory), "--limit", "@limit")
    fleet_of.does(
        found["Not registered"], hosts=_SPECIAL, writes=[f"create_client {client_label(name)}" for name in _SPECIAL]
    )


def test_a_list_in_a_file_means_the_hosts_of_the_finding(fleet_of: Fleet) -> None:
    lost = [f"web-{number}.a-very-long-name.of-a-data-centre.example.com" for number in range(6)]
    fleet_of.add(*lost, "ok-1", "other-1", "other-2")
    found = fleet_of.audit("--limit", "web-*,ok-1", "-e", "monitor_agent_audit_html=reports/audit.html")
    assert "@reports/audit.not_registered.hosts" in found["Not registered"]
    # ok-1 is not registered either.
    expected = [*lost, "ok-1"]
    writes = [f"create_client {client_label(name)}" for name in expected]
    fleet_of.does(found["Not registered"], hosts=expected, writes=writes)


def test_the_options_of_the_run_are_those_of_the_proposal(fleet_of: Fleet) -> None:
    directory, token = fleet_of.directory, fleet_of.service.tokens["read_write"]
    fleet_of.add("web-1", "web-2")
    fleet_of.service.seed(labels=["web-1", "web-2", "old-1"])
    fleet_of.service.set_plan("monitor-3")
    fleet_of.service.seed(labels=["old-2"])
    for name in ("web-1", "web-2"):
        fleet_of.write(name, fleet_of.expected(name), 0o600)
    (directory / "my vars.yml").write_text(
        "monitor_agent_config_mode: '0640'\nansible_python_interpreter: /nowhere/python\n", encoding="utf-8"
    )
    (directory / "vault").write_text("password\n", encoding="utf-8")
    given = (
        *("-e", "@my vars.yml", "-e", f"monitor_agent_base_url={fleet_of.service.base_url} target=web-1"),
        *("-e", f'{{"monitor_agent_timeout": 20, "monitor_agent_api_token": "{token}", "other": ["{token}"]}}'),
        *("-e", json.dumps({"monitor_agent_note": fleet_of.expected("web-1"), "monitor_agent_brand": "monitor"})),
        *("-e", "pwd_db=hunter3 snmp_community=hunter4 site=hunter5 ansible_proxy=http://x:hunter6@y"),
        *("-e", "ansible_ssh_common_args='-o ProxyCommand=hunter7' stray ansible_timeout=21"),
        *("-e", "ansible_mirror=https://x/agent.deb?signature=hunter9"),
        "--ssh-common-args=-o ProxyCommand='sshpass -p hunter8 ssh gate'",
        *("--vault-password-file", "vault", "-e", "monitor_agent_audit_json=audit.json"),
    )
    nothing = {"MONITOR_BASE_URL": "", "MONITOR_API_TOKEN": ""}
    audit = fleet_of.run(AUDIT, *given, **nothing)
    secrets = (token, *(str(client["api_key"]) for client in fleet_of.service.clients()))
    assert not [secret[:4] for secret in secrets if secret in audit.output]
    assert "hunter" not in audit.output + (directory / "audit.json").read_text(encoding="utf-8")
    found = proposals(audit)
    output = " ".join(audit.output.split())
    assert (
        "because they can be secret: --ssh-common-args, ansible_mirror, ansible_proxy, "
        "ansible_ssh_common_args, monitor_agent_api_token, monitor_agent_note, other, pwd_db, site, snmp_community."
        in output
    )
    assert "-e ansible_timeout=21" in found["Wrong permissions"]
    assert "monitor_agent_audit_json" not in found["Wrong permissions"]
    for title in ("Wrong permissions", "The plan is too small"):
        assert "--vault-password-file" in found[title]
    again = {"MONITOR_BASE_URL": "", "MONITOR_API_TOKEN": token}
    fleet_of.does(found["Wrong permissions"], hosts=["web-1"], environment=again)
    assert fleet_of.path("web-1").stat().st_mode & 0o777 == 0o640
    fleet_of.does(found["The plan is too small"], writes=["update_plan"], environment=again)


def test_a_proposal_connects_and_becomes_as_the_audit_did(
    machines: Callable[..., list[Host]],
    controllers: Callable[..., Controller],
    workshop: tuple[Path, Path],
) -> None:
    running = machines("web-1", "db-1")
    controller, key = controllers(*running), str(workshop[1] / "client")
    del controller.group_vars["ansible_user"]
    # An option with the value of the setting is left out.
    unset = {"ANSIBLE_PRIVATE_KEY_FILE": ""}
    audit = controller.run(AUDIT, "--become", "-u", USER, "--private-key", key, **unset)
    command = proposals(audit)["Not registered"]
    # With a connection that the audit left open, a missing key would not fail.
    assert "--private-key" in command
    run = controller.shell(command, **unset)
    assert_sound(controller.service, audit.output, run.output, faults=1)
    assert run.code == 0, run.output
    assert {host.facts() for host in running} == {"regular file 600 root root"}
