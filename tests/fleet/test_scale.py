# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory that several controllers roll out at once, and that the parts of ansible-runner do on two machines."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings

BIN = Path(sys.executable).parent
HOSTS = [f"host-{number:02}" for number in range(16)]
ROLLOUT = "monitor.cloud.rollout"


@dataclasses.dataclass(frozen=True)
class Fleet:
    """Hosts that are a directory each, and the service that they are registered with."""

    place: Path
    service: Emulator

    def path(self, host: str) -> Path:
        return self.place / "hosts" / host / "agent.conf"

    def inventory(self, path: Path) -> Path:
        hosts = {host: {"monitor_agent_config_path": str(self.path(host))} for host in HOSTS}
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "monitor_agent_service": "",
        }
        path.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")
        return path

    def environment(self) -> dict[str, str]:
        own = {"ANSIBLE_HOME": str(self.place / "home"), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        return {**own_settings(self.place), **own}

    def check(self) -> None:
        """Each host has one client, and carries its values."""
        clients = {client["label"]: client for client in self.service.clients()}
        assert sorted(clients) == HOSTS
        assert len(self.service.clients()) == len(HOSTS)
        for host in HOSTS:
            wanted = f"install_code={clients[host]['install_code']}\napi_key={clients[host]['api_key']}\n"
            assert self.path(host).read_text(encoding="utf-8") == wanted


@pytest.fixture
def fleet(tmp_path: Path, emulator: Emulator) -> Fleet:
    return Fleet(tmp_path, emulator)


def run_at_once(fleet: Fleet, *options: Sequence[str]) -> None:
    """Roll out by several controllers, one for each list of options; all succeed."""
    inventory = fleet.inventory(fleet.place / "inventory.yml")
    controllers = [
        subprocess.Popen(
            [str(BIN / "ansible-playbook"), "-i", str(inventory), ROLLOUT, *own],
            env={**fleet.environment(), **fleet.service.environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for own in options
    ]
    for controller in controllers:
        output = controller.communicate(timeout=100)[0]
        assert controller.returncode == 0, output


def test_two_slices_of_an_inventory_at_once(fleet: Fleet) -> None:
    # Slow enough that both are under way at the same time.
    fleet.service.configure(latency_ms=50)
    half = len(HOSTS) // 2
    run_at_once(fleet, ["--limit", f"all[0:{half - 1}]"], ["--limit", f"all[{half}:]"])
    fleet.check()
    calls = Counter(request["operation"] for request in fleet.service.requests())
    assert calls == {"list_clients": 2, "get_plan": 2, "create_client": len(HOSTS)}


def test_two_controllers_with_the_same_hosts_at_once(fleet: Fleet) -> None:
    fleet.service.configure(latency_ms=50)
    run_at_once(fleet, [], [])
    fleet.check()


def run_by_runner(fleet: Fleet, name: str) -> Path:
    """Roll out the way an automation mesh does, and return the artifacts: each part runs with files of its own."""
    sender, worker = fleet.place / name, fleet.place / f"{name}-worker"
    for directory in (sender / "inventory", sender / "env", sender / "project", worker):
        directory.mkdir(parents=True)
    fleet.inventory(sender / "inventory" / "hosts.yml")
    (sender / "env" / "envvars").write_text(yaml.safe_dump(fleet.service.environment()), encoding="utf-8")
    runner = str(BIN / "ansible-runner")
    parts = [
        [runner, "transmit", str(sender), "-p", ROLLOUT, "--ident", "run"],
        [runner, "worker", "--private-data-dir", str(worker)],
        [runner, "process", str(sender), "--ident", "run"],
    ]
    data = b""
    for part in parts:
        done = subprocess.run(part, env=fleet.environment(), input=data, capture_output=True, timeout=100, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
        data = done.stdout
    return sender / "artifacts" / "run"


def changed(artifacts: Path) -> dict[str, int]:
    """How many tasks changed each host."""
    events = [json.loads(path.read_text(encoding="utf-8")) for path in (artifacts / "job_events").glob("*.json")]
    (recap,) = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
    assert not recap["failures"] and not recap["dark"]
    return {host: recap["changed"].get(host, 0) for host in recap["ok"]}


def test_a_rollout_by_the_parts_of_ansible_runner(fleet: Fleet) -> None:
    first = run_by_runner(fleet, "first")
    assert (first / "status").read_text(encoding="utf-8") == "successful"
    assert {host for host, times in changed(first).items() if times} == set(HOSTS)
    fleet.check()
    # What an automation controller keeps of a job holds no keys.
    kept = "".join(path.read_text(encoding="utf-8") for path in first.rglob("*") if path.is_file())
    secrets = [client[field] for client in fleet.service.clients() for field in ("api_key", "install_code")]
    assert [secret for secret in secrets if secret in kept] == []

    fleet.service.clear_log()
    again = run_by_runner(fleet, "again")
    assert set(changed(again).values()) == {0}
    assert [request["operation"] for request in fleet.service.requests()] == ["list_clients"]
