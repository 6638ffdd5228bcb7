# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugins share that look at all hosts of a play at once, on the controller.

What other tasks registered is read by the name of its variable: as an argument it would be rendered anew, and shown.
"""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._labels import client_label
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Account, Look
from ansible_collections.monitor.cloud.plugins.plugin_utils._strategy import check_linear

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Of callbacks whose output is a document, which other text would break.
_DOCUMENTS = ("json", "jsonl")


class FleetAction(ActionBase):
    """An action that runs once for all hosts and connects to none. Subclasses implement :meth:`act`."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    OPTIONS: t.ClassVar[dict[str, t.Any]] = {}

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        checked = ArgumentSpecValidator(self.OPTIONS).validate(self._task.args)
        try:
            if checked.error_messages:
                raise InputError(". ".join(checked.error_messages))
            check_linear(self._task.get_play().strategy)
            return self.act(checked.validated_parameters, task_vars or {})
        except MonitorError as error:
            return {"failed": True, "msg": str(error)}

    def act(self, options: dict[str, t.Any], variables: dict[str, t.Any]) -> dict[str, t.Any]:
        """The work: options and variables to a result. Raises MonitorError."""
        raise NotImplementedError

    def show(self, text: str) -> None:
        """Print text as it is, where the output is for people."""
        if str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2] not in _DOCUMENTS:
            self._display.display(f"\n{text}\n")

    def batch(self, variables: Mapping[str, t.Any]) -> tuple[list[str], bool]:
        """The play's hosts that have had their turn, and whether that is all of them: not yet, with ``serial``."""
        everyone = list(variables["ansible_play_hosts_all"])
        alive, now = variables["ansible_play_hosts"], set(variables["ansible_play_batch"])
        if not self._task.get_play().serial or not alive or alive[-1] in now:
            return everyone, True
        last = max(number for number, host in enumerate(everyone) if host in now)
        return everyone[: last + 1], False


def labels_of_inventory(variables: Mapping[str, t.Any]) -> dict[str, str]:
    """Host → label, for the whole inventory and whatever hosts the play has."""
    hostvars = variables["hostvars"]
    labels = {}
    for host in variables["groups"]["all"]:
        own = hostvars.raw_get(host).get("monitor_agent_label")
        if isinstance(own, str) and "{" in own:
            own = hostvars[host]["monitor_agent_label"]
        labels[host] = str(own or client_label(host))
    return labels


def looks(variables: Mapping[str, t.Any], hosts: Sequence[str], name: str, labels: Mapping[str, str]) -> list[Look]:
    """What a task registered of each host under a name; the label is the one that the task used."""
    found = []
    for host in hosts:
        result = variables["hostvars"].raw_get(host).get(name)
        label = (result or {}).get("label") or labels.get(host) or client_label(host)
        found.append(Look(host, str(label), result))
    return found


def account_of(variables: Mapping[str, t.Any], name: str, plan: str | None, subscriptions: str | None) -> Account:
    """The account, from the names of the variables that hold what monitor_clients and others said of it."""
    result = _registered(variables, name)
    if "account_labels" not in result:
        raise InputError(f"{name!r} holds no clients: the task monitor_clients was skipped or failed.")
    planned = _registered(variables, plan) if plan else {}
    tiers = _registered(variables, subscriptions) if subscriptions else {}
    return Account(
        clients=result["clients"],
        # Those that check mode foresees are not there.
        labels=frozenset(result["account_labels"]) - set(result["created"]),
        key_owners=result["key_owners"],
        plan=planned.get("plan"),
        plan_problem=str(planned["msg"]) if planned.get("msg") else None,
        tiers=tiers.get("subscriptions") or (),
    )


def _registered(variables: Mapping[str, t.Any], name: str) -> Mapping[str, t.Any]:
    result = variables.get(name)
    if not hasattr(result, "get"):
        raise InputError(f"There is no variable {name!r} that holds what a task registered.")
    return t.cast("Mapping[str, t.Any]", result)
