# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Detection of whose key a file carries. Pure.

Keys of other hosts are not needed for that: the fingerprints of the account's keys identify the owner.
"""

from __future__ import annotations

import itertools
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint, looks_masked

KeyState = t.Literal["no_file", "no_key", "own", "other", "unknown", "unverifiable"]

# Replace the secrets while a template is rendered to learn what surrounds them. They have the format that keys have
# been seen in, for a template that tests or changes them.
SENTINELS = {
    "api_key": "5E171A7E-0000-4A91-C0DE5E171A7E0000",
    "install_code": "5E171A7E-1111-4A91-C0DE5E171A7E1111",
}
# No line that holds a key is longer; the work grows with the square of the length.
_LONGEST_LINE = 4096
_CODE = re.compile(re.escape(SENTINELS["install_code"]), re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*(#|;|//).*", re.MULTILINE)
_SPACES = re.compile(r"\s+")
# Stands for the name of a group until the whole pattern is known.
_NAME = "\0"
_TOKEN_ENDS = re.compile(r"[\s\"'`=:;,<>(){}\[\]|]+")


class KeyOwner(t.NamedTuple):
    """Whose key a file carries."""

    state: KeyState
    label: str | None = None
    fingerprint: str | None = None


def with_sentinels(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with placeholders for its secrets."""
    return {**client, **SENTINELS}


def whose_key(text: str, pattern_text: str, own: str | None, owners: Mapping[str, str], label: str) -> KeyOwner:
    """Whose key a file's text holds.

    ``own`` is the fingerprint of the host's own key, None if that is masked or not made yet. ``owners`` gives label by
    fingerprint. ``pattern_text`` is the file as the template renders it with :data:`SENTINELS`: with the text around
    the key, a key is found in the file that no client of the account has.
    """
    in_position = _key_in_position(text, pattern_text)
    candidates = [in_position] if in_position else []
    if in_position:
        # A former key that was commented out is not in use.
        text = _COMMENT.sub("", text)
    for candidate in dict.fromkeys([*candidates, *_tokens(text)]):
        found = fingerprint(candidate)
        if found == own:
            return KeyOwner("own", label, found)
        if found in owners:
            return KeyOwner("own" if owners[found] == label else "other", owners[found], found)
    return KeyOwner("unknown", None, fingerprint(in_position)) if in_position else KeyOwner("no_key")


def may_hold_key(text: str) -> bool:
    """Whether something in a text could be a key, of whatever client."""
    return bool(_tokens(text))


def _tokens(text: str) -> list[str]:
    """All that could be a key in a text: long words, whole and without quotes and separators."""
    tokens = []
    for word in text.split():
        tokens += [word, word.strip("\"'`,;"), *_TOKEN_ENDS.split(word), word.partition("=")[2], word.partition(":")[2]]
    return [token for token in tokens if not looks_masked(token)]


def _key_in_position(text: str, pattern_text: str) -> str | None:
    """What the file has where the template puts the key; None if that is not a key."""
    sentinel = SENTINELS["api_key"].lower()
    for line in pattern_text.splitlines():
        start = line.lower().find(sentinel)
        if start < 0:
            continue
        before, after = line[:start], line[start + len(sentinel) :]
        # A line with only the key fits any text, so only the first line of the file is compared.
        lines = text.splitlines()[: None if (before + after).strip() else 1]
        pattern = _compiled(_before(before) + r"(?P<key>\S+?)" + _after(after))
        for candidate in lines:
            if len(candidate) > _LONGEST_LINE:
                continue
            # Backtracking over runs of spaces would take cubic time.
            match = pattern.fullmatch(_SPACES.sub(" ", candidate))
            if match and not looks_masked(match["key"]):
                return match["key"]
    return None


def _before(literal: str) -> str:
    """A pattern for what the template puts before the key; it matches any install code there.

    A file may hold any text, and matching must stay fast: what follows an install code is tried at its first and at its
    last position only.
    """
    first, *others = _CODE.split(literal)
    parts = [" " if other.isspace() else _loosely(other) for other in others]
    last = [f"(?:{_atomic(f'.*?{part}')}|{_atomic(f'.*{part}')})" for part in parts[-1:]]
    return "".join([_loosely(first), *(_atomic(f".*?{part}") for part in parts[:-1]), *last])


def _after(literal: str) -> str:
    """A pattern for what the template puts after the key, to the end of the line."""
    first, *others = map(_loosely, _CODE.split(literal))
    last = [_atomic(f".*{part}") for part in others[-1:]]
    return "".join([first, *(_atomic(f".*?{part}") for part in others[:-1]), *last])


def _loosely(literal: str) -> str:
    """A pattern for a literal in which spaces don't count."""
    return " ?(?! )".join(["", *(_escaped(part) for part in _SPACES.split(literal.strip()) if part), ""])


def _escaped(literal: str) -> str:
    return re.escape(literal).replace(_NAME, r"\x00")


def _atomic(pattern: str) -> str:
    """The pattern as a whole, of which no other match is tried: ``(?>...)``, which Python has since 3.11."""
    return f"(?=(?P<{_NAME}>{pattern}))(?P={_NAME})"


def _compiled(pattern: str) -> re.Pattern[str]:
    # Each name stands in its group and in the reference to it.
    names = (f"atomic{number // 2}" for number in itertools.count())
    return re.compile(re.sub(_NAME, lambda _match: next(names), pattern))
