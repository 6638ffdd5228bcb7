# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts in place of keys that are not known. Pure.

All of these texts look like keys to a template, and no service uses them as keys.
"""

from __future__ import annotations

# In check mode, a new client in a result has this text in place of keys, so that check mode can predict tasks that need
# a key.
PREDICTED = "assigned-when-the-client-is-created"
# A file is rendered with these texts if its keys do not exist yet, or are masked.
PENDING = {"api_key": "5E171A7E-2222-4A91-C0DE5E171A7E2222", "install_code": "5E171A7E-3333-4A91-C0DE5E171A7E3333"}
# The text around these texts in a rendered template shows where a file has its key.
SENTINELS = {"api_key": "5E171A7E-0000-4A91-C0DE5E171A7E0000", "install_code": "5E171A7E-1111-4A91-C0DE5E171A7E1111"}
