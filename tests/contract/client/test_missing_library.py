# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Without the library requests, the error names the command that installs it for the interpreter at hand."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

_ASK = """
import sys
sys.modules["requests"] = None
sys.path[1:1] = sys.argv[1].split(":")
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import Http, Settings
try:
    Http(Settings("https://127.0.0.1/v4"))
except Exception as error:
    print(error)
"""


def _message(interpreter: str, before: str = "") -> str:
    script = _ASK.replace("import sys\n", f"import sys\n{before}", 1)
    command = [interpreter, "-c", script, ":".join(path for path in sys.path if path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("pipx_metadata.json", "Install it there: pipx inject ansible requests. Or run"),
        ("uv-receipt.toml", "Install it there: uv tool install --with requests ansible. Or run"),
        (None, "Install it there: uv pip install --python {python} requests. Or run"),
    ],
)
def test_missing_requests_in_a_venv(tmp_path: Path, marker: str | None, expected: str) -> None:
    directory = tmp_path / "ansible"
    venv.create(directory, symlinks=True)
    if marker:
        (directory / marker).touch()
    python = str(directory / "bin" / "python")
    # With the paths of this venv, its pip would be found.
    message = _message(python, "" if marker else 'sys.modules["pip"] = None\n')
    assert f"The Python library requests is missing for {python} " in message
    assert expected.format(python=python) in message


def test_missing_requests_in_a_python_with_pip() -> None:
    assert f"Install it there: {sys.executable} -m pip install requests. Or run" in _message(sys.executable)


def test_missing_requests_in_a_python_that_is_externally_managed(tmp_path: Path) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    marked = f"sys.prefix = sys.base_prefix\nimport sysconfig\nsysconfig.get_path = lambda name: {str(tmp_path)!r}\n"
    expected = "apt install python3-requests" if os.path.exists("/etc/debian_version") else "use the package manager"
    assert f"Install it there: {expected}" in _message(sys.executable, marked)
