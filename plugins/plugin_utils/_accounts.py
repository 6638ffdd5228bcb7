# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether all hosts of a batch use the same account: one task reads and changes that of the first one."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterable, Mapping

import jinja2
import jinja2.nodes
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, templates

Variables = Mapping[str, t.Any]

# The role's variables that choose the account, with the options that they give.
OPTIONS = {f"monitor_agent_{option}": option for option in ("base_url", "api_token", "brand")}
# To parse templates, not to render them.
_SYNTAX = jinja2.Environment()


def names(action: ActionBase, variables: Variables) -> set[str]:
    """The names of the variables that choose the account, those that templates depend on included."""
    given = [values for option in _sources(action._task, variables) for values in option.values()]
    # Core reads a file whose name is a template for each host.
    return {*OPTIONS, *names_in([*given, plays.play_of(action._task).vars_files], variables)}


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
    first: list[tuple[str, list[t.Any]]] = []
    for host in seen if len(seen) > 1 else ():
        account = _account(action._task, plays.templar_for(action, variables, host))
        first = first or account
        if names_of := [used[0] or other[0] for used, other in zip(first, account, strict=True) if used != other]:
            raise InputError(
                f"{names_of[0]} differs between the hosts of this play, and one account is used for all of them. "
                "Nothing was done. Use a play, or a run with --limit or extra variables, for each account."
            )


def _account(task: Task, templar: t.Any) -> list[tuple[str, list[t.Any]]]:
    """For each option what gives it to a host: its name, and the values that may count."""
    found = []
    for option in _sources(task, templar.available_variables):
        rendered = {name: [_rendered(templar, name, value) for value in given] for name, given in option.items()}
        found.append(next((each for each in rendered.items() if any(each[1])), ("", [])))
    return found


def _rendered(templar: t.Any, name: str, value: t.Any) -> t.Any:
    """A value, or that of this name in a dictionary, with a host's variables; an ellipsis if its template fails."""
    try:
        value = templates.plain(templar.template(value))
    except Exception:
        return ...
    return value.get(name) if isinstance(value, dict) else value


def _sources(task: Task, variables: Variables) -> list[dict[str, list[t.Any]]]:
    """For each option what gives it, not rendered, by name: the role's variable, and keywords if that is empty."""
    return [{name: [variables.get(name)], **_given_by_keywords(task, option)} for name, option in OPTIONS.items()]


def _given_by_keywords(task: Task, option: str) -> dict[str, list[t.Any]]:
    """By its name in keywords around a task of the role, what they give for a connection option, not rendered.

    A template of several options is a value too.
    """
    groups = ("group/monitor.cloud.api", task.action)
    environment = plays.around(task, "environment")
    # module_defaults take precedence.
    for name, given in (
        (option, [options for each in task.module_defaults for group, options in each.items() if group in groups]),
        (f"MONITOR_{option.upper()}", environment if isinstance(environment, list) else []),
    ):
        if found := [each for each in given if not isinstance(each, dict) or name in each]:
            return {name: [each[name] if isinstance(each, dict) else each for each in found]}
    return {}


def names_in(value: t.Any, variables: Variables) -> set[str]:
    """The names that a template depends on, those in templates that are the values of others included."""
    found: set[str] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        # Text only: that of hostvars would be a rendering of all variables.
        elif isinstance(value, str) and templates.has_template(value):
            # An invalid template fails where it is used.
            with contextlib.suppress(jinja2.TemplateSyntaxError):
                new = _names_of_text(str(value), variables) - found
                found |= new
                # The variable vars has all of them.
                pending += [variables[name] for name in new - {"vars"} if name in variables]
    return found


def _names_of_text(text: str, variables: Variables) -> set[str]:
    tree = _SYNTAX.parse(text)
    found = {name.name for name in tree.find_all(jinja2.nodes.Name)}
    # A name that is computed may be another one on each host, and so may vars.name.
    if "vars" in found:
        found.add("inventory_hostname")
    for call in tree.find_all(jinja2.nodes.Call):
        texts = {text.value for text in call.find_all(jinja2.nodes.Const)}
        # As in lookup('vars', 'name').
        if texts & {"vars", "ansible.builtin.vars"}:
            constant = all(isinstance(each, jinja2.nodes.Const) for each in call.args) and not call.dyn_args
            found |= texts.intersection(variables) - {"vars"} if constant else _computed(call, variables)
        # The file may name any variable.
        elif texts & {"template", "ansible.builtin.template"}:
            found.add("inventory_hostname")
    return found


def _computed(call: jinja2.nodes.Call, variables: Variables) -> set[str]:
    """The variables that a computed name can mean, by the text that it starts with: 'token_' ~ customer."""
    first = [each.nodes[0] for each in call.args[1:] if isinstance(each, jinja2.nodes.Concat)]
    starts = tuple(each.value for each in first if isinstance(each, jinja2.nodes.Const) and each.value)
    if len(starts) < len(call.args) - 1 or not starts:
        # It may be another one on each host.
        return {"inventory_hostname"}
    return {name for name in variables if name.startswith(starts)}
