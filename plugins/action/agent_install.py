# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs an agent's installer on a host, with the install code in its environment and nowhere else."""

from __future__ import annotations

import shlex
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.plugin_utils._connection import said, takes_input, unlogged
from ansible_collections.monitor.cloud.plugins.plugin_utils._registration import Registered, of_client, of_registration

OPTIONS: dict[str, t.Any] = {
    "command": {"type": "str", "required": True},
    "creates": {"type": "str"},
    "client": {"type": "dict"},
    "label": {"type": "str"},
    "registration": {"type": "str"},
}
_BEGUN = "monitor.cloud begun"
_THERE = "monitor.cloud there"


class ActionModule(ActionBase):
    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            return self._run(task_vars or {})
        except MonitorError as error:
            raise AnsibleActionFail(str(error)) from None

    def _run(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        options = ActionBase.validate_argument_spec(
            self,
            OPTIONS,
            mutually_exclusive=[("client", "registration"), ("client", "label")],
            required_one_of=[("client", "registration")],
            required_by={"registration": ["label"]},
        )[1]
        if options["client"] is not None:
            registered = of_client(options["client"])
        else:
            registered = of_registration(task_vars, options["registration"], options["label"])
        if options["creates"] and self._is_there(options["creates"]):
            return {"changed": False, "label": registered.label}
        if not self._task.check_mode:
            registered.check_readable()
            self._install(options["command"], registered)
        return {"changed": True, "label": registered.label}

    def _is_there(self, path: str) -> bool:
        done = self._low_level_execute_command(f'[ -e {shlex.quote(path)} ] && echo "{_THERE}"; :')
        if done["rc"] != 0:
            raise InputError(f"Could not look at {path}: {said(done)}")
        return _THERE in done["stdout"]

    def _install(self, command: str, registered: Registered) -> None:
        if not takes_input(self._connection):
            raise InputError(
                f"The connection {self._connection.transport!r} can't hand the install code over other than on a "
                "command line, where others can read it. Use one that supports pipelining, such as ssh."
            )
        script = (
            f'echo "{_BEGUN}"; IFS= read -r MONITOR_INSTALL_CODE || exit 1; export MONITOR_INSTALL_CODE; '
            f"exec </dev/null; exec /bin/sh -c {shlex.quote(command)}"
        )
        with unlogged(self._connection):
            done = self._low_level_execute_command(script, in_data=f"{registered.client['install_code']}\n".encode())
        if done["rc"] != 0 or _BEGUN not in done["stdout"]:
            reason = said(done).replace(_BEGUN, "").strip()
            for field in SECRET_FIELDS:
                reason = reason.replace(registered.client[field], f"<{field}>")
            raise InputError(f"The installer of {registered.label!r} failed: {reason}")
