# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the script by which ansible-test puts pip into its virtual environments.

ansible-test downloads that script from a host of its own, which a machine with nothing but a mirror of the package
index does not reach; sanity.py then copies this file to the path of the script. It takes the required pip from the
index that pip is configured for.
"""

from __future__ import annotations

import subprocess
import sys


def main() -> None:
    """Install what the arguments ask for, with the pip that comes with Python."""
    # As a process of its own: in this one, ensurepip would drop the PIP_* settings that name the mirror.
    subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    # The options of get-pip itself: neither package is installed here.
    options = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)


if __name__ == "__main__":
    main()
