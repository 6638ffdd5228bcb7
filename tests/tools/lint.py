# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the tree that do not run it: style, types, documentation, packaging."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, copied_tree

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Step:
    """One tool: its command, and whether it starts above ansible_collections/ rather than in the collection."""

    name: str
    command: Sequence[str]
    above: bool = False


def _tool(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def _own(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(CHECKOUT / "tests" / "tools" / name), *arguments]


# The longest come first: with two processors, the others fit in beside them.
STEPS = (
    Step("ansible-test sanity", _own("sanity.py")),
    Step("ansible-lint", _tool("ansible-lint", "--nocolor", "--offline", "--profile=production", "--strict")),
    Step(
        "mypy",
        [
            *_tool("mypy", f"--config-file={COLLECTION / 'pyproject.toml'}", f"--cache-dir={CHECKOUT / '.cache/mypy'}"),
            *(str(COLLECTION / directory) for directory in ("plugins", "tests")),
        ],
        above=True,
    ),
    Step("documentation", _own("docs.py", "--lint")),
    Step("package", _own("package.py", "--import")),
    Step("ruff check", _tool("ruff", "check", "--no-cache")),
    Step("ruff format", _tool("ruff", "format", "--no-cache", "--check", "--diff")),
    Step("reuse", _tool("reuse", "lint", "--lines")),
    Step("changelog", _tool("antsibull-changelog", "lint")),
)


def _run(step: Step) -> tuple[int, str, float]:
    """Run a step in a copy of its own, for some write into the tree that others read."""
    started = time.monotonic()
    with copied_tree() as root:
        above = root.parents[len(COLLECTION.parts) - 1]
        environment = dict(os.environ)
        # A virtual environment's tools call each other by name, and must see this copy, not the checkout.
        environment.update(PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}", ANSIBLE_COLLECTIONS_PATH=str(above))
        done = subprocess.run(
            step.command,
            cwd=above if step.above else root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    return done.returncode, done.stdout, time.monotonic() - started


def run_lint(names: Sequence[str] = (), part: str = "lint") -> Outcome:
    """Run the named steps, or all; the output of those that failed is shown."""
    outcome = Outcome(part)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        running = {pool.submit(_run, step): step for step in STEPS if not names or step.name in names}
        for future in as_completed(running):
            name = running[future].name
            code, output, seconds = future.result()
            print(f"{'ok    ' if code == 0 else 'FAILED'} {name} ({seconds:.1f} s)", flush=True)
            if code == 0:
                outcome.passed += 1
            else:
                print(output, flush=True)
                outcome.failed.append(name)
    return outcome
