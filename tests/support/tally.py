# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results that no fault may have, checked after each run and counted for the table in docs/faults.md."""

import dataclasses
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

# The long forms are for `make soak`; the short ones belong to `make test`.
SOAK = os.environ.get("SOAK") == "1"


def short_or_long(short: int, long: int) -> int:
    """The number of attempts."""
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

    def check(self, service: Emulator, *outputs: str, faults: int = 0) -> None:
        """Count a run that has ended, with the faults that it met, and fail if it has such a result.

        ``outputs`` is all of its output: what it printed, its messages, its results as JSON.
        """
        self.runs += 1
        self.faults += faults
        clients = service.clients()
        twice = [label for label, times in Counter(client["label"] for client in clients).items() if times > 1]
        output = "\n".join(outputs)
        leaked = [secret[:4] for secret in found_in(output, plain_secrets(service))]
        broken = "Traceback (most recent call last)" in output
        self.duplicates += len(twice)
        self.leaks += len(leaked)
        self.tracebacks += broken
        assert not twice, f"more than one client: {twice}"
        assert not leaked, f"secrets that begin with {leaked} are in the output"
        assert not broken, output

    def task(self, service: Any, module: Any, *, faults: int = 1, **options: Any) -> tuple[Result | None, str]:
        """The result of a task, None for an error of the collection, and its message, or its result as JSON.

        Any other exception is one that a user would see as a traceback, and is raised.
        """
        try:
            result = go(service, module, **{"retry_timeout": 0.0, "timeout": 20.0, **options})
        except MonitorError as error:
            message = str(error)
            assert 10 < len(message) < 5000, message
            assert message.isprintable() or "\n" not in message, message
            self.check(service, message, json.dumps(error.details), faults=faults)
            return None, message
        shown = json.dumps(result)
        if options.get("include_keys"):
            # They are not a leak.
            for client in service.clients():
                shown = shown.replace(client["api_key"], "").replace(client["install_code"], "")
        self.check(service, shown, faults=faults)
        return result, shown


TALLIES: dict[str, Tally] = {}
# What else a part measures: figures by name.
FIGURES: dict[str, dict[str, float]] = {}


def exported() -> dict[str, Any]:
    return {"tallies": {name: dataclasses.asdict(tally) for name, tally in TALLIES.items()}, "figures": FIGURES}


def add(other: dict[str, Any]) -> None:
    """Add the counts of another process; of two figures of one name, keep the larger, but add up numbers of trials."""
    for name, counts in other.get("tallies", {}).items():
        own = TALLIES.setdefault(name, Tally())
        for field, count in counts.items():
            setattr(own, field, getattr(own, field) + count)
    for name, figures in other.get("figures", {}).items():
        own_figures = FIGURES.setdefault(name, {})
        for figure, value in figures.items():
            here = own_figures.get(figure, 0)
            own_figures[figure] = here + value if figure.startswith(("successes", "trials")) else max(here, value)


def keep(path: Path) -> None:
    """Write all counts as JSON, by the name of the part."""
    path.parent.mkdir(exist_ok=True)
    content = {name: {**dataclasses.asdict(tally), **FIGURES.get(name, {})} for name, tally in sorted(TALLIES.items())}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def table() -> str:
    columns = [field.name for field in dataclasses.fields(Tally)]
    lines = [["part", *columns], ["---"] * (len(columns) + 1)]
    for name, tally in sorted(TALLIES.items()):
        lines.append([name, *(f"{getattr(tally, column):,}" for column in columns)])
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([*rows, *(f"{name}: {figures}" for name, figures in sorted(FIGURES.items()))])
