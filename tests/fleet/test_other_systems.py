# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that differ from most: SELinux, directories for appending only, login shells that print."""

import os

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play

# The directory that sshd and sudo put first into PATH.
TOOL_DIRECTORY = "/usr/local/sbin"
LOG = "/opt/agent-log"
RESTORECON = f"""#!/bin/sh
for name; do case $name in -*) continue; esac
kind=other; [ -f "$name" ] && kind=file; [ -L "$name" ] && kind=link
echo "$kind $(pwd -P) $name" >> {LOG}; done
"""
# What is in the directory, and whether the file gets a context: not if others could replace its name.
LABELLED = {
    ":": True,
    "ln -s elsewhere agent.conf; echo old > elsewhere": True,
    "ln -s nowhere agent.conf": True,
    f"chown {USER} .": False,
}


def test_a_new_file_gets_its_context_and_no_link_does(controller: Controller) -> None:
    """On hosts that appear to enforce SELinux, on which chcon fails; restorecon records its arguments."""
    for machine, prepare in zip(controller.hosts.values(), LABELLED, strict=True):
        machine.run(f"mkdir -p /etc/monitor; cd /etc/monitor; {prepare}")
        machine.write("1", "/sys/fs/selinux/enforce")
        machine.write("#!/bin/sh\nexit 1\n", f"{TOOL_DIRECTORY}/chcon", mode="755")
        machine.write(RESTORECON, f"{TOOL_DIRECTORY}/restorecon", mode="755")
    run = controller.run()
    assert run.code == 0, run.output
    for machine, labelled in zip(controller.hosts.values(), LABELLED.values(), strict=True):
        machine.run("rm -r /sys/fs/selinux")
        found = [line.split() for line in (machine.read(LOG) or "").splitlines()]
        paths = [(kind, os.path.normpath(os.path.join(directory, name))) for kind, directory, name in found]
        assert paths == [("file", CONFIG)] * labelled


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


def test_sudosu_to_a_user_with_another_login_shell(controller: Controller) -> None:
    plugins = controller.directory / "become_plugins"
    plugins.mkdir()
    (plugins / "sudosu.py").write_text(SUDOSU, encoding="utf-8")
    for machine, login in zip(controller.hosts.values(), ("bsd-csh", "fish", "tcsh", "zsh"), strict=True):
        user = f"root-in-{login}"
        added = {"passwd": f"{user}:x:0:0::/root:/bin/{login}", "shadow": f"{user}:*:19000:0:99999:7:::"}
        machine.run("\n".join(f"echo '{line}' >> /etc/{name}" for name, line in added.items()))
        controller.host_vars[machine.name] = {"ansible_become_user": user}
    controller.group_vars.update(ansible_user=USER, ansible_become_method="sudosu")
    controller.group_vars.update(monitor_agent_install_command="exit 1", monitor_agent_install_creates="/")
    converge(controller, role_play(controller, play="become: true"), changes=controller.hosts)


def test_a_login_shell_may_print_a_text_first(controller: Controller) -> None:
    installed, names = "/opt/agent-installed", controller.hosts
    controller.group_vars["monitor_agent_install_command"] = f"touch {installed}"
    controller.group_vars["monitor_agent_install_creates"] = installed
    greetings = ("echo Welcome", "printf Welcome", "set -x", "set -x; printf Welcome")
    for machine, greeting in zip(names.values(), greetings, strict=True):
        machine.run("sed -i 's,^\\(root:.*:\\).*,\\1/bin/bash,' /etc/passwd")
        machine.write(greeting, "/root/.bashrc")
    try:
        converge(controller, changes=names)
        assert all(machine.facts(installed) for machine in names.values())
        run = controller.run(ROLLOUT, "-e", "monitor_agent_config_owner=daemon")
        assert {event.result["differs"][0] for event in run.of(CONFIGURE).values()} == {"owner"}
        for machine in names.values():
            machine.write("0A1B2C3D-0000-4A91-C0DE5E171A7E0000\n")
        # The key is in the first line of such a file only.
        run = controller.run(ROLLOUT, "-e", "monitor_agent_config_template=api_key.j2")
        assert {event.result["key_owner"] for event in run.of(CONFIGURE).values()} == {"unknown"}
    finally:
        for machine in names.values():
            machine.run("rm /root/.bashrc")
