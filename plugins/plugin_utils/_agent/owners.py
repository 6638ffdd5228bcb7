# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shell commands about users and groups of a host: who a file belongs to, and to whom this user can give one."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import echo, one_line, start, variable

_SAME = "monitor.cloud same"


def owner_command(owner: str | None, group: str | None) -> str:
    """Fail with a message and the code 1 unless this user can give files to this user and group; changes nothing."""
    checks = "\n".join(
        f"""{variable("v", name)}
        find . -prune -{kind} "$v" >/dev/null || exit 1
        [ "$(id -u)" -eq 0 ] || case " $(id {own}) $(id {own}n 2>/dev/null) " in *" $v "*) :;;
        *) echo "only root can give files to the {kind} $v" >&2; exit 1;; esac"""
        for kind, own, name in (("user", "-u", owner), ("group", "-G", group))
        if name
    )
    # GNU's find fails in a directory that this user can't enter, such as the home of the one who logged in.
    return one_line(f"cd /\n{checks}")


def same_owner_command(path: str, names: Mapping[str, str]) -> str:
    """Print which of ``names``, by kind (user, group), are the file's by number, for :func:`same_owner`.

    Two users can have one number, and a directory service can have several names for a user. Changes nothing.
    """
    tests = "\n".join(
        f"""{variable("v", name)}
        [ -z "$(find "./$n" -prune -{kind} "$v" 2>/dev/null)" ] || {echo(f"{_SAME}|{kind}")}"""
        for kind, name in names.items()
    )
    return one_line(f"""{start(path)}
        cd -P "$a/" || exit 1
        {tests}
        :""")


def same_owner(output: str, names: Mapping[str, str]) -> dict[str, t.Any]:
    """Those of ``names`` that :func:`same_owner_command` printed: fields of a HostFile."""
    return {kind: name for kind, name in names.items() if f"{_SAME}|{kind}" in output}
