# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is beside a file on a host: directories of writers that were killed, and markers of pending restarts.

A marker, an empty file ``.<name>.restart-<random>`` beside the file, records a pending restart of the service. It
is made before the new file. Each write makes its own marker, so that only a restart after that write removes it.
"""

from __future__ import annotations

import re

# At most this many names of leftovers and markers are examined, because another user may have made thousands.
MOST_NAMES = 20

MARKER = re.compile("[0-9a-f]{8}")


def _for_names(pattern: str, action: str) -> str:
    """Run the action for each name, ``$f``, that matches and is not a symbolic link; for MOST_NAMES at most."""
    return f"""
    i=0
    for f in {pattern}; do
        i=$((i+1)); [ $i -le {MOST_NAMES} ] || break
        [ -L "$f" ] && continue
        {action}
    done"""


def for_leftovers(action: str) -> str:
    """Run the action for each directory, ``$f``, of a writer that was killed.

    A directory whose writer still runs belongs to another run; after two days its process number counts as reused.
    Without such a directory no process is started.
    """
    return _for_names(
        '".$n.writing-"[0-9]*-????????',
        f"""
        [ -d "$f" ] && [ -O "$f" ] || continue
        p=${{f##*.writing-}}; p=${{p%-*}}
        case $p in *[-._a-zA-Z]*) continue;; esac
        if kill -0 "$p" 2>/dev/null || [ -d "/proc/$p" ]; then
            p=$(find "./$f" -prune -mtime +1)
            [ -n "$p" ] || continue
        fi
        {action}""",
    )


def for_markers(action: str) -> str:
    """Run the action for each marker, ``$f``, of a writer that has moved its file; starts no process.

    The marker of a writer whose directory still exists is skipped: it may move its file after the next restart.
    """
    return _for_names(
        f'".$n.restart-"{"[0-9a-f]" * 8}',
        f"""
        [ -f "$f" ] || continue
        set -- ".$n.writing-"*"-${{f##*-}}"
        [ -d "$1" ] && [ -O "$1" ] && continue
        {action}""",
    )


LIST_MARKERS = for_markers('u="$u|${f##*-}"')
