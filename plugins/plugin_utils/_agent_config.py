# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do with an agent's configuration, and whose key it carries. Pure.

Keys of other hosts are not needed for that: the fingerprints of the account's keys tell whose key a text holds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import SECRET_FIELDS, fingerprint, looks_masked
from ansible_collections.monitor.cloud.plugins.module_utils._reconcile import Change

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.monitor.cloud.plugins.plugin_utils._host_file import HostFile

# Stand for the secrets while a template is rendered to learn what surrounds them. Of the form that keys have been seen
# in, for a template that tests or changes them.
SENTINELS = {
    "api_key": "5E171A7E-0000-4A91-C0DE5E171A7E0000",
    "install_code": "5E171A7E-1111-4A91-C0DE5E171A7E1111",
}
_MODE = re.compile(r"(0o?)?[0-7]{3,4}")
_NOT_AN_OWNER = re.compile(r"[\s:\x00-\x1f]|^-")
# No line that holds a key is longer; the work grows with the square of the length.
_LONGEST_LINE = 4096
_CODE = re.compile(re.escape(SENTINELS["install_code"]), re.IGNORECASE)
_TOKEN_ENDS = re.compile(r"[\s\"'`=:;,<>(){}\[\]|]+")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The file that a host has to have. ``content`` is None where it can't be known yet: check mode, a new client."""

    label: str
    key_fingerprint: str | None
    content: str | None
    owner: str | None
    group: str | None
    mode: int

    @property
    def digest(self) -> str | None:
        return None if self.content is None else hashlib.sha256(self.content.encode("utf-8")).hexdigest()


@dataclasses.dataclass(frozen=True)
class KeyOwner:
    """Whose key a file carries: ``state`` is no_file, no_key, own, other, unknown or unverifiable."""

    state: str
    label: str | None = None
    fingerprint: str | None = None


def file_change(found: HostFile, wanted: Wanted, key: KeyOwner, *, content_differs: bool) -> Change:
    """Write the file, or leave it. Before and after are facts for the diff, never text of the file."""
    before = _found_facts(found, key)
    if not differences(found, wanted, content_differs=content_differs):
        return Change("none", wanted.label, before, before)
    after = {
        "kind": "file",
        "owner": wanted.owner if wanted.owner is not None else before.get("owner"),
        "group": wanted.group if wanted.group is not None else before.get("group"),
        "mode": f"{wanted.mode:04o}",
        "key_of": wanted.label,
        "key_fingerprint": wanted.key_fingerprint,
        "sha256": wanted.digest,
    }
    return Change("write", wanted.label, before, after)


def differences(found: HostFile, wanted: Wanted, *, content_differs: bool) -> list[str]:
    """What is not as wanted: content, type (a link), owner, group, mode, leftovers. Content alone where is no file."""
    if found.kind in ("missing", "homeless"):
        return ["content"]
    is_file = found.kind == "file"
    judged = {
        "content": content_differs,
        "type": not is_file,
        "owner": is_file and wanted.owner not in (None, found.user, found.uid),
        "group": is_file and wanted.group not in (None, found.group, found.gid),
        "mode": is_file and found.mode != wanted.mode,
        "leftovers": found.leftovers,
    }
    return [name for name, differs in judged.items() if differs]


def removal_change(found: HostFile, label: str, key: KeyOwner) -> Change:
    """Remove what stands there, a link and leftovers included; InputError where that is no file."""
    if found.kind in ("missing", "homeless") and not found.leftovers:
        return Change("none", label, {}, {})
    return Change("delete", label, _found_facts(found, key), {})


def _found_facts(found: HostFile, key: KeyOwner) -> dict[str, t.Any]:
    leftovers = {"leftovers": True} if found.leftovers else {}
    if found.kind in ("missing", "homeless"):
        return leftovers
    return {
        **leftovers,
        "kind": found.kind,
        "owner": found.user,
        "group": found.group,
        "mode": None if found.mode is None else f"{found.mode:04o}",
        "key_of": key.label if key.label is not None else key.state,
        "key_fingerprint": key.fingerprint,
        "sha256": found.digest,
    }


def check_place(found: HostFile, path: str, *, create_directory: bool = True) -> None:
    """InputError for a path where no file can be put or removed, whatever is wanted there."""
    problems = {
        "directory": "is a directory. Remove it, or choose another path",
        "other": "is neither a file nor a link. Choose another path",
        "hidden": "is in a directory that this user can't enter. Use become",
    }
    if not create_directory:
        problems["homeless"] = "has no directory to be in. Create it, or set create_directory"
    if found.kind in problems:
        raise InputError(f"{path} {problems[found.kind]}.")
    if found.kind == "file" and found.mode is None:
        raise InputError(f"The owner and mode of {path} can't be read: the host has neither GNU's nor BSD's stat.")


def check_writable(change: Change, found: HostFile, path: str) -> None:
    """InputError where the change can't be done; check mode has to say so too."""
    if change.changed and not found.writable:
        raise InputError(
            f"{path} can't be written: its directory takes no new files, being read-only or not this user's. "
            "Use become, or look at the file system."
        )


def file_mode(mode: object) -> int:
    """The permission bits of an option, octal digits or a number as YAML gives it for ``0600``; else InputError."""
    text = str(mode)
    if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= 0o7777:
        return mode
    if isinstance(mode, str) and _MODE.fullmatch(text):
        return int(text.replace("o", ""), 8)
    raise InputError(f"mode {text!r} must be octal digits such as '0600'.")


def check_owner(name: str | None, option: str) -> str | None:
    """A user or group as chown takes it, by name or number; else InputError. An empty one stands for none."""
    if not name:
        return None
    if _NOT_AN_OWNER.search(name):
        raise InputError(f"{option} {name!r} must be a name or a number.")
    return name


def with_sentinels(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with placeholders for its secrets."""
    return {**client, **SENTINELS}


def has_keys(client: Mapping[str, t.Any]) -> bool:
    """Whether the client carries both secrets, unmasked."""
    return not any(looks_masked(client.get(field)) for field in SECRET_FIELDS)


def whose_key(text: str, pattern_text: str, own: str | None, owners: Mapping[str, str], label: str) -> KeyOwner:
    """Whose key a file's text holds.

    ``own`` is the fingerprint of the host's own key, None where that is masked or not made yet. ``owners`` gives label
    by fingerprint. ``pattern_text`` is the file as the template renders it with :data:`SENTINELS`: what surrounds the
    key there finds a key in the file that nobody knows.
    """
    in_place = _key_in_place(text, pattern_text)
    candidates = list(dict.fromkeys([*([in_place] if in_place else []), *_tokens(text)]))
    marks = [fingerprint(candidate) for candidate in candidates]
    for mark in marks:
        if mark == own:
            return KeyOwner("own", label, mark)
        if mark in owners:
            return KeyOwner("own" if owners[mark] == label else "other", owners[mark], mark)
    if in_place:
        return KeyOwner("unknown", None, fingerprint(in_place))
    return KeyOwner("no_key")


def may_hold_key(text: str) -> bool:
    """Whether something in a text could be a key, of whatever client."""
    return bool(_tokens(text))


def _tokens(text: str) -> list[str]:
    """Whatever in a text could be a key: long words, and what is left of them without quotes and the like."""
    tokens = []
    for word in text.split():
        tokens += [word, word.strip("\"'`,;"), *_TOKEN_ENDS.split(word), word.partition("=")[2], word.partition(":")[2]]
    return [token for token in tokens if not looks_masked(token)]


def _key_in_place(text: str, pattern_text: str) -> str | None:
    """What stands in the file where the template puts the key; None if that is no key."""
    sentinel = SENTINELS["api_key"].lower()
    for line in pattern_text.splitlines():
        start = line.lower().find(sentinel)
        if start < 0:
            continue
        before, after = line[:start], line[start + len(sentinel) :]
        # A bare key is only told from other text by being the only line.
        lines = text.splitlines() if (before + after).strip() else text.split("\n", 1)[:1]
        pattern = re.compile(_before(before) + r"(\S+?)" + _behind(after))
        for candidate in lines:
            match = pattern.fullmatch(candidate) if len(candidate) <= _LONGEST_LINE else None
            if match and not looks_masked(match[1]):
                return match[1]
    return None


def _before(literal: str) -> str:
    """A pattern for what the template puts before the key; an install code there may be any.

    A host may hold any text, and must not keep the controller busy: what follows a code is looked for where it is first
    and where it is last, and nowhere else.
    """
    first, *others = _CODE.split(literal)
    parts = [r"\s++" if other.isspace() else _loosely(other) for other in others]
    last = [f"(?:(?>.*?{part})|(?>.*{part}))" for part in parts[-1:]]
    return "".join([_loosely(first), *(f"(?>.*?{part})" for part in parts[:-1]), *last])


def _behind(literal: str) -> str:
    """A pattern for what the template puts behind the key, to the end of the line."""
    first, *others = map(_loosely, _CODE.split(literal))
    last = [f"(?>.*{part})" for part in others[-1:]]
    return "".join([first, *(f"(?>.*?{part})" for part in others[:-1]), *last])


def _loosely(literal: str) -> str:
    """A pattern for a literal in which spaces don't count."""
    return r"\s*+".join(["", *(re.escape(part) for part in re.split(r"\s+", literal.strip()) if part), ""])
