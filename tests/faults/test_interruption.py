# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run, or the host under it, is killed: at each create, and at each step of writing a file.

Then no file is half-written, only its owner can read a key, and no client is there twice. One more
run converges, and leaves nothing behind.
"""

from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.tests.faults import interruption
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller
from ansible_collections.monitor.cloud.tests.support.steps import labels, own_play

OLD = "api_key=0LD0LD0L-0LD0-0LD0-0LD0LD0L0LD0LD0L\n"
# As the role writes it.
CONTENT = "install_code=@install_code@\napi_key=@api_key@\n"
WITH_INPUT = interruption.stops_at("mkdir", "chmod", "dd", "chown", "chmod", "ln", "cat", "rm", "mv", "mv", "rmdir")
# If commands can't be given input. The first two are core's, for the file that carries the content.
WITHOUT_INPUT = interruption.stops_at("mkdir", "chmod", "dd", "ln", "mv", "mv", "rmdir")
NAMES = [f"web-{number:02}" for number in range(1, len(WITH_INPUT) + 1)]


@pytest.fixture
def hosts_of(
    machines: Callable[..., list[fleet.Host]], controllers: Callable[..., Controller]
) -> Callable[[int], Controller]:
    """Makes a controller for so many hosts, on which nothing is."""
    return lambda count: controllers(*machines(*NAMES[:count]))


def texts_of(controller: Controller) -> dict[str, str | None]:
    return {name: host.read() for name, host in controller.hosts.items()}


@pytest.mark.parametrize(("when", "number"), [("before", 1), ("after", 1)])
def test_a_run_killed_at_a_create_is_completed_by_the_next(
    hosts_of: Callable[[int], Controller], when: str, number: int
) -> None:
    controller = hosts_of(3)
    service, made = controller.service, number + (when == "after")
    controller.group_vars["monitor_agent_concurrency"] = 1
    kind = {"kind": "drop"} if when == "before" else {"kind": "slow", "done": True}
    service.fault(operation="create_client", skip=number, seconds=20, **kind)
    with interruption.started(controller, ROLLOUT) as (process, record):
        interruption.wait_until(
            lambda: len(service.requests("create_client")) > number and len(service.clients()) == made, process
        )
        assert_sound(service, interruption.kill_run(process, record), faults=1)
    assert labels(controller) == NAMES[:made]
    interruption.assert_whole(controller, dict.fromkeys(controller.hosts))
    assert interruption.converge(controller).writes() == [f"create_client {name}" for name in NAMES[made:3]]
    interruption.assert_converged(controller)


def stop_all(controller: Controller, victim: str, stops: dict[str, str], playbook: str) -> None:
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


@pytest.mark.parametrize(
    ("steps", "victim"),
    [(WITH_INPUT, "run"), (WITH_INPUT, "shell"), (WITHOUT_INPUT, "host")],
    ids=["run", "shell", "host without input"],
)
def test_a_file_is_whole_after_a_kill_at_each_step_of_writing(
    hosts_of: Callable[[int], Controller], steps: list[str], victim: str
) -> None:
    """Without input, a symbolic link is replaced too."""
    controller, with_input = hosts_of(len(steps)), steps is WITH_INPUT
    if not with_input:
        controller.group_vars["ansible_become_method"] = "su"
    stops = dict(zip(controller.hosts, steps, strict=True))
    for number, (name, stop) in enumerate(stops.items()):
        host = controller.hosts[name]
        # Every other host by sudo.
        controller.host_vars[name] = {"ansible_user": fleet.USER if number % 2 and with_input else "root"}
        if not with_input and ("dd" in stop or "rmdir" in stop):
            host.write("elsewhere\n", "/opt/agent-target", mode="0644")
            host.run("mkdir -p /etc/monitor; ln -s /opt/agent-target /etc/monitor/agent.conf")
        elif " mkdir " not in stop:
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
