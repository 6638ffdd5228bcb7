# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether all hosts of a batch use the same account: one task reads and changes that of the first one."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, templates

Variables = Mapping[str, t.Any]
# The name of what gives an option, and the values that it may give.
Source = tuple[str, list[t.Any]]

# The name of all modules together in the keyword module_defaults.
GROUP = "group/monitor.cloud.api"
# The role's variables that choose the account, with the options that they give.
OPTIONS = {f"monitor_agent_{option}": option for option in ("base_url", "api_token", "brand")}
_WORD = re.compile(r"\w+")
# With these a template can use variables that it does not name, so it may be another text on each host.
_READERS = {"vars", "template", "include", "import", "extends"}


def names(action: ActionBase, variables: Variables) -> set[str]:
    """The names of the variables that choose the account, those that templates depend on included."""
    given = [values for sources in _sources(action._task, variables) for _name, values in sources]
    # Core reads a file whose name is a template for each host.
    return {*OPTIONS, *_names_in([*given, plays.play_of(action._task).vars_files], variables)}


def values(own: Variables, chosen: Iterable[str]) -> list[t.Any]:
    """What the inventory sets for a host, of the names of :func:`names`."""
    return [own.get(name) for name in chosen]


def check(action: ActionBase, variables: Variables, own: Mapping[str, Variables], chosen: Iterable[str]) -> None:
    """InputError if hosts of the batch have different accounts: the first one's is used for all."""
    seen: dict[str, list[t.Any]] = {}
    of_first: list[t.Any] = []
    # A host for each combination of values: rendering them for all takes long. Templates that the first one does not
    # have may depend on other variables.
    for host, raw in own.items():
        given = values(raw, chosen)
        of_first = of_first or given
        different = [value for value, known in zip(given, of_first, strict=True) if value != known]
        if given not in seen.values() or templates.has_template(different):
            seen[host] = given
    first: list[Source] = []
    for host in seen if len(seen) > 1 else ():
        account = _account(action._task, plays.templar_for(action, variables, host))
        first = first or account
        if names_of := [used[0] or other[0] for used, other in zip(first, account, strict=True) if used != other]:
            raise InputError(
                f"{names_of[0]} differs between the hosts of this play, and one account is used for all of them. "
                "Nothing was done. Use a play, or a run with --limit or extra variables, for each account; for prune, "
                "extra variables."
            )


def _account(task: Task, templar: t.Any) -> list[Source]:
    """For each option the first source that gives it to a host."""
    found = []
    for sources in _sources(task, templar.available_variables):
        rendered = [(name, [_rendered(templar, name, value) for value in given]) for name, given in sources]
        found.append(next((each for each in rendered if any(each[1])), ("", [])))
    return found


def _rendered(templar: t.Any, name: str, value: t.Any) -> t.Any:
    """A value, or that of this name in a dictionary, with a host's variables; an ellipsis if its template fails."""
    try:
        value = templates.plain(templar.template(value))
    except Exception:
        return ...
    return value.get(name) if isinstance(value, dict) else value


def _sources(task: Task, variables: Variables) -> list[list[Source]]:
    """For each option what may give it, not rendered: ``ModuleAction._connection_of_role`` has the same order."""
    environment = plays.around(task, "environment")
    of_module, of_group = (
        [each[name] for each in task.module_defaults if name in each] for name in (task.action, GROUP)
    )
    return [
        [
            (option, _given(option, of_module)),
            (name, [variables.get(name)]),
            (option, _given(option, of_group)),
            (in_environment, _given(in_environment, environment if isinstance(environment, list) else [])),
        ]
        for name, option in OPTIONS.items()
        for in_environment in (f"MONITOR_{option.upper()}",)
    ]


def _given(name: str, keywords: Iterable[t.Any]) -> list[t.Any]:
    """What dictionaries have under a name, and templates, which may be such dictionaries."""
    found = [each for each in keywords if not isinstance(each, dict) or name in each]
    return [each[name] if isinstance(each, dict) else each for each in found]


def _names_in(value: t.Any, variables: Variables) -> set[str]:
    """The names in a template, and in templates among the values that they name: what it may depend on."""
    found: set[str] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        # Text only: that of hostvars would be a rendering of all variables.
        elif isinstance(value, str) and templates.has_template(value):
            words = set(_WORD.findall(value))
            if words & _READERS:
                words.add("inventory_hostname")
            # The variable vars has all of them.
            pending += [variables[name] for name in words - found - {"vars"} if name in variables]
            found |= words
    return found
