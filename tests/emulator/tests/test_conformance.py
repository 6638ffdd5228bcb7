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


def test_schemathesis_finds_no_violation(emulator: Emulator, tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "--config-file", CONFIGURATION, "run", DOCUMENT, "--url", emulator.base_url],
        # It leaves notes on its run in the working directory.
        cwd=tmp_path,
        env={**os.environ, **emulator.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    # A run in which an operation was only ever refused would prove nothing about its responses.
    succeeded = {entry["operation"] for entry in emulator.requests() if entry["status"] == 200}
    assert succeeded == set(operation_ids())
