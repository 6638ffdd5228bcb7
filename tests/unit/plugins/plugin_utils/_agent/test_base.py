# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What actions on hosts share: options, errors, and how a script reaches a host's shell."""

import posixpath
import shlex
import types
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import HostAction, Result, documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.host_file import BEGUN, Completed
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, action_of

KEY = CLIENTS[0]["api_key"]
VARIABLES = {"inventory_hostname": "web1", "registered": {"clients": {"web1": CLIENTS[0]}}, "ansible_play_batch": []}
OPTIONS = {"registration": "registered", "label": "web1"}


class Failing(HostAction):
    VALIDATOR = documented("options: {registration: {type: str}, label: {type: str}}")
    error: Exception

    def act(self) -> Result:
        raise self.error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InputError(f"no {KEY}"), {"failed": True, "msg": "no <api_key>"}),
        (AnsibleConnectionFailure("no route"), {"unreachable": True, "msg": "no route"}),
        (ValueError(KEY), {"failed": True, "msg": "<api_key>"}),
        (ValueError("a defect"), None),
    ],
)
def test_errors_are_results_without_secrets(error: Exception, expected: dict[str, Any] | None) -> None:
    action = action_of(Failing, OPTIONS, VARIABLES)
    action.error = error
    if expected:
        assert action.run(task_vars=VARIABLES) == expected
    else:
        with pytest.raises(ValueError, match="a defect"):
            action.run(task_vars=VARIABLES)


@pytest.mark.parametrize(
    ("delegate_to", "run_once", "hosts", "refused"),
    [("web2", False, 2, True), ("web1", False, 2, False), (None, True, 2, True), (None, True, 1, False)],
)
def test_delegation_is_refused(delegate_to: str | None, run_once: bool, hosts: int, refused: bool) -> None:
    variables = {**VARIABLES, "ansible_play_batch": ["web1", "web2"][:hosts]}
    action = action_of(Failing, OPTIONS, variables)
    action.error, action._task.delegate_to, action._task.run_once = InputError("acts"), delegate_to, run_once
    assert ("can't have delegate_to or run_once" in action.run(task_vars=variables)["msg"]) is refused


_STDIN, _FILE = "/bin/sh -s", "/bin/sh /tmp/x/script"


@pytest.mark.parametrize(
    ("pipelining", "become", "expected"),
    [
        (True, None, [_STDIN]),
        # With requiretty sudo runs nothing.
        (True, {"name": "sudo", "pipelining": True}, [_STDIN, _FILE]),
        (True, {"name": "su"}, [_FILE]),
        (False, None, [_FILE]),
    ],
)
def test_a_script_is_standard_input_or_a_private_file(
    monkeypatch: pytest.MonkeyPatch, pipelining: bool, become: Any, expected: list[str]
) -> None:
    """With real connections: tests/fleet/test_kinds_of_hosts.py."""
    action, commands, files = action_of(HostAction, {}, {}), list[str](), list[Any]()
    connection, options = action._connection, dict[str, Any]()
    connection.has_pipelining, connection.become = pipelining, types.SimpleNamespace(**become) if become else None
    shell = {"join_path": posixpath.join, "quote": shlex.quote, "set_option": options.__setitem__}
    connection._shell = types.SimpleNamespace(**shell)

    def execute(command: str, in_data: bytes | None = None) -> dict[str, Any]:
        commands.append(command)
        assert action._connection._play_context.no_log and (in_data == b"the script") is (command == _STDIN)
        return {"rc": 3, "stdout": f"{BEGUN}\n" if command == expected[-1] else "", "stderr": ""}

    monkeypatch.setattr(action, "_low_level_execute_command", execute)
    monkeypatch.setattr(action, "_make_tmp_path", lambda: "/tmp/x")
    monkeypatch.setattr(action, "_transfer_data", lambda *given: files.append(given))
    monkeypatch.setattr(action, "_fixup_perms2", files.append)
    monkeypatch.setattr(action, "_remove_tmp_path", files.append)
    assert action.run_script("the script") == Completed(3, f"{BEGUN}\n", "")
    assert commands == expected
    if _FILE in expected:
        path = "/tmp/x/script"
        assert files == [(path, b"the script"), ("/tmp/x", path), "/tmp/x"]
        # Other users and groups never get access to the file.
        assert options == {"world_readable_temp": False, "common_remote_group": ":"}
