# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regular expressions that select labels. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError


def compiled(pattern: str, option: str) -> re.Pattern[str]:
    """Compile the regular expression of an option. Raise InputError if the expression is invalid."""
    try:
        # Use DOTALL, because a label can contain a line break, and ".*" must match every label.
        return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{option} {pattern!r} is not a valid regular expression: {error}.") from error


def matching(pattern: str, option: str, labels: t.Sequence[str]) -> list[str]:
    """Return the labels that completely match a pattern. Raise InputError if the pattern is invalid."""
    expression = compiled(pattern, option)
    return [label for label in labels if expression.fullmatch(label)]
