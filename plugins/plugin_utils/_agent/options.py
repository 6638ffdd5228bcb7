# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired file on a host, and what it may have as its path, owner, group and mode. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# Enough for any agent's configuration, and a bound on what a run reads.
LARGEST_FILE = 65536

_LONGEST_NAME = 200
_SETTING = re.compile(r"[A-Za-z0-9_.-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MODE = re.compile(r"(0o?)?[0-7]?[4-7][0-7]{2}")
_NOT_AN_OWNER = re.compile(r"[\s:\x00-\x1f]|^[-+]")


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
    if not path.startswith("/") or path.endswith("/") or _CONTROL.search(path) or posixpath.normpath(path) == "/":
        raise InputError(f"path {path!r} must be the absolute path of a file.")
    # Names of temporary directories and backups are made from that of the file, of 255 bytes at most.
    if any(len(name.encode("utf-8", "replace")) > _LONGEST_NAME for name in path.split("/")):
        raise InputError(f"path {path!r} has a name of more than {_LONGEST_NAME} bytes. Choose a shorter one.")
    return path


def file_mode(mode: object) -> int:
    """The permission bits of an option; else InputError. The owner must be able to read what is compared."""
    if isinstance(mode, str) and _MODE.fullmatch(mode):
        return int(mode.replace("o", ""), 8)
    # YAML and core read 0640 without quotes as another number than 640, and both may be meant.
    raise InputError(
        f"mode {mode!r} must be octal digits in quotes, such as '0640', with which the owner can read the file."
    )


def setting_texts(settings: Mapping[str, t.Any]) -> dict[str, str]:
    """Settings as a configuration has them, sorted by name; InputError for one that it can't have."""
    texts = {}
    for name in sorted(settings):
        if name in SECRET_FIELDS or not _SETTING.fullmatch(name):
            raise InputError(
                f"settings has the name {name!r}. Use letters, digits, '_', '.' and '-', and not the two of the client."
            )
        value = settings[name]
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, (str, int, float)) and not _CONTROL.search(str(item)) for item in items):
            raise InputError(
                f"The setting {name!r} is not a text, a number, a boolean or a list of these, or has a line break. Use "
                "a template of your own for other values."
            )
        texts[name] = ",".join(str(item).lower() if isinstance(item, bool) else str(item) for item in items)
    return texts


def file_owner(option: str, name: str | None) -> str | None:
    """A user or group as chown takes it, by name or number; else InputError. An empty one stands for none."""
    # chown takes +0 for a number, find for more than it.
    if name and _NOT_AN_OWNER.search(name):
        raise InputError(f"{option} {name!r} must be a name or a number.")
    return name or None
