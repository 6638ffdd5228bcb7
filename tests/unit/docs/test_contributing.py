# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, copied_tree

DIRECTORY = CHECKOUT / "docs" / "contributing"
TESTS = (
    "tests/contract/client/test_modules.py::test_each_field_that_can_be_set",
    "tests/contract/client/test_modules.py::test_each_resource_is_read_as_a_list_and_by_id",
    "tests/contract/client/test_bad_input.py::test_missing_token",
    "tests/contract/test_inventory.py::test_clients_are_hosts_with_variables_and_no_keys",
    "tests/emulator/tests/test_contract.py",
    "tests/faults/test_responses.py::test_valid_responses_give_a_result",
    "tests/unit/plugins/module_utils/_clients",
    "tests/unit/test_layers.py",
)


def _run(root: Path, *command: str) -> str:
    base = str(root).removesuffix(str(COLLECTION))
    environment = {**os.environ, "PYTHONPATH": base, "ANSIBLE_COLLECTIONS_PATH": base}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_tests_of_a_patched_copy_pass() -> None:
    with copied_tree() as root:
        for patch in sorted(DIRECTORY.glob("*.diff"), reverse=True):
            _run(root, "git", "apply", str(patch))
        _run(root, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--no-header", *TESTS)
        documentation = _run(root, str(Path(sys.executable).with_name("ansible-doc")), "monitor.cloud.alert_info")
        assert "Returns the open alerts" in documentation
