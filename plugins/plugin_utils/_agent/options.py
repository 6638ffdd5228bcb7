# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired file on a host, and the checks of its path, owner, group, mode and settings. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# Bytes: enough for any agent's configuration, and a limit on what a run reads.
LARGEST_FILE = 65536

_LONGEST_NAME = 200
_SETTING = re.compile(r"[A-Za-z0-9_.-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MODE = re.compile(r"(0o?)?[0-7]?[4-7][0-7]{2}")
_NOT_AN_OWNER = re.compile(r"[\s:\x00-\x1f]|^[-+]")


class Desired(t.NamedTuple):
    """The desired file. ``data`` is None if the client does not exist yet, or its keys are masked."""

    path: str
    data: bytes | None
    owner: str | None = None
    group: str | None = None
    mode: int = 0o600
    create_directory: bool = True
    service: str = ""


def desired_file(options: Mapping[str, t.Any], text: str, *, is_known: bool = True) -> Desired:
    """The file that options ask for; InputError if they are invalid.

    Without ``is_known`` the text has no keys yet. Its size is checked all the same, before the client is created.
    """
    desired = Desired(
        path=options["path"],
        data=text.encode("utf-8") if is_known else None,
        owner=file_owner("owner", options["owner"]),
        group=file_owner("group", options["group"]),
        mode=file_mode(options["mode"]),
        create_directory=options["create_directory"],
        service=str(options["service"] or ""),
    )
    # The next run could not read a larger file.
    if len(text.encode("utf-8")) > LARGEST_FILE:
        raise InputError(
            f"The content for {desired.path} is larger than {LARGEST_FILE // 1024} KiB. Check the template."
        )
    return desired


def absolute(path: str) -> str:
    """The path; InputError unless it is the absolute path of a file."""
    if not path.startswith("/") or path.endswith("/") or _CONTROL.search(path) or posixpath.normpath(path) == "/":
        raise InputError(f"path {path!r} must be the absolute path of a file, such as '/etc/monitor/agent.conf'.")
    # Temporary directories and backups get longer names than the file, and a name has at most 255 bytes.
    if any(len(name.encode("utf-8", "replace")) > _LONGEST_NAME for name in path.split("/")):
        raise InputError(f"path {path!r} has a name of more than {_LONGEST_NAME} bytes. Choose a shorter one.")
    return path


def file_mode(mode: object) -> int:
    """The permission bits of an option; InputError if it is invalid, or if the owner could not read the file."""
    if isinstance(mode, str) and _MODE.fullmatch(mode):
        return int(mode.replace("o", ""), 8)
    # Without quotes YAML reads 0640 as 416, so a number is ambiguous.
    raise InputError(
        f"mode {mode!r} must be octal digits in quotes, such as '0640', with which the owner can read the file."
    )


def setting_texts(settings: Mapping[str, t.Any]) -> dict[str, str]:
    """Settings as text, sorted by name; InputError for a name or value that a configuration can't have."""
    texts = {}
    for name in sorted(settings):
        if name in SECRET_FIELDS or not _SETTING.fullmatch(name):
            raise InputError(
                f"settings has the name {name!r}. Use letters, digits, '_', '.', '-', but not api_key or install_code."
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
    """A user or group by name or number, None if empty; InputError if chown or find could misread it."""
    # chown reads +0 as the number 0, find as "more than 0".
    if name and _NOT_AN_OWNER.search(name):
        raise InputError(f"{option} {name!r} must be a name or a number, without spaces or ':'.")
    return name or None
