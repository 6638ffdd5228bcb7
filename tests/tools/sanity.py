# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs `ansible-test sanity` in the collection of the current directory, without Docker."""

import configparser
import os
import re
import shutil
import subprocess
import sys

from ansible_collections.monitor.cloud.tests.tools.install import pip_settings
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# ansible-test keeps virtual environments and a cache under HOME, and hands no other setting on to pip. So it gets a
# home of its own: the settings of pip are written there, and nothing of the user's is touched.
HOME = CHECKOUT / ".cache" / "sanity"
OLDEST_TARGET = 9
NEWEST_TARGET = 14
STAND_IN_NEEDED = re.compile(r"can be manually downloaded and saved to: (.+\.py)$", re.MULTILINE)


def prepare_home() -> None:
    """Write pip's settings into the home; only its owner may read them, for an index address can hold a password."""
    target = HOME / ".config" / "pip" / "pip.conf"
    target.parent.mkdir(parents=True, exist_ok=True)
    config = configparser.RawConfigParser()
    config["global"] = {**pip_settings(), "quiet": "2"}
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        config.write(stream)


def pythons() -> list[str]:
    """Name the Python versions to test with: our own, and the oldest of a managed host's that this machine can run.

    Found by running them: a version manager may put commands on the path that only report that they are not active.
    """
    own = sys.version_info.minor
    for minor in range(OLDEST_TARGET, NEWEST_TARGET + 1):
        path = shutil.which(f"python3.{minor}")
        if path and minor < own and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return [f"3.{minor}", f"3.{own}"]
    return [f"3.{own}"]


def ansible_test() -> tuple[int, str]:
    own = f"3.{sys.version_info.minor}"
    command = ["ansible-test", "sanity", "--color", "no", "--controller", f"origin:python={own}"]
    for version in pythons():
        command += ["--target-python", version]
    environment = {**os.environ, "HOME": str(HOME)}
    both = subprocess.STDOUT
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=both, text=True, check=False)
    return done.returncode, done.stdout


def main() -> int:
    """Run the tests; if the script that installs pip cannot be downloaded, use ours and run them again."""
    prepare_home()
    code, output = ansible_test()
    if code != 0 and (needed := STAND_IN_NEEDED.search(output)):
        shutil.copyfile(CHECKOUT / ".ci" / "get_pip.py", needed[1])
        code, output = ansible_test()
    print(output)
    return code


if __name__ == "__main__":
    sys.exit(main())
