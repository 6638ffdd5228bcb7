# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the scripts that inspect and change the file of a host, with the shells of this machine."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._host import host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.host_file import Completed, HostFile
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import Desired

# A file name that begins like an option, ends with a space, and contains syntax of shells, globs and tools.
NAME = "-dash with space, it's $HOME;b quo\"te * !x!! a\\b \\c tilde~=x [a-z]? \\0101 space at the end "
DASH = ("dash",)
# Each of these shells can be /bin/sh on a host.
SHELLS = {
    "dash": ["dash"],
    "bash": ["bash", "--posix"],
    "bash, exported options": ["env", "SHELLOPTS=errexit:noclobber:noglob:nounset", "BASHOPTS=failglob", "bash"],
    "busybox": ["busybox", "sh"],
    "ksh93": ["ksh93"],
    "mksh": ["mksh"],
    "yash": ["yash", "-o", "posixly-correct"],
    "zsh": ["zsh", "--emulate", "sh"],
}


def skip_without(*programs: str) -> None:
    if missing := [program for program in programs if shutil.which(program) is None]:
        pytest.skip(f"{' and '.join(missing)} not installed")


def in_shell(
    command: str, given: bytes = b"", shell: Sequence[str] = ("/bin/sh",), environment: Mapping[str, str] | None = None
) -> Completed:
    return _run([*shell, "-c", command], given, environment or {})


def run_script(script: str, shell: Sequence[str] = DASH, tools: Path | None = None, **environment: str) -> Completed:
    """Run a script from standard input. The directory ``tools`` is the first in PATH."""
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"} if tools else {}
    return _run([*shell, "-s"], script.encode("utf-8", "surrogateescape"), {**path, **environment})


def _run(words: Sequence[str], given: bytes, environment: Mapping[str, str]) -> Completed:
    done = subprocess.run(
        words, input=given, capture_output=True, check=False, timeout=60, env={**os.environ, **environment}
    )
    return Completed(done.returncode, *(text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr)))


def inspect(
    path: Path, data: bytes | None = None, shell: Sequence[str] = DASH, tools: Path | None = None, **options: Any
) -> HostFile:
    done = run_script(host_file.inspect_script(Desired(str(path), data, **options)), shell, tools)
    file = host_file.parse(done.stdout)
    assert file is not None and done.stderr == "", done
    return file


def change(
    path: Path,
    data: bytes | None = b"new",
    shell: Sequence[str] = DASH,
    tools: Path | None = None,
    **options: Any,
) -> str:
    script = host_file.change_script(Desired(str(path), data, **options))
    return host_file.problem_of(run_script(script, shell, tools))


def old_file(base: Path) -> Path:
    path = base / "root" / "agent.conf"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o600)
    return path


def stub_tools(base: Path, **scripts: str) -> Path:
    base.mkdir(exist_ok=True)
    for name, script in scripts.items():
        (base / name).write_text(f"#!/bin/sh\n{script}\n")
        (base / name).chmod(0o755)
    return base
