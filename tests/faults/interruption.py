# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs and hosts that are killed at a moment of choice, and what must hold of the hosts then and later."""

import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, Host
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller, Run, kill_all, texts

_PATIENCE = 60.0
# The directory that sshd puts first into PATH.
_TOOLS = "/usr/local/sbin"
_STOP, _STOPPED = "/opt/agent-stop", "/opt/agent-stopped"
# Stops at the use that the file names (`before mv 2`), once, until the other file is gone; writes the id of its parent.
_TOOL = f"""#!/bin/sh
tool=${{0##*/}}
stop() {{
  [ "$1 $tool $use" = "$target" ] && /usr/bin/rm {_STOP} || return 0
  echo $PPID > {_STOPPED}
  while [ -e {_STOPPED} ]; do /usr/bin/sleep 0.02; done
}}
target=$(/usr/bin/cat {_STOP} 2>/dev/null)
case $target in *" $tool "*) echo >> {_STOP}-$tool; use=$(($(/usr/bin/wc -l < {_STOP}-$tool)));; esac
stop before; /usr/bin/$tool "$@"; code=$?; stop after; exit $code
"""
_HOLDING = "/etc/monitor /root /tmp /home /var/tmp /opt/agent*"
# All files with a key that a user without rights can read, or could if the directory let anyone in.
_READABLE = (
    f"{{ setpriv --reuid 4242 --regid 4242 --clear-groups grep -rls api_key= {_HOLDING}; "
    f"find {_HOLDING} -type f -perm /077 -exec grep -l api_key= {{}} +; }} 2>/dev/null"
)
_BACKUP = re.compile(r"agent\.conf\..+~")


def stops_at(*tools: str) -> list[str]:
    """Before each of these uses, and after the last; a tool that is named twice is used twice."""
    uses = [f"{tool} {tools[: number + 1].count(tool)}" for number, tool in enumerate(tools)]
    return [*(f"before {use}" for use in uses), f"after {uses[-1]}"]


def arm(host: Host, stop: str) -> None:
    """Let the host stop there."""
    host.run(f"mkdir -p {_TOOLS}; rm -f {_STOP}-*; echo '{stop}' > {_STOP}; chmod 666 {_STOP}")
    host.write(_TOOL, f"{_TOOLS}/{stop.split()[1]}", mode="755")


def stopped(host: Host) -> bool:
    """Whether the host is at the step at which it has to stop."""
    return Path(f"/proc/{host.first_process}/root{_STOPPED}").exists()


def release(host: Host) -> None:
    """Go on; only what was not killed does."""
    host.run(f"rm -f {_STOPPED} {_STOP} {_TOOLS}/*")


def kill(host: Host, victim: str) -> None:
    """On a host that is stopped at a step, kill the shell that writes, or all but its sshd."""
    host.run(f"kill -9 $(cat {_STOPPED})" if victim == "shell" else "kill -9 -1", check=False)
    release(host)


def kill_run(process: subprocess.Popen[str], record: Path) -> str:
    kill_all(record)
    return process.communicate(timeout=_PATIENCE)[0]


@contextmanager
def started(
    controller: Controller, playbook: str, *options: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run that is on its way, and its record. It ends with the test, however that ends."""
    process, record = controller.start(playbook, *options, errors=subprocess.STDOUT, ANSIBLE_FORKS="20", **environment)
    try:
        yield process, record
    finally:
        kill_all(record)
        process.wait()


def wait_until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a moment of a run."""
    deadline = time.monotonic() + _PATIENCE
    while not what():
        assert process.poll() is None, f"the run did not come there: {process.communicate()[0]}"
        assert time.monotonic() < deadline, "the run does not come there"
        time.sleep(0.01)


def settle(hosts: Collection[Host]) -> None:
    """Wait until no writer is left on the hosts: a writer continues even if no process waits for it any more."""
    deadline = time.monotonic() + _PATIENCE
    for host in hosts:
        while host.run("grep -slz '[w]riting-' /proc/[0-9]*/cmdline", check=False).strip():
            assert time.monotonic() < deadline, f"{host.name} goes on writing"
            time.sleep(0.02)


def assert_nothing_readable(hosts: Collection[Host]) -> None:
    """Only the owner can read files that hold a key, temporary files included."""
    for host in hosts:
        assert host.run(_READABLE, check=False) == "", host.name


def assert_whole(controller: Controller, before: dict[str, str | None]) -> None:
    """No file is half-written: it is what it was before, or what it has to be."""
    after = texts(controller.service.clients())
    for name, host in controller.hosts.items():
        found = host.read()
        assert found in (before[name], after.get(name)), (name, found)
    assert_nothing_readable(controller.hosts.values())


def assert_converged(controller: Controller, before: dict[str, str | None] | None = None) -> None:
    """Every host carries its own key, for its owner alone; nothing is left behind but backups of what was before."""
    after = texts(controller.service.clients())
    for name, host in controller.hosts.items():
        assert host.read() == after[name], name
        assert host.facts() == "regular file 600 root root"
        for other in set(host.run(f"ls -A $(dirname {CONFIG})").split()) - {"agent.conf"}:
            path = f"/etc/monitor/{other}"
            assert _BACKUP.fullmatch(other) and before is not None, (name, other)
            kept = host.read(path), host.facts(path).split()[-3:]
            assert kept == (before[name], ["600", "root", "root"]), (name, other)
    assert_nothing_readable(controller.hosts.values())


def converge(controller: Controller, playbook: str = ROLLOUT) -> Run:
    """Run once more, to the end."""
    run = controller.run(playbook, ANSIBLE_FORKS="20")
    assert_sound(controller.service, run.output)
    assert run.code == 0, run.output
    tally(converged=1)
    return run
