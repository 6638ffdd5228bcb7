# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory that several controllers roll out at once, and that the parts of ansible-runner do on two machines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings

BIN = Path(sys.executable).parent
HOSTS = [f"host-{number:02}" for number in range(16)]


@pytest.fixture
def fleet(tmp_path: Path, emulator: Emulator) -> Local:
    return Local(tmp_path, emulator, *HOSTS)


def check(fleet: Local) -> None:
    """Each host has one client, and carries its values."""
    assert sorted(client["label"] for client in fleet.service.clients()) == HOSTS
    assert fleet.files() == texts(fleet.service.clients())


def run_at_once(fleet: Local, *options: Sequence[str]) -> None:
    """Roll out by several controllers, one for each list of options; all succeed."""
    for run in [fleet.start(ROLLOUT, *own) for own in options]:
        assert (ended := fleet.finish(*run)).code == 0, ended.output


def test_two_slices_of_an_inventory_at_once(fleet: Local) -> None:
    # Slow enough that both are under way at the same time.
    fleet.service.configure(latency_ms=50)
    half = len(HOSTS) // 2
    run_at_once(fleet, ["--limit", f"all[0:{half - 1}]"], ["--limit", f"all[{half}:]"])
    check(fleet)
    calls = Counter(request["operation"] for request in fleet.service.requests())
    assert calls == {"list_clients": 2, "get_plan": 2, "create_client": len(HOSTS)}


def test_two_controllers_with_the_same_hosts_at_once(fleet: Local) -> None:
    fleet.service.configure(latency_ms=50)
    run_at_once(fleet, [], [])
    check(fleet)


def run_by_runner(fleet: Local, name: str) -> Path:
    """Roll out the way an automation mesh does, and return the artifacts: each part runs with files of its own."""
    sender, worker = fleet.directory / name, fleet.directory / f"{name}-worker"
    for directory in (sender / "inventory", sender / "env", sender / "project", worker):
        directory.mkdir(parents=True)
    shutil.copy(fleet.inventory(), sender / "inventory" / "hosts.yml")
    (sender / "env" / "envvars").write_text(yaml.safe_dump(fleet.service.environment()), encoding="utf-8")
    runner = str(BIN / "ansible-runner")
    parts = [
        [runner, "transmit", str(sender), "-p", ROLLOUT, "--ident", "run"],
        [runner, "worker", "--private-data-dir", str(worker)],
        [runner, "process", str(sender), "--ident", "run"],
    ]
    own = {"ANSIBLE_HOME": str(fleet.directory / "home"), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environment, data = {**own_settings(fleet.directory), **own}, b""
    for part in parts:
        done = subprocess.run(part, env=environment, input=data, capture_output=True, timeout=100, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
        data = done.stdout
    return sender / "artifacts" / "run"


def changed(artifacts: Path) -> dict[str, int]:
    """How many tasks changed each host."""
    events = [json.loads(path.read_text(encoding="utf-8")) for path in (artifacts / "job_events").glob("*.json")]
    (recap,) = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
    assert not recap["failures"] and not recap["dark"]
    return {host: recap["changed"].get(host, 0) for host in recap["ok"]}


def test_a_rollout_by_the_parts_of_ansible_runner(fleet: Local) -> None:
    first = run_by_runner(fleet, "first")
    assert (first / "status").read_text(encoding="utf-8") == "successful"
    assert {host for host, times in changed(first).items() if times} == set(HOSTS)
    check(fleet)
    # What an automation controller keeps of a job holds no keys.
    kept = "".join(path.read_text(encoding="utf-8") for path in first.rglob("*") if path.is_file())
    keys = set(plain_secrets(fleet.service)) - set(fleet.service.tokens.values())
    assert found_in(kept, sorted(keys)) == []

    fleet.service.clear_log()
    again = run_by_runner(fleet, "again")
    assert set(changed(again).values()) == {0}
    assert [request["operation"] for request in fleet.service.requests()] == ["list_clients"]
