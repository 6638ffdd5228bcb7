# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the collection at work: six hosts of an example inventory are registered with an emulated service, twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

BIN = Path(sys.executable).parent
HOSTS = ("web-1", "web-2", "web-3", "db-1", "db-2", "cache-1")
RECAP = re.compile(r"^(?P<host>\S+)\s+: .*\bchanged=(?P<changed>\d+) +unreachable=0 +failed=0\b", re.MULTILINE)


def write_inventory(place: Path) -> Path:
    """Describe the hosts: each is a directory on this machine instead of a machine of its own."""
    hosts = {host: {"monitor_agent_config_path": str(place / host / "agent.conf")} for host in HOSTS}
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "monitor_agent_service": "",
    }
    inventory = place / "inventory.yml"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")
    return inventory


def own_settings(place: Path) -> dict[str, str]:
    """Return an environment without the user's connection to a real service, ansible.cfg and installed collections."""
    config = place / "ansible.cfg"
    config.write_text(f"[defaults]\ncollections_path = {sysconfig.get_path('purelib')}\n", encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MONITOR_"))}
    return {**inherited, "ANSIBLE_CONFIG": str(config)}


def roll_out(inventory: Path, environment: dict[str, str]) -> dict[str, int]:
    """Run the collection's playbook, show what it prints, and return how many tasks changed each host."""
    command = [str(BIN / "ansible-playbook"), "-i", str(inventory), "monitor.cloud.rollout"]
    print(f"$ {' '.join(['ansible-playbook', *command[1:]])}", flush=True)
    nothing = subprocess.DEVNULL
    shown = subprocess.run(
        command, env=environment, stdin=nothing, stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    print(shown, flush=True)
    return {match["host"]: int(match["changed"]) for match in RECAP.finditer(shown)}


def main() -> int:
    """Roll out twice: the first run changes every host, the second none."""
    with tempfile.TemporaryDirectory(prefix="monitor.cloud-demo-") as temporary, Emulator() as service:
        place = Path(temporary)
        inventory = write_inventory(place)
        environment = {**own_settings(place), **service.environment()}
        print("First run: the service knows none of the hosts.\n")
        first = roll_out(inventory, environment)
        print("Second run: all is as it should be.\n")
        second = roll_out(inventory, environment)
    changed = [sum(run.get(host, 0) > 0 for host in HOSTS) for run in (first, second)]
    right = set(HOSTS) <= set(first) & set(second) and changed == [len(HOSTS), 0]
    print(f"First run: {changed[0]} of {len(HOSTS)} hosts changed. Second run: {changed[1]} changed.")
    if not right:
        print("That is not as it should be: 6 and 0, and no failure, were expected.", file=sys.stderr)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
