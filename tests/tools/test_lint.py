# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, LONGEST, PATH, copied_tree

STEPS = {
    "ansible-lint": ["ansible-lint", "--nocolor", "--offline", "--profile=production", "--strict"],
    "mypy": [
        *("mypy", f"--config-file={COLLECTION / 'pyproject.toml'}", f"--cache-dir={CHECKOUT / '.cache/mypy'}"),
        *(str(COLLECTION / directory) for directory in ("plugins", "tests")),
    ],
    "documentation": [sys.executable, str(CHECKOUT / "tests" / "tools" / "docs.py")],
    "ruff check": ["ruff", "check", "--no-cache"],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "--diff"],
    "reuse": ["reuse", "lint", "--lines"],
    "changelog": ["antsibull-changelog", "lint"],
    "complexity": ["complexipy", "--plain", "--failed", "--max-complexity-allowed=15", "plugins"],
    "workflows": ["check-jsonschema", "--builtin-schema=vendor.github-workflows", ".github/workflows/test.yml"],
}
PYTHON = f"--python={sys.version_info.major}.{sys.version_info.minor}"
# ansible-test passes only HOME to pip, so ansible-test gets a home directory that contains the settings of pip.
HOME = CHECKOUT / ".cache" / "sanity"

# The first run installs the requirements of ansible-test, which takes minutes.
pytestmark = pytest.mark.timeout(LONGEST)


@pytest.fixture
def root() -> Iterator[Path]:
    """Copy the tree for each test, because some tools write into the tree."""
    with copied_tree() as copy:
        yield copy


def _run(command: list[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    none = subprocess.DEVNULL
    pipe = subprocess.PIPE
    both = subprocess.STDOUT
    settings = {**environment, "PATH": PATH}
    done = subprocess.run(
        command, cwd=directory, env=settings, stdin=none, stdout=pipe, stderr=both, text=True, check=False,
        timeout=LONGEST,
    )  # fmt: skip
    print(done.stdout)
    return done


@pytest.mark.parametrize("tests", [False, True], ids=["archive", "tests"])
def test_sanity(root: Path, tests: bool) -> None:
    """Run the sanity tests on the files of the archive, or on the whole tree, which takes twice as long."""
    command = ["ansible-test", "sanity", "--color=no", PYTHON]
    if not tests:
        command += [f"--exclude=tests/{path.name}/" for path in (root / "tests").iterdir() if path.is_dir()]
    listed = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True, timeout=60)
    # The last value of a setting counts. Lines of the environment begin with a colon, so they sort last.
    lines = sorted(listed.splitlines(), reverse=True)
    settings = dict(re.findall(r"^\S+\.([\w-]+)='(.*)'$", "\n".join(lines), re.MULTILINE))
    file = HOME / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    # The address of an index can contain a password.
    file.touch(mode=0o600)
    content = "".join(f"{name} = {value}\n".replace("\\n", "\n\t") for name, value in settings.items())
    file.write_text(f"[global]\nquiet = 2\n{content}", encoding="utf-8")
    environment = {**os.environ, "HOME": str(HOME)}
    done = _run(command, root, environment)
    # If ansible-test cannot download the script that installs pip, use .ci/get_pip.py.
    if done.returncode and (needed := re.search(r"manually downloaded and saved to: (.+\.py)$", done.stdout, re.M)):
        shutil.copyfile(CHECKOUT / ".ci" / "get_pip.py", needed[1])
        done = _run(command, root, environment)
    assert done.returncode == 0, "the output above contains the errors"


@pytest.mark.parametrize("step", STEPS)
def test_lint(root: Path, step: str) -> None:
    above = root.parents[len(COLLECTION.parts) - 1]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(above)}
    done = _run(STEPS[step], above if step == "mypy" else root, environment)
    assert done.returncode == 0, "the output above contains the errors"


def test_integration(root: Path) -> None:
    command = ["ansible-test", "integration", "--color=no", "--local", PYTHON, "--continue-on-error"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    # Environment variables of the caller must not change the options of the modules.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MONITOR_", "ANSIBLE_"))}
    with Emulator() as service:
        values = {
            "monitor_base_url": service.base_url,
            "monitor_control_url": f"{service.base_url.rpartition('/')[0]}/_emulator",
            "monitor_api_token": service.tokens["read_write"],
        }
        config = root / "tests" / "integration" / "integration_config.yml"
        config.write_text(json.dumps(values), encoding="utf-8")
        done = _run(command, root, environment)
    assert done.returncode == 0, done.stdout[-1000:]
    # If ansible-test excludes a target, it only prints a warning.
    targets = {path.parent.name for path in (CHECKOUT / "tests/integration/targets").glob("*/aliases")}
    assert set(re.findall(r"^Running (\S+) integration test role", done.stdout, re.MULTILINE)) == targets
