# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import sys

import yaml

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, role_play, text_of
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

PACKAGES = "Install the packages"
INSTALLER = "Run the installer"
INSTALL = 'mkdir -p /opt/agent && echo "$MONITOR_INSTALL_CODE" > /opt/agent/code && chmod 600 /opt/agent/code'


def steps(run: Run, name: str) -> dict[str, bool]:
    """Return the hosts that ran a task, each with True if the task changed the host."""
    return {host: status == "changed" for host, status in run.statuses(name).items()}


def test_packages_are_installed_and_an_installer_gets_the_code_once(controller: Controller) -> None:
    """The installer of db-1 also writes a configuration, which the role replaces."""
    hosts = with_agents(controller).hosts
    controller.group_vars["monitor_agent_install_command"] = INSTALL
    controller.group_vars["monitor_agent_install_creates"] = "/opt/agent"
    controller.host_vars["web-2"] = {"monitor_agent_packages": ["bash"], "ansible_pipelining": False}
    replaces = f"{INSTALL}; echo theirs > {CONFIG}; chmod 644 {CONFIG}"
    controller.host_vars["db-1"] = {"monitor_agent_install_command": replaces}
    done = converge(controller, changes=hosts)
    for run, changed in ((done.check, True), (done.run, True), (done.again, False)):
        assert steps(run, INSTALLER) == dict.fromkeys(hosts, changed), run.output
        assert steps(run, PACKAGES) == {"web-2": False}
    codes = {client["label"]: f"{client['install_code']}\n" for client in controller.service.clients()}
    assert {name: host.read("/opt/agent/code") for name, host in hosts.items()} == codes
    assert hosts["web-2"].run("find /root/.ansible/tmp -mindepth 1") == ""
    assert hosts["db-1"].facts() == "regular file 600 root root"
    assert run_with_their_configuration(controller) == set(hosts)
    for host in hosts.values():
        host.run("rm -f /opt/agent-runs-with")
    hosts["web-2"].run(f"chmod 644 {CONFIG}")
    assert controller.succeed(ROLLOUT, "--check").changed_hosts(RESTART) == {"web-2"}
    assert controller.succeed().changed_hosts(RESTART) == run_with_their_configuration(controller) == {"web-2"}


def test_packages_that_fail_fail_the_host_before_its_configuration(single: Local) -> None:
    single.host_vars["web-1"].update(monitor_agent_packages=["bash"], ansible_python_interpreter="/nowhere/python")
    assert "web-1" in single.run().failures()
    assert single.read("web-1") is None


def test_an_installer_gets_the_environment_of_the_play(single: Local) -> None:
    printed = single.directory / "printed"
    environment = {"https_proxy": "http://it's a \\ $proxy!", "MONITOR_INSTALL_CODE": "1"}
    environment["MONITOR_API_TOKEN"] = single.service.tokens["read_write"]
    single.group_vars["monitor_agent_install_command"] = f"env > {printed}"
    single.succeed(role_play(single, play=f"environment: {json.dumps(environment)}"))
    given = dict(line.partition("=")[::2] for line in printed.read_text(encoding="utf-8").splitlines())
    assert given["https_proxy"] == environment["https_proxy"]
    assert given["MONITOR_INSTALL_CODE"] == single.service.clients()[0]["install_code"]
    assert "MONITOR_API_TOKEN" not in given


HANDLER = "Restart the monitoring agent"
RESTART = "Restart the agent, or start it"
# This service records its configuration at each start. The service runs while /opt/agent-works exists.
SERVICE = f"""#!/bin/sh
[ "$1" != status ] || [ -e /opt/agent-works ] || exit 3
[ "$1" != start ] || cat {CONFIG} > /opt/agent-runs-with
[ "$1" = status ] || env >> /opt/agent-environment
"""


def with_agents(controller: Controller) -> Controller:
    # Pipelining halves the time of a restart. test_machines.py tests restarts without pipelining.
    controller.group_vars.update(monitor_agent_service="monitor-agent", ansible_pipelining=True)
    controller.with_facts("sysvinit")
    for host in controller.hosts.values():
        host.run("mkdir -p /etc/monitor; touch /opt/agent-works")
        host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")
    return controller


def run_with_their_configuration(controller: Controller) -> set[str]:
    """Return the hosts whose agent started with the configuration of the role."""
    hosts = controller.hosts.items()
    return {name for name, host in hosts if host.read("/opt/agent-runs-with") == text_of(controller, name)}


ROLE = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}\n"
SECOND = ROLE + "  vars: {monitor_agent_config_path: /etc/monitor/second.conf, monitor_agent_service: second}\n"
RECORDING = """#!/bin/sh
[ "$1" = start ] && echo {} >> /opt/restarts
:
"""


def test_each_use_of_the_role_in_a_play_does_its_restart(one: Controller) -> None:
    """A handler of the play can listen to restarts, but cannot replace the handler of the role."""
    host = with_agents(one).hosts["web-1"]
    listening = "{name: Mine, listen: The monitoring agent was restarted, ansible.builtin.debug: }"
    handlers = f"handlers: [{{name: {HANDLER}, ansible.builtin.fail: }}, {listening}]"
    for service in ("monitor-agent", "second"):
        host.write(RECORDING.format(service), f"/etc/init.d/{service}", mode="755")
    run = one.succeed(one.tasks(ROLE + SECOND, play=handlers))
    assert host.run("cat /opt/restarts").split() == ["monitor-agent", "second"]
    assert host.run("ls -A /etc/monitor").split() == ["agent.conf", "second.conf"]
    assert run.of("Mine") and "[WARNING]" not in run.output, run.output
    # The handler of the role that other handlers listen to shows no result.
    assert "skipping" not in run.output.partition("RUNNING HANDLER")[2], run.output


def test_another_task_can_notify_the_handler_before_the_role_has_run(one: Controller) -> None:
    """The play sets the token as an environment variable. Neither the service nor the output gets the token."""
    agent = with_agents(one)
    flush = "- ansible.builtin.meta: flush_handlers\n"
    token = agent.service.tokens["read_write"]
    environment = f"environment: {{MONITOR_API_TOKEN: {token}, SHOWN: 'yes'}}"
    tasks = f"- ansible.builtin.command: touch {CONFIG}\n  notify: {HANDLER}\n{flush}{ROLE}"
    run = agent.succeed(agent.tasks(tasks, play=environment))
    assert run.changed_hosts(HANDLER) == {"web-1"}
    assert run_with_their_configuration(agent) == {"web-1"}
    agent.hosts["web-1"].run(f"chmod 644 {CONFIG}")
    run = agent.succeed(agent.tasks(ROLE, play=environment), "-vvvvv")
    for shown in (agent.hosts["web-1"].read("/opt/agent-environment") or "", run.output):
        assert "SHOWN=yes" in shown and token not in shown


def test_check_mode_predicts_the_handler_before_the_agent_is_installed(single: Local) -> None:
    single.group_vars.update(monitor_agent_service="no-such-agent", ansible_python_interpreter=sys.executable)
    single.group_vars["monitor_agent_install_command"] = "true"
    tasks = f"- ansible.builtin.debug:\n  changed_when: true\n  notify: {HANDLER}\n{ROLE}"
    check = single.succeed(single.tasks(tasks), "--check")
    assert check.changed_hosts(HANDLER) == {"web-1"}
    assert "no-such-agent" in single.run(single.tasks(tasks)).failures()["web-1"]


def test_an_agent_is_uninstalled_before_its_configuration_and_client_are_removed(three: Local) -> None:
    """The uninstaller of web-2 fails at first. Web-3 has no uninstaller."""
    three.monitor()
    three.add("new-1")
    for host in ("web-1", "web-2", "web-3"):
        three.host_vars[host]["monitor_agent_state"] = "absent"
    program = "cd {{ playbook_dir }} && test -e {{ monitor_agent_config_path }} && test -e fixed && rm -r agent"
    three.host_vars["web-1"].update(monitor_agent_uninstall=True, monitor_agent_uninstall_command="true")
    three.host_vars["web-2"].update(
        monitor_agent_uninstall=True,
        monitor_agent_uninstall_command=program,
        monitor_agent_uninstall_removes="{{ playbook_dir }}/agent",
    )
    three.group_vars["ansible_python_interpreter"] = sys.executable
    (three.directory / "agent").mkdir()
    play = three.tasks(ROLE)
    three.succeed(play, "--check")
    assert labels(three) == ["web-1", "web-2", "web-3"]
    run = three.run(play)
    assert (labels(three), set(run.failures())) == (["new-1", "web-2"], {"web-2"}), run.output
    assert {host for host, text in three.files().items() if text} == {*labels(three)}
    (three.directory / "fixed").touch()
    three.succeed(play)
    assert labels(three) == ["new-1"] and not (three.directory / "agent").exists()
    again = three.succeed(play)
    # Without monitor_agent_uninstall_removes, web-1 runs its uninstaller each time.
    changed = {(event.host, event.task) for event in again.events if event.status == "changed"}
    assert again.writes() == [] and changed == {("web-1", "monitor.cloud.monitor_agent : Run the uninstaller")}


ENTRY_POINTS = yaml.safe_load((CHECKOUT / "roles/monitor_agent/meta/argument_specs.yml").read_text("utf-8"))
VARIABLES = [name for entry in ENTRY_POINTS["argument_specs"].values() for name in entry["options"]]


def _play(controller: Controller, entry: str, **variables: object) -> str:
    # The packaged playbooks also turn off the check of ansible-core, which differs by version.
    role = {"name": "monitor.cloud.monitor_agent", "tasks_from": entry, "rolespec_validate": False}
    return controller.tasks(json.dumps([{"ansible.builtin.import_role": role, "vars": variables}]))


def test_a_variable_that_is_null_has_its_default(one: Controller) -> None:
    host = with_agents(one).hosts["web-1"]
    one.group_vars.update(dict.fromkeys(VARIABLES))
    one.succeed(_play(one, "main"), "--check")
    one.succeed(_play(one, "main"))
    assert configured(one) == run_with_their_configuration(one) == {"web-1"}
    again = one.succeed(_play(one, "main"))
    assert [event.task for event in again.events if event.status == "changed"] == []
    audit = one.succeed(_play(one, "audit", monitor_agent_audit_json="audit.json"))
    assert "Hosts: 1 (1 ok)." in audit.output, audit.output
    one.succeed(_play(one, "adopt"))
    report = one.succeed(_play(one, "report", monitor_agent_audits=["audit.json"]))
    assert "Hosts: 1 (1 ok)." in report.output, report.output
    # A handler of the role uses the name of the service too.
    host.run("rm /opt/agent-runs-with")
    notify = {"ansible.builtin.debug": None, "changed_when": True, "notify": HANDLER}
    role = {"ansible.builtin.import_role": {"name": "monitor.cloud.monitor_agent", "rolespec_validate": False}}
    one.succeed(one.tasks(json.dumps([notify, role])))
    assert run_with_their_configuration(one) == {"web-1"}
    one.succeed(_play(one, "main", monitor_agent_state="absent", monitor_agent_uninstall=True))
    assert labels(one) == [] and host.read(CONFIG) is None
