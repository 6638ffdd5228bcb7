# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registers six hosts with an emulated service, runs again, breaks two hosts, and audits all hosts.

The hosts are directories in build/demo. At a terminal, the service runs until the user presses Enter, so that the user
can paste the commands of the audit into a second shell.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST, PATH

HOSTS = ("web-1", "web-2", "web-3", "db-1", "db-2", "cache-1")
DIRECTORY = CHECKOUT / "build" / "demo"
PAGE = CHECKOUT / "build" / "audit.html"
PICTURE = CHECKOUT / "docs" / "audit.png"
BROKEN = {"web-2": "foreign_key", "db-1": "wrong_permissions"}


def own_settings(directory: Path) -> dict[str, str]:
    """Return an environment without the user's service, ansible.cfg and installed collections."""
    config = directory / "ansible.cfg"
    config.write_text(f"[defaults]\ncollections_path = {sysconfig.get_path('purelib')}\n", encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MONITOR_"))}
    return {**inherited, "ANSIBLE_CONFIG": str(config)}


def play(inventory: Path, environment: dict[str, str], *arguments: str) -> bool:
    command = ["ansible-playbook", "-i", str(inventory), *arguments]
    print(f"$ {shlex.join(command)}", flush=True)
    code = subprocess.call(command, env={**environment, "PATH": PATH}, stdin=subprocess.DEVNULL, timeout=LONGEST)
    print(flush=True)
    return code == 0


def roll_out(inventory: Path, environment: dict[str, str]) -> int:
    """Run a rollout. Return the number of changed files, or -1 if a host failed."""

    def written() -> set[tuple[Path, int]]:
        return {(path, path.stat().st_ctime_ns) for path in inventory.parent.glob("*/agent.conf")}

    before = written()
    return len(written() - before) if play(inventory, environment, "monitor.cloud.rollout") else -1


def audit(inventory: Path, environment: dict[str, str]) -> dict[str, str]:
    report = inventory.with_name("audit.json")
    files = json.dumps({"monitor_agent_audit_html": str(PAGE), "monitor_agent_audit_json": str(report)})
    play(inventory, environment, "monitor.cloud.audit", "-e", files)
    if not report.exists():
        return {}
    return {host["host"]: host["state"] for host in json.loads(report.read_text(encoding="utf-8"))["hosts"]}


def write_inventory(inventory: Path, service: Emulator) -> None:
    """Write an inventory in which each host is a directory, with address and token of the service."""
    hosts = {host: {"monitor_agent_config_path": str(inventory.with_name(host) / "agent.conf")} for host in HOSTS}
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "monitor_agent_base_url": service.base_url,
        "monitor_agent_api_token": service.tokens["read_write"],
        "monitor_agent_service": "",
    }
    inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")


def wait_for_user() -> None:
    """Keep the service until the user presses Enter, if there is a terminal."""
    if not sys.stdin.isatty():
        return
    print("To repair the hosts, open a second shell in this directory, and run this command:")
    print("  . .venv/bin/activate")
    print("Then paste the commands under 'What to do'. The inventory contains address and token of the service.")
    input("The service runs until you press Enter. ")


def main(wait: Callable[[], None] = wait_for_user) -> int:
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    with Emulator() as service:
        directory = DIRECTORY
        inventory = directory / "inventory.yml"
        write_inventory(inventory, service)
        environment = own_settings(directory)
        print("First run: the account has no clients.\n")
        first = roll_out(inventory, environment)
        print("Second run: nothing changed since the first run.\n")
        second = roll_out(inventory, environment)
        print("Next, web-2 gets the key of web-1, like a cloned host, and all users can read the file of db-1.\n")
        shutil.copy(directory / "web-1" / "agent.conf", directory / "web-2" / "agent.conf")
        (directory / "db-1" / "agent.conf").chmod(0o644)
        states = audit(inventory, environment)
        wait()
    print(f"First run: {first} of {len(HOSTS)} files changed. Second run: {second} changed.")
    reported = {host: states.get(host) for host in BROKEN}
    print(f"Audit: {', '.join(f'{host} {state}' for host, state in reported.items())}. The page: {PAGE}")
    if (first, second, reported) != (len(HOSTS), 0, BROKEN) or not PAGE.exists():
        print(f"Expected {len(HOSTS)} and 0 changed files, and an audit that reports {BROKEN}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
