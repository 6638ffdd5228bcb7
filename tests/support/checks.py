# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Assertions after each run, and counts for a table at the end of the run."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.tasks import Result, go

COLUMNS = ("faults", "runs", "converged", "duplicates", "leaks", "tracebacks")
COUNTS: dict[str, Counter[str]] = {}

# `make soak` runs tests with more examples than `make test`.
SOAK = os.environ.get("SOAK") == "1"


def short_or_long(short: int, long: int) -> int:
    return long if SOAK else short


def tally(**numbers: int) -> None:
    """Add numbers to the row of the current test file in the table."""
    part = Path(os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]).stem.removeprefix("test_").replace("_", " ")
    COUNTS.setdefault(part, Counter()).update(numbers)


def rows() -> list[tuple[str, ...]]:
    return [(part, *(f"{numbers[column]:,}" for column in COLUMNS)) for part, numbers in sorted(COUNTS.items())]


def assert_sound(service: Any, *outputs: str, faults: int = 0) -> None:
    """Assert that no label has two clients, and that the outputs of a run contain no secret and no traceback."""
    times = Counter(client["label"] for client in service.clients())
    duplicates = [label for label, number in times.items() if number > 1]
    output = "\n".join(outputs)
    leaked = [secret[:4] for secret in found_in(output, plain_secrets(service))]
    broken = "Traceback (most recent call last)" in output
    tally(runs=1, faults=faults, duplicates=len(duplicates), leaks=len(leaked), tracebacks=broken)
    assert not duplicates
    assert not leaked, f"secrets that begin with {leaked} are in the output"
    assert not broken, output


def try_task(service: Any, module: Any, *, faults: int = 1, **options: Any) -> tuple[Result | None, str]:
    """Return the result of a task and its JSON. If the task fails, return None and the message."""
    try:
        result = go(service, module, **{"retry_timeout": 0.0, "timeout": 20.0, **options})
    except MonitorError as error:
        message = str(error)
        assert 10 < len(message) < 5000, message
        assert message.isprintable() or "\n" not in message, message
        assert_sound(service, message, json.dumps(error.details), faults=faults)
        return None, message
    shown = json.dumps(result)
    if options.get("include_keys"):
        for client in service.clients():
            shown = shown.replace(client["api_key"], "").replace(client["install_code"], "")
    assert_sound(service, shown, faults=faults)
    return result, shown
