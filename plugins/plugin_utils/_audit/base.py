# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of actions that work on all hosts of a play at once, on the controller, and the data they read.

Results of other tasks are read by the name of their variable: as an argument they would be templated again, and shown.
"""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.plugin_utils import _core
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Account, Inspection

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class FleetAction(ActionBase):
    """An action that runs once for all hosts and connects to none."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    VALIDATOR: t.ClassVar[ArgumentSpecValidator]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        checked = self.VALIDATOR.validate(self._task.args)
        try:
            if checked.error_messages:
                raise InputError(". ".join(checked.error_messages))
            _core.check_linear(self._task)
            return self.act(checked.validated_parameters, task_vars or {})
        except MonitorError as error:
            return {"failed": True, "msg": str(error)}

    def act(self, options: dict[str, t.Any], variables: dict[str, t.Any]) -> dict[str, t.Any]:
        """Turn options and variables into a result. Raises MonitorError."""
        raise NotImplementedError


def labels_of_inventory(variables: Mapping[str, t.Any]) -> dict[str, str]:
    """Host → label, for the whole inventory and not only the hosts of the play."""
    hostvars = variables["hostvars"]
    return {host: client_label(host, hostvars[host].get("monitor_agent_label")) for host in variables["groups"]["all"]}


def inspections(
    variables: Mapping[str, t.Any], hosts: Sequence[str], name: str, labels: Mapping[str, str]
) -> list[Inspection]:
    """The results that a task registered for each host under a name, with the label that the task used."""
    results = {host: _core.registered(variables, host, name) for host in hosts}
    return [
        Inspection(host, client_label(host, (result or {}).get("label") or labels.get(host)), result)
        for host, result in results.items()
    ]


def account_of(
    variables: Mapping[str, t.Any], name: str, plan: str | None = None, subscriptions: str | None = None
) -> Account:
    """The account, from the names of the variables that hold what monitor_clients and others registered."""
    result = _registered(variables, name)
    if "account_labels" not in result:
        raise InputError(f"{name!r} holds no clients: the task monitor_clients was skipped or failed. Run that task.")
    planned = _registered(variables, plan) if plan else {}
    tiers = _registered(variables, subscriptions) if subscriptions else {}
    return Account(
        clients=result["clients"],
        # Clients that check mode predicts do not exist.
        labels=frozenset(result["account_labels"]) - set(result["created"]),
        key_owners=result["key_owners"],
        plan=planned.get("plan"),
        plan_problem=str(planned["msg"]) if planned.get("msg") else None,
        tiers=tiers.get("subscriptions") or (),
    )


def address_of(variables: Mapping[str, t.Any], name: str) -> str:
    """The base URL of the service, from the result of monitor_clients."""
    return str(_registered(variables, name).get("account_url") or "")


def _registered(variables: Mapping[str, t.Any], name: str) -> Mapping[str, t.Any]:
    result = variables.get(name)
    if not hasattr(result, "get"):
        raise InputError(f"There is no variable {name!r}. Run the task that registers it first.")
    return t.cast("Mapping[str, t.Any]", result)
