# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each file of tests counts on one line of the table, which is printed at the end. No test may run what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.faults import tally
from ansible_collections.monitor.cloud.tests.faults.hostile import CANARY
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


@pytest.fixture(autouse=True)
def no_canary() -> Iterator[None]:
    """Nothing ran on this machine."""
    yield
    assert not Path(CANARY).exists()


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> tally.Tally:
    """The counts of the file that the test is in."""
    part = request.path.stem.removeprefix("test_").replace("_", " ")
    return tally.TALLIES.setdefault(part, tally.Tally())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was counted, and keep it."""
    if tally.TALLIES:
        tally.keep(CHECKOUT / "build" / "faults.json")
        terminalreporter.section("faults")
        terminalreporter.write_line(tally.table())
