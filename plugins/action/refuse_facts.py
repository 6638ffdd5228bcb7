# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fail if facts of hosts are among the values of variables, which only their user may choose."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.modules import refuse_facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import documented, problem_of

# Their templates may use facts: they concern nothing but the host itself.
_FREE = {
    "monitor_agent_config_path",
    "monitor_agent_config_owner",
    "monitor_agent_config_group",
    "monitor_agent_config_mode",
    "monitor_agent_packages",
    "monitor_agent_install_command",
    "monitor_agent_install_creates",
    "monitor_agent_service",
    "monitor_agent_state",
}
_TEMPLATE = re.compile(r"\{[{%]")
_WORD = re.compile(r"\w+")


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    VALIDATOR = documented(refuse_facts.DOCUMENTATION)

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        variables = task_vars or {}
        checked = self.VALIDATOR.validate(self._task.args)
        prefixes = tuple(checked.validated_parameters["prefixes"])
        message = problem_of(self._task.action, checked)
        if not message and self._task.delegate_to not in (None, variables["inventory_hostname"]):
            message = (
                f"The role can't be delegated: {self._task.delegate_to} would get the clients of other hosts. Use it "
                f"in a play that has {self._task.delegate_to} among its hosts."
            )
        for host in variables["groups"]["all"] if not message else ():
            # Without the variables of the play, which are the same for all hosts.
            own = variables["hostvars"].raw_get(host)
            if found := _deciding(own.get("ansible_facts") or {}, own, variables, prefixes):
                message = (
                    f"Facts of host {host} would decide: {', '.join(found[:5])}. A host reports its own facts, so it "
                    "could get the token, or another host's client. Nothing was done. Find out why the host reports "
                    "them. Set such variables in the inventory or the play, or by set_fact without cacheable."
                )
                break
        return {"failed": True, "msg": message} if message else {"changed": False}


def _deciding(
    facts: Mapping[str, t.Any], own: Mapping[str, t.Any], variables: Mapping[str, t.Any], prefixes: tuple[str, ...]
) -> list[str]:
    """The names among the variables, and in their templates, whose value for a host comes from its facts."""
    chosen = {name for name in {*own, *variables} if name.startswith(prefixes)}
    # The host's own value, and that of the play: which one counts is for core to decide.
    values = [source[name] for name in chosen - _FREE for source in (own, variables) if name in source]
    # Dictionaries are results of tasks: no variable that is chosen is one.
    names = {*chosen, *_names_in([value for value in values if not isinstance(value, dict)], own, variables)}
    # Core names facts without their prefix, and sets variables with it.
    from_facts = {*facts, *(f"ansible_{name}" for name in facts)}
    return sorted(
        name
        for name in names
        if name == "ansible_facts" or (name in from_facts and name in own and own[name] in _values(facts, name))
    )


def _values(facts: Mapping[str, t.Any], name: str) -> list[t.Any]:
    return [facts[each] for each in (name, name.removeprefix("ansible_")) if each in facts]


def _names_in(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    """The words in templates, and in the templates that these words name: more than what they depend on, not less."""
    found: set[str] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str) and _TEMPLATE.search(value):
            words = set(_WORD.findall(value)) - found - {"vars", "hostvars", "groups"}
            words_of_values = words - {"ansible_facts"}
            pending += [source[name] for name in words_of_values for source in sources if name in source]
            found |= words
    return found
