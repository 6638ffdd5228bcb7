# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base class of the actions that run once for all hosts, and connect to no host."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import without_null
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed import PrivateAction
from ansible_collections.monitor.cloud.plugins.plugin_utils._terminal import for_terminal

Result = dict[str, t.Any]


class FleetAction(PrivateAction):
    """Base class of an action on all hosts. A subclass sets ``VALIDATOR`` and implements :meth:`act`."""

    VALIDATOR: t.ClassVar[ArgumentSpecValidator]
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    options: Result
    variables: Mapping[str, t.Any]

    def run(self, tmp: str | None = None, task_vars: Result | None = None) -> Result:
        super().run(tmp, task_vars)
        checked = self.VALIDATOR.validate(without_null(self.arguments, self.VALIDATOR.argument_spec))
        self.options = checked.validated_parameters
        self.variables = task_vars or {}
        try:
            problem = problem_of(self._task.action, checked)
            if problem:
                raise InputError(problem)
            return for_terminal(self.act())
        except MonitorError as error:
            return for_terminal({"failed": True, "msg": str(error)})

    def act(self) -> Result:
        """Return the result of the task. Raise MonitorError if the task fails."""
        raise NotImplementedError

    def result_named_in(self, option: str) -> Mapping[str, t.Any]:
        """Return the registered result whose variable the option names; empty if the option is not given.

        Raise InputError if the variable is not such a result.
        """
        name = self.options.get(option)
        if not name:
            return {}
        result = self.variables.get(str(name))
        has_clients = isinstance(result, Mapping) and isinstance(result.get("clients"), list)
        if isinstance(result, Mapping) and (has_clients or option != "account"):
            return result
        # Do not show the value: a task may pass the result instead of its name, and a result contains clients.
        raise InputError(
            f"{option} must be the name of a variable with the registered result of a successful task. "
            f"Example: {option}: registered."
        )
