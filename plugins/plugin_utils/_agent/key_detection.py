# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Detection of whose key a file carries. Pure.

The fingerprints of the account's keys identify the owner, so keys of other hosts are not needed.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint, looks_masked

KeyState = t.Literal["no_file", "no_key", "own", "other", "unknown", "unverifiable"]

# Stand for the secrets in a rendered template, which shows the text around them. They have the format of a key, because
# the placeholders of a client without secrets are made from them.
SENTINELS = {"api_key": "5E171A7E-0000-4A91-C0DE5E171A7E0000", "install_code": "5E171A7E-1111-4A91-C0DE5E171A7E1111"}
_SECRET = re.compile("|".join(SENTINELS.values()))
_COMMENT = re.compile(r"^[ \t]*(#|;|//).*", re.MULTILINE)
_TOKEN_ENDS = re.compile(r"[\s\"'`=:;,<>(){}\[\]|]+")


class KeyOwner(t.NamedTuple):
    """Whose key a file carries."""

    state: KeyState
    label: str | None = None
    fingerprint: str | None = None


def whose_key(text: str, pattern_text: str, own: str | None, owners: Mapping[str, str], label: str) -> KeyOwner:
    """The owner of the key in a file's text.

    ``own`` is the fingerprint of the host's own key, None if the key is masked or does not exist yet. ``owners`` gives
    label by fingerprint. ``pattern_text`` is the rendered template with :data:`SENTINELS`: the text around them finds
    a key that no client of the account has.
    """
    in_position = _key_in_position(text, pattern_text)
    if in_position:
        # Ignore a former key that was commented out.
        text = _COMMENT.sub("", text)
    for candidate in dict.fromkeys(filter(None, [in_position, *possible_keys(text)])):
        found = fingerprint(candidate)
        if found == own:
            return KeyOwner("own", label, found)
        if found in owners:
            return KeyOwner("own" if owners[found] == label else "other", owners[found], found)
    return KeyOwner("unknown", None, fingerprint(in_position)) if in_position else KeyOwner("no_key")


def possible_keys(text: str) -> list[str]:
    """All words of a text that could be a key: whole, and without quotes and separators."""
    found = []
    for word in text.split():
        found += [word, word.strip("\"'`,;"), *_TOKEN_ENDS.split(word), word.partition("=")[2], word.partition(":")[2]]
    return [each for each in found if not looks_masked(each)]


def _key_in_position(text: str, pattern_text: str) -> str | None:
    """The word in the file where the template has the key; None if that word is not a key.

    Compared is the text of the key's line before the first install code, directly before the key and directly after it.
    The work is linear in the length of the text, whatever a host has in its file.
    """
    for line in map(str.strip, pattern_text.splitlines()):
        before, sentinel, after = line.partition(SENTINELS["api_key"])
        if not sentinel:
            continue
        (first, *codes), (right, *others) = map(_SECRET.split, (before, after))
        # The text after an install code is searched from the start and from the end of the line.
        ways = [f"{way}{_spaces_optional(codes[-1])}" for way in (".*?", ".*")] if codes else [""]
        begins = [re.compile(f"{_spaces_optional(first)}{way}(?P<rest>.*)") for way in ways]
        end = re.compile(_spaces_optional(right) + ("" if others else r"\Z"))
        # A template line with only the key matches any line, so only the first line of the file is compared.
        for candidate in text.splitlines()[: 1 if line == sentinel else None]:
            for begin in begins:
                begun = begin.match(" ".join(candidate.split()))
                ended = begun and end.search(begun["rest"])
                if begun and ended and not looks_masked(key := begun["rest"][: ended.start()]):
                    return key
    return None


def _spaces_optional(literal: str) -> str:
    """A pattern for a literal in a text with single spaces; spaces are optional, but not in a blank literal."""
    return " " if literal.isspace() else " ?".join(["", *map(re.escape, literal.split()), ""])
