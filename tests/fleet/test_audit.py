# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fleet of twelve hosts, each broken in a way of its own: the results of audit, adopt and prune."""

from __future__ import annotations

import collections
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import STATES
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import snapshots, text_of

STRANGE = "11111111-2222-3333-4444444444444444"
EXPECTED = {
    "gone-1": ["unreachable"],
    "clone-1": ["foreign_key", "shared_key"],
    "new-name": ["foreign_key", "not_registered"],
    "strange-1": ["unknown_key", "shared_key", "not_registered"],
    "strange-2": ["unknown_key", "shared_key", "wrong_permissions"],
    "cloned-1": ["shared_key"],
    "fresh-1": ["not_registered", "not_configured"],
    "empty-1": ["not_configured"],
    "closed-1": ["unverifiable"],
    "edited-1": ["outdated"],
    "open-1": ["wrong_permissions"],
    "ok-1": ["ok"],
}
UNREGISTERED = {"new-name", "strange-1", "fresh-1"}
ORPHANS = ["old-name", "retired-1", "retired-2"]
ACCOUNT = {"audit_orphans": 3, "clients_used": 12, "clients_included": 10, "clients_missing": 2, "clients_masked": 0}
FORMS = ("json", "junit", "html", "metrics")


@pytest.fixture(scope="module")
def twelve(workshop: tuple[Path, Path]) -> Iterator[list[fleet.Host]]:
    """Eleven running hosts; the twelfth is only in the inventory."""
    directory, keys = workshop
    started = fleet.start([name for name in EXPECTED if name != "gone-1"], directory, keys, first_address=60)
    yield started
    for host in started:
        host.stop()


@pytest.fixture
def broken(controllers: Callable[..., Controller], twelve: list[fleet.Host], emulator: Emulator) -> Controller:
    """The controller of the fleet, all of it broken."""
    controller = controllers(*twelve)
    controller.host_vars["gone-1"] = {"ansible_host": "127.0.77.249", "ansible_port": 1}
    emulator.seed(labels=[*(name for name in EXPECTED if name not in UNREGISTERED), *ORPHANS])
    emulator.set_plan("monitor-10")
    for name, label in {"clone-1": "cloned-1", "new-name": "old-name"}.items():
        controller.hosts[name].write(text_of(controller, label))
    for name in ("ok-1", "cloned-1", "edited-1", "open-1"):
        controller.hosts[name].write(text_of(controller, name))
    controller.hosts["strange-1"].write(f"install_code={STRANGE[::-1]}\napi_key={STRANGE}\n")
    controller.hosts["strange-2"].write(f"install_code={STRANGE[::-1]}\napi_key={STRANGE}\n", mode="0640")
    controller.hosts["empty-1"].write("# to be done\n")
    controller.hosts["edited-1"].run("echo '# edited' >> /etc/monitor/agent.conf")
    controller.hosts["open-1"].run("chmod 0644 /etc/monitor/agent.conf")
    controller.hosts["closed-1"].run("mkdir -p /etc/monitor/agent.conf")
    return controller


def audit(
    controller: Controller, *options: str, playbook: str = "monitor.cloud.audit", **environment: str
) -> tuple[Run, dict[str, list[str]]]:
    """Audit into files beside the inventory; the states by host."""
    files = {kind: f"-e monitor_agent_audit_{kind}=audit.{kind}".split() for kind in FORMS}
    written = controller.directory / "audit.json"
    written.unlink(missing_ok=True)
    run = controller.run(playbook, *(part for pair in files.values() for part in pair), *options, **environment)
    hosts = json.loads(written.read_text(encoding="utf-8"))["hosts"] if written.exists() else []
    return run, {host["host"]: host["states"] for host in hosts}


def test_every_state_at_once(broken: Controller) -> None:
    before = snapshots(broken)
    run, states = audit(broken, "-vvv")
    assert run.code == 0, run.output
    assert states == EXPECTED

    document = json.loads((broken.directory / "audit.json").read_text(encoding="utf-8"))
    found = {host["host"]: host for host in document["hosts"]}
    assert document["orphans"] == ORPHANS
    assert {name: found[name]["owner_label"] for name in ("clone-1", "new-name", "strange-1", "ok-1")} == {
        "clone-1": "cloned-1",
        "new-name": "old-name",
        "strange-1": None,
        "ok-1": "ok-1",
    }
    assert {name: host["shared_with"] for name, host in found.items() if host["shared_with"]} == {
        "clone-1": ["cloned-1"],
        "cloned-1": ["clone-1"],
        "strange-1": ["strange-2"],
        "strange-2": ["strange-1"],
    }
    account = {name: document["account"][name] for name in ("plan", "clients_used", "clients_missing")}
    assert account == {"plan": "monitor-10", "clients_used": 12, "clients_missing": 2}
    assert document["account"]["next_tier"]["id"] == "monitor-40"

    # Nothing was changed, and the account was read once.
    assert run.calls() == ["list_clients", "get_plan", "list_subscriptions"]
    assert snapshots(broken) == before
    assert not any(event.status == "changed" for event in run.events)


def test_all_forms_agree_and_hold_no_key(broken: Controller) -> None:
    run, states = audit(broken, "-vvv")
    first = {name: found[0] for name, found in states.items()}
    cases = ElementTree.parse(broken.directory / "audit.junit").iter("testcase")
    assert {case.get("name"): next((one.get("type") for one in case), "ok") for case in cases} == first
    page = (broken.directory / "audit.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr role="row" data-state="(\w+)"[^>]* id=.*?<bdi>([^<]+)', page)
    without_drift = json.loads(page.partition('id="ok">')[2].partition("<")[0])
    assert {name: state for state, name in [*rows, *(("ok", host) for host, _label in without_drift)]} == first
    assert f"of the account at <bdi>{broken.service.base_url}</bdi>" in page
    table = run.output[run.output.index("\nHOST ") :]
    table = table[: table.index("\nok: [")]
    assert dict(re.findall(r"^(\S+-\w+)  +(\w+)", table, re.MULTILINE)) == first
    assert max(map(len, table.splitlines())) <= 100
    everything = (
        run.output
        + str(run.events)
        + "".join((broken.directory / f"audit.{kind}").read_text(encoding="utf-8") for kind in FORMS)
    )
    assert found_in(everything, [*plain_secrets(broken.service), STRANGE, STRANGE[::-1]]) == []


def test_metrics_for_a_collector_that_runs_as_another_user(broken: Controller) -> None:
    before = time.time()
    old = os.umask(0o077)
    try:
        run, states = audit(broken)
    finally:
        os.umask(old)
    assert run.code == 0, run.output
    file = broken.directory / "audit.metrics"
    assert (stat.S_IMODE(file.stat().st_mode), [*broken.directory.glob("audit.metrics?*")]) == (0o644, [])
    text = file.read_text(encoding="utf-8")
    assert not [host for host in EXPECTED if host in text]
    families = {family.name: family for family in text_string_to_metric_families(text)}
    counted = {sample.labels["state"]: sample.value for sample in families["monitor_cloud_audit_hosts"].samples}
    first = collections.Counter(found[0] for found in states.values())
    assert counted == {state: first[state] for state in STATES}
    account = {name: families[f"monitor_cloud_{name}"].samples[0].value for name in ACCOUNT}
    assert account == ACCOUNT
    [made] = families["monitor_cloud_audit_timestamp_seconds"].samples
    assert before - 1 <= made.value <= time.time()

    audit(broken, "-e", "monitor_agent_audit_metrics_hosts=true", "--check")
    families = {family.name: family for family in text_string_to_metric_families(file.read_text(encoding="utf-8"))}
    named = families["monitor_cloud_audit_host_state"].samples
    assert {sample.labels["host"]: sample.labels["state"] for sample in named} == {
        name: found[0] for name, found in states.items()
    }


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="no /sys, where not even root may create a file")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("elsewhere", path), os.mkdir])
def test_a_report_replaces_nothing_but_files(emulator: Emulator, tmp_path: Path, make: Callable[[Path], None]) -> None:
    """As root it would replace /dev/null."""
    local, report = Local(tmp_path, emulator, "web-1"), tmp_path / "report"
    make(report)
    before = report.lstat()
    run = local.run("monitor.cloud.audit", "-e", f"monitor_agent_audit_json={report}")
    assert run.failures()["web-1"] == (
        f"The report could not be written to {report}: it is not a regular file. Choose another path."
    )
    assert report.lstat() == before and not (tmp_path / "elsewhere").exists()


def test_metrics_that_cannot_be_written_are_a_failure(broken: Controller) -> None:
    run = broken.run("monitor.cloud.audit", "--limit", "ok-1", "-e", "monitor_agent_audit_metrics=/sys/audit.prom")
    assert run.code == 2
    [message] = run.failures().values()
    assert message == (
        "The report could not be written to /sys/audit.prom: Permission denied. Choose another path, or let the user "
        "that runs Ansible write there."
    )
    # What was found is not lost.
    assert "Hosts: 1 (1 ok)." in run.output


def test_each_host_costs_one_task(broken: Controller) -> None:
    run, _states = audit(broken)
    first = next(event.host for event in run.events)
    tasks = {name: [event.task for event in run.events if event.host == name] for name in EXPECTED}
    assert {name: len(tasks[name]) for name in EXPECTED if name != first} == dict.fromkeys(set(EXPECTED) - {first}, 1)


def test_a_token_that_may_only_read(broken: Controller) -> None:
    token = broken.service.tokens["read_only"]
    run, states = audit(broken, "--check", MONITOR_API_TOKEN=token)
    assert run.code == 0, run.output
    masked = {name: states[name] for name in ("ok-1", "edited-1", "clone-1", "cloned-1", "strange-1", "open-1")}
    assert masked == {
        "ok-1": ["unverifiable"],
        "edited-1": ["unverifiable"],
        "clone-1": ["shared_key", "unverifiable"],
        "cloned-1": ["shared_key", "unverifiable"],
        "strange-1": ["shared_key", "not_registered", "unverifiable"],
        "open-1": ["unverifiable", "wrong_permissions"],
    }
    assert {name for name, found in states.items() if "not_registered" in found} == UNREGISTERED
    assert run.writes() == []
    assert "what check mode predicts" not in " ".join(run.output.split())


def test_without_the_grant_for_the_plan(broken: Controller) -> None:
    token = broken.service.tokens["no_plan"]
    run, states = audit(broken, MONITOR_API_TOKEN=token)
    assert run.code == 0, run.output
    assert states == EXPECTED
    account = json.loads((broken.directory / "audit.json").read_text(encoding="utf-8"))["account"]
    assert account["plan"] is None and "account_access" in account["problem"]


def test_some_hosts_only_and_drift_is_a_failure(broken: Controller) -> None:
    drift = "-e", "monitor_agent_audit_fail_on_drift=true"
    run, states = audit(broken, "--limit", "ok-1,clone-1", "--check", *drift)
    assert run.code == 2
    assert states == {"clone-1": ["foreign_key"], "ok-1": ["ok"]}
    # Hosts that the limit leaves out are not gone.
    assert json.loads((broken.directory / "audit.json").read_text(encoding="utf-8"))["orphans"] == ORPHANS
    assert "1 foreign_key, 3 clients without a host" in "".join(run.failures().values())

    mine = "-e", "monitor_agent_audit_orphan_pattern=web.*"
    run, states = audit(broken, "--limit", "ok-1", *drift, *mine)
    assert run.code == 0, run.output
    assert states == {"ok-1": ["ok"]}


@pytest.mark.parametrize("strategy", ["free", "ansible.builtin.host_pinned"])
def test_other_strategies_are_refused(broken: Controller, strategy: str) -> None:
    play = broken.play(
        f"- hosts: ok-1,open-1\n  gather_facts: false\n  strategy: {strategy}\n  tasks:\n"
        "    - ansible.builtin.import_role:\n        name: monitor.cloud.monitor_agent\n        tasks_from: audit\n"
    )
    run = broken.run(play)
    assert run.code == 2
    assert f"and the strategy '{strategy}' does not ensure that" in run.output
    assert run.calls() == []


def test_in_batches(broken: Controller) -> None:
    play = broken.play(
        "- hosts: all\n  gather_facts: false\n  serial: 5\n  tasks:\n    - ansible.builtin.import_role:\n"
        "        name: monitor.cloud.monitor_agent\n        tasks_from: audit\n        rolespec_validate: false\n"
        "      vars:\n        monitor_agent_audit_json: audit.json\n        monitor_agent_audit_fail_on_drift: true\n"
        "        monitor_agent_audit_metrics: audit.prom\n"
    )
    run = broken.run(play)
    assert run.code == 2
    hosts = json.loads((broken.directory / "audit.json").read_text(encoding="utf-8"))["hosts"]
    assert {host["host"]: host["states"] for host in hosts} == EXPECTED
    assert run.output.count("\nHOST ") == 1
    assert 'state="ok"} 1\n' in (broken.directory / "audit.prom").read_text(encoding="utf-8")


def test_a_host_that_failed_in_an_earlier_play_was_not_inspected(emulator: Emulator, tmp_path: Path) -> None:
    fleet = Local(tmp_path, emulator, "web-1", "web-2")
    emulator.seed(labels=["web-1", "web-2"])
    for name in ("web-1", "web-2"):
        fleet.write(name, fleet.expected(name))
    again = fleet.play(
        "- ansible.builtin.import_playbook: monitor.cloud.audit\n"
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.fail:\n"
        "      when: inventory_hostname == 'web-1'\n"
        "- ansible.builtin.import_playbook: monitor.cloud.audit\n"
    )
    _run, states = audit(fleet, playbook=again)
    assert states == {"web-1": ["unreachable"], "web-2": ["ok"]}


def test_a_localhost_that_the_inventory_does_not_have(emulator: Emulator, tmp_path: Path) -> None:
    local = Local(tmp_path, emulator, "web-1")
    emulator.seed(labels=["web-1", "localhost"])
    given = ("-e", "target=localhost", "-e", f"monitor_agent_config_path={tmp_path}/agent.conf")
    (tmp_path / "agent.conf").write_text(text_of(local, "localhost"), encoding="utf-8")
    (tmp_path / "agent.conf").chmod(0o600)
    for name, variable in {"audit": "monitor_agent_audit_json=a.json", "report": "audits=a.json"}.items():
        run = local.run(f"monitor.cloud.{name}", *given, "-e", variable)
        assert run.code == 0, run.output
        assert "Hosts: 1 (1 ok)." in run.output and "Clients without a host" not in run.output


def test_adopt(broken: Controller) -> None:
    before = snapshots(broken)
    check = broken.run("monitor.cloud.adopt", "--check", "--diff")
    assert check.code == 0, check.output
    assert check.writes() == []
    assert re.search(r"^new-name +adopt +Client 'old-name' gets the label 'new-name'\.$", check.output, re.MULTILINE)
    assert re.search(r"^clone-1 +conflict +", check.output, re.MULTILINE)

    key = text_of(broken, "old-name")
    run = broken.run("monitor.cloud.adopt")
    assert run.code == 0, run.output
    assert run.writes() == ["update_client new-name"]
    assert text_of(broken, "new-name") == key
    assert snapshots(broken) == before

    again = broken.run("monitor.cloud.adopt")
    assert (again.code, again.writes()) == (0, [])
    _run, states = audit(broken, "--limit", "new-name")
    assert states == {"new-name": ["ok"]}


def test_prune(broken: Controller) -> None:
    def labels() -> set[str]:
        return {client["label"] for client in broken.service.clients()}

    there = labels()
    refusals = {
        ("-e", "prune_pattern=retired.*", "--limit", "ok-1"): "Run it without --limit",
        ("-e", "prune_pattern=retired.*", "--limit", "ok-1", "--start-at-task", "Find *"): "Run it without --limit",
        (): "-e prune_pattern=",
        ("-e", "prune_pattern="): "-e prune_pattern=",
        ("-e", "prune_pattern=retired.*", "-e", "prune_limit=1"): "more than prune_limit (1)",
    }
    for options, message in refusals.items():
        run = broken.run("monitor.cloud.prune", *options)
        assert run.code == 2 and message in run.output, run.output
        assert run.writes() == []
    check = broken.run("monitor.cloud.prune", "--check", "-e", "prune_pattern=retired.*")
    assert check.code == 0 and "Would be removed, clients without a host: retired-1, retired-2" in check.output
    assert labels() == there

    run = broken.run("monitor.cloud.prune", "-e", "prune_pattern=retired.*")
    assert run.code == 0, run.output
    # No host was registered on the way, and clients that do not match stay.
    assert labels() == there - {"retired-1", "retired-2"}
    again = broken.run("monitor.cloud.prune", "-e", "prune_pattern=retired.*")
    assert again.writes() == [] and "No client without a host has a label that matches" in again.output
