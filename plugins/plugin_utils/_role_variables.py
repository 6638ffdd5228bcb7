# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Warnings about variables with the prefix of the role that the role does not know."""

from __future__ import annotations

import difflib
import pathlib
import re
from collections.abc import Iterable

from ansible.utils.display import Display

_ROLE = pathlib.Path(__file__).parents[2] / "roles" / "monitor_agent"
_SPECS = (_ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
_PREFIX = "monitor_agent_"
# Compared without the prefix, which all names have.
_SHORT = tuple(re.findall(rf"^ +{_PREFIX}(\w+):$", _SPECS, re.MULTILINE))
# The other names in the role's files are variables that it computes or registers. Read once, before the forks.
_KNOWN = {
    *(f"{_PREFIX}{name}" for name in _SHORT),
    *(
        name
        for part in ("tasks", "vars", "handlers")
        for path in (_ROLE / part).glob("*.yml")
        for name in re.findall(r"\bmonitor_agent_\w+", path.read_text(encoding="utf-8"))
    ),
}


def warn_of_unknown(names: Iterable[str]) -> None:
    """Warn about each variable whose name resembles one of the role's. Core shows a text once for all hosts.

    Other variables with the prefix may be the user's own, for a template.
    """
    for name in names:
        if name.startswith(_PREFIX) and name not in _KNOWN:
            for nearest in difflib.get_close_matches(name.removeprefix(_PREFIX), _SHORT, 1, cutoff=0.7):
                Display().warning(
                    f"{name!r} is not a variable of the role monitor.cloud.monitor_agent; "
                    f"did you mean '{_PREFIX}{nearest}'?"
                )
