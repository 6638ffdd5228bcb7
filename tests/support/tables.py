# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Iterable, Sequence

Row = Sequence[object]


def markdown(head: Row, rows: Iterable[Row]) -> str:
    """Return a table in Markdown, for the output of a program."""
    rule = ["---"] * len(head)
    lines = [" | ".join(map(str, row)) for row in (head, rule, *rows)]
    return "\n".join(f"| {line} |" for line in lines)
