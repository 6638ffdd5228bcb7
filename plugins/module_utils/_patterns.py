# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regular expressions that users give. Pure."""

from __future__ import annotations

import re

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError


def compiled(pattern: str, option: str) -> re.Pattern[str]:
    """The regular expression of an option, or InputError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"{option} {pattern!r} is no regular expression: {error}.") from error
