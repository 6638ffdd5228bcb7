# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The agent itself: packages and installer, in check mode and in a run. Its restarts: test_restarts.py."""

import json

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play

INSTALL = 'mkdir -p /opt/agent && echo "$MONITOR_INSTALL_CODE" > /opt/agent/code && chmod 600 /opt/agent/code'


def steps(run: Run, name: str) -> dict[str, bool]:
    """The hosts on which a step of the installation ran, and whether it changed them."""
    found = {host: event.result.get(name) for host, event in run.of(CONFIGURE).items()}
    return {host: step["changed"] for host, step in found.items() if step}


def test_packages_are_installed_and_an_installer_gets_the_code_once(controller: Controller) -> None:
    controller.group_vars["monitor_agent_install_command"] = INSTALL
    controller.group_vars["monitor_agent_install_creates"] = "/opt/agent"
    controller.host_vars["web-2"] = {"monitor_agent_packages": ["bash"]}
    done = converge(controller, changes=controller.hosts)
    for run, changed in ((done.check, True), (done.run, True), (done.again, False)):
        assert steps(run, "installer") == dict.fromkeys(controller.hosts, changed), run.output
        assert steps(run, "packages") == {"web-2": False}
    codes = {client["label"]: f"{client['install_code']}\n" for client in controller.service.clients()}
    assert {name: host.read("/opt/agent/code") for name, host in controller.hosts.items()} == codes
    assert controller.hosts["web-2"].run("find /root/.ansible/tmp -mindepth 1") == ""


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


@pytest.mark.parametrize("exported", [{"TMOUT": "1"}, {"SHELLOPTS": "errexit:nounset"}], ids=str)
def test_an_installer_does_not_depend_on_the_settings_of_shells(single: Local, exported: dict[str, str]) -> None:
    single.group_vars["ansible_shell_executable"] = "/bin/bash"
    single.group_vars["monitor_agent_install_command"] = "sleep 2; echo done; exit 7"
    assert single.run(**exported).failures()["web-1"] == "The installer of 'web-1' failed: done (exit code 7)."


def test_an_installer_gets_the_environment_of_the_play(single: Local) -> None:
    found = single.directory / "found"
    environment = {"https_proxy": "http://it's a \\ $proxy!", "MONITOR_INSTALL_CODE": "1"}
    environment["MONITOR_API_TOKEN"] = single.service.tokens["read_write"]
    single.group_vars["monitor_agent_install_command"] = f"env > {found}"
    run = single.run(role_play(single, play=f"environment: {json.dumps(environment)}"))
    assert run.code == 0, run.output
    given = dict(line.partition("=")[::2] for line in found.read_text(encoding="utf-8").splitlines())
    assert given["https_proxy"] == environment["https_proxy"]
    assert given["MONITOR_INSTALL_CODE"] == single.service.clients()[0]["install_code"]
    assert "MONITOR_API_TOKEN" not in given
