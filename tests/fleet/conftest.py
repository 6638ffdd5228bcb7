# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: controllers for hosts that are reached over SSH."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import Host
from ansible_collections.monitor.cloud.tests.support.runs import Controller


@pytest.fixture
def running(machines: Callable[..., list[Host]]) -> list[Host]:
    """Four hosts with Python."""
    return machines("web-1", "web-2", "db-1", "db-2")


@pytest.fixture
def controller(controllers: Callable[..., Controller], running: list[Host]) -> Controller:
    """A controller for the four hosts."""
    return controllers(*running)


@pytest.fixture
def one(controllers: Callable[..., Controller], running: list[Host]) -> Controller:
    """A controller for a single host, web-1."""
    return controllers(running[0])
