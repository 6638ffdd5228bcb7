# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the named parts of the tests (default: all parts) with pytest. Options of pytest may follow the names."""

import os
import subprocess
import sys

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# The time limit of the whole run, in seconds. pyproject.toml sets the timeout of a single test.
_LONGEST = 6 * 3600.0
_TOOLS = "tests/tools/test_lint.py"
_LINT = f"{_TOOLS}::test_lint"
# The slowest parts come first.
PARTS = {
    "lint": [f"{_TOOLS}::test_sanity[archive]", _LINT],
    "integration": [f"{_TOOLS}::test_integration"],
    "fleet": ["tests/fleet"],
    "faults": ["tests/faults"],
    "contract": ["tests/contract", "tests/emulator"],
    "unit": ["tests/unit"],
}
CHOSEN = {
    # Unit tests that start no browser and no shells, and some tests of each module and of the role.
    "quick": [
        # Each process starts its own emulator, so fewer processes take less time.
        "-nauto",
        "tests/fleet/test_role.py::test_hosts_of_one_batch_may_have_different_states",
        "tests/contract/client/test_modules.py",
        "tests/unit",
        "--deselect=tests/unit/plugins/plugin_utils/_host/test_host_file.py",
        "--deselect=tests/unit/plugins/plugin_utils/_report/test_page.py",
    ],
    # Tests of the features that depend most on ansible-core, such as variables, templates and secrets.
    "smoke": [
        "tests/contract/test_inventory.py::test_clients_are_hosts_with_variables_and_no_keys",
        "tests/contract/client/test_processes.py::test_a_module_creates_a_client_and_then_changes_nothing",
        "tests/faults/test_injection.py",
        "tests/fleet/test_in_process.py::test_no_key_is_in_variables_caches_and_callbacks",
        "tests/fleet/test_prune.py",
        "tests/fleet/test_secrets.py::test_callbacks_see_no_token",
        "tests/unit/plugins/action",
    ],
    # Unit tests that need no tools of the documentation.
    "plugins": ["tests/unit/plugins"],
    "injection": ["tests/faults/test_injection.py", "tests/unit/plugins/action"],
    "packaging": [f"{_TOOLS}::test_sanity[tests]"],
    "sanity": [f"{_TOOLS}::test_sanity[archive]"],
    "style": [f"{_LINT}[{step}]" for step in ("mypy", "ruff check", "ruff format")],
}
OPTIONS = [
    # Many tests wait for timeouts, retries and machines, so each processor runs two processes.
    f"-n{(os.cpu_count() or 1) * 2}",
    "--dist=worksteal",
    "--durations=15",
]


def main() -> int:
    known = {**PARTS, **CHOSEN}
    parts = [name for name in sys.argv[1:] if name in known]
    of_pytest = [option for option in sys.argv[1:] if option not in known]
    # Let Python write bytecode: uv writes none, and each process imports the same files.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    chosen = [path for part in parts or PARTS for path in known[part]]
    command = [sys.executable, "-m", "pytest", *OPTIONS, *of_pytest, *chosen]
    return subprocess.run(command, cwd=CHECKOUT, check=False, timeout=_LONGEST).returncode


if __name__ == "__main__":
    sys.exit(main())
