# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the named parts of the tests, all of them by default, with pytest in several processes.

Options of pytest may follow the parts. With FIGURES=tests, counts and times go into docs/testing.md.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.tests.tools import figures
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# Seconds for all of it; each test has its own deadline in pyproject.toml.
_LONGEST = 6 * 3600.0
_TOOLS = "tests/tools/test_lint.py"
_LINT = f"{_TOOLS}::test_lint"
# The tests that take longest come first.
PARTS = {
    "lint": [f"{_TOOLS}::test_sanity[archive]", _LINT, f"{_TOOLS}::test_shellcheck"],
    "integration": [f"{_TOOLS}::test_integration"],
    "fleet": ["tests/fleet"],
    "faults": ["tests/faults"],
    "contract": ["tests/contract", "tests/emulator"],
    "unit": ["tests/unit"],
}
CHOSEN = {
    # Unit tests without a browser, and a few of each module and of the role.
    "quick": [
        "tests/unit",
        "--deselect=tests/unit/plugins/plugin_utils/_audit/test_page.py",
        "--deselect=tests/unit/docs/test_contributing.py",
        "tests/contract/client/test_modules.py",
        "tests/fleet/test_role.py::test_hosts_of_one_batch_may_have_different_states",
    ],
    # What depends on ansible-core most: data in variables and templates, secrets, the role, the inventory, labels.
    "smoke": [
        "tests/contract/test_inventory.py::test_clients_are_hosts_with_variables_and_no_keys",
        "tests/contract/client/test_processes.py::test_a_module_creates_a_client_and_then_changes_nothing",
        "tests/faults/test_injection.py",
        "tests/fleet/test_in_process.py::test_no_key_is_in_variables_caches_and_callbacks",
        "tests/fleet/test_prune.py",
        "tests/fleet/test_secrets.py::test_callbacks_see_no_token",
        "tests/unit/plugins/action",
    ],
    "injection": ["tests/faults/test_injection.py", "tests/unit/plugins/action"],
    "packaging": [f"{_TOOLS}::test_sanity[tests]"],
    "sanity": [f"{_TOOLS}::test_sanity[archive]"],
    "style": [f"{_LINT}[{step}]" for step in ("mypy", "ruff check", "ruff format")],
}
OPTIONS = [
    # Many tests wait for timeouts, retries and machines: two processes for each processor keep it busy.
    f"-n{(os.cpu_count() or 1) * 2}",
    "--dist=worksteal",
    # Tests of signals and deadlines share the machine with others: a failed one is retried once, and printed as RERUN.
    "--reruns=1",
    "-rfEsR",
    "--durations=15",
]


def counts(report: Path) -> tuple[int, int, list[str]]:
    """How many tests passed, how many failed, and why others were skipped, by a JUnit report of pytest."""
    suite = ElementTree.parse(report).getroot()[0]
    tests, *others = (int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped"))
    reasons = [str(skip.get("message")) for skip in suite.iter("skipped")]
    return tests - sum(others), others[0] + others[1], reasons


def write_figures(name: str, report: Path, seconds: float) -> None:
    passed, failed, skipped = counts(report)
    result = f"{passed:,} passed, {failed} failed, {len(skipped)} skipped in {seconds / 60:.1f} minutes"
    measured = [
        (f"`make {name}`", result),
        ("lines of plugins/, roles/, playbooks/", f"{figures.lines_of('plugins', 'roles', 'playbooks'):,}"),
        ("lines of tests/, without the lock files", f"{figures.lines_of('tests'):,}"),
    ]
    figures.write("tests", ("what", "figure"), measured, keys=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    options, of_pytest = parser.parse_known_args()
    parts: list[str] = options.parts or list(PARTS)
    known = {**PARTS, **CHOSEN}
    if unknown := set(parts) - set(known):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    # uv compiles nothing, and the processes of the tests import the same files again and again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    chosen = [path for part in parts for path in known[part]]
    report = CHECKOUT / "build" / "tests.xml"
    wants_figures = os.environ.get("FIGURES") == "tests"
    own = [f"--junitxml={report}"] if wants_figures else []
    command = [sys.executable, "-m", "pytest", *OPTIONS, *own, *of_pytest, *chosen]
    started = time.monotonic()
    code = subprocess.run(command, cwd=CHECKOUT, check=False, timeout=_LONGEST).returncode
    if wants_figures:
        write_figures(options.parts[0] if options.parts else "test", report, time.monotonic() - started)
    return code


if __name__ == "__main__":
    sys.exit(main())
