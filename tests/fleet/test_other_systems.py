# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that differ from most: SELinux, directories for appending only, login shells that print."""

import os

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, host, role_play

# The directory that sshd and sudo put first into PATH.
TOOL_DIRECTORY = "/usr/local/sbin"
LOG = "/opt/agent-log"
RESTORECON = f"""#!/bin/sh
for name; do case $name in -*) continue; esac
kind=other; [ -f "$name" ] && kind=file; [ -L "$name" ] && kind=link
echo "$kind $(pwd -P) $name" >> {LOG}; done
"""


def put(machine: Host, name: str, text: str) -> None:
    """Put a program before the original one of its name."""
    machine.write(text, f"{TOOL_DIRECTORY}/{name}", mode="755")


@pytest.fixture
def selinux(one: Controller) -> Controller:
    """A host that appears to enforce SELinux, on which chcon fails; restorecon records its arguments."""
    host(one).run("mkdir -p /sys/fs/selinux; echo 1 > /sys/fs/selinux/enforce")
    put(host(one), "chcon", "#!/bin/sh\necho chcon: failed to change context >&2\nexit 1\n")
    put(host(one), "restorecon", RESTORECON)
    return one


def log(machine: Host) -> list[str]:
    return (machine.read(LOG) or "").splitlines()


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


# As community.general.sudosu, whose shell becomes an argument of the command for the login shell.
SUDOSU = """
from ansible.plugins.become import BecomeBase
DOCUMENTATION = '{options: {become_user: {vars: [{name: ansible_become_user}]}, become_pass: {}, become_flags: {}}}'
class BecomeModule(BecomeBase):
    name = "community.general.sudosu"
    def build_become_command(self, cmd, shell):
        super().build_become_command(cmd, shell)
        return cmd and f"sudo su -l {self.get_option('become_user')} {self._build_success_command(cmd, shell)}"
"""


@pytest.mark.parametrize("login", ["bsd-csh", "fish"])
def test_sudosu_to_a_user_with_another_login_shell(one: Controller, login: str) -> None:
    plugins, user = one.directory / "become_plugins", f"root-in-{login}"
    plugins.mkdir()
    (plugins / "sudosu.py").write_text(SUDOSU, encoding="utf-8")
    added = {"passwd": f"{user}:x:0:0::/root:/bin/{login}", "shadow": f"{user}:*:19000:0:99999:7:::"}
    host(one).run("\n".join(f"echo '{line}' >> /etc/{name}" for name, line in added.items()))
    one.group_vars.update(ansible_user=USER, ansible_become_method="sudosu", ansible_become_user=user)
    one.group_vars["monitor_agent_install_command"] = "exit 1"
    converge(
        one,
        role_play(one, play="become: true", role="vars: {monitor_agent_install_creates: /}"),
        changes={"web-1"},
    )


@pytest.mark.parametrize("greeting", ["echo Welcome", "printf Welcome", "set -x"])
def test_a_login_shell_may_print_a_text_first(one: Controller, greeting: str) -> None:
    machine = host(one)
    machine.run("sed -i 's,^\\(root:.*:\\).*,\\1/bin/bash,' /etc/passwd")
    machine.write(greeting, "/root/.bashrc")
    installed, owner = "/opt/agent-installed", {"monitor_agent_config_owner": "daemon"}
    one.group_vars.update(monitor_agent_install_command=f"touch {installed}", monitor_agent_install_creates=installed)
    try:
        converge(one, changes={"web-1"})
        assert machine.facts(installed)
        one.group_vars.update(owner)
        assert one.run().of(CONFIGURE)["web-1"].result["differs"] == ["owner"]
        machine.write("0A1B2C3D-0000-4A91-C0DE5E171A7E0000\n")
        # The key is in the first line of such a file only.
        run = one.run(ROLLOUT, "-e", "monitor_agent_config_template=api_key.j2")
        assert run.of(CONFIGURE)["web-1"].result["key_owner"] == "unknown"
    finally:
        machine.run("rm /root/.bashrc")
