# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is around a task: role, play, strategy, handlers, inventory and the command line."""

from __future__ import annotations

import contextlib
import os
import sys
import typing as t
from collections.abc import Mapping

from ansible import context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import strategy_loader
from ansible.plugins.strategy.linear import StrategyModule
from ansible.template import Templar
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core.templates import TRUSTS_ALL, templar_with


def play_of(task: Task) -> Play:
    """The play of a task: no variable holds its ``serial`` and ``strategy``."""
    return t.cast("Play", task.get_play())


def around(task: Task, keyword: str) -> t.Any:
    """A keyword of what is around a task of the role, not rendered; a class if it is not set."""
    return task._get_parent_attribute(keyword, omit=True)


def check_not_delegated(action: ActionBase, variables: Mapping[str, t.Any], hosts: list[str]) -> None:
    """Raise InputError if what uses the role of the task delegates it: other tasks of the role would have that host."""
    given = around(action._task, "delegate_to")
    for host in hosts if isinstance(given, str) else ():
        delegate = templar_for(action, variables, host).template(given)
        if delegate != host:
            raise InputError(
                f"The role can't be delegated: {delegate} would get the client of {host}. Nothing was done. Use the "
                f"role in a play that has {delegate} among its hosts."
            )


def check_not_once(action: ActionBase, variables: Mapping[str, t.Any]) -> None:
    """Raise InputError if what uses the role of the task runs it once: the other hosts would be left out."""
    once = action._task._role and around(action._task, "run_once")
    once = isinstance(once, (bool, str)) and boolean(action._templar.template(once), strict=False)
    if once and len(variables["ansible_play_batch"]) > 1:
        raise InputError(
            "The role can't have run_once, which would leave out all hosts but the first. Nothing was done. Leave "
            "run_once out: what concerns the account is done once for all hosts in any case."
        )


def hosts_of_use(action: ActionBase, variables: Mapping[str, t.Any]) -> list[str]:
    """The task's host, and the hosts of its batch that have this task and whose conditions hold."""
    first, *others = dict.fromkeys([variables["inventory_hostname"], *variables["ansible_play_batch"]])
    reached = _hosts_at_task()
    if reached is not None:
        others = [host for host in others if host in reached]
    return [first, *(host for host in others if _takes_part(action, variables, host))]


def _hosts_at_task() -> set[str] | None:
    """The hosts for which the strategy runs the task; None if it is not the one of core.

    An include, or ``rescue``, leaves out other hosts, also by its loop or by the name of its file. Only the strategy
    knows, in a local variable of its method ``run``, whose frame a worker inherits.
    """
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code.co_name == "run" and "host_tasks" in frame.f_locals:
            return {host.name for host, _task in frame.f_locals["host_tasks"]}
    return None


def _takes_part(action: ActionBase, variables: Mapping[str, t.Any], host: str) -> bool:
    """Whether the conditions of the task hold for another host, those of what it is in included."""
    if not action._task.when:
        return True
    # What fails is reported by the host's own task.
    with contextlib.suppress(Exception):
        return _hold(action._task, templar_for(action, variables, host))
    return False


def _hold(task: t.Any, templar: Templar) -> bool:
    """Whether the conditions of a task hold."""
    if TRUSTS_ALL:
        return bool(task.evaluate_conditional(templar, templar.available_variables))
    return all(templar.evaluate_conditional(condition) for condition in task.when)


def check_linear(task: Task) -> None:
    """Raise InputError unless the play's strategy runs each task on all of its hosts before the next task."""
    strategy = play_of(task).strategy
    # core's loader has a class of its own for the same file; plugins derive from either.
    linear = (StrategyModule, strategy_loader.get("ansible.builtin.linear", class_only=True))
    if not issubclass(strategy_loader.get(strategy, class_only=True), linear):
        raise InputError(
            f"A task that runs once for all hosts needs them at the same task, and the strategy {strategy!r} does not "
            "ensure that. Use the strategy 'linear', Ansible's default, for this play."
        )


def handler_left_out(action: ActionBase, variables: Mapping[str, t.Any]) -> bool:
    """Whether the handler of a role that the task notifies may leave out the host, or its restarts.

    Of handlers with one name core takes the last, and those of a role have the keywords of its use. A use that a
    condition leaves out replaces what an earlier one has registered for the handler.
    """
    notified, play = action._task.notify or (), play_of(action._task)
    # Core adds the handlers of the keyword roles to a copy of the play.
    blocks = [*play.compile_roles_handlers(), *play.handlers]
    handlers = [each for block in blocks for each in block.block if each.name in notified]
    if not handlers or handlers[-1]._role is None:
        return False
    # A condition may fail until a later task has registered its variable.
    with contextlib.suppress(Exception):
        # The uses can give a variable different values.
        own = [(each, templar_for(action, variables, variables["inventory_hostname"], each)) for each in handlers]
        return not all(
            boolean(templar.template(each.check_mode)) == variables["ansible_check_mode"] and _hold(each, templar)
            for each, templar in own
        )
    return True


def variables_of_play(task: Task) -> set[str]:
    """The names of the variables that a task's play, and its use of a role, set: values do not name their sources."""
    role = task._role
    of_role = {**role.vars, **role.get_role_params()} if role else {}
    return {*play_of(task).vars, *task.get_vars(), *of_role}


def raw_variables(variables: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of a host as they are, without those of the play: ``hostvars[host]`` would render them again."""
    return t.cast("Mapping[str, t.Any]", variables["hostvars"].raw_get(host))


def rendered_variables(hostvars: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of a host, each rendered when it is read. Its templates can read those of other hosts too.

    Core leaves hostvars out of such variables, so templates of those other hosts can read their own only.
    """
    of_host = hostvars[host]
    # Not those of a user's dictionary.
    if hasattr(of_host, "_vars"):
        of_host._vars["hostvars"] = hostvars
    return t.cast("Mapping[str, t.Any]", of_host)


def templar_for(action: ActionBase, variables: Mapping[str, t.Any], host: str, other: Task | None = None) -> t.Any:
    """A templar with the variables that the task, or the other one, would have for a host of its batch."""
    hostvars, task = variables["hostvars"], other or action._task
    of_host = hostvars._variable_manager.get_vars(
        play=play_of(task),
        host=hostvars._inventory.get_host(host),
        task=task,
        _hosts=variables["ansible_play_batch"],
        _hosts_all=variables["ansible_play_hosts_all"],
    )
    return templar_with(action, of_host)


def check_whole_inventory() -> None:
    """InputError if hosts are missing from the inventory: clients without a host are determined from it."""
    if reason := partial_inventory():
        raise InputError(
            f"{reason}, so clients of the missing hosts would be taken for clients without a host. Nothing was done. "
            "Run it with the whole inventory, and correct the sources of which Ansible warns."
        )


def partial_inventory() -> str:
    """Why hosts are missing from the inventory, as the start of a sentence; empty if none are known to be missing.

    Core only warns of a source that cannot be read, such as that of a cloud which is down, and records it nowhere else.
    """
    if any("as an inventory source" in " ".join(text.split()) for text in Display()._warns):
        return "A source of the inventory could not be read"
    sources = command_line().get("inventory") or ()
    is_list = sources and all("," in source and not os.path.exists(source) for source in sources)
    return "The inventory is a list of hosts" if is_list else ""


def command_line() -> Mapping[str, t.Any]:
    """The options of the command, by their names in core's parser: variables hold a few of them only."""
    return t.cast("Mapping[str, t.Any]", context.CLIARGS)


def extra_variables(loader: DataLoader) -> Mapping[str, t.Any]:
    """The extra variables, those of files included, as core has read them: variables do not name their sources."""
    return t.cast("Mapping[str, t.Any]", load_extra_vars(loader))
