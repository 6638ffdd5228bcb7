# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run is killed at a step from the write to the end of the handlers: after the next run every agent has its own key.

Debian machines run the agents, and each step is tried twice: what the killed run has started on the machines goes on,
or it is killed too.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.faults import interruption
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.machines import SERVICE, Machine, reporting
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller

HANDLER = "Restart the monitoring agent"
# The writer, the module that restarts a service, and the handler that removes the marker.
STEPS = [
    *interruption.each_side("mkdir", "chmod", "dd", "mv", "mv", "rmdir"),
    *interruption.each_side("systemctl", "systemctl", "rm"),
]
# A step or a task after which the run is killed, and whether its tools on the machines are killed too.
KILLS: list[tuple[interruption.Stop | str, bool]] = [
    *((step, killed) for step in STEPS for killed in (False, True)),
    *((task, False) for task in 7 * (CONFIGURE, HANDLER)),
]
QUICK: list[tuple[interruption.Stop | str, bool]] = [
    (interruption.Stop("before", "mv", 2), True),
    (interruption.Stop("after", "mv", 2), True),
    (CONFIGURE, False),
    (interruption.Stop("before", "systemctl", 2), True),
    (interruption.Stop("after", "systemctl", 2), False),
    (HANDLER, False),
]


@pytest.fixture
def controller(controllers: Callable[..., Controller], booted: Callable[..., list[Machine]]) -> Controller:
    """A controller for two machines, one of them reached by sudo, whose agents run."""
    made = controllers(*booted("web-1", "db-1"))
    made.group_vars["monitor_agent_service"] = SERVICE
    made.host_vars["db-1"] = {"ansible_user": USER, "ansible_become": True}
    # Without it, Ansible uses the same tools for files of its own.
    (made.directory / "ansible.cfg").write_text("[connection]\npipelining = true\n", encoding="utf-8")
    made.with_facts("systemd")
    assert made.run().code == 0
    return made


def killed_run(controller: Controller, moment: interruption.Stop | str, killed: bool) -> str:
    """Start a run and kill it at the moment; returns what it had printed."""
    hosts = controller.hosts.values()
    if isinstance(moment, interruption.Stop):
        for host in hosts:
            interruption.arm(host, moment)
    with interruption.started(controller, ROLLOUT) as (process, record):
        if isinstance(moment, interruption.Stop):
            interruption.wait_until(lambda: all(map(interruption.stopped, hosts)), process)
        else:
            interruption.wait_until(lambda: results(record, moment) == len(hosts), process)
        output = interruption.kill_run(process, record)
    for host in hosts:
        interruption.kill(host, "tool") if killed else interruption.release(host)
    interruption.settle(hosts)
    return output


def results(record: Path, task: str) -> int:
    """How many hosts have done a task."""
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    return sum(json.loads(line)["task"].endswith(task) for line in lines if line.endswith("\n"))


def test_no_killed_run_loses_a_restart(controller: Controller) -> None:
    own = {name: name for name in controller.hosts}
    stale = 0
    for moment, killed in KILLS if SOAK else QUICK:
        # All clients get other keys.
        controller.service.reset()
        output = killed_run(controller, moment, killed)
        assert_sound(controller.service, output, faults=1)
        stale += list(reporting(controller).values()).count(None)
        run = controller.run()
        assert_sound(controller.service, run.output)
        assert run.code == 0, (moment, killed, run.output)
        assert reporting(controller) == own, (moment, killed)
        tally(converged=1)
    assert stale > 0, "no kill was early enough to leave an old key in memory"
