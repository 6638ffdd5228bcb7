# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must never come of a fault, looked for after each run and counted for the table in docs/faults.md."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

# The long forms are for `make soak`; the short ones belong to `make test`.
SOAK = os.environ.get("SOAK") == "1"


def short_or_long(short: int, long: int) -> int:
    """How often something is to be tried."""
    return long if SOAK else short


@dataclasses.dataclass
class Tally:
    """Counts of one part of the tests: a line of the table."""

    faults: int = 0
    runs: int = 0
    converged: int = 0
    duplicates: int = 0
    leaks: int = 0
    tracebacks: int = 0

    def look(self, service: Emulator, *outputs: str, faults: int = 0) -> None:
        """Count a run that has ended, with the faults that it met, and fail if it did what none may do.

        ``outputs`` is all that it said: what it printed, its messages, its results as JSON.
        """
        self.runs += 1
        self.faults += faults
        clients = service.clients()
        twice = [label for label, times in Counter(client["label"] for client in clients).items() if times > 1]
        secrets = [client[field] for client in clients for field in ("api_key", "install_code")]
        said = "\n".join(outputs)
        leaked = [secret[:4] for secret in (*secrets, *service.tokens.values()) if secret in said]
        broken = "Traceback (most recent call last)" in said
        self.duplicates += len(twice)
        self.leaks += len(leaked)
        self.tracebacks += broken
        assert not twice, f"more than one client: {twice}"
        assert not leaked, f"secrets that begin with {leaked} were said"
        assert not broken, said


TALLIES: dict[str, Tally] = {}


def keep(path: Path) -> None:
    """Write all counts as JSON, by the name of the part."""
    path.parent.mkdir(exist_ok=True)
    content = {name: dataclasses.asdict(tally) for name, tally in sorted(TALLIES.items())}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def table() -> str:
    """All counts as a table in Markdown."""
    columns = [field.name for field in dataclasses.fields(Tally)]
    lines = [["part", *columns], ["---"] * (len(columns) + 1)]
    for name, tally in sorted(TALLIES.items()):
        lines.append([name, *(f"{getattr(tally, column):,}" for column in columns)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
