# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the integration targets with ansible-test against an emulator that lives as long as they do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome
from ansible_collections.monitor.cloud.tests.tools.tree import copied_tree

BIN = Path(sys.executable).parent
STARTED = re.compile(r"^Running (\S+) integration test (?:role|script)")
EXCLUDED = re.compile(r"^WARNING: Excluding (?:.+) tests (?P<reason>.+): (?P<targets>[^:]+)$")
FAILURES = re.compile(r"integration test\(s\) listed below \(out of \d+\) failed\.[^\n]*\n(?P<targets>.+)", re.DOTALL)


def configure(root: Path, service: Emulator) -> None:
    """Write the variables that each target finds."""
    address = service.base_url.rpartition("/")[0]
    values = {
        "monitor_base_url": service.base_url,
        "monitor_control_url": f"{address}/_emulator",
        "monitor_api_token": service.tokens["read_write"],
        "monitor_read_only_token": service.tokens["read_only"],
    }
    target = root / "tests" / "integration" / "integration_config.yml"
    target.write_text(yaml.safe_dump(values), encoding="utf-8")


def ansible_test(root: Path, targets: Sequence[str]) -> tuple[int, list[str]]:
    """Run the targets, also after one that failed; show the output as it comes and return its lines."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [
        "ansible-test",
        "integration",
        "--color",
        "no",
        "--local",
        "--python",
        own,
        "--continue-on-error",
        *targets,
    ]
    if os.geteuid() == 0:
        command.append("--allow-root")
    # Only what ansible-test sets up for its targets: no connection options from the caller's environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MONITOR_", "ANSIBLE_"))}
    environment["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = []
    with process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def read_output(code: int, lines: list[str]) -> Outcome:
    """Read from ansible-test's output which targets ran, which failed and which were excluded."""
    outcome = Outcome("integration")
    ran = {match[1] for line in lines if (match := STARTED.match(line))}
    if failures := FAILURES.search("\n".join(lines)):
        outcome.failed = [name for name in failures["targets"].split() if name in ran]
    elif code != 0 or not ran:
        outcome.failed = [f"ansible-test ended with exit code {code} after {len(ran)} targets"]
    outcome.passed = len(ran - set(outcome.failed))
    # ansible-test repeats its warnings at the end.
    excluded = dict.fromkeys(match.groups() for line in lines if (match := EXCLUDED.match(line)))
    outcome.skipped = [f"{name}: {reason}" for reason, names in excluded for name in names.split(", ")]
    return outcome


def run_integration(targets: Sequence[str] = ()) -> Outcome:
    """Run the targets that are named, or all, in a copy of the tree."""
    with copied_tree() as root, Emulator() as service:
        if not (root / "tests" / "integration" / "targets").is_dir():
            print("tests/integration/targets is missing")
            return Outcome("integration")
        configure(root, service)
        return read_output(*ansible_test(root, targets))


if __name__ == "__main__":
    sys.exit(bool(run_integration(sys.argv[1:]).failed))
