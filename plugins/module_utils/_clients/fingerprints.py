# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fingerprint of a key, of a name or of an account. Pure."""

from __future__ import annotations

import hashlib


def fingerprint(text: str) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of a text, such as a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
