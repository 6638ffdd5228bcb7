# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The agent itself: packages, installer and service, in check mode and in a run; and the removal of hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse, role_play

INSTALL = 'mkdir -p /opt/agent && echo "$MONITOR_INSTALL_CODE" > /opt/agent/code && chmod 600 /opt/agent/code'
GONE = "Remove the clients of hosts that are gone"
HANDLER = "Restart the monitoring agent"
# ansible.builtin.service uses systemctl if systemd seems to run, and the init script if not.
SERVICE = """cat > /etc/init.d/monitor-agent <<'END'
#!/bin/sh
[ "$1" = status ] && exit 0
echo "$1" >> /opt/agent.log
END
chmod 755 /etc/init.d/monitor-agent; rm -f /opt/agent.log"""


def steps(run: Run, name: str) -> dict[str, bool]:
    """The hosts on which a step of the installation ran, and whether it changed them."""
    found = {host: event.result.get(name) for host, event in run.of(CONFIGURE).items()}
    return {host: step["changed"] for host, step in found.items() if step}


def restarts(controller: Controller, host: str) -> str:
    return controller.hosts[host].run("cat /opt/agent.log 2>/dev/null; rm -f /opt/agent.log; :")


def test_installer_gets_the_code_once(controller: Controller) -> None:
    controller.group_vars["monitor_agent_install_command"] = INSTALL
    controller.group_vars["monitor_agent_install_creates"] = "/opt/agent"
    check = controller.run("monitor.cloud.rollout", "--check")
    assert check.code == 0, check.output
    assert steps(check, "installer") == dict.fromkeys(controller.hosts, True)
    assert controller.hosts["web-1"].facts("/opt/agent") == ""
    run = controller.run()
    assert steps(run, "installer") == dict.fromkeys(controller.hosts, True), run.output
    codes = {client["label"]: client["install_code"] for client in controller.service.clients()}
    assert {name: host.read("/opt/agent/code") for name, host in controller.hosts.items()} == {
        name: f"{codes[name]}\n" for name in controller.hosts
    }
    again = controller.run()
    assert steps(again, "installer") == dict.fromkeys(controller.hosts, False)
    assert again.changed_hosts() == set()


def test_an_installer_may_start_a_process_that_keeps_its_output(one: Controller) -> None:
    host, started = one.hosts["web-1"], "sleep 10000 & echo $! > /opt/agent.pid; printf 'caf\\303\\251 a\\\\b'; exit "
    try:
        one.group_vars["monitor_agent_install_command"] = f"{started}7"
        assert one.run().failures()["web-1"] == "The installer of 'web-1' failed: café a\\b (exit code 7)."
        host.run("kill $(cat /opt/agent.pid)")
        one.group_vars["monitor_agent_install_command"] = f"{started}0"
        assert steps(one.run(), "installer") == {"web-1": True}
    finally:
        host.run("kill $(cat /opt/agent.pid)")


def test_an_installer_may_be_silent_for_longer_than_the_timeout_of_shells(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, "web-1")
    controller.group_vars["ansible_shell_executable"] = "/bin/bash"
    controller.group_vars["monitor_agent_install_command"] = "sleep 2; echo done; exit 7"
    assert controller.run(TMOUT="1").failures()["web-1"] == "The installer of 'web-1' failed: done (exit code 7)."


def test_an_installer_gets_the_environment_of_the_play(emulator: Emulator, tmp_path: Path) -> None:
    controller, found = Local(tmp_path, emulator, "web-1"), tmp_path / "found"
    environment = {"https_proxy": "http://it's a \\ $proxy!", "MONITOR_INSTALL_CODE": "1"}
    environment["MONITOR_API_TOKEN"] = emulator.tokens["read_write"]
    controller.group_vars["monitor_agent_install_command"] = f"env > {found}"
    run = controller.run(role_play(controller, play=f"environment: {json.dumps(environment)}"))
    assert run.code == 0, run.output
    given = dict(line.partition("=")[::2] for line in found.read_text(encoding="utf-8").splitlines())
    assert given["https_proxy"] == environment["https_proxy"]
    assert given["MONITOR_INSTALL_CODE"] == controller.service.clients()[0]["install_code"]
    assert "MONITOR_API_TOKEN" not in given


def test_an_installer_does_not_control_the_terminal(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, "web-1")
    controller.group_vars["monitor_agent_install_command"] = "printf '\\033]0;title\\007\\033[2J a\\tb'; exit 3"
    run = controller.run()
    assert run.failures()["web-1"] == "The installer of 'web-1' failed: ]0;title [2J a b (exit code 3)."
    assert "\033" not in run.output


def test_packages_of_one_host_only(controller: Controller) -> None:
    controller.host_vars["db-2"] = {"monitor_agent_packages": ["bash"]}
    for options in (["--check"], []):
        run = controller.run("monitor.cloud.rollout", *options)
        assert run.code == 0, run.output
        assert steps(run, "packages") == {"db-2": False}
    assert controller.hosts["db-2"].run("find /root/.ansible/tmp -mindepth 1") == ""


def test_service_is_restarted_on_hosts_that_changed(controller: Controller) -> None:
    controller.group_vars["monitor_agent_service"] = "monitor-agent"
    check = controller.run("monitor.cloud.rollout", "--check")
    assert check.code == 0, f"a service that is not there yet stops no check: {check.output}"
    assert check.changed_hosts(HANDLER) == set(controller.hosts)
    for host in controller.hosts.values():
        host.run(SERVICE)
    run = controller.run()
    assert run.code == 0, run.output
    assert run.changed_hosts(HANDLER) == set(controller.hosts)
    assert all("start" in restarts(controller, name) for name in controller.hosts)
    assert controller.run().of(HANDLER) == {}
    controller.hosts["db-1"].run("chmod 644 /etc/monitor/agent.conf")
    run = controller.run()
    assert run.changed_hosts(HANDLER) == {"db-1"}
    assert {name: bool(restarts(controller, name)) for name in controller.hosts} == {
        name: name == "db-1" for name in controller.hosts
    }


def test_retire_hosts_within_a_limit_and_clients_of_hosts_that_are_gone(controller: Controller) -> None:
    controller.run()
    controller.service.seed(labels=["gone-1", "gone-2"])
    arguments = ("-e", "target=all", "-e", '{"labels": ["gone-1"]}', "--limit", "web-1")
    converge(controller, "monitor.cloud.retire", *arguments, changes={"web-1"})
    assert labels(controller) == ["db-1", "db-2", "gone-2", "web-2"]
    assert configured(controller) == {"web-2", "db-1", "db-2"}


def test_retire_keeps_the_client_of_a_host_that_it_can_not_reach(controller: Controller) -> None:
    controller.run()
    controller.host_vars["web-1"] = {"ansible_host": "127.0.77.250"}
    run = controller.run("monitor.cloud.retire", "-e", "target=web-*")
    assert run.code == 4
    assert labels(controller) == ["db-1", "db-2", "web-1"]


@pytest.mark.parametrize("given", [["gone-1", "gone-2"], "gone-1, gone-2"], ids=["list", "text"])
def test_retire_clients_of_hosts_that_are_gone(controller: Controller, given: list[str] | str) -> None:
    controller.run()
    controller.service.seed(labels=["gone-1", "gone-2", "other"])
    gone = json.dumps({"labels": given})
    steps = converge(controller, "monitor.cloud.retire", "-e", gone, changes=())
    assert sorted(steps.run.writes()) == ["delete_client gone-1", "delete_client gone-2"]
    assert steps.check.changed_hosts(GONE) == steps.run.changed_hosts(GONE) == {"web-1"}
    assert labels(controller) == [*sorted(controller.hosts)[:2], "other", *sorted(controller.hosts)[2:]]
    assert configured(controller) == set(controller.hosts)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "Choose what to retire"),
        (("target=all", "retire_limit=3"), "more than retire_limit (3)"),
        (("target=all", '{"labels": ["gone-1"]}', "retire_limit=4"), "retire 5 clients"),
        (("labels=gone-1,gone-2", "retire_limit=1"), "retire 2 clients"),
    ],
    ids=["neither given", "over the limit", "both together over the limit", "labels in one text"],
)
def test_retire_refuses_invalid_options(controller: Controller, options: tuple[str, ...], expected: str) -> None:
    controller.run()
    (message,) = refuse(controller, "monitor.cloud.retire", *(part for option in options for part in ("-e", option)))
    assert expected in message
    assert configured(controller) == set(controller.hosts)
