# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runs that the benchmark compares, and the cost of each run."""

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

TODAY = Path(__file__).parent / "today.yml"
ROLLOUT = "monitor.cloud.rollout"
PLAYS: dict[str, dict[str, Any]] = {"ping": {"ansible.builtin.ping": None}, "raw": {"ansible.builtin.raw": "true"}}
FORKS = 10
_LONGEST = 3600.0
_PAGE = 500


class Cost(NamedTuple):
    """The elapsed seconds and processor seconds of a command, and the memory of its largest process in MiB."""

    wall: float
    cpu: float
    memory: float


Contender = Callable[[], Cost]


def run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        none = subprocess.DEVNULL
        process = subprocess.Popen(command, env=environment, stdin=none, stdout=output, stderr=subprocess.STDOUT)
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


@dataclass(frozen=True)
class Fleet:
    """The hosts of a run. ``forget`` removes the files that rollouts wrote. ``disconnect`` closes SSH connections."""

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
    directory: Path
    emulator: Emulator
    rounds: int

    def _room(self, name: str) -> Path:
        room = self.directory / name
        room.mkdir(mode=0o700)
        return room

    def local_fleet(self, name: str, size: int) -> Fleet:
        directory = self._room(name)
        files = directory / "files"
        hosts = {host: {"monitor_agent_config_path": f"{files}/{host}/agent.conf"} for host in _names(size)}
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}

        def forget() -> None:
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()

        forget()
        return Fleet(size, _write_inventory(directory, hosts, **common), forget)

    @contextmanager
    def ssh_fleet(self, name: str, size: int) -> Iterator[Fleet]:
        """Start hosts. Each host has its own address, sshd and file system."""
        directory = self._room(name)
        keys = ssh_hosts.make_keys(directory)
        sockets = directory / "sockets"
        settings = {
            "ANSIBLE_PIPELINING": str(name == "pipelining"),
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_SSH_COMMON_ARGS": "-o UserKnownHostsFile=/dev/null",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets),
            "ANSIBLE_PRIVATE_KEY_FILE": str(keys / "client"),
        }
        hosts = ssh_hosts.start(_names(size), directory, keys)
        addresses = {host.name: {"ansible_host": host.address, "ansible_port": host.port} for host in hosts}
        common = {"ansible_user": "root", "ansible_python_interpreter": "/usr/bin/python3"}

        def forget() -> None:
            for host in hosts:
                host.run("rm -rf /etc/monitor")

        def disconnect() -> None:
            for socket in sockets.glob("*"):
                end = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"]
                subprocess.run(end, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)

        try:
            yield Fleet(size, _write_inventory(directory, addresses, **common), forget, disconnect, settings)
        finally:
            disconnect()
            for host in hosts:
                host.stop()

    def play(self, playbook: str, fleet: Fleet, variables: Mapping[str, Any] | None = None, *options: str) -> Cost:
        """Run a play of PLAYS, a playbook of a collection, or a playbook in a file."""
        if playbook in PLAYS:
            path = self.directory / f"{playbook}.yml"
            play = {"hosts": "all", "gather_facts": False, "tasks": [PLAYS[playbook]]}
            path.write_text(json.dumps([play]), encoding="utf-8")
            playbook = str(path)
        extra = self.directory / "extra.json"
        extra.write_text(json.dumps(variables or {}), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-e", f"@{extra}", playbook, *options]
        environment = {**own_settings(self.directory), **self.emulator.environment(), **fleet.settings}
        environment |= {"ANSIBLE_FORKS": str(FORKS), "ANSIBLE_HOME": str(self.directory), "ANSIBLE_NOCOLOR": "1"}
        return run([*command, "-i", str(fleet.inventory)], environment)

    def forget(self, fleet: Fleet) -> None:
        """Remove the clients of the account and the configurations of the hosts."""
        self.emulator.reset()
        fleet.forget()

    def rollout(self, fleet: Fleet, *, first: bool) -> Contender:
        """Return a function that runs a rollout, and raises RuntimeError if the service gets unexpected requests."""
        # A first rollout lists the clients twice: when it plans the changes, and before it creates clients.
        expected = Counter(list_clients=2 if first else max(1, math.ceil(fleet.size / _PAGE)))
        if first:
            expected.update(create_client=fleet.size, get_plan=1)

        def checked() -> Cost:
            self.forget(fleet) if first else self.emulator.clear_log()
            cost = self.play(ROLLOUT, fleet)
            sent = Counter(str(request["operation"]) for request in self.emulator.requests())
            if sent != expected:
                raise RuntimeError(f"The service got {dict(sent)}, expected {dict(expected)}.")
            return cost

        return checked

    def bare(self, fleet: Fleet, play: str) -> Contender:
        return lambda: self.play(play, fleet)

    def rollouts(self, fleet: Fleet, bare: str) -> dict[str, Contender]:
        return {
            bare: self.bare(fleet, bare),
            "first rollout": self.rollout(fleet, first=True),
            "steady run": self.rollout(fleet, first=False),
        }
