# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: hosts that live as long as the tests of a file, and a controller for each test."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet import hosts as fleet
from ansible_collections.monitor.cloud.tests.fleet.runs import Controller

NAMES = ("web-1", "web-2", "db-1", "db-2")


@pytest.fixture(scope="session")
def workshop() -> Iterator[tuple[Path, Path]]:
    """A directory that others can't read, for hosts and keys; its path is short, for sockets lie in it."""
    if reason := fleet.missing():
        pytest.skip(reason)
    with fleet.workshop() as place_and_keys:
        yield place_and_keys


@pytest.fixture(scope="session")
def running(workshop: tuple[Path, Path]) -> Iterator[list[fleet.Host]]:
    """Four hosts with Python."""
    place, keys = workshop
    with fleet.running(NAMES, place, keys) as started:
        yield started


@pytest.fixture(scope="session")
def bare(workshop: tuple[Path, Path]) -> Iterator[fleet.Host]:
    """A host without Python."""
    place, keys = workshop
    started = fleet.without_python(["bare-1"], place, keys, first_address=100)
    yield started[0]
    started[0].stop()


@pytest.fixture
def controllers(workshop: tuple[Path, Path], emulator: Emulator) -> Callable[..., Controller]:
    """Makes controllers for the hosts given."""
    place, keys = workshop

    def make(*hosts: fleet.Host) -> Controller:
        for host in hosts:
            host.reset()
        return Controller(Path(tempfile.mkdtemp(prefix="c-", dir=place)), keys, emulator, hosts)

    return make


@pytest.fixture
def controller(controllers: Callable[..., Controller], running: list[fleet.Host]) -> Controller:
    """A controller for the four hosts."""
    return controllers(*running)
