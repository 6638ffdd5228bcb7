# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


@pytest.fixture(scope="session")
def emulator_process() -> Iterator[Emulator]:
    """One emulator process for the whole run."""
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def emulator(emulator_process: Emulator) -> Emulator:
    """The emulator as if it had just been started."""
    emulator_process.reset()
    return emulator_process
