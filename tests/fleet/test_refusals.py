# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role refuses, before it creates clients. The hosts are directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Local
from ansible_collections.monitor.cloud.tests.support.steps import refuse, text_of
from ansible_collections.monitor.cloud.tests.support.tasks import labels

_ALONE = """
- hosts: all
  gather_facts: false
  roles:
    - role: monitor.cloud.monitor_agent
      when: inventory_hostname != ansible_play_hosts_all[0]
"""
WINDOWS = {
    "winrm": {"ansible_connection": "ansible.builtin.winrm"},
    "ssh": {"ansible_connection": "ssh", "ansible_shell_type": "powershell"},
    "cmd": {"ansible_connection": "local", "ansible_shell_type": "cmd"},
    "template": {"ansible_connection": "local", "ansible_shell_type": "{{ 'powershell' }}"},
}


@pytest.mark.parametrize("first", [True, False])
def test_windows_hosts_get_no_client_and_lose_one(emulator: Emulator, tmp_path: Path, first: bool) -> None:
    windows = {f"win-{kind}": variables for kind, variables in WINDOWS.items()}
    controller = Local(tmp_path, emulator, *([*windows, "web-1"] if first else ["web-1", *windows]))
    for name, variables in windows.items():
        controller.host_vars[name] = {**variables, "monitor_agent_config_path": "C:/agent.conf"}
    for options in (["--check"], [], []):
        run = controller.run("monitor.cloud.rollout", *options)
        assert set(run.failures()) == set(windows), run.output
        assert all("this is a Windows host" in message for message in run.failures().values())
        assert run.statuses()["web-1"] in ("changed", "ok")
        assert labels(emulator) == ([] if options else ["web-1"])
    emulator.seed(labels=list(windows))
    for options, left in ((["--check"], ["web-1", *sorted(windows)]), ([], []), ([], [])):
        run = controller.run("monitor.cloud.retire", "-e", "target=all", *options)
        assert run.code == 0, run.output
        assert {run.statuses()[name] for name in windows} == {"ok"}
        assert labels(emulator) == left


def test_windows_hosts_that_are_registered_alone_get_no_client(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, "web-1", "web-2", "win-1")
    controller.host_vars["win-1"] = WINDOWS["cmd"]
    run = controller.run(controller.play(_ALONE))
    assert set(run.failures()) == {"win-1"}, run.output
    assert labels(emulator) == ["web-2"]


def test_path_of_variables_that_the_inventory_does_not_know(pair: Local) -> None:
    pair.group_vars["monitor_agent_config_path"] = "{{ of_the_play }}/{{ inventory_hostname }}"
    for values in pair.host_vars.values():
        del values["monitor_agent_config_path"]
    play = f"""
- hosts: all
  gather_facts: false
  vars: {{of_the_play: {pair.directory}/agents}}
  roles: [monitor.cloud.monitor_agent]
"""
    run = pair.run(pair.play(play))
    assert run.code == 0, run.output
    assert run.changed_hosts() == {"web-1", "web-2"}


_DELEGATED = """
- hosts: web-1
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients: {{labels: [web-1], include_keys: true}}
      register: registered
      vars: {{ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"}}
    - name: {task}
      {options}
      delegate_to: {to}
"""
_TASKS: dict[str, Any] = {
    "agent_config": "monitor.cloud.agent_config: {registration: registered, path: WRITTEN, content: x}",
    "agent_install": "monitor.cloud.agent_install: {registration: registered, command: touch WRITTEN}",
}


@pytest.mark.parametrize("task", _TASKS)
def test_delegation_is_refused(pair: Local, task: str) -> None:
    written = pair.directory / "written"
    options = _TASKS[task].replace("WRITTEN", str(written))
    for to in ("web-2", "localhost"):
        run = pair.run(pair.play(_DELEGATED.format(task=CONFIGURE, options=options, to=to)))
        message = run.failures()["web-1"]
        assert f"monitor.cloud.{task} can't be delegated: {to} would get the client of web-1." in message
        assert not written.exists()
    play = pair.play(_DELEGATED.format(task=CONFIGURE, options=options, to="web-1"))
    assert pair.run(play).statuses() == {"web-1": "changed"}
    assert written.exists()


_ROLE_DELEGATED = {
    "apply": """
    - ansible.builtin.include_role: {name: monitor.cloud.monitor_agent, apply: {delegate_to: "{{ item }}"}}
      loop: [web-1]
""",
    "block": """
    - delegate_to: web-1
      block: [{ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}}]
""",
}


@pytest.mark.parametrize("form", _ROLE_DELEGATED)
def test_delegation_of_the_role_is_refused_before_a_client_is_created(pair: Local, form: str) -> None:
    play = "- hosts: HOST\n  gather_facts: false\n  tasks:" + _ROLE_DELEGATED[form]
    assert refuse(pair, pair.play(play.replace("HOST", "web-2"))) == [
        "The role can't be delegated: web-1 would get the client of web-2. Nothing was done. Use the role in a play "
        "that has web-1 among its hosts."
    ]
    assert pair.run(pair.play(play.replace("HOST", "web-1"))).changed_hosts() == {"web-1"}


def test_a_template_in_another_encoding_is_named(single: Local) -> None:
    path = single.directory / "latin.j2"
    path.write_bytes("# café\n{{ client.api_key }}\n".encode("latin-1"))
    single.group_vars["monitor_agent_config_template"] = str(path)
    message = single.run().failures()["web-1"]
    assert message.startswith(f"Could not render the template {path}: "), message
    assert single.read("web-1") is None


def _give_key_of_elsewhere(controller: Local) -> None:
    controller.service.seed(labels=["elsewhere"])
    for host in controller.host_vars:
        controller.write(host, text_of(controller, "elsewhere"))


def test_keys_of_other_clients_are_reported(pair: Local) -> None:
    _give_key_of_elsewhere(pair)
    for arguments in (["monitor.cloud.audit"], ["monitor.cloud.audit", "--check"], ["monitor.cloud.adopt", "--check"]):
        assert "carried the key" not in pair.run(*arguments).output
    check = pair.run("monitor.cloud.rollout", "--check")
    assert "web-1 carried the key of client 'elsewhere'" in " ".join(check.output.split())
    text = "It would get the key of 'web-1'. If it was renamed, run monitor.cloud.adopt first: it keeps that client."
    assert text in " ".join(check.output.split())
    run = pair.run()
    text = "web-2 carried the key of client 'elsewhere', so it reported as that one. It now has the key of 'web-2'."
    assert text in " ".join(run.output.split())
    assert "carried the key" not in pair.run().output


def test_the_report_of_many_keys_is_bounded(emulator: Emulator, tmp_path: Path) -> None:
    names = [f"web-{number}" for number in range(1, 31)]
    controller = Local(tmp_path, emulator, *names)
    _give_key_of_elsewhere(controller)
    run = controller.run("monitor.cloud.rollout", ANSIBLE_FORKS="10")
    assert len(run.changed_hosts()) == 30
    assert run.output.count(" carried the key of ") == 20
    assert run.output.count("More hosts carried keys of other") == 1
