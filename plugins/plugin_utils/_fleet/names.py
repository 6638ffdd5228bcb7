# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order and the number of names in sentences. Pure."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import listed

_MOST_NAMES = 5
# Show at most five names in a sentence: names of hosts, or labels in quotes. A label can contain control characters.
named = functools.partial(listed, limit=_MOST_NAMES, form=str)
quoted = functools.partial(listed, limit=_MOST_NAMES)


@dataclasses.dataclass(frozen=True)
class Others:
    """Other hosts of a group: their number, and at most five names, because a group can have thousands of hosts."""

    names: tuple[str, ...] = ()
    count: int = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        """Return the names for a sentence."""
        text = ", ".join(self.names)
        more = self.count - len(self.names)
        if more:
            text += f" and {more} more"
        return text


def others_in(group: Sequence[str], name: str) -> Others:
    """Return the names of a group that contains ``name``, without ``name``."""
    first = [other for other in group[: _MOST_NAMES + 1] if other != name]
    return Others(tuple(first[:_MOST_NAMES]), len(group) - 1)


def natural_sort_key(name: str) -> str:
    """Return a sort key that puts web-2 before web-10."""
    return re.sub("[0-9]+", lambda number: number[0].zfill(20), name)
