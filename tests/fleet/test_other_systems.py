# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that differ from most: find of BSD, SELinux, directories for appending only, no tool for digests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import was_written, write_command
from ansible_collections.monitor.cloud.tests.fleet.kinds import FREEBSD, KINDS
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play, text_of

# The directory that sshd and sudo put first into PATH.
TOOL_DIRECTORY = "/usr/local/sbin"
LOG = "/opt/agent-log"
RESTORECON = f"""#!/bin/sh
for name; do case $name in -*) continue; esac
kind=other; [ -f "$name" ] && kind=file; [ -L "$name" ] && kind=link
echo "$kind $(pwd -P) $name" >> {LOG}; done
"""


def host(controller: Controller) -> Host:
    return controller.hosts["web-1"]


def put(machine: Host, name: str, text: str) -> None:
    """Put a program before the original one of its name."""
    machine.write(text, f"{TOOL_DIRECTORY}/{name}", mode="755")


def entries(machine: Host) -> list[str]:
    return machine.run("ls -A /etc/monitor").split()


def test_a_living_writer_keeps_its_temporary_file_beside_a_find_that_rounds_up(
    machines: Callable[..., list[Host]], controllers: Callable[..., Controller]
) -> None:
    (machine,) = machines("kind", prepare=KINDS[FREEBSD].prepare)
    controller = controllers(machine)
    machine.run("mkdir -p /etc/monitor")
    command = write_command(CONFIG, 4, owner=None, group=None, mode=0o600, backup=False)
    pipe = subprocess.PIPE
    with subprocess.Popen([*machine.enter, "sh", "-c", command], stdin=pipe, stdout=pipe, text=True) as writer:
        while not (mine := entries(machine)):
            assert writer.poll() is None
        machine.run(f"touch -d '10 minutes ago' /etc/monitor/{mine[0]}")
        run = controller.run()
        assert run.code == 0, run.output
        assert set(entries(machine)) == {*mine, "agent.conf"}
        output = writer.communicate("new\n")[0]
        assert was_written(writer.returncode, output), output
    assert machine.read() == "new\n"
    assert entries(machine) == ["agent.conf"]


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
