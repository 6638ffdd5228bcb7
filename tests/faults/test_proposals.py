# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands that an audit proposes, run with its options: they change what the finding names, and nothing else."""

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import HOSTS, break_all
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import Local, Run, texts
from ansible_collections.monitor.cloud.tests.support.steps import snapshots

AUDIT = "monitor.cloud.audit"
# A title, what it means, and the command below.
_PROPOSAL = re.compile(
    r"^  (\w[^.\n(:]*?)(?: \(\w+\))?(?:: \d+)?\. (?:.+\n)+?    ((?:ANSIBLE_\w+=\w+ )?ansible-playbook .*)$",
    re.MULTILINE,
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
        options: str = "",
        *,
        hosts: Collection[str] = (),
        writes: Collection[str] = (),
        **environment: str,
    ) -> Run:
        """Paste a command, with options: it changes these hosts, makes these calls, and nothing else."""
        before = snapshots(self)
        run = self.shell(f"{command} {options}", **environment)
        assert_sound(self.service, run.output, faults=1)
        assert run.code == 0, f"{command}\n{run.output}"
        after = snapshots(self)
        assert {host for host in before if before[host] != after[host]} == set(hosts), command
        assert sorted(run.writes()) == sorted(writes), command
        tally(converged=1)
        return run


# Clients without a host.
_LABELS = ["a.b", "a-1_B", "123", "retired-1", "retired-2", *(f"old-{number}" for number in range(6))]
_SPECIAL = [
    "a b{{ 7 }}", "x|y", "it's $(id)", "~web", '"quoted"', "back\\slash", "-x-", "é\U0001f600é", "a,b", "#';$(touch x)"
]  # fmt: skip


@pytest.fixture
def fleet_of(emulator: Emulator, tmp_path: Path) -> Fleet:
    emulator.configure(validate_responses=False)
    return Fleet(tmp_path, emulator)


def test_each_proposal_fixes_its_finding(fleet_of: Fleet) -> None:
    of = fleet_of
    of.add(*HOSTS)
    break_all(of)
    of.service.set_plan("monitor-10")
    # Their monitoring is to be removed: one has a file and a client, one a client, one nothing.
    of.add("left-1", "left-2", "left-3")
    of.service.seed(labels=["left-1", "left-2"])
    of.write("left-1", f"{of.expected('left-1')}# edited\n")
    for host in ("left-1", "left-2", "left-3"):
        of.host_vars[host]["monitor_agent_state"] = "{{ 'absent' }}" if host == "left-1" else "absent"
    # Other users of the account judge their own clients and the plan.
    shared = "-e monitor_agent_check_capacity=false"
    found = of.audit("-e", "monitor_agent_audit_orphan_pattern=old-name", "-e", "monitor_agent_check_capacity=false")
    assert set(found) == {
        "Unreachable", "Key of another client", "Renamed hosts", "Unknown key", "Not registered", "Not configured",
        "Agent stopped", "Outdated configuration", "Wrong permissions", "Monitoring to be removed",
    }  # fmt: skip
    of.does(found["Unreachable"])
    of.does(found["Renamed hosts"], shared, writes=["update_client renamed"])
    assert of.read("renamed") == of.expected("renamed")
    plan = re.findall("monitor_plan, min_clients: ([0-9]+)", " ".join(of.run(AUDIT).output.split()))
    of.does(f"ansible localhost -m monitor.cloud.monitor_plan -a min_clients={plan[0]}", writes=["update_plan"])
    writes = ["delete_client left-1", "delete_client left-2"]
    of.does(found["Monitoring to be removed"], shared, hosts=["left-1"], writes=writes)
    shutil.rmtree(of.path("closed"))
    limits = []
    for title in ("Key of another client", "Unknown key", "Not registered", "Not configured",
                  "Outdated configuration", "Wrong permissions"):  # fmt: skip
        command, _option, limit = found[title].rpartition(" --limit ")
        assert command == f"ansible-playbook -i {of.directory}/inventory.yml monitor.cloud.rollout"
        limits.append(limit)
    of.does(
        f"{command} --limit {','.join(limits)}",
        shared,
        hosts=["clone-1", "clone-2", "strange-1", "strange-2", "fresh", "closed", "empty", "edited", "open"],
        writes=["create_client strange-1", "create_client fresh"],
    )

    of.add("aXb")
    of.service.seed(labels=["aXb", *_LABELS[:3], *_LABELS[5:], *_SPECIAL])
    of.service.set_plan("monitor-100")
    of.write("aXb", of.expected("aXb"))
    found = of.audit()
    assert set(found) == {"Unreachable", "Agent stopped", "Clients without a host"}
    # Exactly the clients whose labels the pattern names; those with special characters are in no command.
    command = found["Clients without a host"]
    assert "Nothing was deleted." in of.does(command).output
    of.does(command, "-e prune_confirm=true", writes=[f"delete_client {label}" for label in _LABELS])


def test_renamed_hosts_keep_their_clients_but_not_those_of_other_users(fleet_of: Fleet) -> None:
    """Two hosts got the name that comes after their own; one carries the key of another user's client."""
    fleet_of.add("web-2", "web-3", "web-9")
    fleet_of.service.seed(labels=["web-1", "web-2", "theirs-1"])
    written = texts(fleet_of.service.clients())
    for host, owner in {"web-2": "web-1", "web-3": "web-2", "web-9": "theirs-1"}.items():
        fleet_of.write(host, written[owner])
    fleet_of.group_vars["monitor_agent_audit_orphan_pattern"] = "web-.*"
    found = fleet_of.audit()
    assert set(found) == {"Renamed hosts", "Key of another client"}
    for number in (3, 2):
        run = fleet_of.does(found["Renamed hosts"].partition(" --limit")[0], writes=[f"update_client web-{number}"])
        assert ("Run adopt again." in run.output) is (number > 2) and "conflict" in run.output
    fleet_of.does(found["Key of another client"], hosts=["web-9"], writes=["create_client web-9"])
    assert fleet_of.audit() == {}
    kept = {"web-2": written["web-1"], "web-3": written["web-2"], "theirs-1": written["theirs-1"]}
    assert kept.items() <= texts(fleet_of.service.clients()).items()


_PARTS: dict[str, tuple[str, dict[str, object]]] = {
    "a list": (f"-i web-2, {AUDIT}", {}),
    "not read": (f"-i missing.yml -i inventory.yml {AUDIT}", {}),
    "an artifact": (f"-i inventory.yml {AUDIT}", {"monitor_agent_audit_artifact": "monitor_audit"}),
    "a job of a workflow": (f"-i inventory.yml {AUDIT}", {"awx_workflow_job_id": 7}),
    "a play of some hosts": ("-i inventory.yml -i other.yml part.yml", {}),
}


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_of_the_inventory_proposes_neither_adopt_nor_prune(fleet_of: Fleet, part: str) -> None:
    """With a limit: test_some_hosts_only_and_drift_is_a_failure of tests/fleet/test_audit.py."""
    arguments, more = _PARTS[part]
    fleet_of.add("web-2")
    # The renamed machine may be a clone of web-1, which is not in this inventory.
    fleet_of.service.seed(labels=["web-1", "old-1"])
    fleet_of.write("web-2", texts(fleet_of.service.clients())["web-1"])
    given = {"ansible_connection": "local", "monitor_agent_config_path": str(fleet_of.path("web-2")), **more}
    fleet_of.inventory()
    (fleet_of.directory / "other.yml").write_text("all: {hosts: {db-1: }}", encoding="utf-8")
    role = {"name": "monitor.cloud.monitor_agent", "tasks_from": "audit", "rolespec_validate": False}
    play = {"hosts": "web-2", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": role}]}
    (fleet_of.directory / "part.yml").write_text(json.dumps([play]), encoding="utf-8")
    audit = fleet_of.shell(f"ansible-playbook {arguments} -e '{json.dumps(given)}'")
    assert_sound(fleet_of.service, audit.output)
    assert audit.code == 0, audit.output
    todo = " ".join(audit.output.partition("What to do:\n")[2].split())
    assert (
        "Undecided without the other hosts: 1." in todo
        and "Clients without a host: 1. Audit the whole inventory" in todo
    )
    assert "ansible-playbook" not in todo


def test_a_report_shows_no_option_of_the_run(fleet_of: Fleet) -> None:
    fleet_of.add("web-1")
    fleet_of.service.seed(labels=["web-1"])
    token, key = fleet_of.service.tokens["read_write"], fleet_of.expected("web-1")
    given = ("-e", json.dumps({"monitor_agent_api_token": token, "note": key}), "-e", "pwd=hunter1 site=hunter2")
    more = ("--ssh-common-args=-o ProxyCommand='sshpass -p hunter3 ssh gate'", "-e", "monitor_agent_audit_html=a.html")
    run = fleet_of.run(AUDIT, *given, *more, MONITOR_API_TOKEN="")
    shown = run.output + (fleet_of.directory / "a.html").read_text(encoding="utf-8")
    assert "--limit web-1" in proposals(run)["Not configured"] and "Add the options of this run" in shown
    assert_sound(fleet_of.service, shown)
    assert "hunter" not in shown and token not in shown
