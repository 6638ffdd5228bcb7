# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a report of ``coverage json``, prints its shares, and fails if tests run too few lines or branches.

The option ``fail_under`` of coverage checks only the total of lines and branches.
"""

import json
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.support.tables import markdown

# Minimum percentages of the lines and branches that tests run.
FLOORS = {"statements": 98.0, "branches": 96.0}


def main(report: Path) -> int:
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    shares = {kind: totals[f"percent_{kind}_covered"] for kind in FLOORS}
    rows = [(kind, f"{shares[kind]:.1f} %", f"{FLOORS[kind]:g} %") for kind in FLOORS]
    print(markdown(("of plugins/", "share", "at least"), rows))
    return int(any(shares[kind] < FLOORS[kind] for kind in FLOORS))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
