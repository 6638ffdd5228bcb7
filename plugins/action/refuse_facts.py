# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fail if a fact of a host sets a variable of the role, or a variable that a template of such a variable names."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.modules import refuse_facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.facts import (
    names_in,
    names_of_lookups,
    problem,
    variables_of_lookups,
)

# Variables whose templates may use facts outside of lookups, because they concern nothing but the host itself.
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
# Core renders these also between a module, which may report facts, and the next check: in a condition of a block, or in
# failed_when.
_OF_MODULES = ("monitor_agent_packages", "monitor_agent_repository", "monitor_agent_service", "monitor_agent_state")


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
            # The hosts' own variables; those of the play are known for the task's host only.
            hosts: dict[str, Mapping[str, t.Any]] = {}
            # The implicit localhost is in no group, but can be a host of the play.
            for host in dict.fromkeys([*variables["groups"]["all"], *variables["ansible_play_hosts_all"]]):
                # Skip a host with unreadable variables (a vault of another password): such a host is not in the play.
                with contextlib.suppress(AnsibleError):
                    hosts[host] = variables["hostvars"].raw_get(host)
            # Check all names for all hosts, because a template of one host can read the variables of another.
            names = {"inventory_hostname"}.union(*(_chosen(own, variables, prefixes) for own in hosts.values()))
            lookups = [name for name in _OF_MODULES if name.startswith(prefixes)]
            for host, own in hosts.items():
                message = message or problem(host, own, names) or _problem_of_lookups(lookups, host, own, variables)
        return {"failed": True, "msg": message} if message else {"changed": False}


def _chosen(own: Mapping[str, t.Any], variables: Mapping[str, t.Any], prefixes: tuple[str, ...]) -> set[str]:
    """The names of the variables with the prefixes for a host, and all names in their templates."""
    chosen = {name for name in {*own, *variables} if name.startswith(prefixes)}
    # Both the host's own value and the play's, because core decides which one counts.
    sources = (own, variables)
    values = [source[name] for name in chosen - _FREE for source in sources if name in source]
    # Skip dictionaries: with these prefixes, only results of tasks and free variables are dictionaries.
    deciding = names_in([value for value in values if not isinstance(value, dict)], *sources)
    free = [source[name] for name in chosen & _FREE for source in sources if name in source]
    # A lookup in a template runs on the controller, so a fact in it would choose one of the controller's files.
    return chosen | deciding | names_of_lookups(free, *sources)


def _problem_of_lookups(names: list[str], host: str, own: Mapping[str, t.Any], variables: Mapping[str, t.Any]) -> str:
    """The error message if a fact that the host reports later could choose what a lookup reads; else empty."""
    for name in names:
        values = [source[name] for source in (own, variables) if name in source]
        if found := variables_of_lookups(values, own, variables):
            return (
                f"{name} of {host} has a lookup, and names the variables {', '.join(sorted(found)[:5])}. A host could "
                "report facts with these names later, and so choose what is read on the controller. Nothing was done. "
                f"Write text instead of variables into the lookup, or the value itself into {name}."
            )
    return ""
