# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the script by which ansible-test puts pip into its virtual environments.

ansible-test downloads that script from a host of its own, which a machine with nothing but a mirror of the package
index does not reach; test_lint.py then copies this file to the path of the script. It takes the required pip from the
index that pip is configured for, once: it keeps a copy beside itself for the other environments.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Install what the arguments ask for, with the pip that comes with Python."""
    # The options of get-pip itself: neither package is installed here.
    options = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
    installed = Path(sysconfig.get_path("purelib"))
    required = "-".join(option for option in options if not option.startswith("-"))
    kept = Path(__file__).with_name(f"{required}-{sys.implementation.cache_tag}")
    if not kept.exists():
        # As a process of its own: in this one, ensurepip would drop the PIP_* settings that name the mirror.
        subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
        new = kept.with_name(f"{kept.name}.new")
        for path in installed.glob("pip*"):
            shutil.copytree(path, new / path.name, dirs_exist_ok=True)
        new.rename(kept)
    shutil.copytree(kept, installed, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
