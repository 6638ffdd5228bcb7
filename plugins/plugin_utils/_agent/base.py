# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of actions that work on hosts by shell commands, without Python on the host."""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
import traceback
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.connection import ConnectionBase

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import holds, redact, redact_all
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered, registered_client
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import PrivateAction, secrets_in
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed, escape_dollars

Result = dict[str, t.Any]

# With -i or -s sudo runs a shell, and quotes all special characters of a command for it except the dollar sign.
_SUDO_SHELL = re.compile(r"(^|\s)(-[A-Za-z]*[is]|--login|--shell)")
_SUDO_BACKGROUND = re.compile(r"(^|\s)(-[A-Za-z]*b|--background)")
# dropbear ends a connection for a command above 9,000 bytes, of which core and become take some.
_LONGEST_COMMAND = 8000
# Connections to devices that run no shell.
_NETWORK = ("network_cli", "netconf", "httpapi", "grpc")
# Facts of a host must not set these variables, which choose its client and a file of the controller.
_NOT_OF_HOST = ("inventory_hostname", "monitor_agent_label", "monitor_agent_config_template")
# Options that other users of the host can see, on command lines or in directories.
_VISIBLE = ("path", "owner", "group", "service", "creates", "command")


def documented(*documents: str, **rules: t.Any) -> ArgumentSpecValidator:
    """A validator of the options that DOCUMENTATION and doc fragments describe, and of rules about several of them."""
    options = {name: option for text in documents for name, option in yaml_load(text)["options"].items()}
    return ArgumentSpecValidator(options, **rules)


def passes_stdin(connection: ConnectionBase) -> bool:
    """Whether the connection passes standard input to a command, with ``become`` or without."""
    become = connection.become
    # Up to 2.18 become plugins have no attribute pipelining; of these, su passes no standard input.
    return bool(connection.has_pipelining and (not become or getattr(become, "pipelining", become.name != "su")))


class HostAction(PrivateAction):
    """An action on a host. Subclasses have a ``VALIDATOR`` of options, and implement :meth:`act`."""

    VALIDATOR: t.ClassVar[ArgumentSpecValidator]

    # The arguments of the task, converted and with defaults, and why they are invalid (empty if valid).
    options: Result
    _problem: str
    variables: dict[str, t.Any]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> Result:
        super().run(tmp, task_vars)
        self.variables = task_vars or {}
        try:
            checked = self.VALIDATOR.validate(self.arguments)
            self.options, self._problem = checked.validated_parameters, problem_of(self._task.action, checked)
            result = self._checked_act()
        except Exception as error:
            # Search the causes of the error too, because core shows them.
            chain = "".join(traceback.format_exception(error))
            # Add the secrets of other clients that the message or the arguments hold.
            self._secrets |= secrets_in([chain, *self._task.args.values()], self.variables)
            if not isinstance(error, (AnsibleError, MonitorError)) and redact(chain, self._secrets) == chain:
                raise
            # Return instead of raise, because failed_when, ignore_unreachable and until of the task read only results.
            outcome = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "failed"
            result = {**getattr(error, "details", {}), outcome: True, "msg": str(error)}
        self._task.args = redact_all(self._task.args, self._secrets)
        return t.cast("Result", redact_all(result, self._secrets))

    def _checked_act(self) -> Result:
        """Check the options, the task and the host, then :meth:`act`."""
        host = self.variables["inventory_hostname"]
        # Check again, because refuse_facts does not see variables that the play reads from a file of each host.
        values = [self.variables[name] for name in _NOT_OF_HOST if name in self.variables]
        if message := facts.problem(host, self.variables, {*_NOT_OF_HOST, *facts.names_in(values, self.variables)}):
            # Without the secrets of the client, because the label would be rendered to find it.
            self._secrets = {}
            raise InputError(message)
        if self._task.delegate_to not in (None, host):
            raise InputError(
                f"{self._task.action} can't be delegated: {self._task.delegate_to} would get the client of {host}. Use "
                f"a play that has {self._task.delegate_to} among its hosts; the option label chooses the client."
            )
        if self._task.run_once and len(self.variables["ansible_play_batch"]) > 1:
            raise InputError(
                f"{self._task.action} can't have run_once, which would leave out all hosts but {host}. Remove run_once "
                "from the task, and from the block or role around it: tasks of the account run once anyway."
            )
        if isinstance(self.arguments.get("registration"), dict):
            raise InputError("registration must be the name of a variable, not its value: registration: registered.")
        if self._problem:
            raise InputError(self._problem)
        if kind := self._without_shell():
            return self.act_without_shell(kind)
        for name in _VISIBLE:
            field = holds(str(self.options.get(name) or ""), self._secrets)
            if field is not None:
                choice = "Use the environment variable MONITOR_INSTALL_CODE" if name == "command" else "Choose another"
                raise InputError(f"{name} holds the {field} of the client, and other users can see {name}. {choice}.")
        return self.act()

    def act(self) -> Result:
        """The result of the task, from options and variables. Raises MonitorError."""
        raise NotImplementedError

    def _without_shell(self) -> str:
        """The kind of a host without a POSIX shell; else empty."""
        if getattr(self._connection._shell, "_IS_WINDOWS", False):
            return "a Windows host"
        name = self._connection.transport.rpartition(".")[2]
        return f"a network device ({name})" if name in _NETWORK else ""

    def act_without_shell(self, kind: str) -> Result:
        """:meth:`act` for a host without a POSIX shell."""
        raise InputError(
            f"{self._task.action} works on hosts with a POSIX shell only, and this is {kind}. Nothing was changed "
            "on the host: leave it out of the play."
        )

    @functools.cached_property
    def host_label(self) -> str:
        """The label of the host's client: the option label, else monitor_agent_label, else made from the host name."""
        own = self.options["label"]
        if own in (None, ""):
            own = self._templar.template(self.variables.get("monitor_agent_label"))
        return client_label(str(self.variables["inventory_hostname"]), own)

    @functools.cached_property
    def client(self) -> Registered:
        """The host's client; InputError if it is not registered."""
        return registered_client(self.options, self.variables, self.host_label)

    def shell(self, command: str, data: bytes | None = None) -> Completed:
        """Run a command on the host as the user to become, with ``data`` as its standard input."""
        become, executable = self._connection.become, getattr(self._connection._shell, "executable", None)
        flags = become.get_option("become_flags") or "" if become and become.name == "sudo" else ""
        if _SUDO_BACKGROUND.search(flags):
            raise InputError(
                "With the flag -b of ansible_become_flags, sudo runs commands in the background, and does not report "
                "whether they fail. Remove -b."
            )
        if _SUDO_SHELL.search(flags):
            command = escape_dollars(command)
        elif str(executable).endswith(("csh", "fish")) or (become and become.name == "community.general.sudosu"):
            # sudosu gives the command to the login shell of the user, which may be csh.
            command = f"/bin/sh -c {shlex.quote(command)}"
        if len(command) > _LONGEST_COMMAND:
            raise InputError(
                f"A command of {self._task.action} has {len(command)} characters, and some SSH servers take no more "
                f"than {_LONGEST_COMMAND}. Choose a shorter path, or call a script of the host as the installer."
            )
        done = self._low_level_execute_command(command, in_data=data)
        return Completed(int(done["rc"]), str(done["stdout"]), str(done["stderr"]))

    @functools.cached_property
    def _secrets(self) -> dict[str, str]:
        """The secrets of the task's client; none if it has no client."""
        # An error is ignored here, because the task reports it later.
        with contextlib.suppress(Exception):
            return self.client.secrets
        return {}
