# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of all modules: in this process if possible, and without secrets in output, logs and variables."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import traceback
import typing as t
from collections.abc import Iterator, Mapping

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, Module, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import load_requests
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact_all
from ansible_collections.monitor.cloud.plugins.plugin_utils import _accounts, _role_variables
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import secrets_in
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, tasks, templates
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed_keys import clients_in, seal

try:
    from ansible.module_utils.secrets import register_secrets  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    # New in 2.22.
    register_secrets = None

_PROGRESS_EVERY = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# No signal has this number.
_END = b"\0"
_RAW_OUTPUT = ("module_stdout", "module_stderr", "stdout", "stdout_lines", "stderr", "stderr_lines", "exception")
# A variable of the role's own tasks: what comes after the check of the role's variables, which is to ``register``,
# ``inspect`` or ``remove`` the clients of the hosts. Before a playbook deletes clients of no host, ``delete`` or
# ``prune``, only account and inventory are checked.
_CHECK_BEFORE = "monitor_agent_check_before"
# The results of these hold sealed keys, which agent_config and agent_install can open.
_SEALED = ("register", "inspect")


class ModuleAction(tasks.PrivateAction):
    """The action plugin of a module. Callbacks see neither the token nor keys; failures never carry keys."""

    _supports_async = True
    MODULE: t.ClassVar[Module]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> Result:
        variables = task_vars or {}
        tasks.use_local_connection(self, variables)
        super().run(tmp, task_vars)
        result = self._result(variables)
        if result.get("failed"):
            # Options may hold keys that a task registered, such as a client in place of its label.
            secrets = secrets_in([result, *self._task.args.values()], variables)
            if secrets:
                # Since 2.19 it has the message of an executed module too.
                result.pop("exception", None)
                result, self._task.args = redact_all(result, secrets), redact_all(self._task.args, secrets)
        return result

    def _result(self, variables: dict[str, t.Any]) -> Result:
        arguments = self.arguments
        if self._task.check_mode and arguments.get("id") == "":
            # Before 2.19 a template makes this of None, the id of a client that check mode predicts.
            arguments["id"] = None
        step = self._task.vars.get(_CHECK_BEFORE)
        sealed = step in _SEALED
        with_keys = sealed or boolean(arguments.get("include_keys", False), strict=False)
        try:
            if "include_keys" not in self.MODULE.options:
                return self._execute({**arguments, **self._connection_of_role(variables)}, variables)
            _role_variables.warn_of_unknown(variables)
            self._check(with_keys)
            arguments |= self._connection_of_role(variables)
            if step and not self._check_role(step, arguments, variables):
                return {"changed": False, "skipped": True, "skip_reason": "monitor_agent_state is not present."}
        except InputError as error:
            return {"failed": True, "msg": str(error)}
        if sealed:
            arguments["include_keys"] = True
        result = self._execute(arguments, variables, with_keys, sealed)
        if step in ("remove", "inspect") and not result.get("failed"):
            # The hosts put it into their results of this use of the role.
            # Too short to be taken for a part of a key: in the whole, zeros were.
            result["use"] = fields.fingerprint(str(self._task._uuid))[:7]
        if step == "inspect":
            # An audit may have a token that only reads: what check mode predicts is not to be done.
            result.pop("warnings", None)
        return self._without_keys(result, sealed) if with_keys else result

    def _without_keys(self, result: Result, sealed: bool) -> Result:
        """A result with keys as it may leave the task: a failure never carries them, others are sealed or not shown."""
        if result.get("failed"):
            # If core could not read a module's output, it returns that unchanged, and its message points there.
            if result.get("module_stdout") or result.get("module_stderr"):
                hint = "it is not shown, because it may hold keys: run the task without include_keys to see it"
                result["msg"] = f"{result.get('msg')} ({hint})."
            return {name: value for name, value in result.items() if name not in _RAW_OUTPUT}
        if sealed:
            return result
        if "diff" in result and result.get("changed") and not self._task.no_log:
            # Core does not show it with such a result; it has labels and fingerprints only.
            tasks.show_diff(self, result["diff"])
        tasks.hide_loop(self._task)
        # Core removes this from a module's own result.
        return {**result, "_ansible_no_log": True}

    def _check(self, with_keys: bool) -> None:
        if self._task.run_once:
            plays.check_linear(self._task)
        if with_keys and self._task.async_val:
            raise InputError(
                "include_keys cannot be used with async, because the job's file and status would show the keys. Remove "
                "async from the task."
            )

    def _connection_of_role(self, variables: Mapping[str, t.Any]) -> Result:
        """The connection options that the role's variables give a task of the role, or of one of its playbooks.

        What the task itself or module_defaults for its module give takes precedence, what those for the group give
        does not.
        """
        role = self._task._role
        if _role_variables.PLAYBOOK not in variables and not (role and role.get_name() == _role_variables.ROLE):
            return {}
        of_module, of_group = (
            {option for each in self._task.module_defaults for option in self._templar.template(each.get(name) or {})}
            for name in (self._task.action, _accounts.GROUP)
        )
        others = (*CONNECTION_OPTIONS, "check_capacity", "concurrency")
        options = {name for name in others if name in self.MODULE.spec["argument_spec"]}
        return _role_variables.connection(
            self._templar, variables, options - of_module - (self.arguments.keys() - of_group)
        )

    def _check_role(self, step: str, arguments: dict[str, t.Any], variables: dict[str, t.Any]) -> bool:
        """Check the variables of the role, and add the labels of its hosts to the arguments.

        Whether the task has something to do.
        """
        _role_variables.check_playbook(variables, plays.extra_variables(self._loader))
        if step == "prune":
            plays.check_whole_inventory()
            _role_variables.check_label_facts(variables)
            _check_prune(arguments)
        batch = plays.hosts_of_use(self, variables)
        plays.check_not_delegated(self, variables, batch)
        account = _accounts.names(self, variables)
        own = _role_variables.inventory(variables, account)
        of_batch = {host: own[host] for host in batch}
        _accounts.check(self, variables, of_batch, account)
        if step == "prune":
            arguments["labels"] = list(_role_variables.labels(variables, list(own), own).values())
            return True
        if step == "delete":
            _role_variables.check_gone(variables, arguments["labels"], own)
            return True
        _role_variables.check_batch(self, variables, of_batch)
        if step == "inspect":
            # Of all batches: the account is compared with the whole play.
            hosts = variables["ansible_play_hosts_all"]
            arguments["labels"] = list(_role_variables.labels(variables, hosts, own).values())
            return True
        plays.check_not_once(self, variables)
        if step == "register" and _role_variables.state_of_batch(self, variables, of_batch) != "present":
            return False
        # The client of a label that two hosts have would be removed from the other one too.
        _role_variables.check_label_of_play(self, variables, batch)
        if step == "register":
            arguments["labels"], arguments["planned_labels"] = _role_variables.labels_to_register(
                variables, batch, own, account
            )
        else:
            _role_variables.labels(variables, batch, own)
        return True

    def _execute(
        self, arguments: dict[str, t.Any], variables: dict[str, t.Any], with_keys: bool = False, sealed: bool = False
    ) -> Result:
        self.take_token(arguments)
        if self._can_run_here(variables):
            with tasks.task_environment(self):
                result = self._run_here(templates.plain(arguments), tasks.injects_invocation(variables), sealed)
        else:
            with tasks.unlogged(self._connection) if with_keys else contextlib.nullcontext():
                wrap = bool(self._task.async_val)
                result = dict(self._execute_module(module_args=arguments, task_vars=variables, wrap_async=wrap))
            result = _guarded(result, sealed)
        if module_args := result.get("invocation", {}).get("module_args"):
            # An option whose name is misspelled may hold the token.
            known = self.MODULE.spec["argument_spec"]
            shown = {name: module_args[name] for name in known if name in module_args}
            # Since 2.22 core replaces it in what is displayed, and not in the result.
            result["invocation"] = {"module_args": {**shown, "api_token": shown.get("api_token") and tasks.PLACEHOLDER}}
        if result.get("failed") and (reason := self._why_missing(str(result.get("msg")), variables)):
            result["msg"] = f"{result['msg']} {reason}"
        return result

    def _why_missing(self, message: str, variables: dict[str, t.Any]) -> str:
        """Why a variable of a required option does not count, although it is set; else empty."""
        option = message.partition(" ")[0]
        name, in_environment = f"monitor_agent_{option}", f"MONITOR_{option.upper()}"
        if not message.startswith(f"{option} is required"):
            return ""
        if name not in variables:
            reason = "is set on the controller, but not where the task ran: set the option, or delegate_to: localhost"
            return f"{in_environment} {reason}." if os.environ.get(in_environment) else ""
        try:
            if not _role_variables.connection(self._templar, variables, [option]):
                return f"{name} is set, but it is empty."
        except InputError as error:
            return str(error)
        return f'{name} is set, but only the role and its playbooks read it: write {option}: "{{{{ {name} }}}}".'

    def _can_run_here(self, variables: dict[str, t.Any]) -> bool:
        """Whether the module would run on the controller, as this user, with this Python or a discovered one."""
        # On macOS the look-up of proxies crashes in a process that was forked and not executed.
        if self._task.async_val or not tasks.is_local(self) or sys.platform == "darwin":
            return False
        if load_requests() is not None:
            # The module may run with another Python, which has it; else it reports that it is missing.
            return False
        if self._task.delegate_to:
            # An interpreter that the inventory sets for all hosts is meant for the others.
            return True
        interpreter = self._templar.template(tasks.host_variables(self, variables).get("ansible_python_interpreter"))
        return interpreter in (None, sys.executable) or str(interpreter).startswith("auto")

    def _run_here(self, arguments: dict[str, t.Any], with_invocation: bool, sealed: bool) -> Result:
        """Return the result that AnsibleModule would return for the arguments."""
        module = self.MODULE
        checked = ArgumentSpecValidator(**module.spec).validate(arguments)
        params = checked.validated_parameters
        token = params.get("api_token")
        if checked.error_messages:
            unsupported = isinstance(checked.errors[0], UnsupportedError)
            prefix = f"Unsupported parameters for ({self._task.action}) module: " if unsupported else ""
            result: Result = {"failed": True, "msg": f"{prefix}{checked.errors.msg}"}
        else:
            try:
                result = module.execute(
                    params, check_mode=self._task.check_mode, diff=self._task.diff, watch=self._watched
                )
            except AnsibleError:
                # The task took longer than its keyword timeout allows.
                raise
            except Exception as error:
                # Without its message, which may hold a secret.
                kind, frames = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
                message = (
                    f"{self._task.action} failed: {kind}. This is a defect of the collection: report it with the "
                    "traceback, which holds no values (-vvv; since 2.19 ANSIBLE_DISPLAY_TRACEBACK=always)."
                )
                result = {"failed": True, "msg": message, "exception": frames + kind}
        if with_invocation:
            result["invocation"] = {"module_args": {**params, "api_token": token and tasks.PLACEHOLDER}}
        # Before the token is redacted, which may be a part of a key.
        result = _guarded(result, sealed)
        text = json.dumps(result)
        if token and json.dumps(token)[1:-1] in text:
            # An option, or a text of the service, holds it.
            text = json.dumps({name: redact_all(value, {"api_token": token}) for name, value in result.items()})
        return t.cast("Result", json.loads(text))

    @contextlib.contextmanager
    def _watched(self, api: Api) -> Iterator[None]:
        """Show the progress of the work. At a signal requests in flight finish, no other starts, and the process ends.

        Core sends SIGINT at Ctrl-C and SIGTERM after 5 s; its handler of SIGALRM raises at the end of a task's timeout.
        """
        name = str(self._task.action).rpartition(".")[2]
        caught: list[int] = []
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        watcher = threading.Thread(target=_watch, args=(reader, name, api, caught), daemon=True)
        handlers = {each: signal.signal(each, lambda number, _: caught.append(number)) for each in _SIGNALS}
        # Each signal writes its number at once. Python runs handlers in the main thread only, which may be waiting.
        before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        watcher.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.write(writer, _END)
            watcher.join()
            for each, handler in handlers.items():
                signal.signal(each, handler)
            os.close(reader)
            os.close(writer)
            if caught:
                tasks.write_to_terminal(f"{name}: interrupted, {_progress(api)}. Run again to do the rest.")
                os.kill(os.getpid(), caught[0])


def _guarded(result: Result, sealed: bool) -> Result:
    """The result with its keys sealed if they are to be; core masks them in all that it displays from now on."""
    if register_secrets is not None:
        # Such as a configuration that another task prints.
        values = [client.get(field) for client in clients_in(result) for field in fields.SECRET_FIELDS]
        register_secrets(value for value in values if not fields.looks_masked(value))
    if not sealed or result.get("failed"):
        return result
    return {**result, "clients": {label: seal(client) for label, client in result["clients"].items()}}


def _check_prune(arguments: Mapping[str, t.Any]) -> None:
    """InputError for a prune of a part of the inventory, or one that does not choose clients."""
    if plays.command_line().get("subset"):
        raise InputError(
            "Clients without a host are determined from the whole inventory, so nothing was done. Run it without "
            "--limit."
        )
    if not arguments.get("prune_pattern"):
        raise InputError(
            "prune_pattern is required: a regular expression that matches the whole label of each client that may be "
            "removed. Set it with -e prune_pattern=..."
        )


def _watch(reader: int, name: str, api: Api, caught: list[int]) -> None:
    """Show the progress every few seconds until the end. After a signal, or without the parent, no request starts."""
    received, parent = b"", os.getppid()
    while _END not in received:
        if select.select([reader], [], [], _PROGRESS_EVERY)[0]:
            received = os.read(reader, 64)
            if received != _END:
                api.http.interrupt()
        elif os.getppid() != parent:
            # The parent process was killed.
            caught.append(signal.SIGTERM)
            api.http.interrupt()
        else:
            # Not on standard output, where other programs may expect JSON and nothing else.
            pause = f", waiting {api.http.pause_left:.0f} s for the rate limit" if api.http.pause_left >= 1 else ""
            Display().display(f"{name}: {_progress(api)}{pause}", stderr=True)


def _progress(api: Api) -> str:
    return f"{api.done} of {api.total} clients done" if api.total else "reading the account"
