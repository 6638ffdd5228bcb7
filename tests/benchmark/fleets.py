# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts of the benchmark: directories of this machine over the local connection, or real ones over SSH."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.monitor.cloud.tests.support import hosts as ssh_hosts

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


def local(directory: Path, size: int) -> Fleet:
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
def over_ssh(directory: Path, size: int, *, pipelining: bool) -> Iterator[Fleet]:
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
    """End the connections that ssh keeps open for the next command."""
    for socket in sockets.glob("*"):
        end = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"]
        subprocess.run(end, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
