# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A task and its action: secret arguments, connection, environment, what is shown, and other actions."""

from __future__ import annotations

import contextlib
import os
import typing as t
from collections.abc import Iterator, Mapping

from ansible import constants
from ansible.executor import module_common
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase
from ansible.plugins.connection import ConnectionBase
from ansible.plugins.loader import action_loader
from ansible.template import Templar

from ansible_collections.monitor.cloud.plugins.plugin_utils._core import templates
from ansible_collections.monitor.cloud.plugins.plugin_utils._core.plays import around, play_of


def documented(*documents: str, **rules: t.Any) -> ArgumentSpecValidator:
    """A validator of the options that DOCUMENTATION and doc fragments describe, and of rules about several of them."""
    options = {name: option for text in documents for name, option in yaml_load(text)["options"].items()}
    return ArgumentSpecValidator(options, **rules)


# A worker redirects its standard error to /dev/null, and what it displays after Ctrl-C is not read any more. So the
# strategy's process duplicates its own when it loads the plugin, which is before the fork; it may have none.
_STDERR = -1
with contextlib.suppress(OSError):
    _STDERR = os.dup(2)
# The text by which core itself replaces secret arguments.
PLACEHOLDER = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
# The start of a text that stands for an omitted argument before 2.19, which core removes later.
_OMITTED = "__omit_place_holder__"


def write_to_terminal(line: str) -> None:
    """Write a line to the standard error of the process that started the workers."""
    with contextlib.suppress(OSError):
        os.write(_STDERR, f"{line}\n".encode())


_render_args: t.Callable[..., dict[str, t.Any]] = Task._post_validate_args


def _finalize_args(task: Task, attribute: t.Any, value: dict[str, t.Any], templar: Templar) -> t.Any:
    """Render the arguments of a task, each by its action if that is a :class:`PrivateAction`."""
    action = _private_action(task)
    if action is None:
        return _render_args(task, attribute, value, templar)
    # The value of the keyword ``args``, if that is a template.
    whole = {name: item for name, item in value.items() if name == "_variable_params"}
    each = {name: item for name, item in value.items() if name not in whole}
    params = templates.unrendered(whole.get("_variable_params"), templar)
    if isinstance(params, dict):
        # Core still warns of it.
        whole, each = {"_variable_params": {}}, {**params, **each}
    each = {name: action.finalize_task_arg(name, item, templar, None) for name, item in each.items()}
    return {**_render_args(task, attribute, whole, templar), **each}


def _keep_module_defaults(task: Task, attribute: t.Any, value: t.Any, templar: Templar) -> t.Any:
    """Leave module_defaults of our actions as they are: core renders them with the arguments; callbacks see both."""
    return value if _private_action(task) else templar.template(value)


def _private_action(task: Task) -> type[PrivateAction] | None:
    action = action_loader.get(task.action, class_only=True, collection_list=task.collections)
    return action if isinstance(action, type) and issubclass(action, PrivateAction) else None


if templates.TRUSTS_ALL:
    # Core has these methods since 2.19. Set before the first fork: the strategy loads the action of a task before it
    # starts a worker.
    Task._post_validate_args = _finalize_args  # type: ignore[assignment, method-assign]
    Task._post_validate_module_defaults = _keep_module_defaults  # type: ignore[assignment, method-assign]


class PrivateAction(ActionBase):
    """An action that decides how each of its arguments is rendered. Callbacks see a placeholder for secret ones.

    ``finalize_task_arg`` is marked experimental. Nothing else can replace an argument before callbacks get it. Before
    2.19 there is none, and :func:`_finalize_args` calls it.
    """

    # The secret arguments of the current task, by name: a process runs one task at a time.
    _private: t.ClassVar[dict[str, t.Any]] = {}

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, templar: t.Any, context: t.Any) -> t.Any:
        """Render an argument, and keep a secret one back before anything else can see the task's arguments."""
        return cls._keep_back(name, templar.template(value))

    @classmethod
    def _keep_back(cls, name: str, value: t.Any) -> t.Any:
        # A registration is the name of a variable; some give the variable itself.
        is_private = isinstance(value, dict) if name == "registration" else name in ("api_token", "client")
        if not value or not is_private or (isinstance(value, str) and value.startswith(_OMITTED)):
            PrivateAction._private.pop(name, None)
            return value
        PrivateAction._private[name] = value
        return PLACEHOLDER

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        if templates.TRUSTS_ALL:
            # Those of module_defaults, which core adds after it has rendered the others.
            self._task.args = {
                name: value if value == PLACEHOLDER else self._keep_back(name, value)
                for name, value in self._task.args.items()
            }
        return dict(super().run(tmp, task_vars))

    @property
    def arguments(self) -> dict[str, t.Any]:
        """The task's arguments with the secret ones."""
        given = self._task.args.items()
        return {str(name): self._private.get(name, value) if value == PLACEHOLDER else value for name, value in given}

    def take_token(self, arguments: dict[str, t.Any]) -> None:
        """Remove the token from what the task's keyword ``environment`` asks for, and add it to arguments without one.

        Core puts the environment on command lines, where others could read the token, and callbacks are given it.
        """
        token = given_environment(self).get("MONITOR_API_TOKEN")
        forget_token(self._task)
        if token and arguments.get("api_token") is None:
            arguments["api_token"] = token
            # For the next attempt.
            self._task.args = {**self._task.args, "api_token": self._keep_back("api_token", token)}


@contextlib.contextmanager
def unlogged(connection: ConnectionBase) -> Iterator[None]:
    """Keep what commands print out of the verbose output, which the connection writes and no result controls.

    Only the connection's play context does this. It also omits why a connection failed, so it is used only for
    commands that print secrets.
    """
    context = connection._play_context
    before, context.no_log = context.no_log, True
    try:
        yield
    finally:
        context.no_log = before


def use_local_connection(action: ActionBase, variables: Mapping[str, t.Any]) -> None:
    """Run a task that has ``vars: ansible_connection: local`` on the controller, as the user there.

    Extra variables such as ansible_connection, which are meant for the hosts, take precedence over those of a task, so
    core has made another connection. It is not open yet: connections open with their first command.
    """
    if action._task.vars.get("ansible_connection") != "local":
        return
    if not is_local(action):
        loader = action._shared_loader_obj.connection_loader
        action._connection = loader.get("ansible.builtin.local", action._play_context)
    host_variables(action, variables)["ansible_python_interpreter"] = variables["ansible_playbook_python"]


def is_local(action: ActionBase) -> bool:
    """Whether the task's commands are run on the controller, by the user there."""
    return action._connection.transport == "local" and not action._connection.become


def host_variables(action: ActionBase, variables: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The variables of the host that the task runs on: with delegation, core keeps them apart."""
    host = action._task.delegate_to
    return t.cast("dict[str, t.Any]", variables["ansible_delegated_vars"][host] if host else variables)


def given_environment(action: ActionBase) -> dict[str, str]:
    """What the task's keyword ``environment`` asks for. Core sets it for modules, not for an action's own commands."""
    given: dict[str, t.Any] = {}
    action._compute_environment_string(given)
    return {name: str(value) for name, value in given.items()}


@contextlib.contextmanager
def task_environment(action: ActionBase) -> Iterator[None]:
    """Set what the task's keyword ``environment`` asks for, in this process."""
    before = dict(os.environ)
    os.environ.update(given_environment(action))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def forget_token(task: Task) -> None:
    """Remove the token from what the task's keyword ``environment`` asks for."""
    task.environment = [
        {name: value for name, value in each.items() if name != "MONITOR_API_TOKEN"} if isinstance(each, dict) else each
        for each in task.environment or ()
    ]


def injects_invocation(variables: Mapping[str, t.Any]) -> bool:
    """Whether core adds its arguments to the result of a module: always before 2.21, which has a setting, off."""
    if not hasattr(constants, "INJECT_INVOCATION"):
        return True
    return bool(constants.config.get_config_value("INJECT_INVOCATION", variables=variables))


def hide_loop(task: Task) -> None:
    """Keep the result of the loop from callbacks: before 2.19, items that are not to be shown are in it whole."""
    if templates.TRUSTS_ALL and task.loop:
        task.no_log = True


# Callbacks whose output is a document, which other text would break.
_DOCUMENTS = ("json", "jsonl")


def show(action: ActionBase, text: str) -> None:
    """Print text unchanged, unless the output is a document."""
    if str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2] not in _DOCUMENTS:
        action._display.display(f"\n{text}\n")


def show_diff(action: ActionBase, diff: Mapping[str, t.Any]) -> None:
    """Print a diff, formatted as by a callback, of a result that core does not show."""
    show(action, CallbackBase()._get_diff(diff).rstrip())


# What core still reads of a task after its action has run, but needs no origin of.
_READ_LATER = (
    "_resolved_action",
    "action",
    "become_method",
    "connection",
    "name",
    "notify",
    "poll",
    "register",
    "timeout",
)


def forget_origins(task: Task) -> None:
    """Make strings and numbers of the task plain: core attaches its origin to each, which takes much memory.

    The task goes back with its result, and the controller keeps it for each host until the last is done. That is 8 KiB
    a host, or 10 on 2.21.
    """
    for name in _READ_LATER:
        value = getattr(task, name, None)
        if isinstance(value, (int, list, str)):
            setattr(task, name, templates.plain(value))
        elif isinstance(value, dict):
            # Since 2.21 register names expressions, which core renders after this.
            setattr(task, name, {templates.plain(key): expression for key, expression in value.items()})
    # The next attempt needs them as they are: plain strings are not trusted as templates.
    if not (task.until or task.retries):
        task.args = templates.plain(task.args, decrypt=False)
        # Core renders them once more, for the names of handlers. Vaulted ones, which may not be used, are no str.
        if all(isinstance(value, (int, str)) and not templates.has_template(value) for value in task.vars.values()):
            task.vars = templates.plain(task.vars)


def takes_input(connection: ConnectionBase) -> bool:
    """Whether a command gets standard input, with ``become`` or without: ``exec_command`` does not report it."""
    become = connection.become
    # 2.18 has no property for it.
    return bool(connection.has_pipelining and (not become or getattr(become, "pipelining", become.name != "su")))


def notify_no_handler(action: ActionBase) -> None:
    """Leave out the handlers that the task's keyword names. Core adds them to the result after the action has run.

    Those that its block, or the use of its role, names take their place, as for a task without the keyword.
    """
    given = around(action._task, "notify")
    names = [given] if isinstance(given, str) else given
    action._task.notify = action._templar.template(names) if isinstance(names, list) else None


def _with_defaults(name: str, task: Task, arguments: dict[str, t.Any], templar: Templar) -> t.Any:
    if not templates.TRUSTS_ALL:
        return module_common._apply_action_arg_defaults(name, task, arguments, templar)
    old: t.Any = module_common
    groups = play_of(task)._action_groups
    return old.get_action_args_with_defaults(name, arguments, task.module_defaults, templar, groups)


def run_action(
    action: ActionBase,
    name: str,
    arguments: dict[str, t.Any],
    variables: dict[str, t.Any],
    *,
    task_vars: Mapping[str, t.Any] | None = None,
) -> dict[str, t.Any]:
    """Run another action on the task's host, with ``task_vars`` beside those of the task.

    Core applies defaults before it makes the action, and no public function does.
    """
    task = action._task.copy()
    task.action = name
    task.vars = {**task.vars, **(task_vars or {})}
    if not name.startswith("monitor.cloud."):
        # As in PrivateAction.take_token; the module is not ours and needs none.
        forget_token(task)
    task.args = _with_defaults(name, task, arguments, action._templar)
    plugin = action._shared_loader_obj.action_loader.get(
        name,
        task=task,
        connection=action._connection,
        play_context=action._play_context,
        loader=action._loader,
        templar=action._templar,
        shared_loader_obj=action._shared_loader_obj,
    )
    try:
        return dict(plugin.run(task_vars=variables))
    finally:
        # An action removes only the temporary directory that it made itself.
        plugin.cleanup()
