# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugins share in dealing with a connection."""

from __future__ import annotations

import contextlib
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ansible.plugins.connection import ConnectionBase


@contextlib.contextmanager
def unlogged(connection: ConnectionBase) -> Iterator[None]:
    """Keep what commands print out of the verbose output, which the connection writes and no result controls.

    It also hides why a connection failed, so it goes around commands that print secrets only.
    """
    context = connection._play_context
    before, context.no_log = context.no_log, True
    try:
        yield
    finally:
        context.no_log = before


def takes_input(connection: ConnectionBase) -> bool:
    """Whether a command can be given standard input over the connection, by the user it would become."""
    return bool(connection.has_pipelining and (not connection.become or connection.become.pipelining))


def said(done: Mapping[str, t.Any]) -> str:
    """What a command printed about its failure, on one line of bounded length."""
    words = " ".join(f"{done['stderr']} {done['stdout']}".split())
    return f"{words[-500:] or 'no message'} (exit code {done['rc']})."
