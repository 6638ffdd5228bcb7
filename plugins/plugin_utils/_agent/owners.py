# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shell commands about users and groups of a host: whose a file is, and to whom this user can give files."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import echo, one_line, start, variable

# The exit code of :func:`owner_command` for a name that the host does not know.
UNKNOWN = 90
_SAME = "monitor.cloud same"
_GROUP_LINE = re.compile(r"^group::([r-])([w-])([x-])\r?$", re.MULTILINE)


def owner_command(owner: str | None, group: str | None) -> str:
    """Fail with :data:`UNKNOWN` if the host has no such user or group, with 1 if this user can't give them files."""
    checks = "\n".join(
        f"""{variable("v", name)}
        find . -prune -{kind} "$v" >/dev/null || exit {UNKNOWN}
        [ "$(id -u)" -eq 0 ] || case " $(id {own}) $(id {own}n 2>/dev/null) " in *" $v "*) :;;
        *) echo "only root can give files to the {kind} $v" >&2; exit 1;; esac"""
        for kind, own, name in (("user", "-u", owner), ("group", "-G", group))
        if name
    )
    # From /, because GNU find fails in a directory that this user can't enter, such as the home of the login user.
    return one_line(f"cd /\n{checks}")


def permissions_command(path: str, names: Mapping[str, str]) -> str:
    """Print facts of a file that stat does not show, for :func:`permissions_in`. Changes nothing.

    Which of ``names``, by kind (user, group), have the number of the file's owner: several names can have one number.
    And the permissions of its group: if there is an ACL, stat shows the mask instead.
    """
    tests = "\n".join(
        f"""{variable("v", name)}
        [ -z "$(find "./$n" -prune -{kind} "$v" 2>/dev/null)" ] || {echo(f"{_SAME}|{kind}")}"""
        for kind, name in names.items()
    )
    return one_line(f"""{start(path)}
        cd -P "$a/" || exit 1
        {tests}
        getfacl -cE "./$n" 2>/dev/null
        :""")


def permissions_in(output: str, names: Mapping[str, str], mode: int | None) -> dict[str, t.Any]:
    """The fields of :class:`.remote_file.HostFile` that :func:`permissions_command` printed; ``mode`` is from stat."""
    found: dict[str, t.Any] = {kind: name for kind, name in names.items() if f"{_SAME}|{kind}" in output}
    group = _GROUP_LINE.search(output)
    if group and mode is not None:
        allowed = sum(bit for bit, sign in zip((0o40, 0o20, 0o10), group.groups(), strict=True) if sign != "-")
        found["mode"] = mode & ~0o70 | mode & allowed
    return found
