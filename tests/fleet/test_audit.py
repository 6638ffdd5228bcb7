# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fleet with a host in every state: the results of an audit."""

import collections
import json
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import EXPECTED, HOSTS, ORPHANS, STRANGE, break_all
from ansible_collections.monitor.cloud.tests.support.runs import Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import snapshots, text_of

ROLE = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
FORMS = ("json", "junit", "html", "metrics")


@pytest.fixture
def fleet(emulator: Emulator, tmp_path: Path) -> Local:
    """The broken fleet, and a plan that is too small."""
    found = Local(tmp_path, emulator, *HOSTS)
    break_all(found)
    emulator.set_plan("monitor-10")
    return found


def audit(
    controller: Local, *options: str, playbook: str = "monitor.cloud.audit", **environment: str
) -> tuple[Run, dict[str, list[str]]]:
    """Audit into files beside the inventory; the states by host."""
    files = {kind: f"-e monitor_agent_audit_{kind}=audit.{kind}".split() for kind in FORMS}
    written = controller.directory / "audit.json"
    written.unlink(missing_ok=True)
    run = controller.run(playbook, *(part for pair in files.values() for part in pair), *options, **environment)
    hosts = json.loads(written.read_text(encoding="utf-8"))["hosts"] if written.exists() else []
    return run, {host["host"]: host["states"] for host in hosts}


def test_every_state_at_once(fleet: Local) -> None:
    """No form holds a key; that all agree is a unit test."""
    before, started = snapshots(fleet), time.time()
    run, states = audit(fleet, "-vvv")
    assert (run.code, states) == (0, EXPECTED), run.output
    # Nothing was changed, the account was read once, and each host but the first costs core's check and one task.
    assert run.calls() == ["list_clients", "get_plan", "list_subscriptions"]
    assert snapshots(fleet) == before
    assert not any(event.status == "changed" for event in run.events)
    tasks = collections.Counter(event.host for event in run.events)
    assert [name for name in EXPECTED if tasks[name] != 2] == [run.events[0].host]

    forms = {kind: (fleet.directory / f"audit.{kind}").read_text(encoding="utf-8") for kind in FORMS}
    document = json.loads(forms["json"])
    found = {host["host"]: host for host in document["hosts"]}
    assert document["orphans"] == ORPHANS
    assert found["open"]["detail"] == "Not as expected: mode 0644 instead of 0600."
    owners = {"clone-1": "web-1", "clone-2": "web-1", "renamed": "old-name", "strange-1": None, "fine": "fine"}
    assert {name: found[name]["owner_label"] for name in owners} == owners
    assert {name: host["shared_with"] for name, host in found.items() if host["shared_with"]} == {
        "clone-1": ["clone-2", "web-1"],
        "clone-2": ["clone-1", "web-1"],
        "web-1": ["clone-1", "clone-2"],
        "strange-1": ["strange-2"],
        "strange-2": ["strange-1"],
    }
    account = {name: document["account"][name] for name in ("plan", "clients_used", "clients_missing")}
    assert account == {"plan": "monitor-10", "clients_used": 17, "clients_missing": 2}
    assert document["account"]["next_tier"]["id"] == "monitor-40"

    assert f"of the account at <bdi>{fleet.service.base_url}</bdi>" in forms["html"]
    made = re.search(r"\nmonitor_cloud_audit_timestamp_seconds (\d+)\n", forms["metrics"])
    assert made and started - 1 <= int(made[1]) <= time.time()
    assert not [host for host in EXPECTED if f'"{host}"' in forms["metrics"]]
    everything = run.output + str(run.events) + "".join(forms.values())
    assert found_in(everything, [*plain_secrets(fleet.service), STRANGE, STRANGE[::-1]]) == []


def test_a_collector_of_metrics_that_runs_as_another_user_may_read_them(single: Local) -> None:
    file = single.directory / "audit.metrics"
    given = ("-e", f"monitor_agent_audit_metrics={file}", "-e", "monitor_agent_audit_metrics_hosts=true", "--check")
    old = os.umask(0o077)
    try:
        run = single.finish(*single.start("monitor.cloud.audit", *given))
    finally:
        os.umask(old)
    assert run.code == 0, run.output
    assert (stat.S_IMODE(file.stat().st_mode), [*single.directory.glob("audit.metrics?*")]) == (0o644, [])
    assert '{host="web-1",state="not_registered"} 1\n' in file.read_text(encoding="utf-8")


_NO_FILE = "it is not a regular file. Choose another path."
_NOT_ALLOWED = "Permission denied. Choose another path, or let the user that runs Ansible write there."


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="no /sys, where not even root may create a file")
@pytest.mark.parametrize(
    ("path", "make", "reason"),
    [
        ("report", os.mkfifo, _NO_FILE),
        ("report", lambda path: os.symlink("elsewhere", path), _NO_FILE),
        ("report", os.mkdir, _NO_FILE),
        ("/sys/report", lambda path: None, _NOT_ALLOWED),
    ],
)
def test_a_report_that_cannot_be_written_is_a_failure(
    single: Local, path: str, make: Callable[[Path], None], reason: str
) -> None:
    """Nothing but a file is replaced: as root that could be /dev/null. What was found is not lost."""
    report = single.directory / path
    make(report)
    before = report.lstat() if path == "report" else None
    run = single.run("monitor.cloud.audit", "-e", f"monitor_agent_audit_metrics={report}")
    assert run.failures()["web-1"] == f"The report could not be written to {report}: {reason}"
    assert before is None or report.lstat() == before
    assert not report.with_name("elsewhere").exists() and "Hosts: 1 (1 not_registered)." in run.output


def test_without_the_grant_for_the_plan(fleet: Local) -> None:
    token = fleet.service.tokens["no_plan"]
    run, states = audit(fleet, MONITOR_API_TOKEN=token)
    assert (run.code, states) == (0, EXPECTED), run.output
    account = json.loads((fleet.directory / "audit.json").read_text(encoding="utf-8"))["account"]
    assert account["plan"] is None and "account_access" in account["problem"]


def test_some_hosts_only_and_drift_is_a_failure(fleet: Local) -> None:
    drift = "-e", "monitor_agent_audit_fail_on_drift=true"
    run, states = audit(fleet, "--limit", "fine,clone-1", "--check", *drift)
    assert run.code == 2
    assert states == {"clone-1": ["foreign_key"], "fine": ["ok"]}
    # Hosts that the limit leaves out are not gone.
    assert json.loads((fleet.directory / "audit.json").read_text(encoding="utf-8"))["orphans"] == ORPHANS
    assert "1 foreign_key, 4 clients without a host" in "".join(run.failures().values())
    # The other hosts decide whether clone-1 is a renamed machine, and which clients have no host.
    assert "Undecided without the other hosts: 1." in run.output
    assert not re.search(r"monitor.cloud.(rollout|adopt|prune|retire)", run.output.partition("What to do:")[2])

    mine = "-e", "monitor_agent_audit_orphan_pattern=web.*"
    run, states = audit(fleet, "--limit", "fine", *drift, *mine)
    assert (run.code, states) == (0, {"fine": ["ok"]}), run.output


def test_in_batches(fleet: Local) -> None:
    given = {"json": "audit.json", "metrics": "audit.prom", "fail_on_drift": True}
    fleet.group_vars.update({f"monitor_agent_audit_{name}": value for name, value in given.items()})
    run = fleet.run(fleet.tasks(ROLE, play="serial: 5"))
    assert run.code == 2
    hosts = json.loads((fleet.directory / "audit.json").read_text(encoding="utf-8"))["hosts"]
    assert {host["host"]: host["states"] for host in hosts} == EXPECTED
    assert run.output.count("\nHOST ") == 1
    assert 'state="ok"} 3\n' in (fleet.directory / "audit.prom").read_text(encoding="utf-8")


def test_a_key_with_many_zeros(emulator: Emulator, single: Local) -> None:
    """Ids of tasks have as many: the one in a host's result was redacted, and the host counted as not inspected."""
    key = {"data.api_key": "00000000-1111-2222-0000000000000001"}
    single.monitor()
    emulator.fault(kind="edit", operation="list_clients", add=key, times=-1)
    assert single.run("monitor.cloud.rollout").code == 0
    assert audit(single)[1] == {"web-1": ["ok"]}


def test_a_host_that_failed_in_an_earlier_play_was_not_inspected(pair: Local) -> None:
    pair.monitor()
    again = pair.play(
        "- ansible.builtin.import_playbook: monitor.cloud.audit\n"
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.fail:\n"
        "      when: inventory_hostname == 'web-1'\n"
        "- ansible.builtin.import_playbook: monitor.cloud.audit\n"
    )
    _run, states = audit(pair, playbook=again)
    assert states == {"web-1": ["unreachable"], "web-2": ["ok"]}


@pytest.mark.parametrize(("use", "kept"), [("import_role", "web-1"), ("include_role", "web-3")])
def test_a_host_that_the_last_audit_leaves_out_has_no_facts_of_an_earlier_one(
    three: Local, use: str, kept: str
) -> None:
    three.add("web-4")
    three.monitor()
    three.host_vars["web-2"].update({"ansible_connection": "ssh", "ansible_host": "127.0.77.249"})
    three.path("web-4").unlink()
    three.path("web-4").mkdir()
    last = f"{ROLE.replace('import_role', use)}\n  when: inventory_hostname == '{kept}'"
    run, states = audit(three, playbook=three.tasks(f"{ROLE}\n{last}"))
    assert states == dict.fromkeys(three.host_vars, ["unreachable"]) | {kept: ["ok"]}, run.output
    assert "a condition left it out" in " ".join(run.output.split())
    hosts = json.loads((three.directory / "audit.json").read_text(encoding="utf-8"))["hosts"]
    assert {host["reason"] for host in hosts} == {None}


def test_a_localhost_that_the_inventory_does_not_have(single: Local) -> None:
    single.service.seed(labels=["web-1", "here"])
    (single.directory / "host_vars").mkdir()
    (single.directory / "host_vars" / "localhost.yml").write_text("monitor_agent_label: here\n", encoding="utf-8")
    file = single.directory / "agent.conf"
    given = ("-e", f"monitor_agent_config_path={file}")
    file.write_text(text_of(single, "here"), encoding="utf-8")
    file.chmod(0o600)
    for name, variable in {"audit": "audit_json=a.json", "report": "audits=a.json"}.items():
        role = f"- ansible.builtin.import_role: {{name: monitor.cloud.monitor_agent, tasks_from: {name}}}"
        run = single.succeed(single.tasks(role, hosts="localhost"), *given, "-e", f"monitor_agent_{variable}")
        assert "Hosts: 1 (1 ok)." in run.output and "Clients without a host" not in run.output
