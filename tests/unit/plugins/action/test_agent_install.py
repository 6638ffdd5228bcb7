# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installer: when it runs, and where its code is; with real connections and shells: tests/fleet/test_agent.py."""

import time
from pathlib import Path
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.action.agent_install import ActionModule
from ansible_collections.monitor.cloud.tests.support.host_files import SHELLS, in_shell, skip_without
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, action_of

VARIABLES = {"inventory_hostname": "web1", "registered": {"clients": {"web1": CLIENTS[0]}}}
CODE = CLIENTS[0]["install_code"]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands of an action, which are run on this machine."""
    commands: list[str] = []

    def execute(_action: Any, command: str, in_data: bytes | None = None) -> dict[str, Any]:
        commands.append(command)
        return dict(zip(("rc", "stdout", "stderr"), in_shell(command, in_data or b""), strict=True))

    monkeypatch.setattr(ActionBase, "_low_level_execute_command", execute)
    return commands


def _install(command: str, **options: Any) -> dict[str, Any]:
    action = action_of(ActionModule, {"registration": "registered", "command": command, **options}, VARIABLES)
    return dict(action.run(task_vars=VARIABLES))


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_it_gets_the_code_by_its_environment_and_runs_once(
    commands: list[str], tmp_path: Path, shell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without(shell[0])
    execute: Any = ActionBase._low_level_execute_command
    path = tmp_path / "installed"

    def in_other_shell(action: Any, command: str, **more: Any) -> Any:
        return execute(action, command.replace("/bin/sh", " ".join(shell)), **more)

    monkeypatch.setattr(ActionBase, "_low_level_execute_command", in_other_shell)
    monkeypatch.setenv("MONITOR_API_TOKEN", "the token of the controller")
    command = f'echo "$MONITOR_INSTALL_CODE$MONITOR_API_TOKEN" > {path}; cat'
    for changed in (True, False):
        assert _install(command, creates=str(path)) == {"changed": changed, "label": "web1"}
    assert path.read_text() == f"{CODE}\n"
    assert commands == [f"{' '.join(shell)} -s"] * 2


def test_a_failure_is_reported_without_the_code(commands: list[str]) -> None:
    done = _install('echo "no $MONITOR_INSTALL_CODE"; exit 3')
    assert done["failed"] is True and "The installer of 'web1' failed: no <install_code> (exit code 3)" in done["msg"]


def test_an_agent_that_keeps_the_output_open_does_not_matter(commands: list[str]) -> None:
    begun = time.monotonic()
    # in_shell itself waits for the end of the standard error.
    assert _install("sleep 20 & exec 2>&-")["changed"] is True
    assert time.monotonic() - begun < 10
