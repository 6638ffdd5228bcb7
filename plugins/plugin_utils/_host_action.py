# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugins share: shell commands on a host, errors turned into failures, and what must not be logged."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, MonitorError

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible.plugins.connection import ConnectionBase

_MOST_WORDS = 500


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

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            if getattr(self._connection._shell, "_IS_WINDOWS", False):
                raise InputError(f"{self._task.action} works on hosts with a POSIX shell only.")
            return self.act(task_vars or {})
        except MonitorError as error:
            raise AnsibleActionFail(str(error)) from None

    def act(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The work: options and variables to a result. Raises MonitorError."""
        raise NotImplementedError

    def options(self, spec: dict[str, t.Any], **constraints: t.Any) -> dict[str, t.Any]:
        """The task's arguments, checked and completed."""
        return dict(ActionBase.validate_argument_spec(self, spec, **constraints)[1])

    def shell(self, command: str, data: bytes | None = None) -> Ran:
        """Run a command on the host as the user to become, with ``data`` as its standard input."""
        done = ActionBase._low_level_execute_command(self, command, in_data=data)
        return Ran(int(done["rc"]), str(done["stdout"]), str(done["stderr"]))


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
