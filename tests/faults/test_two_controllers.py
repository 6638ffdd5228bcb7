# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two controllers work on one fleet at once: neither fails, and nothing that is wanted is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.contract.calls import call
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.interruption import (
    ROLLOUT,
    assert_mended,
    started,
    wait_until,
)
from ansible_collections.monitor.cloud.tests.faults.tally import Tally, short_or_long
from ansible_collections.monitor.cloud.tests.fleet import hosts as fleet
from ansible_collections.monitor.cloud.tests.fleet.runs import Controller, Run
from ansible_collections.monitor.cloud.tests.fleet.steps import labels

NAMES = [f"web-{number:02}" for number in range(1, 7)]


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[Path, Path, list[fleet.Host]]]:
    """Six hosts."""
    if reason := fleet.missing():
        pytest.skip(reason)
    with fleet.workshop() as room, fleet.running(NAMES, *room, first_address=180) as running:
        yield *room, running


@pytest.fixture
def both(machines: tuple[Path, Path, list[fleet.Host]], emulator: Emulator) -> tuple[Controller, Controller]:
    """Two controllers for hosts on which nothing is."""
    place, keys, running = machines
    for host in running:
        host.reset()
    one, other = (
        Controller(Path(tempfile.mkdtemp(prefix="c-", dir=place)), keys, emulator, running) for number in range(2)
    )
    return one, other


def look(counts: Tally, service: Emulator, *runs: Run, faults: int = 0) -> None:
    """Nothing failed in any of the runs."""
    for run in runs:
        counts.look(service, run.output, faults=faults)
        assert (run.code, run.failures()) == (0, {}), run.output
        counts.converged += 1


@pytest.mark.parametrize("attempt", range(short_or_long(4, 20)))
def test_the_same_rollout_twice_at_once(counts: Tally, both: tuple[Controller, Controller], attempt: int) -> None:
    one, other = both
    service = one.service
    if attempt % 2:
        # All keys are others than those that the hosts have.
        look(counts, service, one.run(ANSIBLE_FORKS="20"))
        service.reset()
    # One knows nothing of what the other does, or both don't, since their lists are old when they get them.
    service.fault(kind="slow", done=True, operation="list_clients", seconds=1.0, times=1 + attempt // 2 % 2)
    with started(one, ROLLOUT) as first, started(other, ROLLOUT) as second:
        runs = one.finish(*first), other.finish(*second)
    look(counts, service, *runs, faults=1)
    made = [entry["label"] for entry in service.requests("create_client") if entry["status"] == 200]
    assert sorted(made) == NAMES == labels(one), "each client was made once"
    assert_mended(one)
    again = one.run(ANSIBLE_FORKS="20")
    look(counts, service, again)
    assert (again.changed_hosts(), again.writes()) == (set(), [])


def test_a_rollout_while_other_hosts_are_retired(counts: Tally, both: tuple[Controller, Controller]) -> None:
    one, other = both
    service = one.service
    look(counts, service, one.run(ANSIBLE_FORKS="20"))
    for client in service.clients()[:2]:
        assert call(service, "DELETE", f"/monitor/clients/{client['id']}").status == 200
    retired = [one.hosts.pop(name) for name in NAMES[4:]]
    service.fault(kind="slow", done=True, operation="list_clients", seconds=1.0)
    with started(one, ROLLOUT) as first, started(other, "monitor.cloud.retire", "-e", "target=web-05,web-06") as second:
        runs = one.finish(*first), other.finish(*second)
    look(counts, service, *runs, faults=1)
    assert labels(one) == NAMES[:4]
    assert_mended(one)
    assert [host.run("ls -A /etc/monitor") for host in retired] == ["", ""]


def test_a_rollout_while_clients_without_a_host_are_pruned(counts: Tally, both: tuple[Controller, Controller]) -> None:
    """The one that prunes has an old inventory, whose pattern matches the new hosts too."""
    one, other = both
    service = one.service
    for name in NAMES[2:]:
        del other.hosts[name]
    look(counts, service, other.run(ANSIBLE_FORKS="20"))
    service.seed(labels=["old-1", "old-2", "old-3"])
    service.clear_log()
    service.fault(kind="slow", done=True, operation="list_clients", seconds=4.0)
    # Somebody needs one of them after all, just before it is gone.
    service.fault(kind="meanwhile", operation="get_client", changes={"rename": {"old-2": "web-old"}})
    with started(other, "monitor.cloud.prune", "-e", "prune_pattern=(old|web)-.*") as second:
        wait_until(lambda: len(service.requests("list_clients")) > 0, second[0])
        with started(one, ROLLOUT) as first:
            runs = one.finish(*first), other.finish(*second)
    look(counts, service, *runs, faults=1)
    assert service.faults() == []
    assert labels(one) == [*NAMES, "web-old"]
    assert_mended(one)
