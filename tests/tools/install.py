# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs a lock file, which names uv, into this virtual environment. Needs pip only.

uv takes a seventh of pip's processor time. It reads only some of pip's settings, so pip installs if uv fails.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Settings of pip, and the variables by which uv has them.
_OF_UV = {"index_url": "UV_DEFAULT_INDEX", "find_links": "UV_FIND_LINKS", "cert": "SSL_CERT_FILE"}
# Seconds, also for a slow index.
_LONGEST = 1800.0
ENTRY_OF_UV = re.compile(r"^uv==.*(?:\n    .*)*", re.MULTILINE)


def pip_settings() -> dict[str, str]:
    """Collect the settings of pip from its files and from the environment, which takes precedence."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=_LONGEST).stdout
    lines = [line.split("=", 1) for line in listed.splitlines() if "=" in line]
    lines.sort(key=lambda setting: setting[0].startswith(":env:"))
    settings = {key.rpartition(".")[2]: str(ast.literal_eval(value)) for key, value in lines}
    if proxy := os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY"):
        settings.setdefault("proxy", proxy)
    return settings


def uv_environment() -> dict[str, str]:
    settings = {name.replace("-", "_"): value for name, value in pip_settings().items()}
    return {variable: settings[name] for name, variable in _OF_UV.items() if name in settings} | os.environ


def pip(python: str, lock: Path) -> list[str]:
    """The command by which our own pip installs a lock file for this interpreter."""
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--disable-pip-version-check"]
    return [*command, "--require-hashes", "-r", str(lock)]


def install(python: str, lock: Path) -> int:
    """Install a lock file for this interpreter with the uv of our own; returns an exit code."""
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    # They may come from several indexes, which is safe with hashes; pip looks at all of them too.
    options = ["--index-strategy=unsafe-best-match", "--require-hashes", "-r", str(lock)]
    done = subprocess.run([*uv, *options], env=uv_environment(), capture_output=True, check=False, timeout=_LONGEST)
    return done.returncode and subprocess.run(pip(python, lock), check=False, timeout=_LONGEST).returncode


def install_uv(lock: Path) -> None:
    """Install the uv of a lock file with pip; without a wheel for this system there is none."""
    entry = ENTRY_OF_UV.search(lock.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        only = Path(temporary, "uv.txt")
        only.write_text(entry[0] if entry else "", encoding="utf-8")
        command = [*pip(sys.executable, only), "--only-binary=uv"]
        subprocess.run(command, capture_output=True, check=False, timeout=_LONGEST)


if __name__ == "__main__":
    install_uv(Path(sys.argv[1]))
    sys.exit(install(sys.executable, Path(sys.argv[1])))
