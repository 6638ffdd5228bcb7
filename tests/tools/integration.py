# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the integration targets with ansible-test against an emulator that lives as long as they do."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.tools.tree import LONGEST, PATH, copied_tree


def main(targets: Sequence[str]) -> int:
    """Run the targets that are named, or all, in a copy of the tree, also after one that failed."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = ["ansible-test", "integration", "--color", "no", "--local", "--python", own, "--continue-on-error"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    # Only what ansible-test sets up for its targets: no connection options from the caller's environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MONITOR_", "ANSIBLE_"))}
    environment["PATH"] = PATH
    with copied_tree() as root, Emulator() as service:
        values = {
            "monitor_base_url": service.base_url,
            "monitor_control_url": f"{service.base_url.rpartition('/')[0]}/_emulator",
            "monitor_api_token": service.tokens["read_write"],
        }
        config = root / "tests" / "integration" / "integration_config.yml"
        config.write_text(json.dumps(values), encoding="utf-8")
        done = subprocess.run(
            [*command, *targets], cwd=root, env=environment, stdin=subprocess.DEVNULL, check=False, timeout=LONGEST
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
