# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired file on a host, and what it may have as its path, owner, group and mode. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# Enough for any agent's configuration, and a bound on what a run reads.
LARGEST_FILE = 65536

_MODE = re.compile(r"(0o?)?[0-7]{3,4}")
_NOT_AN_OWNER = re.compile(r"[\s:\x00-\x1f]|^-")


class Desired(t.NamedTuple):
    """The desired file. ``data`` is None if it is not known: the client is new in check mode, or masked."""

    path: str
    data: bytes | None
    owner: str | None = None
    group: str | None = None
    mode: int = 0o600
    create_directory: bool = True
    service: str = ""


def desired_file(options: Mapping[str, t.Any], text: str | None) -> Desired:
    """The file that options ask for; InputError if they are invalid."""
    desired = Desired(
        path=options["path"],
        data=None if text is None else text.encode("utf-8"),
        owner=file_owner("owner", options["owner"]),
        group=file_owner("group", options["group"]),
        mode=file_mode(options["mode"]),
        create_directory=options["create_directory"],
        service=str(options["service"] or ""),
    )
    # A larger file could not be read again.
    if len(desired.data or b"") > LARGEST_FILE:
        raise InputError(
            f"The content for {desired.path} is larger than {LARGEST_FILE // 1024} KiB. Check the template."
        )
    return desired


def absolute(path: str) -> str:
    """The path, or InputError unless it names a file from the root on."""
    if not path.startswith("/") or path.endswith("/") or "\0" in path or posixpath.normpath(path) == "/":
        raise InputError(f"path {path!r} must be the absolute path of a file.")
    for text, limit, what in (
        # Names of temporary directories and backups are made from that of the file, of 255 bytes at most.
        (posixpath.basename(path), 200, "a name"),
        (max(path.split("/"), key=_size), 255, "a directory"),
        # Linux takes 4,095 bytes, those temporary names included.
        (path, 4000, "a length"),
    ):
        if _size(text) > limit:
            raise InputError(f"path {path!r} has {what} of more than {limit} bytes. Choose a shorter one.")
    return path


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def file_mode(mode: object) -> int:
    """The permission bits of an option, octal digits or an integer as YAML gives it for ``0600``; else InputError."""
    if isinstance(mode, str) and _MODE.fullmatch(mode):
        return int(mode.replace("o", ""), 8)
    if isinstance(mode, int) and not isinstance(mode, bool):
        if _is_plausible(mode):
            return mode
        raise InputError(
            f"mode {mode} is an integer, which means {mode:04o}. Write octal digits in quotes: mode: '0640'."
        )
    raise InputError(f"mode {str(mode)!r} must be octal digits such as '0600'.")


def _is_plausible(mode: int) -> bool:
    """Whether an integer is a plausible mode: 0640 without quotes is one, 640 without quotes is not.

    The owner can read; the group has the same permissions, or the same but for writing, or none; others likewise.
    """
    user, group, other = mode >> 6, mode >> 3 & 7, mode & 7
    return 4 <= user <= 7 and group in (0, user & 5, user) and other in (0, group & 5, group)


def file_owner(option: str, name: str | None) -> str | None:
    """A user or group as chown takes it, by name or number; else InputError. An empty one stands for none."""
    if name and _NOT_AN_OWNER.search(name):
        raise InputError(f"{option} {name!r} must be a name or a number.")
    return name or None
