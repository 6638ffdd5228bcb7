# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs an agent's installer on a host, with the install code in its environment and nowhere else."""

from __future__ import annotations

import shlex
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.plugin_utils._host_action import HostAction, takes_input, unlogged
from ansible_collections.monitor.cloud.plugins.plugin_utils._registration import (
    CLIENT_OPTIONS,
    ONE_CLIENT,
    Registered,
    registered_client,
)

_VALIDATOR = ArgumentSpecValidator(
    {"command": {"type": "str", "required": True}, "creates": {"type": "str"}, **CLIENT_OPTIONS},
    mutually_exclusive=ONE_CLIENT,
    required_one_of=[("client", "registration")],
)
_BEGUN = "monitor.cloud begun"
_THERE = "monitor.cloud there"


class ActionModule(HostAction):
    def act(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        options = self.options(_VALIDATOR)
        registered = registered_client(options, task_vars, self.host_label(options, task_vars))
        if options["creates"] and self._is_there(options["creates"]):
            return {"changed": False, "label": registered.label}
        if not self._task.check_mode:
            registered.check_readable()
            self._install(options["command"], registered)
        return {"changed": True, "label": registered.label}

    def _is_there(self, path: str) -> bool:
        done = self.shell(f'[ -e {shlex.quote(path)} ] && echo "{_THERE}"; :')
        if done.returncode != 0:
            raise InputError(f"Could not look at {path}: {done.said}")
        return _THERE in done.stdout

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
            done = self.shell(script, data=f"{registered.client['install_code']}\n".encode())
        if done.returncode != 0 or _BEGUN not in done.stdout:
            reason = " ".join(done.said.replace(_BEGUN, "").split())
            for field in SECRET_FIELDS:
                reason = reason.replace(registered.client[field], f"<{field}>")
            raise InputError(f"The installer of {registered.label!r} failed: {reason}")
