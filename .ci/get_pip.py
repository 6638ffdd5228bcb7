# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs pip in place of the script that ansible-test downloads for its virtual environments.

Without access to the host of this script, test_lint.py copies this file to the path of the script. This file installs
pip from the package index that pip is configured for, and keeps a copy for the other virtual environments.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Install the requested version of pip with the pip of ensurepip."""
    # Ignore the options of the original script, because this file installs only pip.
    options = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
    installed = Path(sysconfig.get_path("purelib"))
    required = "-".join(option for option in options if not option.startswith("-"))
    kept = Path(__file__).with_name(f"{required}-{sys.implementation.cache_tag}")
    if not kept.exists():
        # ensurepip removes the PIP_* settings of its process, so it runs in another process.
        subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
        new = kept.with_name(f"{kept.name}.new")
        for path in installed.glob("pip*"):
            shutil.copytree(path, new / path.name, dirs_exist_ok=True)
        new.rename(kept)
    shutil.copytree(kept, installed, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
