# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that remove secrets (plain, or quoted in JSON and URLs) and control characters from text. Pure."""

from __future__ import annotations

import functools
import json
import re
import typing as t
import urllib.parse

# A shorter secret can be a part of a label or of an ordinary word.
LEAST_LETTERS = 8
_LETTER_OR_DIGIT = re.compile(r"[A-Za-z0-9]")


def letters_in(secret: str) -> int:
    """Return the number of letters and digits. Secrets with fewer than ``LEAST_LETTERS`` are not redacted."""
    return len(_LETTER_OR_DIGIT.findall(secret))


def redact(text: str, secrets: t.Mapping[str, str]) -> str:
    """Replace each secret in a text by ``<name>``. Redact first, then shorten the text: a cut secret is not found."""
    for name, secret in secrets.items():
        for form in _forms(secret):
            text = text.replace(form, f"<{name}>")
    return text


@functools.lru_cache(maxsize=65536)
def _forms(secret: str) -> tuple[str, ...]:
    if letters_in(secret) < LEAST_LETTERS:
        return ()
    in_json = json.dumps(secret)[1:-1]
    in_url = urllib.parse.quote(secret, safe="", errors="replace")
    return tuple(dict.fromkeys((in_json, in_url, secret, secret.strip())))


def redact_all(value: t.Any, secrets: t.Mapping[str, str]) -> t.Any:
    """Redact all strings in lists and dicts, except keys of dicts: callers look up values by these keys."""
    if isinstance(value, str):
        shown = redact(value, secrets)
        if shown != value:
            return shown
        # Core attaches the origin of a value to the object, so return the same object if the text contains no secret.
        return value
    if isinstance(value, dict):
        return {key: redact_all(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_all(item, secrets) for item in value]
    return value


def printable(text: str, replacement: str = " ") -> str:
    """Replace all characters that could control a terminal or break a line."""
    return "".join(character if character.isprintable() else replacement for character in text)
