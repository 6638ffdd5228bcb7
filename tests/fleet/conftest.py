# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.hosts import Host
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local


@pytest.fixture
def running(machines: Callable[..., list[Host]]) -> list[Host]:
    return machines("web-1", "web-2", "db-1", "db-2")


@pytest.fixture
def controller(controllers: Callable[..., Controller], running: list[Host]) -> Controller:
    return controllers(*running)


@pytest.fixture
def one(controllers: Callable[..., Controller], running: list[Host]) -> Controller:
    return controllers(running[0])


@pytest.fixture
def single(emulator: Emulator, tmp_path: Path) -> Local:
    return Local(tmp_path, emulator, "web-1")


@pytest.fixture
def pair(single: Local) -> Local:
    single.add("web-2")
    return single


@pytest.fixture
def three(pair: Local) -> Local:
    pair.add("web-3")
    return pair


@pytest.fixture
def monitored(three: Local) -> Local:
    three.monitor()
    return three


@pytest.fixture
def four(emulator: Emulator, tmp_path: Path) -> Local:
    return Local(tmp_path, emulator, "web-1", "web-2", "db-1", "db-2")
