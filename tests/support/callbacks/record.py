# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import gc
import json
import os
import types
import typing as t

from ansible.inventory.group import Group
from ansible.inventory.host import Host
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import CallbackBase
from ansible.vars.manager import VariableManager

DOCUMENTATION = """
name: record
type: notification
short_description: Record results for tests
description:
  - Writes each result as a line of JSON to the file that the variable FLEET_RECORD names.
  - If the variable FLEET_SEEN names a file, also writes all strings that a callback can see to this file.
"""
# Objects of these types refer to variables of other tasks, or to all objects of Python.
_LEFT_OUT = (
    *(DataLoader, InventoryManager, VariableManager, Group, Host),
    *(int, float, type, types.FunctionType, types.ModuleType),
)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "record"
    CALLBACK_NEEDS_ENABLED = True

    # The warning of ansible-core about this method takes 0.1 s, so the method exists only if a test needs it.
    if os.environ.get("FLEET_SEEN"):

        def v2_on_any(self, *args: t.Any, **options: t.Any) -> None:
            with open(os.environ["FLEET_SEEN"], "a", encoding="utf-8", errors="backslashreplace") as file:
                seen = [_fields(value) if hasattr(value, "_result") else value for value in args]
                file.writelines(f"{text}\n" for text in _texts([seen, options], {}))

    def _record(self, status: str, result: t.Any) -> None:
        line = {
            "host": result._host.get_name(),
            "task": result._task.get_name(),
            "status": status,
            "result": result._result,
        }
        with open(os.environ["FLEET_RECORD"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._record("changed" if result._result.get("changed") else "ok", result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._record("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_skipped(self, result: t.Any) -> None:
        self._record("skipped", result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._record("unreachable", result)


def _fields(result: t.Any) -> list[t.Any]:
    return [result._result, result._task_fields, result._task]


def _texts(value: t.Any, known: dict[int, t.Any]) -> t.Iterator[str]:
    """Return all strings that a value contains or refers to."""
    if isinstance(value, (str, bytes)):
        yield str(value)
    elif not isinstance(value, _LEFT_OUT) and id(value) not in known:
        known[id(value)] = value
        for part in gc.get_referents(value):
            yield from _texts(part, known)
