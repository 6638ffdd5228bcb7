# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The integration targets, in one run of ansible-test."""

import re
import subprocess
import sys

import pytest

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


@pytest.mark.flaky(reruns=0)
def test_integration() -> None:
    command = [sys.executable, str(CHECKOUT / "tests/tools/integration.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-1000:]
    # Of a target that it excludes, ansible-test only warns.
    targets = {path.parent.name for path in (CHECKOUT / "tests/integration/targets").glob("*/aliases")}
    assert set(re.findall(r"^Running (\S+) integration test role", done.stdout, re.MULTILINE)) == targets
