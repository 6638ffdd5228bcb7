# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of actions that work on all hosts of a play at once, on the controller, and the data they read.

Results of other tasks are read by the name of their variable: as arguments they would be templated again, and shown.
Audits of other runs are read from files and variables, and no text in them is rendered as a template.
"""

from __future__ import annotations

import functools
import glob
import json
import os
import typing as t
from collections.abc import Mapping, Sequence

from ansible import constants
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import matching
from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import plain
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Account, Host, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.inventory import Inventory, read_inventory
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.slices import Slice, parse

# Options that name variables.
_NAMES = ("account", "config", "plan", "subscriptions")
# More than ten times the bytes of 10,000 hosts.
_LARGEST_AUDIT = 2**26


class FleetAction(ActionBase):
    """An action that runs once for all hosts and connects to none."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    VALIDATOR: t.ClassVar[ArgumentSpecValidator]

    options: dict[str, t.Any]
    variables: dict[str, t.Any]

    def act(self) -> dict[str, t.Any]:
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        checked = self.VALIDATOR.validate(plain(self._task.args))
        self.options, self.variables = checked.validated_parameters, task_vars or {}
        try:
            for option in _NAMES:
                if not str(self.options.get(option) or "none").isidentifier():
                    raise InputError(f"{option} must be the name of a variable, not its value: {option}: registered.")
            if problem := problem_of(self._task.action, checked):
                raise InputError(problem)
            return self.act()
        except MonitorError as error:
            return {"failed": True, "msg": str(error)}

    @functools.cached_property
    def inventory(self) -> Inventory:
        """The whole inventory, with the results that the option ``config`` names."""
        return read_inventory(self.variables, self.options["config"])

    @functools.cached_property
    def account(self) -> Account:
        """The account, from registered results of the info modules, whose variables the options name."""
        names = [self.options.get(option) for option in ("account", "plan", "subscriptions")]
        if missing := [name for name in names if name and not hasattr(self.variables.get(name), "get")]:
            raise InputError(f"There is no variable {missing[0]!r}. First run the task that registers it.")
        result, plan, tiers = (self.variables[name] if name else {} for name in names)
        if not isinstance(result.get("clients"), list):
            raise InputError(
                f"{names[0]!r} holds no clients: the task monitor_client_info was skipped or failed. Run that task."
            )
        return Account(
            clients={client["label"]: client for client in result["clients"] if client["label"] is not None},
            url=result.get("account_url") or "",
            plan=plan.get("plan"),
            plan_problem=str(plan["msg"]) if plan.get("msg") else None,
            tiers=tiers.get("subscriptions") or (),
        )

    def show(self, text: str) -> None:
        """Print text unchanged; nothing if the callback writes JSON, which other text would break."""
        callback = str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK"))
        if callback.rpartition(".")[2] not in ("json", "jsonl"):
            self._display.display(f"\n{text}\n")

    def inspected(self, hosts: Sequence[str]) -> list[Host]:
        """The hosts, with the result and the label of the task of the option ``config`` on each."""
        inventory = self.inventory
        return [Host(host, inventory.labels[host], facts_of(inventory.results[host])) for host in hosts]


def slices_of(audits: Sequence[str], variables: Mapping[str, t.Any], pattern: str) -> list[Slice]:
    """The audits in files, by paths or patterns, and in variables with matching names."""
    names = sorted(matching(pattern, "audits_variables", list(map(str, variables))))
    if pattern and not names:
        raise InputError(
            f"No variable has a name that matches audits_variables {pattern!r}. Pass the artifacts of the audits on to "
            "this run."
        )
    paths = dict.fromkeys(os.path.realpath(path) for one in audits for path in _paths(controller_path(one)))
    if not names and not paths:
        raise InputError(
            "There are no audits to join. Choose the files that monitor_agent_audit_json wrote: "
            """-e '{"audits": ["audit-1.json", "audit-2.json"]}'."""
        )
    found = {f"The variable {name}": plain(variables[name]) for name in names} | {path: _read(path) for path in paths}
    return [parse(name, document) for name, document in found.items()]


def controller_path(path: str) -> str:
    """A path on the controller; a relative one starts at the directory in which Ansible was started."""
    return os.path.abspath(os.path.expanduser(path))


def _paths(path: str) -> list[str]:
    """The path, or the paths that match if it is a pattern."""
    found = [path] if os.path.exists(path) or not glob.has_magic(path) else sorted(glob.glob(path))
    if not found:
        raise InputError(f"No file matches {path}. Check the pattern, and that the audits have written their reports.")
    return found


def _read(path: str) -> t.Any:
    """A file that holds JSON."""
    try:
        if os.path.getsize(path) > _LARGEST_AUDIT:
            raise ValueError
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except OSError as error:
        raise InputError(f"The audit {path} could not be read: {error.strerror}. Check the path.") from error
    except ValueError:
        raise InputError(
            f"The audit {path} is not valid JSON. Audit its hosts again, or choose a file of monitor_agent_audit_json."
        ) from None
