# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugins share: shell commands on a host, errors turned into failures, and what must not be logged."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleFileNotFound
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._labels import client_label

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible.plugins.connection import ConnectionBase

_MOST_WORDS = 500
_VARIABLE = re.compile(r"\{\{\s*([a-z_][a-z0-9_]*)\s*\}\}")


@dataclasses.dataclass(frozen=True)
class Ran:
    """What became of a shell command."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """What it printed, on one line of bounded length, for a message about its failure."""
        words = " ".join(f"{self.stderr} {self.stdout}".split())
        return f"{words[-_MOST_WORDS:] or 'no message'} (exit code {self.returncode})."


class HostAction(ActionBase):
    """An action that works on hosts by shell commands, with no Python there. Subclasses implement :meth:`act`."""

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, templar: t.Any, context: t.Any) -> t.Any:
        """Render an argument; one that is nothing but a variable is looked up, which takes a hundredth of the time."""
        match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if match and match[1] in templar.available_variables:
            value = templar.available_variables[match[1]]
        return super().finalize_task_arg(name, value, templar, context)

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            if getattr(self._connection._shell, "_IS_WINDOWS", False):
                raise InputError(f"{self._task.action} works on hosts with a POSIX shell only.")
            return self.act(task_vars or {})
        except (AnsibleActionFail, AnsibleFileNotFound, MonitorError) as error:
            # Not raised: the task's failed_when and until look at results only.
            details = error.details if isinstance(error, TaskFailure) else {}
            return {**details, "failed": True, "msg": str(error)}
        finally:
            self._forget_origins()

    def _forget_origins(self) -> None:
        """Make strings of the task plain, which core has told where they come from.

        The task goes back with its result, and the controller keeps it for each host until the last is done: as it was,
        it would take twice the memory of all the rest.
        """
        self._task.args = {str(name): _plain(value) for name, value in self._task.args.items()}
        for name in ("action", "become_method", "connection", "name", "notify", "register"):
            setattr(self._task, name, _plain(getattr(self._task, name)))

    def act(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The work: options and variables to a result. Raises MonitorError."""
        raise NotImplementedError

    def options(self, validator: ArgumentSpecValidator, unchecked: t.Collection[str] = ()) -> dict[str, t.Any]:
        """The task's arguments, checked and completed; ``unchecked`` ones just as they are.

        Strings lose what core keeps with them of their origin: the validator copies arguments, which takes milliseconds
        for such strings and microseconds for plain ones.
        """
        given = self._task.args
        plain = {str(name): _plain(value) for name, value in given.items() if name not in unchecked}
        result = validator.validate(plain)
        if result.error_messages:
            raise InputError(". ".join(result.error_messages))
        return {**result.validated_parameters, **{name: given.get(name) for name in unchecked}}

    def host_label(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> str:
        """The label of the host's client: the option, the host's monitor_agent_label, or the one of its name."""
        label = options["label"] or self._templar.template(variables.get("monitor_agent_label"))
        return str(label or client_label(str(variables["inventory_hostname"])))

    def shell(self, command: str, data: bytes | None = None) -> Ran:
        """Run a command on the host as the user to become, with ``data`` as its standard input."""
        done = ActionBase._low_level_execute_command(self, command, in_data=data)
        return Ran(int(done["rc"]), str(done["stdout"]), str(done["stderr"]))


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextlib.contextmanager
def unlogged(connection: ConnectionBase) -> Iterator[None]:
    """Keep what commands print out of the verbose output, which the connection writes and no result controls.

    It also hides why a connection failed, so it goes around commands that print secrets only.
    """
    context = connection._play_context
    before, context.no_log = context.no_log, True
    try:
        yield
    finally:
        context.no_log = before


def takes_input(connection: ConnectionBase) -> bool:
    """Whether a command can be given standard input over the connection, by the user it would become."""
    return bool(connection.has_pipelining and (not connection.become or connection.become.pipelining))
