# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Detection of whose key a file carries. Pure.

Keys of other hosts are not needed for that: the fingerprints of the account's keys identify the owner.
"""

from __future__ import annotations

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
_KEY, _CODE = (re.compile(re.escape(SENTINELS[field]), re.IGNORECASE) for field in ("api_key", "install_code"))
_COMMENT = re.compile(r"^[ \t]*(#|;|//).*", re.MULTILINE)
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
    """What the file has where the template puts the key; None if that is not a key.

    In the line of the key, what the template has before the first install code, directly before the key and directly
    after it counts. The work grows with the length of the text, whatever a host has in its file.
    """
    for line in pattern_text.splitlines():
        before, *after = _KEY.split(line.strip(), maxsplit=1)
        if not after:
            continue
        (first, *codes), (right, *others) = _CODE.split(before), _CODE.split(after[0])
        begin, left = (re.compile(_loosely(part)) for part in (first, "".join(codes[-1:])))
        end = re.compile(_loosely(right) + ("" if others else r"\Z"))
        # A line with only the key fits any text, so only the first line of the file is compared.
        for candidate in text.splitlines()[: None if before or after[0] else 1]:
            shown = " ".join(candidate.split())
            begun = begin.match(shown)
            if not begun:
                continue
            starts = [match.end() for match in (left.finditer(shown, begun.end()) if codes else [begun])]
            for start in starts[:1] + starts[-1:]:
                ended = end.search(shown, start)
                key = shown[start : ended.start()] if ended else ""
                if not looks_masked(key):
                    return key
    return None


def _loosely(literal: str) -> str:
    """A pattern for a literal in a text with single spaces, in which those don't count unless there is nothing else."""
    return " " if literal.isspace() else " ?".join(["", *map(re.escape, literal.split()), ""])
