# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests that run at the same time on one machine do not meet, none waits without end, and each that is named exists."""

import subprocess
import sys

import pytest

from ansible_collections.monitor.cloud.tests.support import hosts
from ansible_collections.monitor.cloud.tests.tools.run import CHOSEN, PARTS
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


def test_each_process_uses_other_addresses() -> None:
    command = [sys.executable, "-c", f"from {hosts.__name__} import next_address; print(next_address())"]
    other = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert other.rpartition(".")[0] != hosts.next_address().rpartition(".")[0]


def test_a_wait_ends_with_the_problem() -> None:
    with pytest.raises(AssertionError, match="after 0.1 s: the host is away"):
        hosts.until(lambda: False, "the host is away", seconds=0.1)


def test_each_chosen_test_exists() -> None:
    chosen = {path.removeprefix("--deselect=") for paths in (*PARTS.values(), *CHOSEN.values()) for path in paths}
    for path, _colons, name in (path.partition("::") for path in chosen):
        target = CHECKOUT / path
        assert target.exists(), path
        assert not name or f"def {name.partition('[')[0]}(" in target.read_text(encoding="utf-8"), (path, name)
