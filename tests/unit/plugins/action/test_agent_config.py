# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action agent_config, run in this process with the local connection."""

from pathlib import Path
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.action.agent_config import ActionModule
from ansible_collections.monitor.cloud.tests.support.host_files import in_shell
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CLIENT = {"id": 1, "label": "web1", "api_key": _KEY, "install_code": "C" * 36}
_VARIABLES = {
    "inventory_hostname": "web1",
    "registered": {"clients": {"web1": _CLIENT}, "failures": {}, "key_owners": {}},
}


def _execute(_action: ActionBase, command: str, in_data: bytes | None = None) -> dict[str, Any]:
    return dict(zip(("rc", "stdout", "stderr"), in_shell(command, in_data or b""), strict=True))


@pytest.fixture
def action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ActionModule:
    """The action with a host that is this machine."""
    monkeypatch.setattr(ActionBase, "_low_level_execute_command", _execute)
    arguments = {"path": f"{tmp_path}/agent.conf", "content": "api_key=@api_key@\n", "registration": "registered"}
    action: ActionModule = action_of(ActionModule, arguments, _VARIABLES)
    return action


def test_a_retry_writes_the_keys_too(action: ActionModule, tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    path.mkdir()
    action._task.retries = 1
    assert "is a directory" in action.run(task_vars=dict(_VARIABLES))["msg"]
    path.rmdir()
    assert action.run(task_vars=dict(_VARIABLES))["changed"] is True
    assert path.read_text() == f"api_key={_KEY}\n"


_NO_TERMINAL = " If sshd permits no terminal, set ansible_ssh_use_tty: false."


@pytest.mark.parametrize(("printed", "shown", "hint"), [("no\r\n", "no", ""), ("", "no message", _NO_TERMINAL)])
def test_a_login_shell_that_runs_no_command(
    action: ActionModule, monkeypatch: pytest.MonkeyPatch, printed: str, shown: str, hint: str
) -> None:
    refused = {"rc": 1, "stdout": "", "stderr": f"{printed}Shared connection to 127.0.0.1 closed.\r\n"}
    monkeypatch.setattr(ActionBase, "_low_level_execute_command", lambda *_, **__: refused)
    message = action.run(task_vars=dict(_VARIABLES))["msg"]
    hint = f"Check that the user's login shell, and become, run commands.{hint}"
    assert message.endswith(f"agent.conf: {shown} (exit code 1). {hint}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": None}, "Give either template or content"),
        ({"template": "agent.conf.j2"}, "Give either template or content"),
        ({"content": None, "template": "missing.j2"}, "template missing.j2: file not found. Write its whole path"),
        ({"registration": {"clients": {}}}, "registration must be the name of a variable, not its value"),
        ({"registration": None}, "any of the following are missing: client, registration"),
        ({"client": {}}, "mutually exclusive"),
        *(({"label": label}, f"The label {label} of host web1 is not text.") for label in (1.1, True, False)),
        ({"registration": None, "client": {**_CLIENT, "id": None}}, "Client 'web1' has no id: it is not registered"),
        ({"registration": None, "client": {**_CLIENT, "api_key": "***"}}, "masks the keys of client 'web1'"),
        ({"restarted": ["0123abcd"]}, "mutually exclusive"),
        ({"restarted": ["../x"], "content": None, "registration": None}, "restart_markers"),
        ({"state": "gone"}, "value of state must be one of"),
        ({"create_directory": False}, "has no parent directory. Create it, or set create_directory: true."),
    ],
)
def test_what_is_refused(action: ActionModule, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    given = {**action._task.args, "path": f"{tmp_path}/conf/agent.conf", **options}
    action._task.args = {name: value for name, value in given.items() if value is not None}
    result = action.run(task_vars=dict(_VARIABLES))
    assert result["failed"] is True and result.get("changed", False) is False
    assert message in result["msg"]
    assert _KEY not in str(result)
    assert list(tmp_path.iterdir()) == []
