# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs directories of tests with pytest, in several processes, and counts the results of each directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.tests.tools.outcome import Outcome
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

SUITES = {
    "fleet": ["tests/fleet"],
    "faults": ["tests/faults"],
    "contract": ["tests/contract", "tests/emulator"],
    "unit": ["tests/unit"],
}
# Unit tests without a browser and a release, and a few of each module and of the role.
QUICK = [
    "tests/unit",
    "--deselect=tests/unit/plugins/plugin_utils/_audit/test_page.py",
    "--deselect=tests/unit/test_release.py",
    "--deselect=tests/unit/docs/test_execution_environment.py",
    *(f"tests/contract/client/test_{name}.py" for name in ("monitor_client", "monitor_clients", "plan", "info")),
    "tests/faults/test_rollouts_and_faults.py::test_the_operations_are_those_of_a_rollout",
]
# What depends on ansible-core most: data in variables and templates, secrets, the role, the inventory.
SMOKE = [
    "tests/contract/test_inventory.py::test_clients_are_hosts_with_variables_and_no_keys",
    "tests/contract/test_targets.py",
    "tests/faults/test_injection.py",
    "tests/faults/test_injection_on_hosts.py::test_keys_are_text_over_local_connections",
    "tests/faults/test_injection_on_hosts.py::test_paths_names_and_labels_over_local_connections",
    "tests/fleet/test_in_process.py::test_no_key_is_in_variables_caches_and_callbacks",
    "tests/fleet/test_secrets.py::test_callbacks_see_no_token",
    "tests/unit/plugins/action",
]
INJECTION = ["tests/faults/test_injection.py", "tests/faults/test_injection_on_hosts.py", "tests/unit/plugins/action"]
CHOSEN = {"quick": QUICK, "smoke": SMOKE, "injection": INJECTION}
# Many tests wait for timeouts and retries: one process more than there are processors keeps all of them busy.
PROCESSES = (os.cpu_count() or 1) + 1
# Tests of signals and deadlines share the machine with others: a failed one is retried once, and printed as RERUN.
RETRY = ["--reruns=1", "-rR"]


def run_suites(parts: Sequence[str]) -> list[Outcome]:
    """Run these directories as one; the output goes to the terminal as it comes."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        chosen = [path for part in parts for path in (SUITES.get(part) or CHOSEN[part])]
        command = [sys.executable, "-m", "pytest", f"-n{PROCESSES}", "--dist=worksteal", f"--junitxml={report}"]
        code = subprocess.run([*command, *RETRY, *chosen], cwd=CHECKOUT, check=False).returncode
        outcomes = {part: Outcome(part) for part in parts}
        if report.exists():
            read_report(outcomes, report)
    # Not a failed test, and no result to trust: interrupted, an internal error, or no test found.
    if code != 0 and not any(outcome.failed for outcome in outcomes.values()):
        outcomes[parts[0]].failed.append(f"pytest ended with exit code {code}")
    return list(outcomes.values())


def read_report(outcomes: dict[str, Outcome], report: Path) -> None:
    """Count the tests of pytest's report; one that fails and whose teardown fails too counts once."""
    seen: dict[tuple[str, str], str] = {}
    parts = {path.replace("/", "."): part for part in outcomes for path in SUITES.get(part, [])}
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = str(case.get("classname")), f"{case.get('classname')}::{case.get('name')}"
        part = next((part for start, part in parts.items() if module.startswith(start)), next(iter(outcomes)))
        seconds = float(case.get("time") or 0)
        outcomes[part].seconds += seconds
        outcomes[part].slowest.append((seconds, name))
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            seen[part, name] = "failed"
        elif skip is not None:
            seen.setdefault((part, name), f"{name}: {skip.get('message')}")
        else:
            seen.setdefault((part, name), "passed")
    for (part, name), result in seen.items():
        outcomes[part].passed += result == "passed"
        if result == "failed":
            outcomes[part].failed.append(name)
        elif result != "passed":
            outcomes[part].skipped.append(result)
