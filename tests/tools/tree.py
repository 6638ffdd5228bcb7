# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies the working tree to a path that Ansible's tools accept for a collection."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
COLLECTION = Path("ansible_collections", "monitor", "cloud")
# Commands of the virtual environment call each other by name.
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# The timeout of a command, in seconds.
LONGEST = 1800.0


def tracked_files() -> list[Path]:
    """List the files of the working tree, except files that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True, timeout=LONGEST
    ).stdout
    # Git lists a file with a merge conflict once for each side.
    return [Path(name) for name in dict.fromkeys(listed.split("\0")) if name and (CHECKOUT / name).exists()]


@contextmanager
def copied_tree() -> Iterator[Path]:
    """Copy the working tree to <temporary directory>/ansible_collections/monitor/cloud, and yield this path.

    ansible-test and mypy derive the name of the collection from the path, and some tools write files into the tree.
    """
    with tempfile.TemporaryDirectory(prefix="monitor.cloud-") as base:
        root = Path(base).resolve() / COLLECTION
        for name in tracked_files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, root / name, follow_symlinks=False)
        yield root
