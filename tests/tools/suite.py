# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one directory of tests with pytest and counts what came of each test."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


def run_suite(part: str) -> Outcome:
    """Run tests/<part>; its output goes to the terminal as it comes."""
    if not (CHECKOUT / "tests" / part).is_dir():
        print(f"tests/{part} is not there")
        return Outcome(part)
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        command = [sys.executable, "-m", "pytest", f"tests/{part}", f"--junitxml={report}"]
        code = subprocess.run(command, cwd=CHECKOUT, check=False).returncode
        outcome = read_report(part, report) if report.exists() else Outcome(part)
    # Not a test that failed, yet nothing to trust: interrupted, an internal error, or no test found.
    if code != 0 and not outcome.failed:
        outcome.failed.append(f"pytest ended with exit code {code}")
    return outcome


def read_report(part: str, report: Path) -> Outcome:
    """Count the tests of pytest's report; one that failed and broke its teardown too counts once."""
    outcome = Outcome(part)
    seen: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            seen[name] = "failed"
        elif skip is not None:
            seen.setdefault(name, f"{name}: {skip.get('message')}")
        else:
            seen.setdefault(name, "passed")
    outcome.passed = sum(result == "passed" for result in seen.values())
    outcome.failed = [name for name, result in seen.items() if result == "failed"]
    outcome.skipped = [result for result in seen.values() if result not in ("passed", "failed")]
    return outcome
