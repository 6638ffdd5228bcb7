# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The agent itself: packages and installer, in check mode and in a run, and its restarts."""

import json
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, Host
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    CONFIGURE_AGAIN,
    ROLLOUT,
    Controller,
    Local,
    Run,
)
from ansible_collections.monitor.cloud.tests.support.steps import converge, labels, role_play, text_of

AGAIN = "Install the packages again, with the new lists"
PACKAGES, INSTALLER = "Install the packages", "Run the installer"
INSTALL = 'mkdir -p /opt/agent && echo "$MONITOR_INSTALL_CODE" > /opt/agent/code && chmod 600 /opt/agent/code'


def steps(run: Run, name: str) -> dict[str, bool]:
    """The hosts on which a step of the installation ran, and whether it changed them."""
    return {host: status == "changed" for host, status in run.statuses(name).items()}


def test_packages_are_installed_and_an_installer_gets_the_code_once(controller: Controller) -> None:
    """The installer of db-1 replaces the configuration: the agent is restarted with its own."""
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
    assert run_with_their_configuration(controller) == set(hosts) and pending(controller) == set()


# A source of one package, whose lists apt has not fetched, as on a host that was just installed.
SOURCE = """set -e
mkdir -p /opt/agent-apt/state/lists/partial /opt/agent-apt/cache/archives/partial /opt/agent-apt/agent/DEBIAN
cd /opt/agent-apt
cat > agent/DEBIAN/control <<'END'
Package: agent-of-a-test
Version: 1
Architecture: all
Maintainer: none
Description: none
END
dpkg-deb --build agent agent.deb
{ cat agent/DEBIAN/control; echo Filename: ./agent.deb; stat -c 'Size: %s' agent.deb
  sha256sum agent.deb | sed 's/ .*//; s/^/SHA256: /'; } > Packages
echo 'deb [trusted=yes] file:/opt/agent-apt ./' > sources.list
cat > apt.conf <<'END'
Dir::State "/opt/agent-apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "/opt/agent-apt/cache";
Dir::Etc::sourcelist "/opt/agent-apt/sources.list";
Dir::Etc::sourceparts "-";
END
"""


def test_packages_are_installed_on_a_host_that_has_no_lists_of_packages_yet(one: Controller) -> None:
    host = one.hosts["web-1"]
    host.run(SOURCE)
    one.group_vars["monitor_agent_packages"] = ["agent-of-a-test"]
    play = role_play(one, play="environment: {APT_CONFIG: /opt/agent-apt/apt.conf}")
    try:
        for options in (["--check"], []):
            assert steps(one.succeed(play, *options), AGAIN) == {"web-1": True}
        assert host.run("dpkg-query -W agent-of-a-test") == "agent-of-a-test\t1\n"
    finally:
        host.run("dpkg --purge agent-of-a-test")


def test_packages_that_fail_leave_the_configuration(single: Local) -> None:
    single.host_vars["web-1"].update(monitor_agent_packages=["bash"], ansible_python_interpreter="/nowhere/python")
    text = "The packages could not be installed, as the task before reports. The configuration is written, "
    assert single.run().failures()["web-1"].startswith(text)
    assert single.read("web-1") == single.expected("web-1")


def test_an_installer_may_start_a_process_that_keeps_its_output(one: Controller) -> None:
    host, started = one.hosts["web-1"], "sleep 10000 & echo $! > /opt/agent.pid; printf 'caf\\303\\251 a\\\\b'; exit "
    try:
        one.group_vars["monitor_agent_install_command"] = f"{started}7"
        assert one.run().failures()["web-1"] == "The installer of 'web-1' failed: café a\\b (exit code 7)."
        host.run("kill $(cat /opt/agent.pid)")
        one.group_vars["monitor_agent_install_command"] = f"{started}0"
        assert steps(one.run(), INSTALLER) == {"web-1": True}
    finally:
        host.run("kill $(cat /opt/agent.pid)")


def test_an_installer_does_not_depend_on_the_settings_of_shells(single: Local) -> None:
    exported = {"TMOUT": "1", "SHELLOPTS": "errexit:nounset"}
    single.group_vars["ansible_shell_executable"] = "/bin/bash"
    single.group_vars["monitor_agent_install_command"] = "sleep 2; echo done; exit 7"
    assert single.run(**exported).failures()["web-1"] == "The installer of 'web-1' failed: done (exit code 7)."


def test_the_installer_adds_the_owner_of_the_configuration(one: Controller) -> None:
    """Before it, nothing can be written. The installer runs first, and the configuration is written once."""
    adds = (
        "echo 'agent-1:x:4141:4141::/:/bin/sh' >> /etc/passwd; echo 'agent-1:x:4141:' >> /etc/group; touch /opt/agent"
    )
    one.group_vars.update(monitor_agent_config_owner="agent-1", monitor_agent_config_group="agent-1")
    assert "agent-1" in one.run().failures()["web-1"]
    assert one.service.clients() == []
    one.group_vars.update(monitor_agent_install_command=adds, monitor_agent_install_creates="/opt/agent")
    # The second time the client exists.
    for undo in (":", f"sed -i /agent-1/d /etc/passwd /etc/group; rm {CONFIG} /opt/agent"):
        one.hosts["web-1"].run(undo)
        check, run = one.succeed(ROLLOUT, "--check"), one.succeed()
        assert (check.changed_hosts(), run.changed_hosts(CONFIGURE_AGAIN)) == ({"web-1"}, {"web-1"}), run.output
        assert one.hosts["web-1"].facts() == "regular file 600 agent-1 agent-1"
        assert one.hosts["web-1"].read() == text_of(one, "web-1")
    assert "changed" not in {event.status for event in one.succeed().events}


def test_an_installer_gets_the_environment_of_the_play(single: Local) -> None:
    found = single.directory / "found"
    environment = {"https_proxy": "http://it's a \\ $proxy!", "MONITOR_INSTALL_CODE": "1"}
    environment["MONITOR_API_TOKEN"] = single.service.tokens["read_write"]
    single.group_vars["monitor_agent_install_command"] = f"env > {found}"
    single.succeed(role_play(single, play=f"environment: {json.dumps(environment)}"))
    given = dict(line.partition("=")[::2] for line in found.read_text(encoding="utf-8").splitlines())
    assert given["https_proxy"] == environment["https_proxy"]
    assert given["MONITOR_INSTALL_CODE"] == single.service.clients()[0]["install_code"]
    assert "MONITOR_API_TOKEN" not in given


# No restart is lost if something is killed or fails after the configuration was changed

HANDLER = "Restart the monitoring agent"
# It starts if /opt/agent-works exists, and records with which configuration.
SERVICE = f"""#!/bin/sh
[ "$1" = status ] && exit 0
[ "$1" = stop ] || [ -e /opt/agent-works ] || exit 1
[ "$1" = stop ] || cat {CONFIG} > /opt/agent-runs-with
"""


def with_agents(controller: Controller) -> Controller:
    """The controller, on whose hosts an agent is a service."""
    # A restart costs half the time without temporary files; with them: test_machines.py.
    controller.group_vars.update(monitor_agent_service="monitor-agent", ansible_pipelining=True)
    controller.with_facts("sysvinit")
    for host in controller.hosts.values():
        host.run("mkdir -p /etc/monitor; touch /opt/agent-works")
        host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")
    return controller


def entries(host: Host) -> list[str]:
    return host.run("ls -A /etc/monitor").split()


def pending(controller: Controller) -> set[str]:
    """The hosts that have a marker; nothing else is beside the configuration."""
    found = {name: set(entries(host)) - {"agent.conf"} for name, host in controller.hosts.items()}
    beside = [entry for names in found.values() for entry in names]
    assert all(entry.startswith(".agent.conf.restart-") for entry in beside), beside
    return {name for name, names in found.items() if names}


def run_with_their_configuration(controller: Controller) -> set[str]:
    """The hosts whose agent was started with the configuration that is there."""
    found = controller.hosts.items()
    return {name for name, host in found if host.read("/opt/agent-runs-with") == text_of(controller, name)}


def assert_next_run_restarts(controller: Controller, *names: str) -> None:
    """Check mode predicts the restarts, the next run does them without a write, and the one after does nothing."""
    files = {name: controller.hosts[name].run(f"stat -c '%i %y' {CONFIG}") for name in names}
    steps = converge(controller, changes=names)
    for run in (steps.check, steps.run):
        results = run.of(CONFIGURE)
        assert [results[name].result["differs"] for name in names] == [["restart"]] * len(names)
        assert run.changed_hosts(HANDLER) == set(names)
    for name in names:
        shown = steps.check.of(CONFIGURE)[name].result["diff"]
        assert shown["before"] == {**shown["after"], "restart_pending": True}
        assert controller.hosts[name].run(f"stat -c '%i %y' {CONFIG}") == files[name]
    assert run_with_their_configuration(controller) >= set(names) and steps.again.of(HANDLER) == {}


def test_only_hosts_that_changed_get_a_restart(controller: Controller) -> None:
    controller.group_vars["monitor_agent_service"] = "monitor-agent"
    check, hosts = controller.succeed(ROLLOUT, "--check"), with_agents(controller).hosts
    assert check.changed_hosts(HANDLER) == set(hosts), "a service that is not there yet stops no check"
    controller.group_vars["ansible_pipelining"] = False
    for before, changed in ((":", set(hosts)), ("chmod 644 /etc/monitor/agent.conf", {"web-2"})):
        hosts["web-2"].run(before)
        run = controller.succeed()
        assert run.changed_hosts(HANDLER) == changed, run.output
        assert {name for name, host in hosts.items() if host.read("/opt/agent-runs-with")} == changed
        for host in hosts.values():
            host.run("rm -f /opt/agent-runs-with")


# Executes no module on the host.
SSH = """#!/bin/sh
case "$*" in *AnsiballZ*) exit 255;; esac
exec ssh "$@"
"""
IMPORT = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
ROLE = f"- {IMPORT}\n"


def test_a_restart_that_was_not_done_is_done_by_the_next_run(controller: Controller) -> None:
    """It failed, also after an installer; or the host was unreachable. After a killed run: tests/faults."""
    agents = with_agents(controller)
    failed, installed, unreachable, _other = agents.hosts
    del agents.hosts[_other]
    agents.succeed()
    for host in agents.hosts.values():
        host.run(f"rm /opt/agent-runs-with; echo old > {CONFIG}")
    for name in (failed, installed):
        agents.hosts[name].run("rm /opt/agent-works")
    agents.host_vars[installed] = {
        "monitor_agent_install_command": f"echo theirs > {CONFIG}; touch /opt/agent",
        "monitor_agent_install_creates": "/opt/agent",
    }
    ssh = agents.directory / "ssh"
    ssh.write_text(SSH, encoding="utf-8")
    ssh.chmod(0o755)
    agents.host_vars[unreachable] = {"ansible_ssh_executable": str(ssh), "ansible_pipelining": False}
    for _attempt in range(2):
        run = agents.run(agents.tasks(f"{ROLE}  ignore_unreachable: true\n"))
        assert run.code == 2 and pending(agents) == set(agents.hosts), run.output
        assert all(host.read() == text_of(agents, name) for name, host in agents.hosts.items())
    agents.host_vars.clear()
    for name in (failed, installed):
        agents.hosts[name].run("touch /opt/agent-works")
    assert_next_run_restarts(agents, *agents.hosts)
    assert pending(agents) == set()


# Each kills the writer, which is the tool's parent, before or after a step of it.
KILLER = """#!/bin/sh
case "$*" in {case}) kill=y;; *) kill=;; esac
[ "$kill{when}" = ybefore ] || "/usr/bin/{tool}" "$@"
code=$?
[ -z "$kill" ] || kill -9 $PPID
exit $code
"""
KILLED_AT = [
    (when, *step)
    # The marker is moved, the configuration is moved, the private directory is removed.
    for step in (("mv", "*restart-*"), ("mv", "*./agent.conf*"), ("rmdir", "*writing-*"))
    for when in ("before", "after")
]


def test_a_writer_that_is_killed_loses_no_restart(six: Controller) -> None:
    agents = with_agents(six)
    for host, (when, tool, case) in zip(agents.hosts.values(), KILLED_AT, strict=True):
        host.write("old\n")
        host.write(KILLER.format(when=when, tool=tool, case=case), f"/usr/local/sbin/{tool}", mode="755")
    run = agents.run()
    assert {event.status for event in run.of(CONFIGURE).values()} <= {"failed", "unreachable"}, run.output
    for host in agents.hosts.values():
        host.run("rm /usr/local/sbin/*")
    steps = converge(agents, changes=agents.hosts)
    assert steps.run.changed_hosts(HANDLER) == run_with_their_configuration(agents) == set(agents.hosts)
    assert [entries(host) for host in agents.hosts.values()] == [["agent.conf"]] * len(agents.hosts)


# A marker of another run, which wrote between the task and the restart of this one.
LATER = ".agent.conf.restart-0123abcd"


def test_a_marker_of_a_later_run_survives_an_earlier_restart(one: Controller) -> None:
    host = with_agents(one).hosts["web-1"]
    host.write(SERVICE + f"touch /etc/monitor/{LATER}\n", "/etc/init.d/monitor-agent", mode="755")
    one.succeed()
    assert sorted(entries(host)) == [LATER, "agent.conf"]
    host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")
    assert_next_run_restarts(one, "web-1")
    assert entries(host) == ["agent.conf"]


def test_a_removal_removes_the_markers(controller: Controller) -> None:
    """It succeeds although the agent does not start; whether there is a configuration, and a service, or not."""
    hosts = with_agents(controller).hosts
    for host in hosts.values():
        host.run("rm /opt/agent-works")
    assert controller.run().code == 2 and pending(controller) == set(hosts)
    for name in ("web-1", "db-1"):
        hosts[name].run(f"rm {CONFIG}")
    for name in ("web-1", "web-2"):
        controller.host_vars[name] = {"monitor_agent_service": ""}
    controller.succeed("monitor.cloud.retire", "--limit", "all")
    assert [entries(host) for host in hosts.values()] == [[]] * len(hosts)
    assert controller.service.clients() == []


# Runs as long as /opt/agent-started exists.
STOPS = """#!/bin/sh
case $1 in
start) touch /opt/agent-started;;
stop) rm -f /opt/agent-started;;
status) [ -e /opt/agent-started ] || exit 3;;
esac
"""


def test_an_agent_that_was_stopped_is_reported_and_started(controller: Controller) -> None:
    """Unless its state is that of the user: web-2."""
    hosts = with_agents(controller).hosts
    for host in hosts.values():
        host.write(STOPS, "/etc/init.d/monitor-agent", mode="755")
    controller.host_vars["web-2"] = {"monitor_agent_service_state": ""}
    controller.succeed()
    for name in ("web-1", "web-2"):
        hosts[name].run("rm /opt/agent-started")
    report = controller.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_service=true")
    assert "Hosts: 4 (1 agent_stopped, 3 ok)." in report.output, report.output
    for options in (["--check"], []):
        run = controller.succeed(ROLLOUT, *options)
        assert (run.changed_hosts(), run.statuses(HANDLER)) == (set(), {"web-1": "changed"}), run.output
    hosts["web-1"].run("[ -e /opt/agent-started ]")


SECOND = ROLE + "  vars: {monitor_agent_config_path: /etc/monitor/second.conf, monitor_agent_service: second}\n"
LOOP = """
- ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}
  vars: {monitor_agent_config_path: "/etc/monitor/{{ item }}.conf"}
  loop: [agent, second]
"""
BOTH = ["monitor-agent", "second"]
# By host: the uses of the role in a section of its play, for two agents of one host, and two files of one agent; and
# the services that are restarted.
USES: dict[str, tuple[str, str, list[str]]] = {
    "web-1": ("tasks", ROLE + SECOND, BOTH),
    "web-2": ("roles", (ROLE + SECOND).replace(IMPORT, "role: monitor.cloud.monitor_agent"), BOTH),
    "db-1": ("tasks", LOOP, 2 * ["monitor-agent"]),
}
RECORDING = """#!/bin/sh
[ "$1" = start ] && echo {} >> /opt/restarts
:
"""


def test_each_use_of_the_role_in_a_play_does_its_restart(controller: Controller) -> None:
    """Handlers of a play listen to the restarts, and none of the name of the task is run."""
    hosts = with_agents(controller).hosts
    listening = "{name: Mine, listen: The monitoring agent was restarted, ansible.builtin.debug: }"
    handlers = f"handlers: [{{name: {HANDLER}, ansible.builtin.fail: }}, {listening}]"
    plays = []
    for name, (section, uses, _services) in USES.items():
        path = controller.tasks(uses, section=section, play=handlers, hosts=name)
        plays.append(Path(path).read_text(encoding="utf-8"))
        for service in BOTH:
            hosts[name].write(RECORDING.format(service), f"/etc/init.d/{service}", mode="755")
    run = controller.succeed(controller.play("\n".join(plays)))
    for name, (_section, _uses, services) in USES.items():
        assert sorted(hosts[name].run("cat /opt/restarts; rm /opt/restarts").split()) == services, name
        assert entries(hosts[name]) == ["agent.conf", "second.conf"]
    assert set(run.of("Mine")) == set(USES) and "[WARNING]" not in run.output, run.output


def test_another_task_can_notify_the_handler_before_the_role_has_run(one: Controller) -> None:
    agent, flush = with_agents(one), "- ansible.builtin.meta: flush_handlers\n"
    play = agent.tasks(f"- ansible.builtin.command: touch {CONFIG}\n  notify: {HANDLER}\n{flush}{ROLE}")
    run = agent.succeed(play)
    assert run.changed_hosts(HANDLER) == {"web-1"}
    assert run_with_their_configuration(agent) == {"web-1"} and pending(agent) == set()


def test_an_agent_is_uninstalled_before_its_configuration_and_client_are_removed(three: Local) -> None:
    """A host where that fails keeps both. One without an agent to uninstall, and one that stays, are not concerned."""
    three.monitor()
    three.add("new-1")
    for host in ("web-1", "web-2", "web-3"):
        three.host_vars[host]["monitor_agent_state"] = "absent"
    program = (
        "test -e {{ monitor_agent_config_path }} && test -e {{ playbook_dir }}/fixed && rm -r {{ playbook_dir }}/agent"
    )
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
    # The uninstaller of web-1 is run each time, because it names nothing that it removes.
    changed = {(event.host, event.task) for event in again.events if event.status == "changed"}
    assert again.writes() == [] and changed == {("web-1", "monitor.cloud.monitor_agent : Run the uninstaller")}
