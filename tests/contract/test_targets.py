# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules on each Python that a host may have. `make matrix` sets TARGET_PYTHONS; without it, that is our own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local

PYTHONS = os.environ.get("TARGET_PYTHONS", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("python", PYTHONS, ids=[path.split("/")[-3] for path in PYTHONS])
def test_a_module_creates_a_client_and_then_changes_nothing(python: str, emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator)
    command = "ansible localhost -m monitor.cloud.monitor_clients -a labels=web-1 -e ansible_python_interpreter="
    for changed in ("true", "false"):
        run = controller.shell(command + python)
        assert run.code == 0 and f'"changed": {changed},' in run.output, run.output
    assert [client["label"] for client in emulator.clients()] == ["web-1"]
