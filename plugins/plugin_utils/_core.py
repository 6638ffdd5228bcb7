# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Uses of ansible-core beyond its documented API: what, why, and the versions of core that they were tested on."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import typing as t
from collections.abc import Iterator, Mapping

from ansible import constants, context
from ansible.executor.module_common import _apply_action_arg_defaults
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase
from ansible.plugins.connection import ConnectionBase
from ansible.plugins.loader import strategy_loader
from ansible.plugins.strategy.linear import StrategyModule

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# ---- modules: tested on 2.19 and 2.21 ----

# A worker redirects its standard error to /dev/null, and what it displays after Ctrl-C is not read any more. So the
# strategy's process duplicates its own when it loads the plugin, which is before the fork; None if it has none.
_STDERR: int | None = None
with contextlib.suppress(OSError):
    _STDERR = os.dup(2)
# The text by which core itself replaces secret arguments.
_PLACEHOLDER = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
# Callbacks whose output is a document, which other text would break.
_DOCUMENTS = ("json", "jsonl")


def write_to_terminal(line: str) -> None:
    """Write a line to the standard error of the process that started the workers."""
    if _STDERR is not None:
        with contextlib.suppress(OSError):
            os.write(_STDERR, f"{line}\n".encode())


class PrivateAction(ActionBase):
    """An action whose arguments are secrets in part. Callbacks are given a task's arguments, and see a placeholder.

    ``finalize_task_arg`` is marked experimental. Nothing else can replace an argument before callbacks get it.
    """

    # The secret arguments of the current task, by name: a process runs one task at a time.
    _private: t.ClassVar[dict[str, t.Any]] = {}

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, templar: t.Any, context: t.Any) -> t.Any:
        """Render an argument, and keep a secret one back before anything else can see the task's arguments."""
        value = super().finalize_task_arg(name, value, templar, context)
        if not value or not _is_private(name, value):
            PrivateAction._private.pop(name, None)
            return value
        PrivateAction._private[name] = value
        return _PLACEHOLDER

    @property
    def arguments(self) -> dict[str, t.Any]:
        """The task's arguments with the secret ones."""
        given = self._task.args.items()
        return {str(name): self._private.get(name, value) if value == _PLACEHOLDER else value for name, value in given}


def plain(value: t.Any) -> t.Any:
    """An argument as JSON would carry it to a module: without what core keeps with strings, vaulted ones decrypted."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _is_private(name: str, value: t.Any) -> bool:
    # A registration is the name of a variable; some give the variable itself.
    return name in ("api_token", "client") or (name == "registration" and isinstance(value, dict))


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


@contextlib.contextmanager
def task_environment(action: ActionBase) -> Iterator[None]:
    """Set what the task's keyword ``environment`` asks for, which core does for commands only."""
    added: dict[str, t.Any] = {}
    action._compute_environment_string(added)
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in added.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


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


def show(action: ActionBase, text: str) -> None:
    """Print text unchanged, unless the output is a document."""
    if str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2] not in _DOCUMENTS:
        action._display.display(f"\n{text}\n")


def show_diff(action: ActionBase, diff: Mapping[str, t.Any]) -> None:
    """Print a diff, formatted as by a callback, of a result that core does not show."""
    show(action, CallbackBase()._get_diff(diff).rstrip())


# ---- hosts: tested on 2.19 and 2.21 ----

# The methods of core's display that show something.
_SHOWING = ("banner", "deprecated", "_deprecated_with_plugin_info", "display", "error", "system_warning", "warning")
# A call of such a method: its name and arguments.
DisplayCall = tuple[str, tuple[t.Any, ...], dict[str, t.Any]]


_VARIABLE = re.compile(r"\{\{\s*([a-z_][a-z0-9_]*)\s*\}\}")


def looked_up(value: t.Any, templar: t.Any) -> t.Any:
    """A variable's value for a template that is only its name: ``finalize_task_arg`` would compile each.

    That takes a hundred times as long: a steady run of 500 hosts takes 29.6 s of processor time instead of 26.8 s.
    """
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return templar.available_variables.get(match[1], value) if match else value


def forget_origins(task: Task) -> None:
    """Make strings of the task plain: core attaches its origin to each, which takes much memory.

    The task goes back with its result, and the controller keeps it for each host until the last is done. That is 8 KiB
    a host: with 500 hosts, 70.8 MiB instead of 66.8 MiB (67.9 MiB if only the arguments are plain).
    """
    for name in ("action", "become_method", "connection", "name", "register"):
        value = getattr(task, name)
        # The 2.21 core has more types here.
        if isinstance(value, str):
            setattr(task, name, str(value))
    task.notify = task.notify and plain(task.notify)
    # The next attempt needs the arguments as they are: plain strings are not trusted as templates.
    if not (task.until or task.retries):
        task.args = plain(task.args)


def notify_no_handler(action: ActionBase) -> None:
    """Leave out the handlers that the task's keyword names. Core adds them to the result after the action has run."""
    action._task.notify = None


def takes_input(connection: ConnectionBase) -> bool:
    """Whether a command gets standard input, with ``become`` or without: ``exec_command`` does not report it."""
    return bool(connection.has_pipelining and (not connection.become or connection.become.pipelining))


@contextlib.contextmanager
def collected_display(display: t.Any) -> Iterator[list[DisplayCall]]:
    """Collect what core and plugins would show, instead of showing it.

    They show parts of a template and of its variables by methods of the one display object, which no setting redirects.
    """
    calls: list[DisplayCall] = []

    def keep(name: str, *texts: t.Any, **options: t.Any) -> None:
        calls.append((name, texts, options))

    def keep_error(msg: str | None, exception: BaseException, **options: t.Any) -> None:
        keep("warning", f"{msg or ''} {exception}".strip())

    def keep_verbose(msg: str, host: str | None = None, caplevel: int = 2) -> None:
        # Core reports each step of a template here, mostly for a verbosity that is not set.
        if max(display.verbosity, display.log_verbosity) > caplevel:
            keep("verbose", msg, host=host, caplevel=caplevel)

    methods: dict[str, t.Any] = {name: functools.partial(keep, name) for name in _SHOWING}
    methods.update(error_as_warning=keep_error, verbose=keep_verbose, debug=lambda *texts, **options: None)
    printed = io.StringIO()
    vars(display).update(methods)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield calls
    finally:
        for name in methods:
            del vars(display)[name]
        if printed.getvalue():
            keep("warning", printed.getvalue())


def _without_token(environment: t.Any) -> t.Any:
    if not isinstance(environment, dict):
        return environment
    return {name: value for name, value in environment.items() if name != "MONITOR_API_TOKEN"}


def run_action(
    action: ActionBase,
    name: str,
    arguments: dict[str, t.Any],
    variables: dict[str, t.Any],
    *,
    task_vars: Mapping[str, t.Any] | None = None,
    module_defaults: t.Sequence[t.Any] = (),
) -> dict[str, t.Any]:
    """Run another action plugin on the task's host, with the defaults of the play and of ``module_defaults``.

    Core applies defaults before it makes the action, and no public function does.
    """
    task = action._task.copy()
    task.action = name
    task.vars = {**task.vars, **(task_vars or {})}
    if not name.startswith("monitor.cloud."):
        # Core puts the environment on command lines of the host, where others could read the token.
        task.environment = [_without_token(each) for each in task.environment or ()]
    task.module_defaults = [*task.module_defaults, *module_defaults]
    task.args = _apply_action_arg_defaults(name, task, arguments, action._templar)
    plugin = action._shared_loader_obj.action_loader.get(
        name,
        task=task,
        connection=action._connection,
        play_context=action._play_context,
        loader=action._loader,
        templar=action._templar,
        shared_loader_obj=action._shared_loader_obj,
    )
    return dict(plugin.run(task_vars=variables))


# ---- audit: tested on 2.19 and 2.21 ----

# Keywords of a task with their command-line option, and the setting that holds without the option.
_KEYWORDS = {
    "become_method": ("--become-method", constants.DEFAULT_BECOME_METHOD),  # type: ignore[attr-defined]
    "become_user": ("--become-user", None),
    "remote_user": ("--user", constants.DEFAULT_REMOTE_USER),  # type: ignore[attr-defined]
}


# Of variables that are templates of other ones only.
_LONGEST_CHAIN = 10


def play_of(task: Task) -> Play:
    """The play of a task: no variable holds its ``serial`` and ``strategy``."""
    return t.cast("Play", task.get_play())


def raw_variables(variables: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of the inventory and the facts of a host as they are: ``hostvars[host]`` would render them."""
    return t.cast("Mapping[str, t.Any]", variables["hostvars"].raw_get(host))


def registered(variables: Mapping[str, t.Any], host: str, name: str) -> Mapping[str, t.Any] | None:
    """What a task registered for a host under a name: ``hostvars[host]`` would template the whole result again."""
    return t.cast("Mapping[str, t.Any] | None", raw_variables(variables, host).get(name))


def unrendered(value: t.Any, templar: t.Any) -> t.Any:
    """The value of the variable that a template names, or None; it may be data that no template is to be read from."""
    for _step in range(_LONGEST_CHAIN):
        match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if not match:
            return value
        value = templar.available_variables.get(match[1])
    raise InputError(f"{value!r} names a variable that names itself. Set it to a list.")


def command_line() -> Mapping[str, t.Any]:
    """The options of the command, by their names in core's parser: variables hold a few of them only."""
    return t.cast("Mapping[str, t.Any]", context.CLIARGS)


def variables_in(option: str, loader: DataLoader) -> Mapping[str, t.Any]:
    """The variables in the value of an ``--extra-vars`` option: core keeps all options merged, or their text."""
    found = loader.load(option) if option[0] in "{[" else parse_kv(option)
    # Core's name for words that are not variables.
    return {name: value for name, value in found.items() if name != "_raw_params"}


def connection_options(task: Task) -> dict[str, str]:
    """How a task reaches hosts, as options of the command line; variables hold this only if the inventory sets it."""
    given = {option: (getattr(task, name), setting) for name, (option, setting) in _KEYWORDS.items()}
    # 2.21 replaces the keyword of a running task by the connection in use: local, for an action without one.
    given["--connection"] = (play_of(task).connection, constants.DEFAULT_TRANSPORT)  # type: ignore[attr-defined]
    key, default = context.CLIARGS.get("private_key_file"), constants.DEFAULT_PRIVATE_KEY_FILE  # type: ignore[attr-defined]
    given["--private-key"] = (key, default)
    return {option: str(value) for option, (value, setting) in given.items() if value and value != setting}
