# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of a network or a gateway by name, as the emulator takes them, how often they come, and fitting timeouts."""

from __future__ import annotations

from typing import Any

FAULTS: dict[str, dict[str, Any]] = {
    "drop": {"kind": "drop"},
    "lost response": {"kind": "lost_response"},
    "truncated": {"kind": "truncate"},
    "html": {"kind": "html"},
    "html with 400": {"kind": "html", "status": 400},
    "html with 200, done": {"kind": "html", "status": 200, "done": True},
    "text": {"kind": "text", "status": 503},
    "slow": {"kind": "slow", "seconds": 0.5},
    "504 though done": {"kind": "status", "status": 504, "done": True},
    "html though done": {"kind": "html", "done": True},
    "429 in a second": {"kind": "status", "status": 429, "headers": {"Retry-After": "1"}},
    **{str(status): {"kind": "status", "status": status} for status in (408, 429, 500, 502, 503, 504)},
}
# How often it happens; to wait for seconds once is enough.
CASES = [(name, times) for name in FAULTS for times in (1, 3) if (name, times) != ("429 in a second", 3)]
# Short only if the test needs it: on a busy machine, no other test must reach it.
TIMEOUTS = {name: 0.3 if name == "slow" else 10.0 for name in FAULTS}
