# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fail if a fact of a host sets a variable of the role, or a variable that a template of such a variable names."""

from __future__ import annotations

import contextlib
import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible import template
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import AnsibleUnsafe

from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.modules import refuse_facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.render import TRUSTS_MARKED

# Variables whose templates may use facts, because they concern nothing but the host itself.
_FREE = {
    "monitor_agent_config_path",
    "monitor_agent_config_owner",
    "monitor_agent_settings",
    "monitor_agent_config_group",
    "monitor_agent_config_mode",
    "monitor_agent_repository",
    "monitor_agent_packages",
    "monitor_agent_install_command",
    "monitor_agent_install_creates",
    "monitor_agent_uninstall_command",
    "monitor_agent_uninstall_removes",
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
                f"The role can't be delegated: {self._task.delegate_to} would get the clients of other hosts. Use the "
                f"role in a play that has {self._task.delegate_to} among its hosts."
            )
        if not message:
            # The hosts' own variables; those of the play are the same for all hosts.
            hosts: dict[str, Mapping[str, t.Any]] = {}
            for host in variables["groups"]["all"]:
                # Skip a host with unreadable variables (a vault of another password): such a host is not in the play.
                with contextlib.suppress(AnsibleError):
                    hosts[host] = variables["hostvars"].raw_get(host)
            # Check all names for all hosts, because a template of one host can read the variables of another.
            names = {"inventory_hostname"}.union(*(_chosen(own, variables, prefixes) for own in hosts.values()))
            message = next(filter(None, (_problem(host, own, names) for host, own in hosts.items())), "")
        return {"failed": True, "msg": message} if message else {"changed": False}


def _chosen(own: Mapping[str, t.Any], variables: Mapping[str, t.Any], prefixes: tuple[str, ...]) -> set[str]:
    """The names of the variables with the prefixes for a host, and all names in their templates."""
    chosen = {name for name in {*own, *variables} if name.startswith(prefixes)}
    # Both the host's own value and the play's, because core decides which one counts.
    values = [source[name] for name in chosen - _FREE for source in (own, variables) if name in source]
    # Skip dictionaries: with these prefixes, only results of tasks are dictionaries.
    return chosen | _names_in([value for value in values if not isinstance(value, dict)], own, variables)


def _problem(host: str, own: Mapping[str, t.Any], names: set[str]) -> str:
    """The error message if a fact of the host sets one of the names; else empty."""
    facts = own.get("ansible_facts") or {}
    # ansible_facts has names without the prefix ansible_; core sets variables with and without it. If a host reports a
    # fact in both forms, one of the two values is in the variable only.
    reported = {*facts, *(f"ansible_{name}" for name in facts)}
    found = [
        name for name in names & reported & own.keys() if own[name] in _values(facts, name) or _is_of_host(own[name])
    ]
    found += names & {"ansible_facts"}
    if not found:
        return ""
    return (
        f"Facts of host {host} would decide: {', '.join(sorted(found)[:5])}. A host reports its own facts, so it could "
        "get the token, or another host's client. Nothing was done. Find out why the host reports them. Set such "
        "variables in the inventory or the play, or by set_fact without cacheable, with a name that no fact has."
    )


def _values(facts: Mapping[str, t.Any], name: str) -> list[t.Any]:
    return [facts[each] for each in (name, name.removeprefix("ansible_")) if each in facts]


def _is_of_host(value: t.Any) -> bool:
    """Whether a host may have reported a value, or a part of it. Core marks only text, so other types may be facts."""
    if isinstance(value, (dict, list)) and value:
        return any(map(_is_of_host, value.values() if isinstance(value, dict) else value))
    if not isinstance(value, str):
        return True
    return isinstance(value, AnsibleUnsafe) if not TRUSTS_MARKED else not template.is_trusted_as_template(value)


def _names_in(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    """All words in templates, and in the templates that these words name: at least the variables they depend on."""
    found: set[str] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str) and _TEMPLATE.search(value):
            # Ansible's vars, hostvars and groups contain every variable, so each would count as a dependency.
            words = set(_WORD.findall(value)) - found - {"vars", "hostvars", "groups"}
            words_of_values = words - {"ansible_facts"}
            pending += [source[name] for name in words_of_values for source in sources if name in source]
            found |= words
    return found
