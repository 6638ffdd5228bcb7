# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text of shell commands, and their outcome.

The commands stick to POSIX sh and to the tools that GNU, BSD and busybox systems share. Each is one line without
``!`` and without a backslash in front of a quote or a backslash: csh, tcsh and fish, as login shells around
``/bin/sh -c '...'``, change or refuse these characters even within single quotes.
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import absolute

# Marks the start of a command's output, after messages of a login shell.
BEGUN = "monitor.cloud begun"
# bash reads options from an exported SHELLOPTS. sudo copies the command line to SUDO_COMMAND, and with log_subcmds sudo
# 1.9.13 kills programs with a variable of more than 4 KiB.
DEFAULTS = "set +efuC; unset SUDO_COMMAND"

# Another user may own the directory that a command enters, so no program or library may be taken from there. An entry
# that does not begin with a slash is relative, as is an empty one. The dynamic linker also separates entries by ";".
_WITHOUT_RELATIVE = """
        p=$PATH:
        while [ "$p" ]; do case $p in /*) p=${p#*:};; *) PATH=/usr/sbin:/usr/bin:/sbin:/bin; p=;; esac; done
        p=$LD_LIBRARY_PATH:
        while [ "$p" ]; do
            case $p in *";"*) unset LD_LIBRARY_PATH; p=;; /*) p=${p#*:};; *) unset LD_LIBRARY_PATH; p=;; esac
        done"""

_LONGEST_MESSAGE = 500
_MOST_EXAMINED = 50_000
# Lines after which no ";" is allowed, because the statement continues.
_OPEN = re.compile(r"(\b(then|do|else)|[{(|;]|&&)$")
# Characters that every shell here keeps unchanged within double quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./ -]*")
# The numbers of records and bytes, as dd of GNU, BSD and busybox prints them after a message.
_STATISTICS = re.compile(r"^[0-9]+(\+[0-9]+ records (in|out)$| bytes .*(copied|transferred).*)", re.MULTILINE)
# ssh prints this line at the end of a session with a terminal, whether or not the command failed.
_CLOSED = re.compile(r"(Shared c|C)onnection to \S+ closed\.")
# Characters that end quotes, or are expanded within quotes.
_EXPANDED = re.compile(r"[$!\"'`\\]")


class Completed(t.NamedTuple):
    """The outcome of a shell command."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def message(self) -> str:
        """The output for an error message: one short printable line, because core prints messages unchanged."""
        # Only the end, because a host may print without end.
        error, output = self.stderr[-_MOST_EXAMINED:], self.stdout[-_MOST_EXAMINED:]
        error = _STATISTICS.sub("", _CLOSED.sub("", error).replace("\r\n", "\n"))
        text = printable(f"{error} {output.rpartition(BEGUN)[2]}")
        text = " ".join(text.split())
        return f"{text[-_LONGEST_MESSAGE:] or 'no message'} (exit code {self.returncode})."


def variable(name: str, text: str) -> str:
    """A statement that sets a shell variable to a text of any characters."""
    if _PLAIN.fullmatch(text):
        return f'{name}="{text}"'
    data = "".join(
        chr(byte) if _PLAIN.fullmatch(chr(byte)) else f"\\0{byte:03o}" for byte in text.encode("utf-8", "replace")
    )
    # The x protects final newlines, which a command substitution removes.
    return f'{name}=$(printf %b "{data}x"); {name}=${{{name}%x}}'


def echo(text: str) -> str:
    """An echo of a text of two or more words that does not contain it.

    So a shell that prints its commands does not seem to print the text.
    """
    first, _space, others = text.partition(" ")
    return f'echo "{first} ""{others}"'


def escape_dollars(command: str) -> str:
    """The command for an outer shell that would expand its variables although they are quoted."""
    # Encode only these characters, because csh limits words to 8 KiB.
    data = _EXPANDED.sub(lambda match: f"\\0{ord(match[0]):03o}", command)
    return f"eval \"`printf %b '{data}'`\""


def one_line(script: str) -> str:
    """A script on a single line, without its comments."""
    lines = [line.strip() for line in script.splitlines()]
    parts = [line + (" " if _OPEN.search(line) else "; ") for line in lines if line and not line.startswith("#")]
    return "".join(parts).removesuffix("; ")


def start(path: str) -> str:
    """Set ``$a`` to the directory, empty for the root, and ``$n`` to the name. InputError for an invalid path."""
    # One slash at the start: bash and mksh keep two in $PWD, but pwd does not, and the two paths are compared.
    directory, name = posixpath.split("/" + absolute(path).lstrip("/"))
    # zsh splits no words unless it emulates sh; zsh, and bash with failglob, fail for a pattern without a match.
    return f"""
        {DEFAULTS}
        [ -z "$ZSH_VERSION" ] || emulate sh
        [ -z "$BASH_VERSION" ] || shopt -u failglob
        LC_ALL=C; export LC_ALL
        {_WITHOUT_RELATIVE}
        {variable("a", directory.rstrip("/"))}
        {variable("n", name)}"""
