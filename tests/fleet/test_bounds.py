# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every command on the host ends, and reads a bounded amount, whatever kind of file is at the path."""

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, host, role_play, snapshots

ABSENT = ("-e", "monitor_agent_state=absent")
DIRECTORY = "mkdir -p /etc/monitor; cd /etc/monitor"
# Replaced without being read: its target may be endless.
REPLACED = (
    "mkfifo elsewhere; ln -s elsewhere agent.conf",
    "ln -s /dev/zero agent.conf",
    "truncate -s 1T elsewhere; ln -s elsewhere agent.conf",
    "truncate -s 1T agent.conf",
)
# Replaces the file at the path by a FIFO, and back, until it is killed.
SWAPS = """
import ctypes, os, time
os.chdir("/etc/monitor")
open("agent.conf", "w").close()
os.mkfifo("other")
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"agent.conf", -100, b"other", 2)
    # A tenth of what a process takes to start; without it, a processor would do nothing else.
    time.sleep(0.0001)
"""


def all_kinds_of_runs(controller: Controller) -> dict[str, Run]:
    """Audit, check mode and run of a rollout, check mode and run of a removal."""
    book = role_play(controller)
    return {
        "audit": controller.run("monitor.cloud.audit"),
        "check": controller.run(book, "--check"),
        "run": controller.run(book),
        "check of a removal": controller.run(book, "--check", *ABSENT),
        "removal": controller.run(book, *ABSENT),
    }


@pytest.fixture
def endless(controller: Controller) -> Controller:
    """A controller for four hosts, each with such a file."""
    for machine, prepare in zip(controller.hosts.values(), REPLACED, strict=True):
        machine.run(f"{DIRECTORY}; {prepare}")
    return controller


def test_endless_files_are_replaced(endless: Controller) -> None:
    assert endless.run("monitor.cloud.audit").code == 0
    converge(endless, role_play(endless), changes=endless.hosts)
    assert "4 ok" in endless.run("monitor.cloud.audit").output
    assert configured(endless) == set(endless.hosts)


def test_endless_files_are_removed(endless: Controller) -> None:
    converge(endless, role_play(endless), *ABSENT, changes=endless.hosts)
    assert {machine.facts() for machine in endless.hosts.values()} == {""}


@pytest.mark.parametrize("before", ["no file", "a file"])
def test_a_terminal_that_the_connection_forces_has_no_end_of_input(one: Controller, before: str) -> None:
    """As by `-tt` in ssh_args, or RequestTTY in a configuration of ssh."""
    if before == "a file":
        host(one).write("old")
    one.group_vars.update(
        ansible_ssh_extra_args="-tt",
        monitor_agent_install_command='echo "$MONITOR_INSTALL_CODE" > /opt/agent',
        monitor_agent_install_creates="/opt/agent",
    )
    converge(one, changes={"web-1"})
    assert host(one).facts() == "regular file 600 root root"
    assert host(one).read("/opt/agent") == f"{one.service.clients()[0]['install_code']}\n"


def test_a_fifo_is_named(one: Controller) -> None:
    host(one).run(f"{DIRECTORY}; mkfifo agent.conf")
    before = snapshots(one)
    runs = all_kinds_of_runs(one)
    assert snapshots(one) == before
    for name in ("check", "run", "check of a removal", "removal"):
        assert f"{CONFIG} is neither a regular file nor" in runs[name].failures()["web-1"], runs[name].output


def test_a_path_that_alternates_between_file_and_fifo(one: Controller) -> None:
    """The owner of the directory replaces one by the other, again and again."""
    machine = host(one)
    machine.run(f"{DIRECTORY}; chown {USER} .; echo '{SWAPS}' > /opt/agent-swaps.py")
    machine.run(f"setpriv --reuid={USER} --clear-groups python3 /opt/agent-swaps.py > /opt/agent-out 2>&1 & "
                "echo $! > /opt/agent-pid; until grep -q ready /opt/agent-out; do sleep 0.1; done")  # fmt: skip
    try:
        runs = all_kinds_of_runs(one)
    finally:
        machine.run("kill $(cat /opt/agent-pid)")
    for name, run in runs.items():
        assert "Traceback" not in run.output, (name, run.output)
        assert run.code in (0, 2), (name, run.output)
        assert all(CONFIG in message for message in run.failures().values()), (name, run.failures())
