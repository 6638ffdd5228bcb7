# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory that several controllers roll out at once, and that the parts of ansible-runner do on two machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runner import Job
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets

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


def run_by_runner(fleet: Local, name: str) -> Job:
    """Roll out as an automation mesh does."""
    job = Job(fleet.directory / name, fleet.inventory(), ROLLOUT, fleet.service.environment())
    return job.start().finish(100)


def test_a_rollout_by_the_parts_of_ansible_runner(fleet: Local) -> None:
    first = run_by_runner(fleet, "first")
    assert {host for host, times in first.changed.items() if times} == set(HOSTS)
    check(fleet)
    # What an automation controller keeps of a job holds no keys.
    keys = set(plain_secrets(fleet.service)) - set(fleet.service.tokens.values())
    assert found_in(first.kept, sorted(keys)) == []

    fleet.service.clear_log()
    again = run_by_runner(fleet, "again")
    assert set(again.changed.values()) == {0}
    assert [request["operation"] for request in fleet.service.requests()] == ["list_clients"]
