# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The titles of states, for all reports and the documentation. Pure."""

from __future__ import annotations

TITLES = {
    "unreachable": "Unreachable",
    "foreign_key": "Key of another client",
    "unknown_key": "Unknown key",
    "shared_key": "Shared key",
    "not_registered": "Not registered",
    "not_configured": "Not configured",
    "unverifiable": "Not verifiable",
    "outdated": "Outdated configuration",
    "restart_pending": "Restart pending",
    "agent_stopped": "Agent stopped",
    "wrong_permissions": "Wrong permissions",
    "ok": "OK",
}


def titled(state: str) -> str:
    """The title of a state with its id beside it."""
    return f"{TITLES[state]} ({state})"
