# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors

"""The shell commands that inspect and write a host's file, run by shells of this machine."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    HostFile,
    facts_command,
    parse_facts,
    remove_command,
    write_command,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed

# Begins like an option, ends with a space, and has all that shells, globs and tools take for their own.
NAME = "-dash with space, it's $HOME;b quo\"te ümlaut * !x!! a\\b tilde~=x [a-z]? \\0101 space at the end "


def in_shell(
    command: str, given: bytes = b"", shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None
) -> Completed:
    """Run a command in a shell; ``tools`` is a directory of those that count before the others."""
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"} if tools else {}
    words, environment = [*shell, "-c", command], {**os.environ, **path}
    done = subprocess.run(words, input=given, capture_output=True, check=False, timeout=60, env=environment)
    return Completed(done.returncode, *(text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr)))


def facts_of(path: Path, shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None) -> HostFile:
    done = in_shell(facts_command(str(path)), b"", shell, tools)
    assert (done.returncode, done.stderr) == (0, "")
    found = parse_facts(done.stdout)
    assert found is not None
    return found


def write_file(
    path: Path,
    content: bytes = b"new",
    *,
    given: bytes | None = None,
    backup: bool = False,
    shell: Sequence[str] = ("/bin/sh",),
    tools: Path | None = None,
    **options: Any,
) -> Completed:
    """Write a file; ``given`` is what arrives instead of the content."""
    command = write_command(Desired(str(path), content, **options), backup=backup)
    return in_shell(command, content if given is None else given, shell, tools)


def old_file(base: Path) -> Path:
    path = base / "root" / "agent.conf"
    path.parent.mkdir()
    path.write_text("old")
    return path


def remove_file(path: Path, markers: Sequence[str] | None = None) -> Completed:
    return in_shell(remove_command(str(path), markers))


# Each runs `-c command`. The last word of a login shell's is a shell of its own, as connections and sudo start it.
SHELLS = {
    "dash": ["dash"],
    "bash": ["bash"],
    "bash, posix": ["bash", "--posix"],
    "bash, exported options": ["env", "SHELLOPTS=errexit:noclobber:noglob:nounset", "BASHOPTS=failglob", "bash"],
    "busybox": ["busybox", "sh"],
    "mksh": ["mksh"],
    "ksh93": ["ksh93"],
    "zsh": ["zsh"],
    "yash": ["yash"],
}
TOOLS = ["cat", "chmod", "chown", "date", "dd", "env", "find", "ln", "ls", "mkdir", "mv", "pwd", "readlink", "rm"]
TOOLS += ["rmdir", "sha256sum", "sleep", "stat"]


def skip_without(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def stub_tools(base: Path, **scripts: str) -> Path:
    base.mkdir(exist_ok=True)
    for name, script in scripts.items():
        (base / name).write_text(f"#!/bin/sh\n{script}\n")
        (base / name).chmod(0o755)
    return base
