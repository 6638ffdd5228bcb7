# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts whose login shell, or shell of Ansible's, is not the one that most have, and whose tools are others."""

from __future__ import annotations

import shutil
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Run
from ansible_collections.monitor.cloud.tests.support.steps import role_play

LOGIN_SHELLS = ("/bin/bsd-csh", "/usr/bin/tcsh", "/usr/bin/fish", "/usr/bin/zsh", "/bin/bash")
EXECUTABLES = ("/bin/zsh", "/bin/bash", "/bin/ksh", "/bin/mksh", "/usr/bin/yash")
TOOLS = ("busybox", "toybox")
PLAIN = "/opt/agent/{name}/agent.conf"
SPECIAL_PATH = "/opt/agent/{name}/a b!c'd\"e\\f\\\\g\n!h$i*~/agent !!.conf"
ABSENT = ("-e", "monitor_agent_state=absent")


def _short(path: str) -> str:
    return path.rpartition("/")[2]


def _users() -> str:
    """Commands that add, for each login shell, a user who may become root, and a second root."""
    lines = []
    for number, shell in enumerate(LOGIN_SHELLS, 4300):
        user = f"in-{_short(shell)}"
        lines += [
            f"echo '{user}:x:{number}:{number}::/home/{user}:{shell}' >> etc/passwd",
            f"echo 'root-{user}:x:0:0::/root:{shell}' >> etc/passwd",
            f"echo '{user}:*:19000:0:99999:7:::' >> etc/shadow",
            f"echo '{user}:x:{number}:' >> etc/group",
            f"echo '{user} ALL=(ALL) NOPASSWD: ALL' >> etc/sudoers.d/{fleet.USER}",
            f"mkdir -p home/{user}; cp -r home/{fleet.USER}/.ssh home/{user}; chown -R {number} home/{user}",
        ]
    return "\n".join(lines)


@pytest.fixture
def machine(machines: Callable[..., list[fleet.Host]]) -> fleet.Host:
    """One host with users of all kinds."""
    if absent := [path for path in (*LOGIN_SHELLS, *EXECUTABLES, *TOOLS) if shutil.which(path) is None]:
        pytest.skip(f"{' and '.join(absent)} not installed")
    return machines("shells", prepare=_users())[0]


@pytest.fixture
def controller(controllers: Callable[..., Controller], machine: fleet.Host) -> Controller:
    """A controller for that host, which the inventory does not have under its own name."""
    machine.reset()
    return controllers()


def add(controller: Controller, host: fleet.Host, path: str, kinds: dict[str, dict[str, t.Any]]) -> None:
    """Let the inventory have the host once for each way of using it, with a file each."""
    for name, variables in kinds.items():
        controller.host_vars[name] = {
            "ansible_host": host.address,
            "ansible_port": host.port,
            "monitor_agent_config_path": path.format(name=name),
            **variables,
        }


def kinds_of_users() -> dict[str, dict[str, t.Any]]:
    """Variables of Ansible by name of the kind."""
    kinds: dict[str, dict[str, t.Any]] = {}
    for shell in LOGIN_SHELLS:
        user = f"in-{_short(shell)}"
        kinds[f"sudo-{user}"] = {"ansible_user": user, "ansible_become": True}
        kinds[f"root-{user}"] = {"ansible_user": f"root-{user}"}
    for shell in EXECUTABLES:
        own = {"ansible_shell_executable": shell}
        kinds[f"sudo-by-{_short(shell)}"] = {"ansible_user": fleet.USER, "ansible_become": True, **own}
        kinds[f"root-by-{_short(shell)}"] = {"ansible_user": "root", **own}
    return kinds


def assert_life_of_a_file(controller: Controller, host: fleet.Host) -> None:
    """Check mode, run, second run, removal and second removal: each host alike."""
    book = role_play(controller)
    steps = {
        "check": ("changed", ["--check"]),
        "run": ("changed", []),
        "second run": ("ok", []),
        "check of a removal": ("changed", ["--check", *ABSENT]),
        "removal": ("changed", list(ABSENT)),
        "second removal": ("ok", list(ABSENT)),
    }
    for step, (status, options) in steps.items():
        run = controller.run(book, *options, ANSIBLE_FORKS="10")
        assert not (failed := run.failures()), (step, failed)
        assert run.statuses() == dict.fromkeys(controller.host_vars, status), (step, run.output[-5000:])
        if step == "second run":
            assert_written(controller, host, run)
    assert host.run("find /opt/agent -type f -o -name '.*'") == "", "nothing is left"


def assert_written(controller: Controller, host: fleet.Host, run: Run) -> None:
    """Each file is there, whole, for its owner alone, and nothing beside it."""
    seen = Path(f"/proc/{host.first_process}/root")
    keys = {client["label"]: client["api_key"] for client in controller.service.clients()}
    for name, variables in controller.host_vars.items():
        path = seen / variables["monitor_agent_config_path"].lstrip("/")
        assert f"api_key={keys[name]}\n" in path.read_text(encoding="utf-8")
        facts = path.stat()
        assert (facts.st_uid, facts.st_mode & 0o7777) == (0, 0o600), name
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert run.writes() == []


@pytest.mark.parametrize("path", [PLAIN, SPECIAL_PATH], ids=["plain path", "path with special characters"])
def test_shells(controller: Controller, machine: fleet.Host, path: str) -> None:
    add(controller, machine, path, kinds_of_users())
    assert_life_of_a_file(controller, machine)


@pytest.mark.parametrize("shell", LOGIN_SHELLS)
def test_install_commands_and_audits_work_in_login_shells(
    controller: Controller, machine: fleet.Host, shell: str
) -> None:
    user = f"in-{_short(shell)}"
    add(controller, machine, SPECIAL_PATH, {user: {"ansible_user": user, "ansible_become": True}})
    controller.group_vars["monitor_agent_install_command"] = 'printf %s "$MONITOR_INSTALL_CODE" > "/opt/agent-x y!z"'
    controller.group_vars["monitor_agent_install_creates"] = "/opt/agent-x y!z"
    first, again = (controller.run(role_play(controller)) for dummy in range(2))
    assert (first.code, again.code) == (0, 0), first.output
    assert {event.status for event in again.events} & {"changed"} == set(), again.output
    assert machine.read("/opt/agent-x y!z") == controller.service.clients()[0]["install_code"]
    assert "1 ok" in controller.run("monitor.cloud.audit").output


@pytest.mark.parametrize("tools", TOOLS)
def test_other_implementations_of_the_tools(controller: Controller, machine: fleet.Host, tools: str) -> None:
    """All that the host finds by name is that one program, but for what Ansible and the tests need themselves."""
    names = "cat chgrp chmod chown cp date dd find head id kill ln ls mkdir mktemp mv rm rmdir sha256sum sleep stat wc"
    # Toybox has no sh or dd on Debian: what is not there stays as it is.
    machine.run(
        f"mkdir -p /usr/local/sbin; for tool in {names}; do {tools} $tool --help >/dev/null 2>&1 "
        f"&& ln -s $(command -v {tools}) /usr/local/sbin/$tool; done; :"
    )
    assert "mv" in machine.run("ls /usr/local/sbin").split()
    own = {"ansible_shell_executable": "/bin/sh"}
    add(controller, machine, SPECIAL_PATH, {f"{tools}-root": {"ansible_user": "root", **own}})
    add(controller, machine, PLAIN, {f"{tools}-sudo": {"ansible_user": fleet.USER, "ansible_become": True, **own}})
    assert_life_of_a_file(controller, machine)
