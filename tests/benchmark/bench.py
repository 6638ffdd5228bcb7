# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runs that are compared, what they cost, and the requests that each of them must send."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
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

HERE = Path(__file__).parent
ROLLOUT = "monitor.cloud.rollout"
FORKS = 10
_LONGEST = 3600.0
_PAGE = 500
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
        deadline = threading.Timer(_LONGEST, process.kill)
        deadline.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        deadline.cancel()
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{command} failed: {output.read().decode(errors='replace')[-4000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def after(prepare: Callable[[], object], contender: Contender) -> Contender:
    """As the contender, once something else was done, which does not count."""

    def both() -> Cost:
        prepare()
        return contender()

    return both


@dataclass(frozen=True)
class Fleet:
    """Hosts to run against. ``forget`` takes away what rollouts wrote; ``disconnect`` ends open connections."""

    size: int
    inventory: Path
    forget: Callable[[], None]
    disconnect: Callable[[], None] = field(default=lambda: None)
    settings: Mapping[str, str] = field(default_factory=dict)


def _names(size: int) -> list[str]:
    return [f"host-{number:05}" for number in range(size)]


def _write_inventory(directory: Path, hosts: Mapping[str, Any], **common: object) -> Path:
    inventory = directory / "inventory.json"
    variables = {**common, "monitor_agent_service": ""}
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}), encoding="utf-8")
    return inventory


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

    def local_fleet(self, name: str, size: int) -> Fleet:
        directory = self.room(name)
        files = directory / "files"
        hosts = {host: {"monitor_agent_config_path": f"{files}/{host}/agent.conf"} for host in _names(size)}
        inventory = _write_inventory(
            directory, hosts, ansible_connection="local", ansible_python_interpreter=sys.executable
        )

        def forget() -> None:
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()

        forget()
        return Fleet(size, inventory, forget)

    @contextmanager
    def ssh_fleet(self, name: str, size: int) -> Iterator[Fleet]:
        """Hosts with an address, an sshd and a file system each, so that no two share a connection."""
        directory = self.room(name)
        keys, sockets = ssh_hosts.make_keys(directory), directory / "sockets"
        settings = {
            "ANSIBLE_PIPELINING": str(name == "pipelining"),
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_SSH_COMMON_ARGS": "-o UserKnownHostsFile=/dev/null",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets),
            "ANSIBLE_PRIVATE_KEY_FILE": str(keys / "client"),
        }
        hosts = ssh_hosts.start(_names(size), directory, keys)
        addresses = {host.name: {"ansible_host": host.address, "ansible_port": host.port} for host in hosts}
        inventory = _write_inventory(
            directory, addresses, ansible_user="root", ansible_python_interpreter="/usr/bin/python3"
        )

        def forget() -> None:
            for host in hosts:
                host.run("rm -rf /etc/monitor")

        def disconnect() -> None:
            for socket in sockets.glob("*"):
                end = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"]
                subprocess.run(end, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)

        try:
            yield Fleet(size, inventory, forget, disconnect, settings)
        finally:
            disconnect()
            for host in hosts:
                host.stop()

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
        # Without the user's own settings, and with a home for Ansible that is ours.
        environment = {**own_settings(self.directory), **self.emulator.environment()}
        environment |= {"ANSIBLE_FORKS": str(FORKS), "ANSIBLE_HOME": str(self.directory), "ANSIBLE_NOCOLOR": "1"}
        return run(command, {**environment, **(fleet.settings if fleet else {})})

    def write_play(self, name: str, **keywords: Any) -> str:
        path = self.directory / f"{name}.yml"
        path.write_text(json.dumps([{"gather_facts": False, **keywords}]), encoding="utf-8")
        return str(path)

    def forget(self, fleet: Fleet | None = None) -> None:
        """Start anew: an account without clients, and hosts without a configuration."""
        latency = self.emulator.settings()["latency_ms"]
        self.emulator.reset()
        self.emulator.configure(latency_ms=latency)
        if fleet:
            fleet.forget()

    def registering(self, contender: Contender, size: int, fleet: Fleet | None = None, *, first: bool) -> Contender:
        """Let it register this number of labels, for the first time or again.

        Raises RuntimeError unless the service got the requests that are needed and no other.
        """
        # The role reads an account in which nothing is registered, and the module reads it again before it creates.
        expected = Counter(list_clients=(2 if fleet else 1) if first else max(1, math.ceil(size / _PAGE)))
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

    def bare(self, fleet: Fleet, playbook: str) -> Contender:
        return lambda: self.play(playbook, fleet)

    def first_rollout(self, fleet: Fleet) -> Contender:
        return self.registering(self.bare(fleet, ROLLOUT), fleet.size, fleet, first=True)

    def steady_run(self, fleet: Fleet, playbook: str = ROLLOUT) -> Contender:
        return self.registering(self.bare(fleet, playbook), fleet.size, first=False)

    def rollouts(self, fleet: Fleet, bare: str) -> dict[str, Contender]:
        return {
            bare: self.bare(fleet, bare),
            "first rollout": self.first_rollout(fleet),
            "steady run": self.steady_run(fleet),
        }
