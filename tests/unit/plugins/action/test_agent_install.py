# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.monitor.cloud.plugins.action.agent_install import ActionModule
from ansible_collections.monitor.cloud.tests.support.host_files import SHELLS, in_shell, skip_without
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, action_of

VARIABLES = {"inventory_hostname": "web1", "registered": {"clients": {"web1": CLIENTS[0]}}}
CODE = CLIENTS[0]["install_code"]


def _install(
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    shell: Sequence[str] = ("sh",),
    variables: Any = VARIABLES,
    check_mode: bool = False,
    **options: Any,
) -> Any:
    def execute(_action: Any, words: str, in_data: bytes = b"") -> dict[str, Any]:
        done = in_shell(f"{' '.join(shell)} -s", in_data)
        return dict(zip(("rc", "stdout", "stderr"), done, strict=True))

    monkeypatch.setattr(ActionBase, "_low_level_execute_command", execute)
    action = action_of(ActionModule, {"registration": "registered", "command": command, **options}, variables)
    action._task.check_mode = check_mode
    return action.run(task_vars=variables)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_the_environment_has_the_code_and_the_installer_runs_once(
    tmp_path: Path, shell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without(shell[0])
    path = tmp_path / "installed"
    # If TMOUT is set, some shells end a script that waits.
    for name in ("MONITOR_API_TOKEN", "TMOUT"):
        monkeypatch.setenv(name, "1")
    command = f'echo "$MONITOR_INSTALL_CODE$MONITOR_API_TOKEN$TMOUT" > {path}; cat'
    for changed in (True, False):
        assert _install(monkeypatch, command, shell, creates=str(path)) == {"changed": changed, "label": "web1"}
    assert path.read_text() == f"{CODE}\n"


def test_a_failure_is_reported_without_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done = _install(monkeypatch, 'echo "no $MONITOR_INSTALL_CODE"; exit 3')
    assert done["failed"] is True and "The installer of 'web1' failed: no <install_code> (exit code 3)" in done["msg"]


_WITHOUT = {name: value for name, value in CLIENTS[0].items() if name != "install_code"}


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("client", [_WITHOUT, {**_WITHOUT, "install_code": None}])
def test_a_client_without_an_install_code_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: dict[str, Any], check_mode: bool
) -> None:
    variables = {**VARIABLES, "registered": {"clients": {"web1": client}}}
    path = tmp_path / "installed"
    given: dict[str, Any] = {"variables": variables, "check_mode": check_mode, "creates": str(path)}
    done = _install(monkeypatch, f"touch {path}", **given)
    assert done["failed"] is True and "the client 'web1' has no install_code" in done["msg"] and not path.exists()
    # An agent that is already installed needs no code.
    path.touch()
    assert _install(monkeypatch, "exit 1", **given) == {"changed": False, "label": "web1"}


def test_an_agent_that_keeps_the_output_open_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    # Close standard error: in_shell waits until each process has closed it.
    assert _install(monkeypatch, "sleep 20 & exec 2>&-")["changed"] is True
    assert time.monotonic() - begun < 10
