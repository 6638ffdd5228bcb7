# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian machines with systemd: what counts is the client under which the agent of each of them reports."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.machines import SERVICE, UNIT, Machine, reporting, running
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, labels

RESTART = "Restart the monitoring agent"
NAMES = ("web-1", "web-2", "db-1")


@pytest.fixture
def controller(controllers: Callable[..., Controller], booted: Callable[..., list[Machine]]) -> Controller:
    """A controller for the machines; one of them is reached by sudo."""
    made = controllers(*booted(*NAMES))
    made.group_vars["monitor_agent_service"] = SERVICE
    made.host_vars["db-1"] = {"ansible_user": USER, "ansible_become": True}
    made.with_facts("systemd")
    return made


def own(controller: Controller) -> dict[str, str]:
    """The reports that are expected of the machines: each under the client of its name in the inventory."""
    return {host.name: name for name, host in controller.hosts.items()}


def audit(controller: Controller, *, services: bool = True) -> tuple[dict[str, list[str]], list[str]]:
    """What an audit finds, and the commands that it proposes."""
    options = ["-e", f"monitor_agent_audit_service={services}"]
    run = controller.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_json=audit.json", *options)
    report = json.loads((controller.directory / "audit.json").read_text(encoding="utf-8"))
    proposed = re.findall("^    (ansible-playbook .*)", run.output, re.MULTILINE)
    return {found["host"]: found["states"] for found in report["hosts"]}, proposed


def test_agents_report_under_their_own_clients_until_they_are_retired(controller: Controller) -> None:
    converge(controller, changes=NAMES)
    assert reporting(controller) == own(controller)
    run = controller.run("monitor.cloud.retire", "-e", "target=all")
    assert (run.code, run.changed_hosts()) == (0, set(NAMES)), run.output
    assert labels(controller) == []
    for host in controller.hosts.values():
        assert (host.read(), host.run(f"systemctl is-active {SERVICE}", check=False)) == (None, "inactive\n")


def test_agents_report_after_a_reboot(controller: Controller, booted: Callable[..., list[Machine]]) -> None:
    controller.run()
    booted("web-1")[0].reboot()
    assert reporting(controller) == own(controller)
    run = controller.run()
    assert (run.code, run.changed_hosts()) == (0, set()), run.output


def test_an_audit_proposes_the_restart_that_failed_and_finds_a_stopped_agent(controller: Controller) -> None:
    controller.run()
    controller.service.reset()
    host = controller.hosts["web-1"]
    host.write("[Service]\nExecStart=not-an-absolute-path\n", f"{UNIT}.d/broken.conf")
    host.run("systemctl daemon-reload")
    assert set(controller.run().failures()) == {"web-1"}
    assert reporting(controller) == {**own(controller), "web-1": None}, "the agent has read its configuration again"
    controller.hosts["db-1"].run(f"systemctl stop {SERVICE}")
    host.run(f"rm -r {UNIT}.d; systemctl daemon-reload")
    states = {"web-1": ["restart_pending"], "web-2": ["ok"], "db-1": ["ok"]}
    assert audit(controller, services=False)[0] == states, "services are inspected on request only"
    controller.hosts["web-2"].run(f"systemctl disable {SERVICE}")
    states, proposed = audit(controller)
    assert states == {"web-1": ["restart_pending"], "web-2": ["agent_disabled"], "db-1": ["agent_stopped"]}
    assert proposed == [f"ansible-playbook monitor.cloud.rollout --limit {host}" for host in ("web-1", "db-1", "web-2")]
    for options in (["--check"], []):
        run = controller.succeed("monitor.cloud.rollout", *options)
        assert (run.changed_hosts(), run.changed_hosts(RESTART)) == ({"web-1"}, set(NAMES)), run.output
    assert controller.succeed().of(RESTART) == {}
    assert reporting(controller) == own(controller)
    assert audit(controller) == (dict.fromkeys(NAMES, ["ok"]), [])


def test_a_copied_machine_gets_a_client_of_its_own(
    controller: Controller, booted: Callable[..., list[Machine]], workshop: tuple[Path, Path]
) -> None:
    controller.run()
    with running(["web-3"], *workshop, controller.service, first_address=9, copy_of=booted("web-1")[0]) as copies:
        controller.hosts["web-3"] = copies[0]
        assert reporting(controller) == {**own(controller), "web-3": "web-1"}
        assert audit(controller)[0] == {
            "web-1": ["shared_key"],
            "web-2": ["ok"],
            "db-1": ["ok"],
            "web-3": ["foreign_key", "shared_key", "not_registered"],
        }
        run = controller.run()
        assert (run.code, run.changed_hosts()) == (0, {"web-3"}), run.output
        assert reporting(controller) == own(controller)


def test_a_renamed_host_keeps_its_client(controller: Controller) -> None:
    controller.run()
    before = {client["id"]: client["label"] for client in controller.service.clients()}
    controller.hosts["web-9"] = controller.hosts.pop("web-1")
    controller.succeed("monitor.cloud.adopt")
    after = {client["id"]: client["label"] for client in controller.service.clients()}
    assert after == {number: label.replace("web-1", "web-9") for number, label in before.items()}
    assert reporting(controller) == own(controller)
