# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep characters that control a terminal, or the direction of text, out of the output of a run. Pure.

Other users of the account choose labels. Core escapes only some of these characters when it prints a result.
"""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import escaped

Result = dict[str, t.Any]


def for_terminal(result: Result) -> Result:
    """Return the result of a task so that core does not print such characters.

    Core always prints a failed result, so escape all texts. Core prints another result only at ``-v``. Later tasks need
    its exact labels, so tell core not to print this result.
    """
    if _is_safe(result):
        return result
    if not (result.get("failed") or result.get("unreachable")):
        return {**result, "_ansible_verbose_override": True}
    # An escaped label would be another label, so that the host would seem to have no client.
    kept = {name: value for name, value in result.items() if name != "label" or _is_safe(value)}
    return dict(_escaped(kept))


def _is_safe(value: t.Any) -> bool:
    if isinstance(value, str):
        return value.isprintable() or all(line.isprintable() for line in value.split("\n"))
    if isinstance(value, dict):
        return all(map(_is_safe, value)) and all(map(_is_safe, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_safe, value))
    return True


def _escaped(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return "\n".join(map(escaped, value.split("\n")))
    if isinstance(value, dict):
        return {_escaped(name): _escaped(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_escaped, value))
    return value
