# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs `ansible-test sanity` in the collection of the current directory, without Docker."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.install import pip_settings
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST

# ansible-test keeps virtual environments and a cache under HOME, and hands no other setting on to pip. So it gets a
# home of its own: the settings of pip are written there, and nothing of the user's is touched.
HOME = CHECKOUT / ".cache" / "sanity"
OLDEST_TARGET = 9
NEWEST_TARGET = 14
STAND_IN_NEEDED = re.compile(r"can be manually downloaded and saved to: (.+\.py)$", re.MULTILINE)


def pythons() -> list[str]:
    """Name the Python versions to test with: our own, and the oldest of a managed host's that this machine can run.

    Found by running them: a version manager may put commands on the path that only report that they are not active.
    """
    own = sys.version_info.minor
    for minor in range(OLDEST_TARGET, NEWEST_TARGET + 1):
        path = shutil.which(f"python3.{minor}")
        if path and minor < own and not subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL, timeout=60):
            return [f"3.{minor}", f"3.{own}"]
    return [f"3.{own}"]


def ansible_test(tests: bool) -> tuple[int, str]:
    *_others, own = targets = pythons()
    command = ["ansible-test", "sanity", "--color", "no", "--controller", f"origin:python={own}"]
    command += [f"--target-python={version}" for version in targets]
    if not tests:
        command += [f"--exclude={path}/" for path in Path("tests").iterdir() if path.is_dir()]
    environment = {**os.environ, "HOME": str(HOME)}
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(command, env=environment, stdout=pipe, stderr=both, text=True, check=False, timeout=LONGEST)
    return done.returncode, done.stdout


def main() -> int:
    """Check what is in the archive, or with --tests the whole tree, which takes twice as long.

    If the script that installs pip cannot be downloaded, use ours and run it again.
    """
    tests = "--tests" in sys.argv
    settings = HOME / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    # Only its owner may read it, for an index address can hold a password.
    settings.touch(mode=0o600)
    lines = [
        "[global]",
        "quiet = 2",
        *(f"{name} = {value}".replace("\n", "\n\t") for name, value in pip_settings().items()),
    ]
    settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, output = ansible_test(tests)
    if code != 0 and (needed := STAND_IN_NEEDED.search(output)):
        shutil.copyfile(CHECKOUT / ".ci" / "get_pip.py", needed[1])
        code, output = ansible_test(tests)
    print(output)
    return code


if __name__ == "__main__":
    sys.exit(main())
