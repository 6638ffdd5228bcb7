# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors

"""What actions on hosts share: options, connections that pass no input, and commands for other shells."""

import types
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import problem_of
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import (
    HostAction,
    documented,
    passes_stdin,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of


def test_options_follow_from_documents() -> None:
    validator = documented("options: {path: {type: str, required: true}}", "options: {mode: {type: str, default: x}}")
    assert validator.validate({"path": "/a"}).validated_parameters == {"path": "/a", "mode": "x"}
    problem = problem_of("agent_config", validator.validate({"unknown": 1}))
    assert "missing required arguments: path" in problem and "for (agent_config) module: unknown" in problem


@pytest.mark.parametrize(
    ("pipelining", "become", "expected"),
    [(True, None, True), (True, "sudo", True), (True, "su", False), (0, "", False)],
)
def test_whether_a_command_gets_input(pipelining: Any, become: str | None, expected: bool) -> None:
    method = types.SimpleNamespace(name=become) if become else None
    connection: Any = types.SimpleNamespace(has_pipelining=pipelining, become=method)
    assert passes_stdin(connection) is expected


@pytest.mark.parametrize(("executable", "run"), [("/bin/sh", 'echo "$a"'), ("/bin/csh", """/bin/sh -c 'echo "$a"'""")])
def test_a_command_reaches_a_posix_shell(monkeypatch: pytest.MonkeyPatch, executable: str, run: str) -> None:
    action = action_of(HostAction, {}, {})
    action._connection._shell.executable = executable
    commands: list[str] = []

    def execute(command: str, in_data: bytes | None) -> dict[str, Any]:
        commands.append(command)
        return {"rc": 3, "stdout": "out", "stderr": ""}

    monkeypatch.setattr(action, "_low_level_execute_command", execute)
    assert (action.shell('echo "$a"'), commands) == (Completed(3, "out", ""), [run])
    with pytest.raises(InputError, match="some SSH servers take no more than 8000"):
        action.shell("x" * 8001)
