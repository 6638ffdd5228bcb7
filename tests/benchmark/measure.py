# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs commands and measures what they cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_SHOWN = 4000


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds on the clock, seconds of processors, and MiB.

    ``cpu`` covers all processes that the command started and waited for; ``memory`` is the largest resident set that
    one of them had, which for ansible-playbook is the controller or a fork of it.
    """

    wall: float
    cpu: float
    memory: float

    def as_result(self) -> dict[str, Any]:
        """As plain data, rounded to what is worth knowing."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


Contender = Callable[[], Cost]


def run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command to its end. Raises RuntimeError with its output if it fails."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            text = output.read().decode(errors="replace")[-_SHOWN:]
            raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}:\n{text}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def side_by_side(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[Cost]]:
    """Let all run in turn, round after round, so that other load of the machine affects all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(contender())
    return costs


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of each round."""
    return statistics.median(our / their for our, their in zip(ours, theirs, strict=True))
