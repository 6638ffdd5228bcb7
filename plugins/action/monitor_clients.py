# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action of all modules that call the service: meta/runtime.yml names it for those without a file of their own.

The action runs the module in this process if the task's host is the controller; elsewhere Ansible runs it as any
module. Callbacks see neither the token nor keys, and failures never carry keys.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import threading
import traceback
import typing as t
from collections.abc import Iterator

from ansible import template
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._module import Module, Result, problem_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import MISSING
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact_all
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import sealed_keys

try:
    from ansible.module_utils.secrets import register_secrets  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    # New in ansible-core 2.22.
    register_secrets = None

# Before 2.19 core shows the joined result of a loop, although its items have no_log.
_SHOWS_LOOPS = not hasattr(template, "trust_as_template")
_MODULES = "ansible_collections.monitor.cloud.plugins.modules"
_CONTROLLER = ("localhost", "127.0.0.1", "::1")
_PROGRESS_EVERY = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What ends the pipe of signal numbers: no signal has the number 0.
_END = b"\0"
_RAW_OUTPUT = ("module_stdout", "module_stderr", "stdout", "stdout_lines", "stderr", "stderr_lines", "exception")
# A worker redirects its standard error to /dev/null, and after Ctrl-C core no longer shows what it displays. So the
# parent process duplicates its own when it loads the plugin, before the fork; it may have no standard error.
_STDERR = -1
with contextlib.suppress(OSError):
    _STDERR = os.dup(2)


class ActionModule(sealed_keys.PrivateAction):
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> Result:
        super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = self.arguments
        sealed = boolean(arguments.get("seal_keys", False), strict=False)
        with_keys = sealed or boolean(arguments.get("include_keys", False), strict=False)
        problem = self._problem_with_keys() if with_keys else ""
        if problem:
            return {"failed": True, "msg": problem}
        if self._task.check_mode and arguments.get("id") == "":
            # Before 2.19 a template turns None, the id of a client that check mode predicts, into an empty string.
            arguments["id"] = None
        if sealed:
            arguments.update(include_keys=True, seal_keys=False)
        here = self._runs_here()
        if here:
            with sealed_keys.task_environment(self):
                result = self._run_here(arguments)
        else:
            with sealed_keys.without_logging(self._connection) if with_keys else contextlib.nullcontext():
                wrap = bool(self._task.async_val)
                result = dict(self._execute_module(module_args=arguments, task_vars=variables, wrap_async=wrap))
            if not isinstance(result.get("exception"), str):
                # Drop core's object with the message (since 2.19): core makes a new one of the redacted message.
                result.pop("exception", None)
        if with_keys:
            result = self._without_keys(result, sealed)
        if result.get("failed"):
            # Options may hold keys that a task registered, such as a client in place of its label.
            secrets = sealed_keys.secrets_in([result, *self._task.args.values()], variables)
            result, self._task.args = redact_all(result, secrets), redact_all(self._task.args, secrets)
        # The result of an executed module has no token, and since 2.19 has objects of core, which JSON would lose.
        return _without_token(result, arguments.get("api_token")) if here else result

    def _problem_with_keys(self) -> str:
        """Why the task cannot return keys; else empty."""
        if self._task.async_val:
            return (
                "include_keys and seal_keys cannot be used with async, because the job's file and status would show "
                "the keys. Remove async from the task."
            )
        if _SHOWS_LOOPS and self._task.loop and not self._task.no_log:
            return (
                "include_keys and seal_keys cannot be used in a loop, because ansible-core before 2.19 gives the "
                "results of items to callbacks. "
                "Use monitor_clients with all labels instead of the loop, or set no_log: true."
            )
        return ""

    def _runs_here(self) -> bool:
        """Whether to run the module in this process: the task's host is the controller, and requests is installed."""
        if self._task.async_val or MISSING:
            return False
        is_local = self._connection.transport == "local" and not self._connection.become
        return is_local or self._task.delegate_to in _CONTROLLER

    def _run_here(self, arguments: dict[str, t.Any]) -> Result:
        """Return the result that AnsibleModule would return for the arguments."""
        name = str(self._task.action)
        module: Module = importlib.import_module(f"{_MODULES}.{name.rpartition('.')[2]}").MODULE
        checked = ArgumentSpecValidator(**module.spec).validate(arguments)
        if problem := problem_of(name, checked):
            return {"failed": True, "msg": problem}
        params = checked.validated_parameters
        arguments["api_token"] = params.get("api_token")
        try:
            return module.execute(params, check_mode=self._task.check_mode, diff=self._task.diff, watch=self._watched)
        except AnsibleError:
            # Core raises this error if the task exceeds its keyword timeout.
            raise
        except Exception as error:
            # The exception's message is left out, because it may hold a secret.
            kind, frames = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
            message = (
                f"{name} failed: {kind}. This is a defect of the collection: report it with the traceback, which holds "
                "no values (-vvv; since 2.19 ANSIBLE_DISPLAY_TRACEBACK=always)."
            )
            return {"failed": True, "msg": message, "exception": frames + kind}

    def _without_keys(self, result: Result, sealed: bool) -> Result:
        """The result without readable keys: a failure loses them, another result has them sealed or is not shown."""
        clients = sealed_keys.clients_in(result)
        if register_secrets is not None:
            # Core masks these secrets in all later output, such as a configuration that another task prints.
            register_secrets(secret for client in clients for secret in fields.secrets_of(client).values())
        if result.get("failed"):
            # Core returns unparsable output of a module unchanged, and its message refers to that output.
            if result.get("module_stdout") or result.get("module_stderr"):
                hint = "the output is not shown, because it may hold keys: to see it, run the task without include_keys"
                result["msg"] = f"{result.get('msg')} ({hint})."
            return {name: value for name, value in result.items() if name not in _RAW_OUTPUT}
        if sealed:
            found = result["clients"]
            if isinstance(found, dict):
                return {**result, "clients": {label: sealed_keys.seal(client) for label, client in found.items()}}
            return {**result, "clients": [sealed_keys.seal(client) for client in found]}
        # Set by the action, because core removes _ansible_no_log from the result of a module.
        return {**result, "_ansible_no_log": True}

    @contextlib.contextmanager
    def _watched(self, api: Api) -> Iterator[None]:
        """Show the progress of the work. At a signal requests in flight finish, no other starts, and the process ends.

        Core sends SIGINT at Ctrl-C and SIGTERM 5 s later. At the end of a task's timeout its handler of SIGALRM raises.
        """
        name = str(self._task.action).rpartition(".")[2]
        caught: list[int] = []
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        watcher = threading.Thread(target=_watch, args=(reader, name, api, caught), daemon=True)
        handlers = {each: signal.signal(each, lambda number, _: caught.append(number)) for each in _SIGNALS}
        # A signal writes its number to the pipe at once, while Python handlers wait for the main thread.
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
                text = f"{name}: interrupted, {_progress(api)}. Run again to do the rest.\n"
                with contextlib.suppress(OSError):
                    os.write(_STDERR, text.encode())
                os.kill(os.getpid(), caught[0])


def _without_token(result: Result, token: t.Any) -> Result:
    """The result as plain data, without the token, which an option or a text of the service may hold."""
    text = json.dumps(result)
    if token and json.dumps(token)[1:-1] in text:
        text = json.dumps({name: redact_all(value, {"api_token": token}) for name, value in result.items()})
    return t.cast("Result", json.loads(text))


def _watch(reader: int, name: str, api: Api, caught: list[int]) -> None:
    """Show the progress every few seconds until the end. After a signal, or without the parent, no request starts."""
    received, parent = b"", os.getppid()
    while _END not in received:
        if select.select([reader], [], [], _PROGRESS_EVERY)[0]:
            received = os.read(reader, 64)
            if received != _END:
                api.http.interrupt()
        elif os.getppid() != parent:
            # The parent process was killed, so another process is the parent now.
            caught.append(signal.SIGTERM)
            api.http.interrupt()
        else:
            # On standard error, because other programs may parse standard output as JSON.
            pause = f", waiting {api.http.pause_left:.0f} s for the rate limit" if api.http.pause_left >= 1 else ""
            Display().display(f"{name}: {_progress(api)}{pause}", stderr=True)


def _progress(api: Api) -> str:
    return f"{api.done} of {api.total} clients done" if api.total else "reading the account"
