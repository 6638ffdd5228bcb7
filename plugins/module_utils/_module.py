# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps from a task's options to its result, the same in a module and in the controller's process."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.monitor.cloud.plugins.module_utils._service.client import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._service.options import CONNECTION_OPTIONS, Params, connect

__all__ = ["CONNECTION_OPTIONS", "INCLUDE_KEYS", "Module", "Params", "Result"]

Result = t.Dict[str, t.Any]  # noqa: UP006

_OLDEST_PYTHON = (3, 9)
# no_log is explicitly false: the option is a switch, although its name resembles that of a secret.
INCLUDE_KEYS: dict[str, t.Any] = {"type": "bool", "default": False, "no_log": False}


@dataclasses.dataclass(frozen=True)
class Module:
    """A module: the function ``run(params, api, check_mode)``, which returns the result, and its options and rules."""

    run: t.Callable[[Params, Api, bool], Result]
    options: dict[str, t.Any]
    rules: dict[str, t.Any] = dataclasses.field(default_factory=dict)

    @property
    def spec(self) -> dict[str, t.Any]:
        """All options and their rules, as validators take them."""
        return {"argument_spec": {**CONNECTION_OPTIONS, **self.options}, **self.rules}

    def execute(
        self,
        params: Params,
        *,
        check_mode: bool,
        diff: bool,
        watch: t.Callable[[Api], t.ContextManager[t.Any]] = contextlib.nullcontext,
    ) -> Result:
        """The result for valid options; ``failed`` and ``msg`` for a MonitorError. ``watch`` is active in ``run``."""
        result: Result
        api = None
        try:
            api = connect(params)
            with watch(api):
                result = self.run(params, api, check_mode)
        except MonitorError as error:
            result = {**(error.details if isinstance(error, TaskFailure) else {}), "failed": True, "msg": str(error)}
        if not diff:
            result.pop("diff", None)
        if not result.get("warnings"):
            result.pop("warnings", None)
        return result if api is None else {**result, "api_usage": api.usage}

    def main(self) -> None:
        """Run the module as a program. Ends the process."""
        program = AnsibleModule(**self.spec, supports_check_mode=True)
        if sys.version_info < _OLDEST_PYTHON:
            version = ".".join(map(str, sys.version_info[:3]))
            program.fail_json(
                msg=f"monitor.cloud needs Python 3.9 or newer on the host where the module runs; this is {version} "
                f"({sys.executable}): set ansible_python_interpreter, or use delegate_to: localhost."
            )
        result = self.execute(program.params, check_mode=program.check_mode, diff=program._diff)
        for warning in result.pop("warnings", []):
            program.warn(warning)
        if result.get("failed"):
            program.fail_json(**result)
        program.exit_json(**result)
