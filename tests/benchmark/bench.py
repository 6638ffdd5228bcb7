# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runs that are compared, what they cost, and the requests that each of them must send."""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import hosts as ssh_hosts
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings

# Beside those that the tests use.
_FIRST_ADDRESS = 150


@dataclass(frozen=True)
class Fleet:
    """Hosts to run against. ``forget`` takes away what rollouts wrote; ``disconnect`` ends open connections."""

    size: int
    inventory: Path
    settings: Mapping[str, str]
    forget: Callable[[], None]
    disconnect: Callable[[], None] = field(default=lambda: None)


def _write_inventory(directory: Path, hosts: Mapping[str, str], common: str) -> Path:
    inventory = directory / "inventory.ini"
    lines = ["[all]", *(f"{name} {variables}" for name, variables in hosts.items()), "[all:vars]", common]
    inventory.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return inventory


def local_fleet(directory: Path, size: int) -> Fleet:
    """Hosts that are a directory each."""
    files = directory / "files"
    names = [f"host-{number:05}" for number in range(size)]
    hosts = {name: f"monitor_agent_config_path={files}/{name}/agent.conf" for name in names}
    common = f"ansible_connection=local\nansible_python_interpreter={sys.executable}\nmonitor_agent_service="

    def forget() -> None:
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()

    forget()
    return Fleet(size, _write_inventory(directory, hosts, common), {}, forget)


@contextmanager
def ssh_fleet(directory: Path, size: int, *, pipelining: bool) -> Iterator[Fleet]:
    """Hosts with an address, an sshd and a file system each, so that no two share a connection."""
    names = [f"host-{number:05}" for number in range(size)]
    keys = ssh_hosts.make_keys(directory)
    sockets = directory / "sockets"
    settings = {
        "ANSIBLE_PIPELINING": str(pipelining),
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_SSH_COMMON_ARGS": "-o UserKnownHostsFile=/dev/null",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets),
    }
    common = (
        f"ansible_user=root\nansible_ssh_private_key_file={keys}/client\nansible_python_interpreter=/usr/bin/python3\n"
        "monitor_agent_service="
    )
    started = ssh_hosts.start(names, directory, keys, first_address=_FIRST_ADDRESS)

    def forget() -> None:
        for host in started:
            host.run("rm -rf /etc/monitor")

    addresses = {host.name: f"ansible_host={host.address} ansible_port={host.port}" for host in started}
    inventory = _write_inventory(directory, addresses, common)
    try:
        yield Fleet(size, inventory, settings, forget, lambda: _close_connections(sockets))
    finally:
        _close_connections(sockets)
        for host in started:
            host.stop()


def _close_connections(sockets: Path) -> None:
    for socket in sockets.glob("*"):
        end = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"]
        subprocess.run(end, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


HERE = Path(__file__).parent
ROLLOUT = "monitor.cloud.rollout"
PAGE = 500
_TIMES = "{{ range(times | default(1) | int) | list }}"
_REQUEST = {
    "url": "{{ lookup('ansible.builtin.env', 'MONITOR_BASE_URL') }}/monitor/clients?page_size=500",
    "headers": {"Authorization": "Bearer {{ lookup('ansible.builtin.env', 'MONITOR_API_TOKEN') }}"},
}
# Plays of one task: the least that one costs on each host, and what the modules of the collection are compared with.
PLAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "ping": ("all", {"ansible.builtin.ping": None}),
    "raw": ("all", {"ansible.builtin.raw": "true"}),
    "start": ("localhost", {"ansible.builtin.debug": {"msg": "{{ item }}"}, "loop": _TIMES}),
    "one_request": ("localhost", {"ansible.builtin.uri": _REQUEST, "loop": _TIMES}),
    "one_client": ("localhost", {"monitor.cloud.monitor_client": {"label": "{{ label }}"}, "loop": _TIMES}),
    "register": ("localhost", {"monitor.cloud.monitor_clients": {"labels": "{{ labels }}"}}),
}
FORKS = 10
# Characters of the output of a command that failed.
_SHOWN = 4000


class Cost(NamedTuple):
    """What a command took: seconds on the clock, seconds of processors, and MiB.

    ``cpu`` covers all processes that the command started and waited for; ``memory`` is the largest resident set that
    one of them had, which for ansible-playbook is the controller or a fork of it.
    """

    wall: float
    cpu: float
    memory: float


Contender = Callable[[], Cost]


def run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            text = output.read().decode(errors="replace")[-_SHOWN:]
            raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}:\n{text}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def side_by_side(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[Cost]]:
    """Let all run in turn, round after round, so that other load of the machine affects all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(our / their for our, their in zip(ours, theirs, strict=True))


@dataclass(frozen=True)
class Bench:
    """A directory to work in, a service, and how often to measure. ``scale`` makes everything smaller, for a trial."""

    directory: Path
    emulator: Emulator
    rounds: int
    scale: float

    def size(self, number: int) -> int:
        return max(2, round(number * self.scale))

    def room(self, name: str) -> Path:
        room = self.directory / name
        room.mkdir(mode=0o700)
        return room

    def environment(self) -> dict[str, str]:
        """Without the user's own settings, and with a home for Ansible that is ours."""
        ours = {"ANSIBLE_FORKS": str(FORKS), "ANSIBLE_HOME": str(self.directory / "home"), "ANSIBLE_NOCOLOR": "1"}
        return {**own_settings(self.directory), **self.emulator.environment(), **ours}

    def play(
        self, playbook: str, fleet: Fleet | None = None, variables: Mapping[str, Any] | None = None, *options: str
    ) -> Cost:
        """Run one of the plays, or a playbook of this directory, of a collection, or of a path."""
        name = playbook if "." in playbook else str(HERE / f"{playbook}.yml")
        if playbook in PLAYS:
            hosts, task = PLAYS[playbook]
            name = self.write_play(playbook, hosts=hosts, tasks=[task])
        extra = self.directory / "extra.json"
        extra.write_text(json.dumps(variables or {}), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-e", f"@{extra}", name, *options]
        command += ["-i", str(fleet.inventory)] if fleet else []
        return run(command, {**self.environment(), **(fleet.settings if fleet else {})})

    def write_play(self, name: str, **keywords: Any) -> str:
        path = self.directory / f"{name}.yml"
        path.write_text(json.dumps([{"gather_facts": False, **keywords}]), encoding="utf-8")
        return str(path)

    def script(self, labels: Path) -> Cost:
        command = [sys.executable, str(HERE / "lower_bound.py"), str(labels)]
        return run(command, {**os.environ, **self.emulator.environment()})

    def forget(self, fleet: Fleet | None = None) -> None:
        """Start anew: an account without clients, and hosts without a configuration."""
        latency = self.emulator.settings()["latency_ms"]
        self.emulator.reset()
        self.emulator.configure(latency_ms=latency)
        if fleet:
            fleet.forget()

    def bare(self, fleet: Fleet, playbook: str) -> Contender:
        return lambda: self.play(playbook, fleet)

    def registering(self, contender: Contender, size: int, fleet: Fleet | None = None, *, first: bool) -> Contender:
        """Let it register this number of labels, for the first time or again.

        Raises RuntimeError unless the service got the requests that are needed and no other.
        """
        # The role reads an account in which nothing is registered, and the module reads it again before it creates.
        expected = Counter(list_clients=(2 if fleet else 1) if first else max(1, math.ceil(size / PAGE)))
        if first:
            expected.update(create_client=size, get_plan=1)

        def checked() -> Cost:
            self.forget(fleet) if first else self.emulator.clear_log()
            cost = contender()
            found = Counter(str(request["operation"]) for request in self.emulator.requests())
            if found != expected:
                raise RuntimeError(f"The service got {dict(found)}, expected {dict(expected)}.")
            return cost

        return checked

    def first_rollout(self, fleet: Fleet, playbook: str = ROLLOUT) -> Contender:
        """Roll out to hosts of which neither the service nor they themselves know anything."""
        return self.registering(self.bare(fleet, playbook), fleet.size, fleet, first=True)

    def rollouts(self, fleet: Fleet, bare: str) -> dict[str, Contender]:
        """A bare play, a first rollout, and one without drift."""
        return {
            bare: self.bare(fleet, bare),
            "first rollout": self.first_rollout(fleet),
            "steady run": self.steady_run(fleet),
        }

    def steady_run(self, fleet: Fleet, playbook: str = ROLLOUT) -> Contender:
        return self.registering(self.bare(fleet, playbook), fleet.size, first=False)
