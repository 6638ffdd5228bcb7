# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role that agent_config runs itself, because they would be shown as skipped tasks.

Core shows a header for every task of a role, skipped, included or ``meta``, so a step that few runs need is an action
that this one runs: the installation of the agent, and the registration of a single host.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible.errors import AnsibleActionFail

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.plugin_utils import _role_variables
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import remote_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import HostAction, Result
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, tasks, templates

# A variable of the role's own tasks, with the state that they are for: others may use its registration too.
_IN_ROLE = "monitor_agent_in_role"
_REGISTRATION = "monitor_agent_registration"
# What the role's own task and its handler that removes markers register.
_CONFIG, _RECORDED, _PENDING = "monitor_agent_config", "monitor_agent_recorded", "monitor_agent_pending_restart"
# Which use of the role a result is of.
_USE = "use"
_RESTART = " The agent was not restarted since its configuration was changed: the next run restarts it."


def configure(action: HostAction, own_step: t.Callable[[], Result]) -> Result:
    """Run the task's own step, with the steps before and after it that the role's variables ask for.

    A step that fails raises TaskFailure with the result of the steps before it.
    """
    in_role = action._task.vars.get(_IN_ROLE)
    if not in_role:
        return own_step()
    steps: dict[str, Result] = {}
    result: Result = {"changed": False}
    pending = _pending_restarts(action.variables)
    state = action.options["state"]
    try:
        by_itself = _is_by_itself(action, in_role, state)
        if by_itself and state == "present" and not action.on_windows:
            steps["registration"] = _call_service(action, state)
            action.variables[_REGISTRATION] = templates.as_data(steps["registration"])
        result = own_step()
        if state == "present" and _install(action, steps):
            # What changes in the result if the configuration is written a second time.
            result |= {name: value for name, value in own_step().items() if name == "restart_markers"}
        if by_itself and state == "absent":
            steps["removal"] = _call_service(action, state)
    except (AnsibleActionFail, MonitorError) as error:
        details = getattr(error, "details", {})
        # Core does not notify handlers for a task that failed.
        restart = _RESTART if result["changed"] and _service(action) and not action._task.check_mode else ""
        raise TaskFailure(f"{error}{restart}", _joined({**details, **result}, steps, pending)) from None
    joined = _joined(result, steps, pending)
    if in_role == "absent" and not by_itself:
        joined[_USE] = action.variables[_REGISTRATION][_USE]
    if joined["changed"] and (service := _service(action)):
        one = {"service": service, "path": result["path"], "markers": result.get("restart_markers", [])}
        joined["restarts"] = [*pending, one]
    if not joined.get("restarts"):
        # The task names its handler: with a template that depends on the service, a host took 61 ms of processor time
        # instead of 57 ms in a steady run of 200.
        tasks.notify_no_handler(action)
    elif plays.handler_left_out(action, action.variables):
        tasks.notify_no_handler(action)
        _restart(action, joined)
    return joined


def remove_markers(action: HostAction, path: str, markers: Sequence[str]) -> Result:
    """Remove the markers of restarts that were made."""
    command = remote_file.remove_command(path, markers)
    if markers and not action._task.check_mode:
        remote_file.check_done(action.shell(command), f"The restart markers of {path} could not be removed")
    return {"changed": False, "path": path}


def _service(action: HostAction) -> t.Any:
    return action._templar.template(action.variables["monitor_agent_service"])


def _is_by_itself(action: HostAction, in_role: str, state: t.Any) -> bool:
    """Whether this host registers, or removes its client, by itself; InputError if its variables do not allow it.

    A condition on the role that leaves out the first host of a batch leaves out the task for all, and so does
    ``--start-at-task``. In ``rescue`` and ``always`` core leaves hosts that have failed out of their batch.
    """
    variables = action.variables
    registration, host = variables.get(_REGISTRATION) or {}, variables["inventory_hostname"]
    missing = not registration.get("failed") and (_USE if in_role == "absent" else "clients") not in registration
    if missing or host not in variables["ansible_play_batch"]:
        _role_variables.check_batch(action, variables, {host: {}})
        # InputError if another host has the label too.
        _role_variables.labels(variables, [host], _role_variables.inventory(variables))
        _role_variables.check_label_of_play(action, variables)
        return True
    if state == "absent" and in_role == "present":
        raise InputError(_role_variables.STATES_DIFFER)
    if registration.get("failed"):
        # The errors of the role are ignored.
        raise InputError(str(registration.get("msg")))
    return False


def _restart(action: HostAction, result: Result) -> None:
    """Restart the agents as the handler does, which has a condition of another use of the role in the play."""
    for one in result.pop("restarts"):
        service = {"name": one["service"], "state": "restarted"}
        done = tasks.run_action(action, "ansible.builtin.service", service, action.variables)
        # As in the handler: in check mode the service may be missing, and the agent may not start after a removal.
        if done.get("failed") and one["markers"] and not action._task.check_mode:
            raise TaskFailure(f"{done.get('msg')}.{_RESTART}", result)
        remove_markers(action, one["path"], one["markers"])


def _pending_restarts(variables: Mapping[str, t.Any]) -> list[Result]:
    """The restarts of earlier uses of the role that its handlers have not done: they run once for all uses."""
    recorded = (variables.get(_RECORDED) or {}).get("results") or ()
    done = [one.get(_PENDING) for one in recorded if not one.get("skipped") and not one.get("failed")]
    return [one for one in (variables.get(_CONFIG) or {}).get("restarts") or () if one not in done]


def _joined(result: Result, steps: Mapping[str, Result], pending: Sequence[Result]) -> Result:
    """The result, the pending restarts, and whether each step changed something: registrations hold keys too."""
    shown = {name: {"changed": bool(step.get("changed"))} for name, step in steps.items()}
    changed = any(one.get("changed") for one in (result, *steps.values()))
    warnings = [warning for step in steps.values() for warning in step.get("warnings") or ()]
    more = {name: value for name, value in (("restarts", pending), ("warnings", warnings)) if value}
    return {**result, **shown, "changed": changed, **more}


def _install(action: HostAction, steps: dict[str, Result]) -> bool:
    """Install the packages and run the installer, if there are any.

    Returns whether they may have replaced the configuration, or changed its owner and mode.
    """
    names = ("packages", "install_command", "install_creates")
    given = (action.variables[f"monitor_agent_{name}"] for name in names)
    # Most runs have none of them.
    packages, command, creates = (value and action._templar.template(value) for value in given)
    calls: dict[str, tuple[str, dict[str, t.Any]]] = {}
    if packages:
        calls["packages"] = ("ansible.builtin.package", {"name": packages, "state": "present"})
    if command:
        arguments = {"command": command, "creates": creates, "registration": [_REGISTRATION]}
        calls["installer"] = ("monitor.cloud.agent_install", arguments)
    for step, (name, arguments) in calls.items():
        steps[step] = tasks.run_action(action, name, arguments, action.variables)
        if steps[step].get("failed"):
            raise TaskFailure(str(steps[step].get("msg")), steps[step])
    return not action._task.check_mode and any(steps[step].get("changed") for step in calls)


def _call_service(action: HostAction, state: str) -> Result:
    """Register this host, or remove its client, as the role's tasks do for all hosts of a batch."""
    arguments: Result = {"labels": [action.host_label], "state": state}
    arguments |= dict.fromkeys(("include_keys", "allow_failures"), state == "present")
    # Defaults that a play sets for its own task of this module would delete or rename other clients.
    arguments |= {"prune": False, "renames": {}}
    local = {"ansible_connection": "local"}
    result = tasks.run_action(
        action, "monitor.cloud.monitor_clients", arguments, dict(action.variables), task_vars=local
    )
    if result.get("failed"):
        raise InputError(str(result.get("msg")))
    return result
