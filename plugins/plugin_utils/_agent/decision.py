# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The decision about an agent's configuration, from facts, text, desired file and client. Pure."""

from __future__ import annotations

import hashlib
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import key_detection
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import LARGEST_FILE, Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import HostFile

_RESTART, _PENDING = "restart", "restart_pending"
# Results of `systemctl is-active`. Not "activating", the usual state of a service that crashes repeatedly.
RUNNING = ("active", "reloading", "refreshing")
# Results of `systemctl is-enabled`. With any other, a service starts at boot or can't be enabled.
_DISABLED = ("disabled", "masked", "masked-runtime")


class Decision(t.NamedTuple):
    """Whose key the file carries now, its facts before and after the change, and what differs from the desired file.

    ``problem`` is the reason why the change can't be made, which check mode reports too.
    """

    key: KeyOwner
    changed: bool
    before: Mapping[str, t.Any]
    after: Mapping[str, t.Any]
    differences: Sequence[str] = ()
    problem: str | None = None

    @property
    def writes(self) -> bool:
        """Whether the file is to be written: there is more to do than a pending restart."""
        return self.changed and self.differences != [_RESTART]


def has_content(found: HostFile, desired: Desired, text: str | None = None) -> bool:
    """Whether a file has the desired content, by its digest, or by its text if the host gives no digest.

    A missing or additional final newline is not a difference, because agents write such files themselves.
    """
    if desired.data is None or (found.size is not None and found.size > LARGEST_FILE):
        return False
    same = [desired.data.removesuffix(b"\n"), desired.data.removesuffix(b"\n") + b"\n"]
    if found.digest is None:
        return text is not None and text.encode("utf-8", "surrogatepass") in same
    return found.digest in map(_digest, same)


def decide(found: HostFile, text: str | None, pattern: str, desired: Desired, client: Registered) -> Decision:
    """Decide whether to write the file; InputError for a path that no file can have.

    ``text`` is the text of the file, None if the digest is as desired or the file can't be read; facts never hold it.
    ``pattern`` is the desired file with sentinels in place of the client's secrets.
    """
    _check_path(found, desired.path, create_directory=desired.create_directory)
    if not desired.service:
        found = found._replace(markers=())
    same = has_content(found, desired, text)
    if same and text is None:
        key = KeyOwner("own", client.label, client.key_fingerprint)
    else:
        key = _key_owner(found, text, pattern, client)
    if client.state == "masked":
        if key.state in ("unknown", "own") or (key.state == "no_key" and key_detection.possible_keys(text or "")):
            key = key._replace(state="unverifiable")
        return Decision(key, False, {}, {}, _differences(found, desired, same=True))
    before = after = _facts(found, key)
    differs = _differences(found, desired, same=same)
    if differs == [_RESTART]:
        after = {name: value for name, value in before.items() if name != _PENDING}
    elif differs:
        after = {
            "kind": "file",
            "owner": desired.owner if desired.owner is not None else before.get("owner"),
            "group": desired.group if desired.group is not None else before.get("group"),
            "mode": f"{desired.mode:04o}",
            "key_of": client.label,
            "key_fingerprint": client.key_fingerprint,
            "sha256": None if desired.data is None else _digest(desired.data),
        }
    decided = Decision(key, bool(differs), before, after, differs)
    return decided._replace(problem=_problem(found, desired.path)) if decided.writes else decided


def decide_removal(found: HostFile, text: str | None, pattern: str, path: str, client: Registered | None) -> Decision:
    """Decide whether to remove the file or link, and leftovers. Without a ``client`` the key's owner is unknown."""
    _check_path(found, path, create_directory=True)
    if found.is_absent and not found.leftovers and not found.markers:
        return Decision(KeyOwner("no_file"), False, {}, {})
    key = _key_owner(found, text, pattern, client)
    return Decision(key, True, _facts(found, key), {}, problem=_problem(found, path))


def _key_owner(found: HostFile, text: str | None, pattern: str, client: Registered | None) -> KeyOwner:
    if text is None:
        return KeyOwner("unverifiable" if found.kind in ("file", "link") else "no_file")
    if client is None:
        return KeyOwner("unverifiable")
    return key_detection.find_key_owner(text, pattern, client.key_fingerprint, client.key_owners, client.label)


def _differences(found: HostFile, desired: Desired, *, same: bool) -> list[str]:
    """The names of what differs: ``type`` for a symbolic link, ``restart`` for a pending restart, and so on.

    Without a file, only ``content`` and ``restart``.
    """
    pending = [_RESTART] if found.markers else []
    if found.is_absent:
        return ["content", *pending]
    checked = {
        "content": not same,
        "type": found.kind != "file",
        **dict.fromkeys(permissions(found, desired), True),
        "leftovers": found.leftovers,
    }
    return [name for name, differs in checked.items() if differs] + pending


def permissions(found: HostFile, desired: Desired) -> dict[str, dict[str, str | None]]:
    """Owner, group and mode of a file as far as they differ: name → ``found`` and ``expected``."""
    owners = other_owners(found, desired)
    checked = {"owner": (found.user, owners.get("user")), "group": (found.group, owners.get("group"))}
    if found.kind == "file" and found.mode is not None and found.mode != desired.mode:
        checked["mode"] = (f"{found.mode:04o}", f"{desired.mode:04o}")
    return {name: {"found": now, "expected": then} for name, (now, then) in checked.items() if then is not None}


def other_owners(found: HostFile, desired: Desired) -> dict[str, str]:
    """The desired user and group, by kind, that are neither name nor number of the file's owner and group."""
    checked = {"user": (desired.owner, found.user, found.uid), "group": (desired.group, found.group, found.gid)}
    return {
        kind: name
        for kind, (name, *own) in checked.items()
        if name is not None and found.kind == "file" and name not in own
    }


def service(found: HostFile, *, started: bool, enabled: bool) -> list[str]:
    """Which of ``state`` and ``enabled`` of a service differ, as far as the host reports them."""
    stopped = found.service is not None and found.service not in RUNNING
    disabled = found.service_enabled in _DISABLED
    return [name for name, differs in (("state", started and stopped), ("enabled", enabled and disabled)) if differs]


def _facts(found: HostFile, key: KeyOwner) -> dict[str, t.Any]:
    beside = {"leftovers": found.leftovers, _PENDING: bool(found.markers)}
    facts: dict[str, t.Any] = {name: True for name, there in beside.items() if there}
    if found.is_absent:
        return facts
    return {
        **facts,
        "kind": found.kind,
        "owner": found.user,
        "group": found.group,
        "mode": None if found.mode is None else f"{found.mode:04o}",
        "key_of": key.label or (None if key.state == "unverifiable" else key.state),
        "key_fingerprint": key.fingerprint,
        "sha256": found.digest,
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_path(found: HostFile, path: str, *, create_directory: bool) -> None:
    problems = {
        "directory": "is a directory. Remove it, or choose another path",
        "other": "is neither a regular file nor a symbolic link. Choose another path",
        "no_access": "is in a directory that this user can't enter. Use become",
    }
    if not create_directory:
        problems["no_parent"] = "has no parent directory. Create it, or set create_directory: true"
    if found.kind in problems:
        raise InputError(f"{path} {problems[found.kind]}.")
    if found.kind == "file" and found.mode is None:
        raise InputError(
            f"The owner and mode of {path} can't be read: the host has no stat of GNU or BSD, or sudo has noexec. "
            "Install coreutils or busybox, or allow exec."
        )


def _problem(found: HostFile, path: str) -> str | None:
    if found.writable:
        return None
    if found.kind == "below_file":
        return f"{path} can't be written: one of its parent directories is a file. Choose another path."
    return (
        f"{path} can't be written: the file or its directory is read-only or immutable, or not writable for this user. "
        "Use become, or choose another path."
    )
