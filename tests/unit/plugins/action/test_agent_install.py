# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installer: when it runs, and where its code is; with real connections and shells: tests/fleet/test_agent.py."""

from pathlib import Path
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.action.agent_install import ActionModule
from ansible_collections.monitor.cloud.tests.support.host_files import in_shell
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


def test_it_gets_the_code_by_its_environment_and_runs_once(commands: list[str], tmp_path: Path) -> None:
    path = tmp_path / "installed"
    options = {"registration": "registered", "command": f'echo "$MONITOR_INSTALL_CODE" > {path}', "creates": str(path)}
    for changed in (True, False):
        assert action_of(ActionModule, options, VARIABLES).run(task_vars=VARIABLES)["changed"] is changed
    assert path.read_text() == f"{CODE}\n"
    assert not any(str(CODE) in command for command in commands)


def test_a_failure_is_reported_without_the_code(commands: list[str]) -> None:
    options = {"registration": "registered", "command": 'echo "no $MONITOR_INSTALL_CODE"; exit 3'}
    done = action_of(ActionModule, options, VARIABLES).run(task_vars=VARIABLES)
    assert done["failed"] is True and "no <install_code> (exit code 3)" in done["msg"]
