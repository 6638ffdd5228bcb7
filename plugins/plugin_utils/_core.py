# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Uses of ansible-core beyond its documented API: what, and why. All of them are tested on 2.16 to 2.22."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import typing as t
from collections.abc import Iterator, Mapping

import jinja2
from ansible import constants, context, template
from ansible.errors import AnsibleError
from ansible.executor import module_common
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase
from ansible.plugins.connection import ConnectionBase
from ansible.plugins.loader import action_loader, strategy_loader
from ansible.plugins.strategy.linear import StrategyModule
from ansible.release import __version__
from ansible.template import Templar
from ansible.utils.display import Display
from ansible.utils.unsafe_proxy import wrap_var
from ansible.utils.vars import load_extra_vars

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# Core only warns if it is older than meta/runtime.yml requires; then a missing attribute would fail the first task.
if tuple(map(int, __version__.split(".")[:2])) < (2, 16):
    raise AnsibleError(
        f"monitor.cloud needs ansible-core 2.16 or newer, and this is {__version__}. If the distribution has no newer "
        "one, install it with pipx: pipx install ansible-core"
    )

# ---- templates ----

# Before 2.19 each string is a template unless it is marked as unsafe; since then, only one that is marked as trusted.
_TRUSTS_ALL = not hasattr(template, "trust_as_template")
_TEMPLATE = re.compile(r"\{[{%#]")


def trusted(text: str) -> str:
    """A text of this collection or of its user as a template."""
    return text if _TRUSTS_ALL else template.trust_as_template(text)


def as_data(value: t.Any) -> t.Any:
    """A value of the service, or of a host, as it may stand among variables: no string in it is a template.

    Others are not marked, because ``ansible-inventory`` prints a marked string as a dictionary.
    """
    return wrap_var(value) if _TRUSTS_ALL and has_template(value) else value


def has_template(value: t.Any) -> bool:
    """Whether a value may be, or contain, a template."""
    return not isinstance(value, (int, float)) and bool(_TEMPLATE.search(str(value)))


def failed_to_render(rendered: t.Any) -> bool:
    """Whether what hostvars return is a template that fails: before 2.19 they return that unchanged."""
    return _TRUSTS_ALL and has_template(rendered) and not getattr(rendered, "__UNSAFE__", False)


# ---- modules ----


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
# Callbacks whose output is a document, which other text would break.
_DOCUMENTS = ("json", "jsonl")


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
    params = unrendered(whole.get("_variable_params"), templar)
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


if _TRUSTS_ALL:
    # Core has these methods since 2.19. Set before the first fork: the strategy loads the action of a task before it
    # starts a worker.
    _methods = {"_post_validate_args": _finalize_args, "_post_validate_module_defaults": _keep_module_defaults}
    for _name, _method in _methods.items():
        setattr(Task, _name, _method)


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
        if _TRUSTS_ALL:
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


def plain(value: t.Any) -> t.Any:
    """An argument as JSON would carry it to a module: without what core keeps with strings, vaulted ones decrypted."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        # A string marked as unsafe remains so with str().
        return str.__str__(value)
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


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


def around(task: Task, keyword: str) -> t.Any:
    """A keyword of what is around a task of the role, not rendered; a class if it is not set."""
    return task._get_parent_attribute(keyword, omit=True)


def check_not_delegated(action: ActionBase, variables: Mapping[str, t.Any]) -> None:
    """Raise InputError if what uses the role of the task delegates it: other tasks of the role would have that host."""
    host, given = variables["inventory_hostname"], around(action._task, "delegate_to")
    delegate = action._templar.template(given) if isinstance(given, str) else host
    if delegate != host:
        raise InputError(
            f"The role can't be delegated: {delegate} would get the client of {host}. Nothing was done. Use the role "
            f"in a play that has {delegate} among its hosts."
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


def injects_invocation(variables: Mapping[str, t.Any]) -> bool:
    """Whether core adds its arguments to the result of a module: always before 2.21, which has a setting, off."""
    if not hasattr(constants, "INJECT_INVOCATION"):
        return True
    return bool(constants.config.get_config_value("INJECT_INVOCATION", variables=variables))


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


def hide_loop(task: Task) -> None:
    """Keep the result of the loop from callbacks: before 2.19, items that are not to be shown are in it whole."""
    if _TRUSTS_ALL and task.loop:
        task.no_log = True


def show(action: ActionBase, text: str) -> None:
    """Print text unchanged, unless the output is a document."""
    if str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2] not in _DOCUMENTS:
        action._display.display(f"\n{text}\n")


def show_diff(action: ActionBase, diff: Mapping[str, t.Any]) -> None:
    """Print a diff, formatted as by a callback, of a result that core does not show."""
    show(action, CallbackBase()._get_diff(diff).rstrip())


# ---- hosts ----

# The methods of core's display that show something.
_SHOWING = ("banner", "deprecated", "_deprecated_with_plugin_info", "display", "error", "system_warning", "warning")
# A call of such a method: its name and arguments.
DisplayCall = tuple[str, tuple[t.Any, ...], dict[str, t.Any]]
# A template that is only the name of a variable.
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
    for name in ("action", "become_method", "connection", "name", "notify", "register"):
        value = getattr(task, name)
        # The 2.21 core has more types here.
        if isinstance(value, (list, str)):
            setattr(task, name, plain(value))
    # The next attempt needs the arguments as they are: plain strings are not trusted as templates.
    if not (task.until or task.retries):
        task.args = plain(task.args)


def notify_no_handler(action: ActionBase) -> None:
    """Leave out the handlers that the task's keyword names. Core adds them to the result after the action has run."""
    action._task.notify = None


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
        return not all(_handles(each, action._templar, variables) for each in handlers)
    return True


def _handles(handler: t.Any, templar: Templar, variables: Mapping[str, t.Any]) -> bool:
    """Whether a handler is run for the host, in the mode of the run."""
    if boolean(templar.template(handler.check_mode)) != variables["ansible_check_mode"]:
        return False
    if _TRUSTS_ALL:
        return bool(handler.evaluate_conditional(templar, variables))
    return all(templar.evaluate_conditional(each) for each in handler.when)


def takes_input(connection: ConnectionBase) -> bool:
    """Whether a command gets standard input, with ``become`` or without: ``exec_command`` does not report it."""
    become = connection.become
    # 2.18 has no property for it.
    return bool(connection.has_pipelining and (not become or getattr(become, "pipelining", become.name != "su")))


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
        # Core reports each step of a template here, mostly for a verbosity that is not set. 2.16 has one only.
        if max(display.verbosity, getattr(display, "log_verbosity", 0)) > caplevel:
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


# A rendered file, or the error, and the calls of the display during the rendering.
Rendered = tuple[str | None, Exception | None, list[DisplayCall]]


def render_file(
    action: ActionBase, template: str | None, content: t.Any, variables: Mapping[str, t.Any], own: Mapping[str, t.Any]
) -> Rendered:
    """Render a template file, or content, as ansible.builtin.template does: with the same look-up and trimming.

    ``own`` are data of the service beside the variables.
    """
    # The default of core's setting, which is deprecated, for the first line of many templates.
    known = {"ansible_managed": "Ansible managed", **variables, **as_data(own)}
    with collected_display(action._display) as shown:
        try:
            return _render(action, template, content, known), None, shown
        except Exception as error:
            return None, error, shown


def _render(action: ActionBase, template: str | None, content: t.Any, variables: dict[str, t.Any]) -> str:
    # Before 2.19 a text that resembles a dictionary or a list would become one.
    options: dict[str, t.Any] = {"convert_data": False} if _TRUSTS_ALL else {}
    search = list(variables.get("ansible_search_path", []))
    text = content
    if template is not None:
        source = action._find_needle("templates", template)
        search += [action._loader.get_basedir(), os.path.dirname(source)]
        loader = action._loader
        # The first is new in 2.19.
        read = getattr(loader, "get_text_file_contents", lambda path: loader._get_file_contents(path)[0].decode())
        text = trusted(read(source))
        options["overrides"] = {"trim_blocks": True, "newline_sequence": "\n"}
    paths = [path for root in search for path in (os.path.join(root, "templates"), root)]
    templar = _templar_for(action, variables, searchpath=paths)
    # A header sets options of a copy of the environment, which would inherit the function.
    if template is not None and not text.startswith("#jinja2:"):
        _share_compiled(templar, source, text)
    rendered = templar.template(text, escape_backslashes=False, **options)
    rendered = "" if rendered is None else str(plain(rendered))
    # 2.19 replaces bytes of a template file that are not UTF-8.
    if any("\ud800" <= character <= "\udfff" for character in rendered):
        raise InputError("it is not text in UTF-8. Convert it.")
    return rendered


def _share_compiled(templar: t.Any, path: str, text: str) -> None:
    """Let the first worker that compiles a template file leave the result to the others, each of which is for one host.

    In the private directory of the run. A steady run of 200 hosts takes 5.8 s of processor time instead of 6.2 s.
    """
    # Since 2.19 the public attribute is deprecated.
    environment: jinja2.Environment = templar.environment if _TRUSTS_ALL else templar._engine.environment
    cache, compile_text = jinja2.FileSystemBytecodeCache(constants.DEFAULT_LOCAL_TMP), environment.compile  # type: ignore[attr-defined]

    def compiled(source: t.Any, *args: t.Any, **options: t.Any) -> t.Any:
        if source != text:
            return compile_text(source, *args, **options)
        # The disk may be full, and before Jinja 3.1.2 another worker may be writing the file. A template that fails to
        # compile fails again below.
        with contextlib.suppress(Exception):
            bucket = cache.get_bucket(environment, path, None, text)
            if bucket.code is None:
                bucket.code = compile_text(source, *args, **options)
                cache.set_bucket(bucket)
            return bucket.code
        return compile_text(source, *args, **options)

    environment.compile = compiled  # type: ignore[method-assign]


def _templar_for(action: ActionBase, variables: Mapping[str, t.Any], **options: t.Any) -> t.Any:
    """A templar with other variables than the action's."""
    own: t.Any = action._templar
    templar = own.copy_with_new_env(available_variables=variables, **options)
    if _TRUSTS_ALL:
        # The copy has those of the original, which see its variables.
        lookups = {"lookup": templar._lookup, **dict.fromkeys(("query", "q"), templar._query_lookup)}
        templar.environment.globals = {**templar.environment.globals, **lookups}
    return templar


def _with_defaults(name: str, task: Task, arguments: dict[str, t.Any], templar: Templar) -> t.Any:
    if not _TRUSTS_ALL:
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
    module_defaults: t.Sequence[t.Any] = (),
) -> dict[str, t.Any]:
    """Run another action on the task's host, with ``task_vars`` and ``module_defaults`` beside those of the task.

    Core applies defaults before it makes the action, and no public function does.
    """
    task = action._task.copy()
    task.action = name
    task.vars = {**task.vars, **(task_vars or {})}
    if not name.startswith("monitor.cloud."):
        # As in PrivateAction.take_token; the module is not ours and needs none.
        forget_token(task)
    task.module_defaults = [*task.module_defaults, *module_defaults]
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


# ---- audit ----

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


def variables_of_play(task: Task) -> set[str]:
    """The names of the variables that a task's play, and its use of a role, set: values do not name their sources."""
    role = task._role
    of_role = {**role.vars, **role.get_role_params()} if role else {}
    return {*play_of(task).vars, *task.get_vars(), *of_role}


def raw_variables(variables: Mapping[str, t.Any], host: str) -> Mapping[str, t.Any]:
    """The variables of a host as they are, without those of the play: ``hostvars[host]`` would render them again."""
    return t.cast("Mapping[str, t.Any]", variables["hostvars"].raw_get(host))


def unrendered(value: t.Any, templar: t.Any) -> t.Any:
    """The value of the variable that a template names, or None; it may be data that no template is to be read from."""
    for _step in range(_LONGEST_CHAIN):
        match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if not match:
            return value
        value = templar.available_variables.get(match[1])
    raise InputError(f"{value!r} names a variable that names itself. Set that variable to a value.")


def templar_for(action: ActionBase, variables: Mapping[str, t.Any], host: str) -> t.Any:
    """A templar with the variables that the task would have for another host of its batch."""
    hostvars, task = variables["hostvars"], action._task
    of_host = hostvars._variable_manager.get_vars(
        play=play_of(task),
        host=hostvars._inventory.get_host(host),
        task=task,
        _hosts=variables["ansible_play_batch"],
        _hosts_all=variables["ansible_play_hosts_all"],
    )
    return _templar_for(action, of_host)


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
