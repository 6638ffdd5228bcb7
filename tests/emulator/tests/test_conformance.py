# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Schemathesis against the emulator: requests made from the contract, valid and not, and their responses checked."""

import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.contract import DOCUMENT, operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
COMMAND = Path(sys.executable).with_name("schemathesis")


def _run(emulator: Emulator, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "--config-file", CONFIGURATION, "run", DOCUMENT, "--url", emulator.base_url, *arguments],
        # It leaves notes on its run in the working directory.
        cwd=directory,
        env={**os.environ, **emulator.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )


def test_schemathesis_finds_no_violation(emulator: Emulator, tmp_path: Path) -> None:
    done = _run(emulator, tmp_path)
    assert done.returncode == 0, done.stdout
    # A run in which an operation was only ever refused would prove nothing about its responses.
    succeeded = {entry["operation"] for entry in emulator.requests() if entry["status"] == 200}
    assert succeeded == set(operation_ids())


def test_schemathesis_sees_a_service_that_leaves_the_contract(emulator: Emulator, tmp_path: Path) -> None:
    emulator.configure(apps_as_integers=True)
    done = _run(emulator, tmp_path, "--max-examples", "10", "--phases", "coverage,fuzzing", "--max-failures", "1")
    assert done.returncode == 1, done.stdout
