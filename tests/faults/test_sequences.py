# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tasks, rollouts, faults and deeds of others in any order, as hypothesis finds them: see sequences.py."""

from __future__ import annotations

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from ansible_collections.monitor.cloud.plugins.module_utils import _http
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.rollouts import Rollouts
from ansible_collections.monitor.cloud.tests.faults.sequences import Tasks, examples
from ansible_collections.monitor.cloud.tests.faults.tally import SOAK, Tally


def test_tasks_in_any_order(emulator: Emulator, counts: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)

    class Bound(Tasks):
        pass

    Bound.emulator, Bound.counts = emulator, counts
    run_state_machine_as_test(Bound, settings=examples(40, 1500, 12))


def test_rollouts_in_any_order(emulator: Emulator, counts: Tally) -> None:
    class Bound(Rollouts):
        pass

    Bound.emulator, Bound.counts = emulator, counts
    # The short form is too short to leave to chance what is in it: here, some of all there is.
    chosen = Bound if SOAK else seed(29)(Bound)
    run_state_machine_as_test(chosen, settings=examples(4, 60, 8, shrink=False))
