# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module of the same name, and keeps a result that carries keys out of the output and out of logs."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host_action import unlogged
from ansible_collections.monitor.cloud.plugins.plugin_utils._strategy import check_linear


class QuietAction(ActionBase):
    """A module's action plugin. A failure stays readable: failures never carry keys."""

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        if self._task.run_once:
            try:
                check_linear(self._task.get_play().strategy)
            except InputError as error:
                return {**result, "failed": True, "msg": str(error)}
        # The defaults of the action group are in the arguments of this task, and nowhere else.
        arguments = self._task.args
        if not boolean(arguments.get("include_keys", False), strict=False):
            return {
                **result,
                **self._execute_module(module_args=arguments, task_vars=task_vars, wrap_async=self._async),
            }
        if self._async:
            problem = "include_keys can't go with async: the job's file and status would show the keys."
            return {**result, "failed": True, "msg": problem}
        with unlogged(self._connection):
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        if not result.get("failed"):
            # A module can't say this of its own result: core takes it out.
            result["_ansible_no_log"] = True
        return result

    @property
    def runs_here(self) -> bool:
        """Whether the module is a child of this process, run as the same user."""
        return self._connection.transport == "local" and not self._connection.become and not self._async

    @property
    def _async(self) -> bool:
        return bool(self._task.async_val)
