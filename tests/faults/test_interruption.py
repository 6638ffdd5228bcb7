# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run, or the host under it, is killed: at each create, at each step of writing a file, at any time.

Then no file is half-written, only its owner can read a key, and no client is there twice. One more
run converges, and leaves nothing behind.
"""

import random
import time
from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.tests.faults import interruption
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, short_or_long
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller
from ansible_collections.monitor.cloud.tests.support.steps import labels, own_play

NAMES = [f"web-{number:02}" for number in range(1, 15)]
OLD = "api_key=0LD0LD0L-0LD0-0LD0-0LD0LD0L0LD0LD0L\n"
# As the role writes it.
CONTENT = "install_code=@install_code@\napi_key=@api_key@\n"
WRITING = interruption.each_side("mkdir", "chmod", "dd", "chown", "chmod", "ln", "cat", "rm", "mv", "mv", "rmdir")
STEPS = {
    "half of the steps": WRITING[::2],
    "the other half": WRITING[1::2],
    # If commands can't be given input. The first two are core's, for the file that carries the content.
    "without input": interruption.each_side("mkdir", "chmod", "dd", "ln", "mv", "mv", "rmdir"),
}
KILLED = [
    ("half of the steps", "run"), ("half of the steps", "shell"), ("the other half", "run"), ("the other half", "host"),
    # Of core's own files, no shell of ours does the writing.
    ("without input", "run"), ("without input", "host"),
]  # fmt: skip
KILLED += [("half of the steps", "host"), ("the other half", "shell")] if SOAK else []


@pytest.fixture
def controller(machines: Callable[..., list[fleet.Host]], controllers: Callable[..., Controller]) -> Controller:
    """A controller for hosts on which nothing is."""
    return controllers(*machines(*NAMES))


def only(controller: Controller, count: int) -> Controller:
    """The first few hosts."""
    for name in list(controller.hosts)[count:]:
        del controller.hosts[name]
    return controller


def texts_of(controller: Controller) -> dict[str, str | None]:
    return {name: host.read() for name, host in controller.hosts.items()}


@pytest.mark.parametrize(("when", "number"), [("before", 1), ("after", 0), ("after", 2)])
def test_killed_at_a_create(controller: Controller, when: str, number: int) -> None:
    service, hosts = only(controller, 3).service, controller.hosts
    controller.group_vars["monitor_agent_concurrency"] = 1
    kind = {"kind": "drop"} if when == "before" else {"kind": "slow", "done": True}
    service.fault(operation="create_client", skip=number, seconds=20, **kind)
    made = number + (when == "after")
    with interruption.started(controller, ROLLOUT) as (process, record):
        interruption.wait_until(
            lambda: len(service.requests("create_client")) > number and len(service.clients()) == made, process
        )
        assert_sound(service, interruption.kill_run(process, record), faults=1)
    assert labels(controller) == NAMES[:made]
    interruption.assert_whole(controller, dict.fromkeys(hosts))
    run = interruption.converge(controller, check=False)
    assert run.writes() == [f"create_client {name}" for name in NAMES[made:3]]
    interruption.assert_converged(controller)


def stop_all(controller: Controller, victim: str, stops: dict[str, interruption.Stop], playbook: str) -> None:
    """Kill when every host is at the step: the run, or each host, or the writer on each host."""
    hosts = controller.hosts
    for name, stop in stops.items():
        interruption.arm(hosts[name], stop)
    with interruption.started(controller, playbook) as (process, record):
        waiting = set(hosts)
        while waiting:
            interruption.wait_until(lambda: any(interruption.stopped(hosts[name]) for name in waiting), process)
            for name in [name for name in waiting if interruption.stopped(hosts[name])]:
                waiting.discard(name)
                interruption.assert_nothing_readable([hosts[name]])
                if victim != "run":
                    interruption.kill(hosts[name], victim)
        output = (
            interruption.kill_run(process, record) if victim == "run" else controller.finish(process, record).output
        )
    assert_sound(controller.service, output, faults=len(stops))
    for host in hosts.values():
        interruption.release(host)
    interruption.settle(hosts.values())


@pytest.mark.parametrize(("steps", "victim"), KILLED)
def test_killed_at_a_step_of_writing(controller: Controller, steps: str, victim: str) -> None:
    """Without input, a symbolic link is replaced too."""
    with_input = steps != "without input"
    if not with_input:
        controller.group_vars["ansible_become_method"] = "su"
    stops = dict(zip(only(controller, len(STEPS[steps])).hosts, STEPS[steps], strict=True))
    for number, (name, stop) in enumerate(stops.items()):
        host = controller.hosts[name]
        # Every other host by sudo.
        controller.host_vars[name] = {"ansible_user": fleet.USER if number % 2 and with_input else "root"}
        if not with_input and stop.tool in ("dd", "rmdir"):
            host.write("elsewhere\n", "/opt/agent-target", mode="0644")
            host.run("mkdir -p /etc/monitor; ln -s /opt/agent-target /etc/monitor/agent.conf")
        elif stop.tool != "mkdir":
            host.write(OLD)
    before = texts_of(controller)
    playbook = own_play(controller, play="become: true", content=CONTENT, owner="root", backup=True)
    stop_all(controller, victim, stops, playbook)
    interruption.assert_whole(controller, before)
    # Else nothing would have to be removed. What goes on when the run is killed comes to its end, and removes its own.
    find = "find /etc/monitor -name '.agent.conf.writing-*'"
    left = [host.run(find, check=False) for host in controller.hosts.values()]
    assert not with_input or any(left) is (victim != "run")
    interruption.converge(controller, playbook)
    interruption.assert_converged(controller, before)
    for name in [name for name, old in before.items() if old == "elsewhere\n"]:
        assert controller.hosts[name].facts("/opt/agent-target") == "regular file 644 root root", stops[name]


@pytest.fixture(scope="module")
def usual() -> list[float]:
    """How long a first rollout takes, once it is known."""
    return []


FRACTIONS = [0.55, 0.8, *(random.Random(number).uniform(0.1, 1.0) for number in range(23))]


@pytest.mark.parametrize("fraction", FRACTIONS[: short_or_long(2, 25)])
@pytest.mark.parametrize("state", ["nothing is there", "all has to change"])
def test_killed_at_any_time(controller: Controller, usual: list[float], state: str, fraction: float) -> None:
    only(controller, 8)
    if state == "all has to change" or not usual:
        begun = time.monotonic()
        assert controller.run(ANSIBLE_FORKS="20").code == 0
        usual.append(time.monotonic() - begun)
    # With another account all keys are others.
    controller.service.reset()
    if state == "nothing is there":
        for host in controller.hosts.values():
            host.reset()
    before = texts_of(controller)
    with interruption.started(controller, ROLLOUT) as (process, record):
        time.sleep(min(usual) * fraction)
        assert_sound(controller.service, interruption.kill_run(process, record), faults=1)
    interruption.settle(controller.hosts.values())
    interruption.assert_whole(controller, before)
    interruption.converge(controller, check=False)
    interruption.assert_converged(controller)
    assert labels(controller) == NAMES[:8]
