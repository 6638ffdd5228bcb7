# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regular expressions that users give, and the labels that they match.

Some expressions take longer than the age of the universe to find that ``(a+)+b`` is not in a label, and others take all
the memory there is. So all but the plain ones are tried in a child process that may use so much of both.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Sequence

# For all labels together, of the processor's time; thousands of them take milliseconds.
_SECONDS = 2
_BYTES = 256 * 1024 * 1024
# The service takes 32 characters; the work grows with the length.
_PLAIN_LENGTH = 64
_PLAIN_REPEATS = 2
_REPEATED_GROUP = re.compile(r"\)[*+?{]")


def compiled(pattern: str, option: str) -> re.Pattern[str]:
    """The regular expression of an option, or InputError."""
    try:
        # A label may hold any character, and ".*" means any label.
        return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{option} {pattern!r} is no regular expression: {error}.") from error


def matching(pattern: str, option: str, labels: Sequence[str]) -> list[str]:
    """Those of the labels that the whole expression matches, in their order.

    InputError for what is no expression, and for one that takes too much time or memory.
    """
    expression = compiled(pattern, option)
    if _is_plain(pattern) and max(map(len, labels), default=0) <= _PLAIN_LENGTH:
        return [label for label in labels if expression.fullmatch(label)]
    found = _in_a_child(expression, labels)
    if found is None:
        raise InputError(
            f"{option} {pattern!r} takes more than {_SECONDS} s, or too much memory, to match {len(labels)} labels. "
            "Nothing was done. Write it without repeats within repeats, such as (a+)+."
        )
    return [label for label, matches in zip(labels, found) if matches]


def _is_plain(pattern: str) -> bool:
    """Whether the expression is certain to cost little: few repeats, and no repeated or second group."""
    repeats = sum(pattern.count(sign) for sign in "*+?{")
    return repeats <= _PLAIN_REPEATS and pattern.count("(") <= 1 and not _REPEATED_GROUP.search(pattern)


def _in_a_child(expression: re.Pattern[str], labels: Sequence[str]) -> bytes | None:
    """A byte for each label, 1 where it matches; None if the child had to be ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Nothing may come back from here: neither an error nor what others have open.
        code = 1
        try:
            _limit()
            found = bytes(bool(expression.fullmatch(label)) for label in labels)
            with os.fdopen(writer, "wb") as stream:
                stream.write(found)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        found = stream.read()
    return found if os.waitpid(child, 0)[1] == 0 else None


def _limit() -> None:
    """Let this process use so much time and memory, and leave nothing behind when it uses more."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_CPU, _SECONDS)
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        # Not Linux: what a process has of its address space says little there.
        return
    _lower(resource.RLIMIT_AS, used + _BYTES)


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, hard))
