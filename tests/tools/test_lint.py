# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the tree that do not run it, each a command that succeeds: style, types, documentation, packaging.

And the integration targets, in one run of ansible-test.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import Desired
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, LONGEST, PATH, copied_tree


def _own(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(CHECKOUT / "tests" / "tools" / name), *arguments]


# The longest come first: the others fit in beside them.
STEPS = {
    "ansible-test sanity": _own("sanity.py"),
    "ansible-test sanity with tests": _own("sanity.py", "--tests"),
    "ansible-lint": ["ansible-lint", "--nocolor", "--offline", "--profile=production", "--strict"],
    "mypy": [
        *("mypy", f"--config-file={COLLECTION / 'pyproject.toml'}", f"--cache-dir={CHECKOUT / '.cache/mypy'}"),
        *(str(COLLECTION / directory) for directory in ("plugins", "tests")),
    ],
    "documentation": _own("docs.py"),
    "package": _own("package.py", "--import"),
    "ruff check": ["ruff", "check", "--no-cache"],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "--diff"],
    "reuse": ["reuse", "lint", "--lines"],
    "changelog": ["antsibull-changelog", "lint"],
}


# The first run installs what ansible-test and galaxy-importer need.
pytestmark = [pytest.mark.flaky(reruns=0), pytest.mark.timeout(LONGEST)]


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    none, pipe, both = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(
        command, stdin=none, stdout=pipe, stderr=both, text=True, check=False, timeout=LONGEST, **options
    )
    print(done.stdout)
    return done


@pytest.mark.parametrize("step", STEPS)
def test_lint(step: str) -> None:
    """Each in a copy of its own, for some write into the tree that others read."""
    with copied_tree() as root:
        above = root.parents[len(COLLECTION.parts) - 1]
        # The tools must see this copy, not the checkout.
        environment = {**os.environ, "PATH": PATH, "ANSIBLE_COLLECTIONS_PATH": str(above)}
        done = _run(STEPS[step], cwd=above if step == "mypy" else root, env=environment)
    assert done.returncode == 0, "see what it printed"


_DESIRED = Desired("/etc/agent.conf", b"", service="agent")
SCRIPTS = {
    "inspect": host_file.inspect_script(_DESIRED),
    "change": host_file.change_script(_DESIRED),
    "install": host_file.script(host_file.INSTALL, **dict.fromkeys(("command", "creates", "exists", "end"), "")),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck(script: str) -> None:
    """Each script as a host gets it: with its variables and the common part."""
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: apt-get install shellcheck")
    done = subprocess.run(["shellcheck", "--shell=sh", "-"], input=SCRIPTS[script], text=True, check=False, timeout=60)
    assert done.returncode == 0, "see what it printed"


@pytest.mark.parametrize("directory", ["benchmark", "emulator", "support", "tools"])
def test_each_command_has_a_deadline(directory: str) -> None:
    for path in (CHECKOUT / "tests" / directory).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("subprocess.call", "subprocess.run"):
                assert "timeout" in {keyword.arg for keyword in node.keywords}, f"{path}:{node.lineno}"


def test_integration() -> None:
    done = _run(_own("integration.py"))
    assert done.returncode == 0, done.stdout[-1000:]
    # Of a target that it excludes, ansible-test only warns.
    targets = {path.parent.name for path in (CHECKOUT / "tests/integration/targets").glob("*/aliases")}
    assert set(re.findall(r"^Running (\S+) integration test role", done.stdout, re.MULTILINE)) == targets
