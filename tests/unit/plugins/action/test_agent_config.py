# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.action.agent_config import ActionModule
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CLIENT = {"id": 1, "label": "web1", "api_key": _KEY, "install_code": "C" * 36}
_VARIABLES = {"inventory_hostname": "web1", "registered": {"clients": {"web1": _CLIENT}}}


def _execute(_action: ActionBase, _command: str, in_data: bytes | None = None) -> dict[str, Any]:
    done = subprocess.run(["/bin/sh", "-s"], input=in_data, capture_output=True, check=False)
    return {"rc": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}


@pytest.fixture
def action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ActionModule:
    monkeypatch.setattr(ActionBase, "_low_level_execute_command", _execute)
    arguments = {"path": f"{tmp_path}/agent.conf", "content": "api_key=@api_key@\n", "registration": "registered"}
    action: ActionModule = action_of(ActionModule, arguments, _VARIABLES)
    return action


def _run(action: ActionModule, check_mode: bool = False) -> dict[str, Any]:
    # Core creates a new action object for each task.
    new: ActionModule = action_of(ActionModule, action._task.args, _VARIABLES)
    new._task.check_mode = check_mode
    new._task.diff = True
    return new.run(task_vars=_VARIABLES)


def test_a_file_is_written_changed_and_removed(action: ActionModule, tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    predicted = _run(action, check_mode=True)
    assert not path.exists()
    result = _run(action)
    assert result == predicted
    assert (path.read_text(), f"{path.stat().st_mode:o}") == (f"api_key={_KEY}\n", "100600")
    again = _run(action)
    assert (again["changed"], again["differs"], again["key_owner"]) == (False, [], "own")
    assert "diff" not in again and _KEY not in str([result, again])
    # A file with carriage returns has the key of the host, but an agent would read another key.
    for text in (f"api_key={_KEY}\r\n", f"api_key={_KEY}\r"):
        path.write_bytes(text.encode())
        result = _run(action)
        assert (result["differs"], result["key_owner"], path.read_bytes()) == (
            ["content"],
            "own",
            f"api_key={_KEY}\n".encode(),
        )
    path.chmod(0o640)
    assert _run(action)["differs"] == ["mode"]
    action._task.args |= {"state": "absent"}
    removed = _run(action)
    assert (removed["changed"], removed["differs"], removed["diff"]["after"]) == (True, ["content"], {})
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_refused_directory_is_named_with_its_repair(action: ActionModule, tmp_path: Path, check_mode: bool) -> None:
    parent = tmp_path / "agent"
    (parent / "conf").mkdir(parents=True)
    os.chown(parent, 1, 1)
    action._task.args |= {"path": f"{parent}/conf/agent.conf"}
    message = _run(action, check_mode)["msg"]
    assert f"can change {parent}/: run chown root {parent}/ on the host, or use become_user: daemon" in message
    assert list((parent / "conf").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": None}, "state is present but any of the following are missing: template, content"),
        ({"content": None, "template": "missing.j2"}, "render missing.j2: file not found."),
        ({"create_directory": False}, "/conf/agent.conf can't be changed: there is no directory "),
    ],
)
def test_invalid_options(action: ActionModule, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    given = {**action._task.args, "path": f"{tmp_path}/conf/agent.conf", **options}
    action._task.args = {name: value for name, value in given.items() if value is not None}
    result = _run(action)
    assert result["failed"] is True and result.get("changed", False) is False
    assert message in result["msg"]
    assert _KEY not in str(result)
    assert list(tmp_path.iterdir()) == []
