# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The agent itself: packages and installer, in check mode and in a run, and its restarts."""

import json
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, Host
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    CONFIGURE_AGAIN,
    ROLLOUT,
    Controller,
    Local,
    Run,
)
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play, snapshots, text_of

AGAIN = "Install the packages of these lists, after the configuration"
PACKAGES, INSTALLER = "Install the packages", "Run the installer"
INSTALL = 'mkdir -p /opt/agent && echo "$MONITOR_INSTALL_CODE" > /opt/agent/code && chmod 600 /opt/agent/code'


def steps(run: Run, name: str) -> dict[str, bool]:
    """The hosts on which a step of the installation ran, and whether it changed them."""
    return {host: status == "changed" for host, status in run.statuses(name).items()}


def test_packages_are_installed_and_an_installer_gets_the_code_once(controller: Controller) -> None:
    controller.group_vars["monitor_agent_install_command"] = INSTALL
    controller.group_vars["monitor_agent_install_creates"] = "/opt/agent"
    controller.host_vars["web-2"] = {"monitor_agent_packages": ["bash"]}
    done = converge(controller, changes=controller.hosts)
    for run, changed in ((done.check, True), (done.run, True), (done.again, False)):
        assert steps(run, INSTALLER) == dict.fromkeys(controller.hosts, changed), run.output
        assert steps(run, PACKAGES) == {"web-2": False}
    codes = {client["label"]: f"{client['install_code']}\n" for client in controller.service.clients()}
    assert {name: host.read("/opt/agent/code") for name, host in controller.hosts.items()} == codes
    assert controller.hosts["web-2"].run("find /root/.ansible/tmp -mindepth 1") == ""


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
        done = converge(one, play, changes={"web-1"})
        assert steps(done.check, AGAIN) == steps(done.run, AGAIN) == {"web-1": True}
        assert host.run("dpkg-query -W agent-of-a-test") == "agent-of-a-test\t1\n"
    finally:
        host.run("dpkg --purge agent-of-a-test")


def test_packages_that_fail_leave_the_configuration(single: Local) -> None:
    single.host_vars["web-1"].update(monitor_agent_packages=["bash"], ansible_python_interpreter="/nowhere/python")
    text = "The configuration is written, unless it waits for its owner, but packages could not be installed: "
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


@pytest.mark.parametrize("exported", [{"TMOUT": "1"}, {"SHELLOPTS": "errexit:nounset"}], ids=str)
def test_an_installer_does_not_depend_on_the_settings_of_shells(single: Local, exported: dict[str, str]) -> None:
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
        check, run, again = one.succeed(ROLLOUT, "--check"), one.succeed(), one.succeed()
        assert (check.changed_hosts(), run.changed_hosts(CONFIGURE_AGAIN)) == ({"web-1"}, {"web-1"}), run.output
        assert one.hosts["web-1"].facts() == "regular file 600 agent-1 agent-1"
        assert one.hosts["web-1"].read() == text_of(one, "web-1")
        assert "changed" not in {event.status for event in again.events}, again.output


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
TOOL = "/usr/local/sbin/{}"


def with_agents(controller: Controller) -> Controller:
    """The controller, on whose hosts an agent is a service."""
    # A restart costs half the time without temporary files; with them: the first test, test_machines.py.
    controller.group_vars.update(monitor_agent_service="monitor-agent", ansible_pipelining=True)
    controller.with_facts("sysvinit")
    for host in controller.hosts.values():
        host.run("mkdir -p /etc/monitor; touch /opt/agent-works")
        host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")
    return controller


@pytest.fixture
def agent(one: Controller) -> Controller:
    """A single host with an agent."""
    return with_agents(one)


def entries(host: Host) -> list[str]:
    return host.run("ls -A /etc/monitor").split()


def is_pending(controller: Controller) -> bool:
    """Whether there is a marker, and nothing else beside the configuration."""
    beside = [name for name in entries(controller.hosts["web-1"]) if name != "agent.conf"]
    assert all(name.startswith(".agent.conf.restart-") for name in beside), beside
    return bool(beside)


def runs_with_its_configuration(controller: Controller, host: str = "web-1") -> bool:
    return controller.hosts[host].read("/opt/agent-runs-with") == text_of(controller, host)


def result(run: Run) -> dict[str, Any]:
    return run.of(CONFIGURE)["web-1"].result


def assert_next_run_restarts(controller: Controller) -> None:
    """Check mode predicts the restart, the next run does it without a write, and the one after does nothing."""
    written = controller.hosts["web-1"].run(f"stat -c '%i %y' {CONFIG}")
    steps = converge(controller, changes={"web-1"})
    for run in (steps.check, steps.run):
        assert result(run)["differs"] == ["restart"]
        assert run.changed_hosts(HANDLER) == {"web-1"}
    shown = result(steps.check)["diff"]
    assert shown["before"] == {**shown["after"], "restart_pending": True}
    assert controller.hosts["web-1"].run(f"stat -c '%i %y' {CONFIG}") == written
    assert runs_with_its_configuration(controller) and not is_pending(controller)
    assert steps.again.of(HANDLER) == {}


def test_only_hosts_that_changed_get_a_restart(controller: Controller) -> None:
    controller.group_vars["monitor_agent_service"] = "monitor-agent"
    check, hosts = controller.run(ROLLOUT, "--check"), with_agents(controller).hosts
    assert check.code == 0, f"a service that is not there yet stops no check: {check.output}"
    assert check.changed_hosts(HANDLER) == set(hosts)
    controller.group_vars["ansible_pipelining"] = False
    for before, changed in ((":", set(hosts)), (":", set[str]()), ("chmod 644 /etc/monitor/agent.conf", {"web-2"})):
        hosts["web-2"].run(before)
        run = controller.run()
        assert (run.code, run.changed_hosts(HANDLER)) == (0, changed), run.output
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
# The run is killed after the configuration is written, when the installer is run.
KILLED = f"""- {IMPORT[:-1]}, rolespec_validate: false}}
  vars:
    parent: $(sed -n s/^PPid:.//p /proc/$PPID/status)
    monitor_agent_install_command: "true"
    monitor_agent_install_creates: "{{{{ lookup('ansible.builtin.pipe', 'kill -9 ' ~ parent) }}}}"
"""
LEFT_OUT = ROLE + "  when: retired is defined\n"
FIRST_USE = ROLE + "  when: retired is not defined\n"
CONDITIONS = f"{FIRST_USE}{LEFT_OUT}  vars: {{monitor_agent_state: absent}}\n"
FAILS, NEW, MODE = "rm /opt/agent-works", f"echo old > {CONFIG}", f"chmod 640 {CONFIG}"
# Before the run, tasks, options, and the exit code of the run, which does not restart the agent.
LOST: dict[str, tuple[str, str, list[str], int]] = {
    "failed": (f"{NEW}; {FAILS}", ROLE, [], 2),
    "failed, --force-handlers": (f"{NEW}; {FAILS}", ROLE, ["--force-handlers"], 2),
    "unreachable": (NEW, f"{ROLE}  ignore_unreachable: true\n", ["-e", "ansible_pipelining=false"], 0),
    "killed": (NEW, KILLED, [], -9),
    "killed after a change of the mode": (MODE, KILLED, [], -9),
}


@pytest.mark.parametrize("case", LOST)
def test_a_restart_that_was_not_done_is_done_by_the_next_run(agent: Controller, case: str) -> None:
    host, (before, tasks, options, code) = agent.hosts["web-1"], LOST[case]
    assert agent.run().code == 0
    host.run(f"{before}; rm /opt/agent-runs-with")
    ssh = agent.directory / "ssh"
    ssh.write_text(SSH, encoding="utf-8")
    ssh.chmod(0o755)
    environment = {"ANSIBLE_SSH_EXECUTABLE": str(ssh)} if case == "unreachable" else {}
    for _attempt in range(2):
        run = agent.run(agent.tasks(tasks), *options, **environment)
        assert (run.code, host.read(), is_pending(agent)) == (code, text_of(agent, "web-1"), True), run.output
    host.run("touch /opt/agent-works")
    assert_next_run_restarts(agent)


def test_an_installer_may_replace_the_configuration(agent: Controller) -> None:
    host = agent.hosts["web-1"]
    replace = f"echo theirs > {CONFIG}; chmod 644 {CONFIG}; touch /opt/agent"
    agent.group_vars.update(monitor_agent_install_command=replace, monitor_agent_install_creates="/opt/agent")
    converge(agent, changes={"web-1"})
    assert host.facts() == "regular file 600 root root"
    assert runs_with_its_configuration(agent) and not is_pending(agent)
    host.run(f"rm {CONFIG} /opt/agent /opt/agent-works")
    assert agent.run().code == 2 and is_pending(agent)
    host.run("touch /opt/agent-works")
    assert_next_run_restarts(agent)


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
        host.write(KILLER.format(when=when, tool=tool, case=case), TOOL.format(tool), mode="755")
    run = agents.run()
    assert {event.status for event in run.of(CONFIGURE).values()} <= {"failed", "unreachable"}, run.output
    for host in agents.hosts.values():
        host.run("rm /usr/local/sbin/*")
    steps = converge(agents, changes=agents.hosts)
    assert steps.run.changed_hosts(HANDLER) == set(agents.hosts)
    for name, host in agents.hosts.items():
        assert entries(host) == ["agent.conf"]
        assert runs_with_its_configuration(agents, name)


def test_a_marker_of_a_later_run_survives_an_earlier_restart(agent: Controller) -> None:
    """Another run writes between the task and the restart of this one."""
    host = agent.hosts["web-1"]
    later = ".agent.conf.restart-0123abcd"
    host.write(SERVICE + f"touch /etc/monitor/{later}\n", "/etc/init.d/monitor-agent", mode="755")
    assert agent.run().code == 0
    assert sorted(entries(host)) == [later, "agent.conf"]
    host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")
    assert_next_run_restarts(agent)


NAME = "/etc/monitor/.agent.conf.restart-"
# Names that resemble a marker's; and a marker whose writer may still rename its configuration, after the restart.
IGNORED = (
    f"mkfifo {NAME}00000000; mkdir {NAME}11111111; ln -s /etc/passwd {NAME}22222222; touch {NAME}x {NAME}0123ABCD",
    f"rm -r {NAME}*; mkdir -m 1700 /etc/monitor/.agent.conf.writing-1-0123abcd; touch {NAME}0123abcd",
)


def test_what_resembles_a_marker_and_the_marker_of_a_running_writer_are_ignored(agent: Controller) -> None:
    assert agent.run().code == 0
    host = agent.hosts["web-1"]
    for command in IGNORED:
        host.run(command)
        before = snapshots(agent)
        run = agent.run()
        assert (run.code, run.changed_hosts(), snapshots(agent)) == (0, set(), before), run.output
    host.run("rmdir /etc/monitor/.agent.conf.writing-*")
    assert_next_run_restarts(agent)


@pytest.mark.parametrize("configured", [True, False])
def test_a_removal_removes_the_markers(agent: Controller, configured: bool) -> None:
    host = agent.hosts["web-1"]
    host.run("rm /opt/agent-works")
    agent.run()
    assert is_pending(agent)
    if not configured:
        host.run(f"rm {CONFIG}")
    agent.group_vars.update(monitor_agent_state="absent", monitor_agent_service="")
    converge(agent, changes={"web-1"})
    assert entries(host) == []


# Runs as long as /opt/agent-started exists.
STOPS = """#!/bin/sh
case $1 in
start) touch /opt/agent-started;;
stop) rm -f /opt/agent-started;;
status) [ -e /opt/agent-started ] || exit 3;;
esac
"""


def test_an_agent_that_was_stopped_is_reported_and_started(agent: Controller) -> None:
    host = agent.hosts["web-1"]
    host.write(STOPS, "/etc/init.d/monitor-agent", mode="755")
    converge(agent, changes={"web-1"})
    for state, status in (("", None), ("started", "changed")):
        host.run("rm /opt/agent-started")
        agent.group_vars["monitor_agent_service_state"] = state
        report = agent.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_service=true")
        assert ("its service is inactive" in report.output) is (status is not None), report.output
        for options in (["--check"], []):
            run = agent.succeed(ROLLOUT, *options)
            assert (run.changed_hosts(), run.statuses(HANDLER).get("web-1")) == (set(), status), run.output
        host.run("[ -e /opt/agent-started ]" if status else "touch /opt/agent-started")
    assert agent.succeed().of(HANDLER) == {}


SECOND = ROLE + "  vars: {monitor_agent_config_path: /etc/monitor/second.conf, monitor_agent_service: second}\n"
CHOSEN = "  when: chosen == inventory_hostname\n  vars: {{chosen: {}}}\n"
LOOP = """
- ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}
  vars: {monitor_agent_config_path: "/etc/monitor/{{ item }}.conf"}
  loop: [agent, second]
"""
# Two agents of one host, and two files of one agent: the uses of the role in a section of the play, and the services.
START = "ansible.builtin.command: /etc/init.d/monitor-agent start"
BOTH, FLUSH = ["monitor-agent", "second"], "- ansible.builtin.meta: flush_handlers\n"
USES: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "two services": ({}, ROLE + SECOND, BOTH),
    "handlers between them": ({}, ROLE + FLUSH + SECOND, BOTH),
    "none between them": ({}, ROLE + LEFT_OUT + SECOND, BOTH),
    "none after them": ({"section": "roles"}, ROLE + SECOND + LEFT_OUT, BOTH),
    "none after them, by a value": ({}, SECOND + ROLE + CHOSEN.format("web-1") + ROLE + CHOSEN.format("web-2"), BOTH),
    "one service": ({}, LOOP, 2 * ["monitor-agent"]),
    "a handler of the play": ({"play": f"handlers: [{{name: {HANDLER}, {START}}}]"}, LOOP, 2 * ["monitor-agent"]),
}
RECORDING = """#!/bin/sh
[ "$1" = start ] && echo {} >> /opt/restarts
:
"""


def play_of(controller: Controller, uses: str, section: str = "tasks", play: str = "") -> str:
    """A play with uses of the role as tasks, or among its roles."""
    if section == "roles":
        uses = uses.replace(IMPORT, "role: monitor.cloud.monitor_agent")
    return controller.tasks(uses, section=section, play=play)


@pytest.mark.parametrize("case", USES)
def test_each_use_of_the_role_in_a_play_does_its_restart(agent: Controller, case: str) -> None:
    host, (keywords, uses, services) = agent.hosts["web-1"], USES[case]
    play = play_of(agent, uses, **keywords)
    host.run("rm -f /opt/restarts")
    for service in ("monitor-agent", "second"):
        host.write(RECORDING.format(service), f"/etc/init.d/{service}", mode="755")
    assert agent.run(play).code == 0
    assert sorted(host.run("cat /opt/restarts").split()) == services
    assert entries(host) == ["agent.conf", "second.conf"]
    again = agent.run(play)
    assert (again.code, again.changed_hosts(), again.of(HANDLER)) == (0, set(), {}), again.output


def test_a_restart_is_done_although_the_last_use_of_the_role_leaves_out_the_host(agent: Controller) -> None:
    host, play = agent.hosts["web-1"], agent.tasks(CONDITIONS)
    host.run("rm /opt/agent-works")
    assert agent.run(play).code == 2
    assert is_pending(agent)
    host.run("touch /opt/agent-works")
    converge(agent, play, changes={"web-1"})
    assert runs_with_its_configuration(agent) and not is_pending(agent)


@pytest.mark.parametrize("play", ["monitor.cloud.retire", CONDITIONS], ids=["handler", "at once"])
def test_a_removal_succeeds_although_the_agent_does_not_start_without_its_configuration(
    agent: Controller, play: str
) -> None:
    assert agent.run().code == 0
    host = agent.hosts["web-1"]
    host.run("rm /opt/agent-works")
    if play == CONDITIONS:
        # The first use of the role is left out, and so is the handler of another one after the removal.
        play = agent.tasks(CONDITIONS + FIRST_USE)
    agent.succeed(play, "-e", "target=all", "-e", "retired=true")
    assert (host.read(), agent.service.clients()) == (None, [])


def test_handlers_of_a_play_listen_to_the_restart(agent: Controller) -> None:
    mine = "handlers: [{name: Mine, listen: The monitoring agent was restarted, ansible.builtin.debug: }]"
    play = role_play(agent, play=mine)
    for changed in ({"web-1"}, set[str]()):
        run = agent.succeed(play)
        assert (set(run.of("Mine")), run.changed_hosts(HANDLER)) == (changed, changed), run.output
        assert "[WARNING]" not in run.output


def test_another_task_can_notify_the_handler_before_the_role_has_run(agent: Controller) -> None:
    play = agent.tasks(f"- ansible.builtin.command: touch {CONFIG}\n  notify: {HANDLER}\n{FLUSH}{ROLE}")
    for _run in range(2):
        run = agent.succeed(play)
        assert run.changed_hosts(HANDLER) == {"web-1"}
        assert runs_with_its_configuration(agent) and not is_pending(agent)
