# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two controllers work on one fleet at once: neither fails, and no desired client is lost."""

from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.interruption import assert_converged, started, wait_until
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.hosts import Host
from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, WHOLE, Controller, Run
from ansible_collections.monitor.cloud.tests.support.steps import labels

NAMES = [f"web-{number:02}" for number in range(1, 7)]


@pytest.fixture
def both(machines: Callable[..., list[Host]], controllers: Callable[..., Controller]) -> tuple[Controller, Controller]:
    """Two controllers for the same hosts, on which nothing is."""
    hosts = machines(*NAMES)
    return controllers(*hosts), controllers(*hosts)


def check(service: Emulator, *runs: Run) -> None:
    """Nothing failed in any of the runs."""
    for run in runs:
        assert_sound(service, run.output, faults=len(runs) > 1)
        assert (run.code, run.failures()) == (0, {}), run.output
    tally(converged=1)


def test_the_same_rollout_twice_at_once_creates_each_client_once(both: tuple[Controller, Controller]) -> None:
    """Hosts carry keys of another account, and both controllers have an old list."""
    one, other = both
    service = one.service
    check(service, one.run(ANSIBLE_FORKS="20"))
    service.reset()
    service.fault(kind="slow", done=True, operation="list_clients", seconds=1.0, times=2)
    with started(one, ROLLOUT) as first, started(other, ROLLOUT) as second:
        runs = one.finish(*first), other.finish(*second)
    check(service, *runs)
    made = [entry["label"] for entry in service.requests("create_client") if entry["status"] == 200]
    assert sorted(made) == NAMES == labels(one)
    assert_converged(one)
    again = one.run(ANSIBLE_FORKS="20")
    check(service, again)
    assert (again.changed_hosts(), again.writes()) == (set(), [])


def test_a_rollout_while_clients_without_a_host_are_pruned(both: tuple[Controller, Controller]) -> None:
    """The one that prunes has an old inventory, whose pattern matches the new hosts too."""
    one, other = both
    service = one.service
    for name in NAMES[2:]:
        del other.hosts[name]
    check(service, other.run(ANSIBLE_FORKS="20"))
    service.seed(labels=["old-1", "old-2", "old-3"])
    service.clear_log()
    service.fault(kind="slow", done=True, operation="list_clients", seconds=4.0)
    # The other controller needs one of them, just before it is deleted.
    service.fault(kind="meanwhile", operation="get_client", changes={"rename": {"old-2": "web-old"}})
    given = ("-e", "prune_pattern=(old|web)-.* prune_confirm=any")
    with started(other, PRUNE, *given, **WHOLE) as second:
        wait_until(lambda: len(service.requests("list_clients")) > 0, second[0])
        with started(one, ROLLOUT) as first:
            runs = one.finish(*first), other.finish(*second)
    check(service, *runs)
    assert service.faults() == []
    assert labels(one) == [*NAMES, "web-old"]
    assert_converged(one)
