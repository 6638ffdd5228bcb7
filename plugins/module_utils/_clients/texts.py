# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists of names, and characters that cannot be printed, for messages and diffs. Pure."""

from __future__ import annotations

import typing as t
import unicodedata


def listed(names: t.Sequence[str], limit: int = 20, form: t.Callable[[str], str] = repr) -> str:
    """Return names in quotes for a message: at most ``limit`` names, and the number of the other names."""
    text = ", ".join(map(form, names[:limit]))
    more = len(names) - limit
    if more > 0:
        text += f" and {more} more"
    return text


def escaped(value: t.Any) -> t.Any:
    """Escape characters that control a terminal or the direction of text, so that a diff can show the value."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(map(_escaped_character, value))


def _escaped_character(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def name_of_character(character: str) -> str:
    """Return the code point and the Unicode name of a character."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()
