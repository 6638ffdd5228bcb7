# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Redaction of texts that are shown: without secrets, whole or in part, wrapped or encoded, and printable. Pure."""

from __future__ import annotations

import base64
import functools
import json
import re
import string
import typing as t
import urllib.parse

# The number of consecutive characters of a secret that are redacted as a part of it.
_PART = 8
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_NOTHING = re.compile(r"(?!)")
# What may separate the letters of a secret: signs, and colour codes, which a terminal does not show.
_SIGNS = re.compile(r"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[^A-Za-z0-9])+")


def redact(text: str, secrets: t.Mapping[str, str]) -> str:
    """The text with ``<name>`` instead of each secret, and of each part of one that has 8 characters.

    Case does not matter, nor spaces, line ends, colours and other signs between 8 letters and digits. JSON, URL, base64
    and hexadecimal encodings are found too. Redact a text before cutting it: shorter parts are not recognised.
    """
    for name, secret in secrets.items():
        if len(text) < min(len(secret), _PART):
            continue
        placeholder = f"<{name}>"
        text = text.replace(secret, placeholder)
        text = _without(text, placeholder, _NOTHING, (secret.translate(_LOWER),))
        text = _without(text, placeholder, _SIGNS, _forms(secret))
    return text


def printable(text: str, replacement: str = " ") -> str:
    """The text with the replacement for each character that could control a terminal or break a line."""
    return "".join(character if character.isprintable() else replacement for character in text)


def redact_all(value: t.Any, secrets: t.Mapping[str, str]) -> t.Any:
    """:func:`redact` for all strings in lists and dicts. Keys of dicts stay, because callers look values up by them."""
    if isinstance(value, str):
        shown = redact(value, secrets)
        # Return the same object if it holds no secret, because core attaches the origin of a value to it.
        return value if shown == value else shown
    if isinstance(value, dict):
        return {key: redact_all(item, secrets) for key, item in value.items()}
    return [redact_all(item, secrets) for item in value] if isinstance(value, (list, tuple)) else value


def find_secrets(text: str, secrets: t.Mapping[str, str]) -> dict[str, str]:
    """The secrets that :func:`redact` would find in a text, whole or in part; fast with thousands of secrets."""
    seen = _parts((_rest(text), text.translate(_LOWER)))
    forms = {name: (secret.translate(_LOWER), *_forms(secret)) for name, secret in secrets.items()} if seen else {}
    return {name: secrets[name] for name, given in forms.items() if not seen.isdisjoint(_parts(given))}


def holds(text: str, secrets: t.Mapping[str, str]) -> str | None:
    """The name of a secret that a text holds whole, encoded or not; None if it holds none."""
    found = _rest(text)
    for name, secret in secrets.items():
        if secret in text or any(form in found for form in _forms(secret)):
            return name
    return None


def _without(text: str, placeholder: str, skipped: re.Pattern[str], forms: tuple[str, ...]) -> str:
    """The text with the placeholder for each run of parts of the forms, and for the skipped characters in it."""
    # If there are several forms, they have letters and digits only, so no part spans the space between two of them.
    rest, known = _rest(text, skipped), " ".join(forms)
    found = [start for start in range(len(rest) - _PART + 1) if rest[start : start + _PART] in known]
    if not found:
        return text
    ignored = {position for match in skipped.finditer(text) for position in range(*match.span())}
    positions = [position for position in range(len(text)) if position not in ignored]
    shown, end = [], 0
    for start in found:
        if positions[start] >= end:
            shown += [text[end : positions[start]], placeholder]
        end = positions[start + _PART - 1] + 1
    return "".join([*shown, text[end:]])


def _parts(forms: tuple[str, ...]) -> frozenset[str]:
    return frozenset(form[start : start + _PART] for form in forms for start in range(len(form) - _PART + 1))


@functools.lru_cache(maxsize=8)
def _forms(secret: str) -> tuple[str, ...]:
    """The letters and digits of a secret as texts hold it, plain and encoded, without forms too short to recognise."""
    data = secret.encode("utf-8", "surrogatepass")
    # Without the first and last base64 characters, which depend on the bytes beside the secret.
    encoded = [base64.b64encode(b"\0" * offset + data).decode()[4:-4] for offset in range(3)]
    forms = [secret, json.dumps(secret), urllib.parse.quote(data, safe=""), data.hex(), *encoded]
    return tuple(form for form in dict.fromkeys(map(_rest, forms)) if len(form) >= _PART)


def _rest(text: str, skipped: re.Pattern[str] = _SIGNS) -> str:
    """The text without skipped characters, its ASCII letters in lower case: other letters could change its length."""
    return skipped.sub("", text).translate(_LOWER)
