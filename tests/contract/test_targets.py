# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules on each Python that a host may have. `make matrix` sets TARGET_PYTHONS; without it, that is our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

PYTHONS = os.environ.get("TARGET_PYTHONS", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("python", PYTHONS, ids=[path.split("/")[-3] for path in PYTHONS])
def test_a_module_creates_a_client_and_then_changes_nothing(python: str, emulator: Emulator, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("ansible")), "localhost", "-m", "monitor.cloud.monitor_clients"]
    settings = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(tmp_path), "HOME": str(tmp_path)}
    changed = []
    for _attempt in range(2):
        done = subprocess.run(
            [*command, "-a", '{"labels": ["web-1"]}', "-e", f"ansible_python_interpreter={python}"],
            env={**os.environ, **settings, **emulator.environment("read_write")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        changed.append(json.loads(done.stdout.partition("=>")[2])["changed"])
    assert changed == [True, False]
    assert [client["label"] for client in emulator.clients()] == ["web-1"]
