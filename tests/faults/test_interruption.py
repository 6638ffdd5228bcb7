# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill a run or a host while it creates a client or writes a file. Start two runs at the same time.

After a kill, files are complete, only their owner can read keys, and no label has two clients. The next run converges.
"""

import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller, Run, kill_all, texts
from ansible_collections.monitor.cloud.tests.support.steps import labels, own_play

_PATIENCE = 60.0
# sshd puts this directory at the beginning of PATH.
_TOOLS = "/usr/local/sbin"
_STOP = "/opt/agent-stop"
_STOPPED = "/opt/agent-stopped"
# This script replaces a tool. If _STOP contains `before mv 2`, the second mv waits until the test removes _STOPPED.
_TOOL = f"""#!/bin/sh
tool=${{0##*/}}
stop() {{
  [ "$1 $tool $use" = "$target" ] && /usr/bin/rm {_STOP} || return 0
  : > {_STOPPED}
  while [ -e {_STOPPED} ]; do /usr/bin/sleep 0.02; done
}}
target=$(/usr/bin/cat {_STOP} 2>/dev/null)
case $target in *" $tool "*) echo >> {_STOP}-$tool; use=$(($(/usr/bin/wc -l < {_STOP}-$tool)));; esac
stop before; /usr/bin/$tool "$@"; code=$?; stop after; exit $code
"""
_HOLDING = "/etc/monitor /root /tmp /home /var/tmp /opt/agent*"
# Print files with a key that the user 4242 can read, or whose mode permits access by other users.
_READABLE = (
    f"{{ setpriv --reuid 4242 --regid 4242 --clear-groups grep -rls api_key= {_HOLDING}; "
    f"find {_HOLDING} -type f -perm /077 -exec grep -l api_key= {{}} +; }} 2>/dev/null"
)
OLD = "api_key=0LD0LD0L-0LD0-0LD0-0LD0LD0L0LD0LD0L\n"


def stops_at(*tools: str) -> list[str]:
    """Return the stops: one before each use of a tool, and one after the last use."""
    uses = [f"{tool} {tools[: number + 1].count(tool)}" for number, tool in enumerate(tools)]
    return [*(f"before {use}" for use in uses), f"after {uses[-1]}"]


def arm(host: Host, stop: str) -> None:
    host.run(f"mkdir -p {_TOOLS}; rm -f {_STOP}-*; echo '{stop}' > {_STOP}; chmod 666 {_STOP}")
    host.write(_TOOL, f"{_TOOLS}/{stop.split()[1]}", mode="755")


def stopped(host: Host) -> bool:
    return Path(f"/proc/{host.first_process}/root{_STOPPED}").exists()


def release(host: Host) -> None:
    host.run(f"rm -f {_STOPPED} {_STOP} {_TOOLS}/*")


@contextmanager
def started(
    controller: Controller, playbook: str, *options: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    process, record = controller.start(playbook, *options, errors=subprocess.STDOUT, ANSIBLE_FORKS="20", **environment)
    try:
        yield process, record
    finally:
        kill_all(record)
        process.wait()


def wait_until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not what():
        assert process.poll() is None, f"the run ended too early: {process.communicate()[0]}"
        assert time.monotonic() < deadline, "the run does not reach the stop"
        time.sleep(0.01)


def settle(hosts: Collection[Host]) -> None:
    """Wait for the end of the scripts on the hosts. A script continues after its run was killed."""
    deadline = time.monotonic() + _PATIENCE
    for host in hosts:
        while host.run("grep -slzx -e -s -e '/.*/script' /proc/[0-9]*/cmdline", check=False).strip():
            assert time.monotonic() < deadline, f"{host.name} still runs a script"
            time.sleep(0.02)


def assert_nothing_readable(*hosts: Host) -> None:
    for host in hosts:
        assert host.run(_READABLE, check=False) == "", host.name


def assert_whole(controller: Controller, before: dict[str, str | None]) -> None:
    after = texts(controller.service.clients())
    for name, host in controller.hosts.items():
        content = host.read()
        assert content in (before[name], after.get(name)), (name, content)
    assert_nothing_readable(*controller.hosts.values())


def assert_converged(controller: Controller) -> None:
    after = texts(controller.service.clients())
    for name, host in controller.hosts.items():
        assert host.read() == after[name], name
        assert host.facts() == "regular file 600 root root"
        assert host.run(f"ls -A $(dirname {CONFIG})").split() == ["agent.conf"], name
    assert_nothing_readable(*controller.hosts.values())


def check(service: Emulator, *runs: Run) -> None:
    for run in runs:
        assert_sound(service, run.output, faults=len(runs) > 1)
        assert (run.code, run.failures()) == (0, {}), run.output
    tally(converged=1)


CONTENT = "install_code=@install_code@\napi_key=@api_key@\n"
# Tools of the script. Only a new file needs ln.
STEPS = ("mktemp", "wc", "chown", "chmod", "ln", "mv", "rm", "rmdir")
WITH_INPUT = stops_at("mkdir", *STEPS)
# If the script cannot be standard input, core first runs mkdir and chmod to write the script to a file.
WITHOUT_INPUT = stops_at("mkdir", "chmod", *STEPS)
LEFT = ".agent.conf.??????"
NAMES = [f"web-{number:02}" for number in range(1, len(WITHOUT_INPUT) + 1)]


@pytest.fixture
def hosts_of(
    machines: Callable[..., list[Host]], controllers: Callable[..., Controller]
) -> Callable[[int], Controller]:
    return lambda count: controllers(*machines(*NAMES[:count]))


def test_a_run_killed_at_a_create_is_completed_by_the_next(hosts_of: Callable[[int], Controller]) -> None:
    """The run is killed after the service has created the second client, but before the response."""
    controller = hosts_of(3)
    service = controller.service
    controller.group_vars["monitor_agent_concurrency"] = 1
    service.fault(operation="create_client", skip=1, seconds=20, kind="slow", done=True)
    with started(controller, ROLLOUT) as (process, record):
        wait_until(lambda: len(service.requests("create_client")) > 1 and len(service.clients()) == 2, process)
        kill_all(record)
        assert_sound(service, process.communicate()[0], faults=1)
    assert labels(controller) == NAMES[:2]
    assert_whole(controller, dict.fromkeys(controller.hosts))
    run = controller.run()
    check(service, run)
    assert run.writes() == [f"create_client {NAMES[2]}"]
    assert_converged(controller)


def stop_all(controller: Controller, victim: str, stops: dict[str, str], playbook: str) -> None:
    """Kill each host (its processes except sshd) at its stop, or kill the run when all hosts are at their stops."""
    hosts = controller.hosts
    for name, stop in stops.items():
        arm(hosts[name], stop)
    with started(controller, playbook) as (process, record):
        waiting = set(hosts)
        while waiting:
            wait_until(lambda: any(stopped(hosts[name]) for name in waiting), process)
            for name in [name for name in waiting if stopped(hosts[name])]:
                waiting.discard(name)
                assert_nothing_readable(hosts[name])
                if victim == "host":
                    hosts[name].run("kill -9 -1", check=False)
                    release(hosts[name])
        if victim == "run":
            kill_all(record)
        # `finish` cannot read the record of a killed run, because the last line can be incomplete.
        assert_sound(controller.service, process.communicate(timeout=120)[0], faults=len(stops))
    for host in hosts.values():
        release(host)
    settle(hosts.values())


@pytest.mark.parametrize("victim", ["run", "host"])
def test_a_file_is_whole_after_a_kill_at_each_step_of_writing(
    hosts_of: Callable[[int], Controller], victim: str
) -> None:
    """Core sends scripts as standard input in the case "run", and as files in the case "host"."""
    steps = WITH_INPUT if victim == "run" else WITHOUT_INPUT
    controller = hosts_of(len(steps))
    if victim == "host":
        controller.group_vars["ansible_become_method"] = "su"
    stops = dict(zip(controller.hosts, steps, strict=True))
    for number, (name, stop) in enumerate(stops.items()):
        controller.host_vars[name] = {"ansible_user": USER if number % 2 and victim == "run" else "root"}
        if " mkdir " not in stop and " ln " not in stop:
            controller.hosts[name].write(OLD)
    before = {name: host.read() for name, host in controller.hosts.items()}
    playbook = own_play(controller, play="become: true", content=CONTENT, owner="root")
    stop_all(controller, victim, stops, playbook)
    assert_whole(controller, before)
    # If only the run was killed, the script on the host has ended normally, and has removed its temporary directory.
    find = f"find /etc/monitor -name '{LEFT}'"
    left = {name for name, host in controller.hosts.items() if host.run(find, check=False)}
    assert bool(left) is (victim == "host")
    for name in left:
        # The next run removes only temporary directories that are older than a day.
        controller.hosts[name].run(f"{find} -exec touch -d '2 days ago' {{}} +")
    run = controller.run(playbook, ANSIBLE_FORKS="20")
    check(controller.service, run)
    for name in left - run.changed_hosts():
        controller.hosts[name].run(f"{find} -exec rm -r {{}} +")
    assert_converged(controller)


def test_the_same_rollout_twice_at_once_creates_each_client_once(hosts_of: Callable[[int], Controller]) -> None:
    """The hosts have keys of another account. Each run reads the list before the other run creates clients."""
    one = hosts_of(6)
    other = hosts_of(6)
    service = one.service
    check(service, one.run(ANSIBLE_FORKS="20"))
    service.reset()
    service.fault(kind="slow", done=True, operation="list_clients", seconds=1.0, times=2)
    with started(one, ROLLOUT) as first, started(other, ROLLOUT) as second:
        runs = one.finish(*first), other.finish(*second)
    check(service, *runs)
    made = [entry["label"] for entry in service.requests("create_client") if entry["status"] == 200]
    assert sorted(made) == NAMES[:6] == labels(one)
    assert_converged(one)
    again = one.run(ANSIBLE_FORKS="20")
    check(service, again)
    assert (again.changed_hosts(), again.writes()) == (set(), [])
