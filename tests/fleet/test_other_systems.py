# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that differ from most: tools of BSD, SELinux, sudo that requires a terminal, directories for appending only."""

from __future__ import annotations

import os
import subprocess

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import was_written, write_command
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play, text_of

# What sshd and sudo put into PATH before the true ones.
TOOL_DIRECTORY = "/usr/local/sbin"
# An age in days is rounded up: https://man.freebsd.org/cgi/man.cgi?find(1), -mtime.
BSD_FIND = """#!/usr/bin/python3
import os, subprocess, sys, time
given, days = sys.argv[1:], None
if "-mtime" in given:
    at = given.index("-mtime")
    days = given[at + 1]
    del given[at:at + 2]
done = subprocess.run(["/usr/bin/find", *given], stdout=subprocess.PIPE, text=True)
for name in done.stdout.splitlines():
    age = -(-(time.time() - os.lstat(name).st_mtime) // 86400)
    if days is None or (age > int(days[1:]) if days[0] == "+" else age == int(days)):
        print(name)
sys.exit(done.returncode)
"""
# Digits of modes are not padded: https://man.freebsd.org/cgi/man.cgi?stat(1).
BSD_STAT = """#!/usr/bin/python3
import grp, os, pwd, re, sys
given = sys.argv[1:]
if not given or given[0] not in ("-f", "-Lf"):
    sys.exit("stat: illegal option\\nusage: stat [-FLnq] [-f format | -l | -r | -s | -x] [-t timefmt] [file ...]")
for path in given[2:]:
    try:
        facts = os.stat(path) if given[0] == "-Lf" else os.lstat(path)
    except OSError as error:
        sys.exit(f"stat: {path}: stat: {error.strerror}")
    values = {
        "u": str(facts.st_uid), "g": str(facts.st_gid), "z": str(facts.st_size), "N": path, "i": str(facts.st_ino),
        "Su": pwd.getpwuid(facts.st_uid).pw_name, "Sg": grp.getgrgid(facts.st_gid).gr_name,
        "Mp": f"{facts.st_mode >> 9 & 7:o}", "Lp": f"{facts.st_mode & 0o777:o}", "p": f"{facts.st_mode:o}",
        "OLp": f"{facts.st_mode & 0o777:o}", "OMp": f"{facts.st_mode >> 9 & 7:o}", "Op": f"{facts.st_mode:o}",
    }
    print(re.sub(r"%(0?)(\\d*)([A-Z]*[a-zN])",
                 lambda m: values[m[3]].rjust(int(m[2] or 0), "0" if m[1] else " "), given[1]))
"""
LOG = "/opt/agent-log"
RESTORECON = f"""#!/bin/sh
for name; do case $name in -*) continue; esac
kind=other; [ -f "$name" ] && kind=file; [ -L "$name" ] && kind=link
echo "$kind $(pwd -P) $name" >> {LOG}; done
"""


def host(controller: Controller) -> Host:
    return controller.hosts["web-1"]


def put(machine: Host, name: str, text: str) -> None:
    """Put a program before the true one of its name."""
    machine.write(text, f"{TOOL_DIRECTORY}/{name}", mode="755")


def entries(machine: Host) -> list[str]:
    return machine.run("ls -A /etc/monitor").split()


def test_a_living_writer_keeps_its_temporary_file_beside_a_find_that_rounds_up(one: Controller) -> None:
    machine = host(one)
    machine.run("mkdir -p /etc/monitor")
    put(machine, "find", BSD_FIND)
    command = write_command(CONFIG, 4, owner=None, group=None, mode=0o600, backup=False)
    pipe = subprocess.PIPE
    with subprocess.Popen([*machine.enter, "sh", "-c", command], stdin=pipe, stdout=pipe, text=True) as writer:
        while not (mine := entries(machine)):
            assert writer.poll() is None
        machine.run(f"touch -d '10 minutes ago' /etc/monitor/{mine[0]}")
        run = one.run()
        assert run.code == 0, run.output
        assert set(entries(machine)) == {*mine, "agent.conf"}
        output = writer.communicate("new\n")[0]
        assert was_written(writer.returncode, output), output
    assert machine.read() == "new\n"
    assert entries(machine) == ["agent.conf"]


@pytest.mark.parametrize("pipelining", ["True", "False"])
def test_sudo_that_requires_a_terminal(one: Controller, pipelining: str) -> None:
    one.group_vars.update(ansible_user=USER, ansible_become=True)
    host(one).run("echo 'Defaults requiretty' > /etc/sudoers.d/terminal; chmod 440 /etc/sudoers.d/terminal")
    try:
        run = one.run(role_play(one), ANSIBLE_PIPELINING=pipelining)
        assert run.code == 0, run.output
        assert host(one).read() == text_of(one, "web-1")
        assert entries(host(one)) == ["agent.conf"]
        converge(one, role_play(one), changes=[], environment={"ANSIBLE_PIPELINING": pipelining})
    finally:
        host(one).run("rm /etc/sudoers.d/terminal")


def test_a_directory_for_appending_only_is_refused(one: Controller) -> None:
    machine = host(one)
    # In memory, for the file system below may not know the attribute.
    machine.run("mkdir -p /etc/monitor; mount -t tmpfs tmpfs /etc/monitor")
    try:
        machine.run("chattr +a /etc/monitor")
    except AssertionError:
        put(machine, "lsattr", "#!/bin/sh\necho '-----a---------------- .'\n")
    run = one.run(role_play(one))
    assert "append" in run.failures()["web-1"], run.output
    assert entries(machine) == [], "what is made there can't be removed"


@pytest.fixture
def selinux(one: Controller) -> Controller:
    """A host that appears to enforce SELinux, on which chcon fails; restorecon records its arguments."""
    host(one).run("mkdir -p /sys/fs/selinux; echo 1 > /sys/fs/selinux/enforce")
    put(host(one), "chcon", "#!/bin/sh\necho chcon: failed to change context >&2\nexit 1\n")
    put(host(one), "restorecon", RESTORECON)
    return one


def log(machine: Host) -> list[str]:
    return (machine.read(LOG) or "").splitlines()


@pytest.mark.parametrize("restorecon", ["works", "fails", "is not there"])
def test_a_file_is_replaced_if_its_context_cannot_be_copied(selinux: Controller, restorecon: str) -> None:
    if restorecon == "fails":
        put(host(selinux), "restorecon", "#!/bin/sh\nexit 1\n")
    elif restorecon == "is not there":
        host(selinux).run(f"rm {TOOL_DIRECTORY}/restorecon")
    host(selinux).write("old\n", mode="0644")
    converge(selinux, role_play(selinux), changes={"web-1"})
    assert host(selinux).read() == text_of(selinux, "web-1")
    assert entries(host(selinux)) == ["agent.conf"]
    assert len(log(host(selinux))) == (restorecon == "works")


@pytest.mark.parametrize(
    "prepare", ["", "ln -s elsewhere agent.conf; echo old > elsewhere", "ln -s nowhere agent.conf"]
)
def test_a_new_file_gets_its_context_and_no_link_does(selinux: Controller, prepare: str) -> None:
    machine = host(selinux)
    machine.run(f"mkdir -p /etc/monitor; cd /etc/monitor; {prepare or ':'}")
    run = selinux.run(role_play(selinux))
    assert run.code == 0, run.output
    (line,) = log(machine)
    kind, directory, name = line.split()
    assert (kind, os.path.normpath(os.path.join(directory, name))) == ("file", CONFIG)


def test_no_context_is_set_if_others_could_replace_the_name(selinux: Controller) -> None:
    machine = host(selinux)
    machine.run(f"mkdir -p /etc/monitor; chown {USER} /etc/monitor")
    run = selinux.run(role_play(selinux))
    assert run.code == 0, run.output
    assert log(machine) == []


@pytest.mark.parametrize("mode", ["0600", "4640", "2040"])
def test_modes_with_the_stat_of_bsd(one: Controller, mode: str) -> None:
    put(host(one), "stat", BSD_STAT)
    one.group_vars["monitor_agent_config_mode"] = mode
    run = one.run(role_play(one))
    assert run.code == 0, run.output
    again = one.run(role_play(one))
    assert again.statuses() == {"web-1": "ok"}, again.output
    assert host(one).run(f"/usr/bin/stat -c %a {CONFIG}").strip() == mode.lstrip("0")


def test_a_host_without_mktemp(one: Controller) -> None:
    host(one).run("mv /usr/bin/mktemp /opt/agent-mktemp")
    try:
        converge(one, role_play(one), changes={"web-1"})
        host(one).write("old\n")
        converge(one, role_play(one), changes={"web-1"})
    finally:
        host(one).run("mv /opt/agent-mktemp /usr/bin/mktemp")


OWN = """
- hosts: all
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients: {{labels: [web-1], include_keys: true}}
      delegate_to: localhost
      vars: {{ansible_connection: local, ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"}}
      register: registered
    - name: {name}
      monitor.cloud.agent_config:
        path: {path}
        content: {content}
        registration: registered
      notify: Restart the agent
  handlers:
    - name: Restart the agent
      ansible.builtin.command: touch /opt/agent-restarted
"""


@pytest.mark.parametrize(
    ("content", "digests"),
    [('"{{ client.api_key }}\\n"', True), ('"{{ client.api_key }}"', False)],
    ids=["with, by digest", "without, by text"],
)
def test_a_final_newline_more_or_less_is_left_alone(one: Controller, content: str, digests: bool) -> None:
    machine, book = host(one), one.play(OWN.format(name=CONFIGURE, path=CONFIG, content=content))
    assert one.run(book).code == 0
    machine.run("rm /opt/agent-restarted")
    if not digests:
        for tool in ("sha256sum", "shasum", "sha256"):
            put(machine, tool, "#!/bin/sh\nexit 127\n")
    key = one.service.clients()[0]["api_key"]
    for text in (key, f"{key}\n"):
        machine.write(text)
        converge(one, book, changes=[])
        assert machine.read() == text
        assert machine.run("ls /opt/agent-restarted 2>/dev/null", check=False) == ""
    machine.write(f"{key}x\n")
    converge(one, book, changes={"web-1"})
    assert machine.run("rm /opt/agent-restarted; echo done") == "done\n"
