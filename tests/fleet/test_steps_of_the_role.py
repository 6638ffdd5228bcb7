# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role's task on each host does beside its file, and what goes wrong there. The hosts are directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._role_variables import LABEL_IN_PLAY, STATES_DIFFER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Local
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of
from ansible_collections.monitor.cloud.tests.support.steps import role_play
from ansible_collections.monitor.cloud.tests.support.tasks import labels

NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"


def test_the_keys_of_another_host_are_redacted_in_an_installers_output(three: Local) -> None:
    three.run()
    three.host_vars["web-1"]["monitor_agent_install_command"] = f"cat {three.path('web-2')}; exit 1"
    run = three.run()
    assert "<api_key of web-2>" in run.failures()["web-1"]
    assert found_in(run.output, secrets_of(three.service)) == []


def test_the_token_is_not_for_the_installer(three: Local) -> None:
    three.host_vars["web-1"]["monitor_agent_install_command"] = 'echo "token:${MONITOR_API_TOKEN-none}"; exit 1'
    assert "token:none" in three.run().failures()["web-1"]


def test_an_executed_module_whose_output_breaks_shows_no_key(three: Local, tmp_path: Path) -> None:
    three.run()
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\npython3 "$@" | head -c 900\n')
    broken.chmod(0o755)
    task = "{monitor.cloud.monitor_clients: {labels: [web-1, web-2, web-3], include_keys: true}, run_once: true}"
    play = three.play(f"- hosts: all\n  gather_facts: false\n  tasks:\n    - {task}\n")
    run = three.run(play, "-vvv", "-e", f"ansible_python_interpreter={broken}")
    assert run.failures()
    assert found_in(run.output, secrets_of(three.service)) == []


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_host_without_the_first_gets_no_client_of_another(three: Local, state: str) -> None:
    """Its label is that of another host, or all hosts have the one of the play."""
    if state == "absent":
        three.run()
        three.group_vars["monitor_agent_state"] = "absent"
    before = labels(three.service), three.files()
    run = three.run(role_play(three, play="vars: {monitor_agent_label: shared}", role=NOT_THE_FIRST))
    assert set(run.failures()) == {"web-2", "web-3"}
    assert all("Set it in the inventory" in reason for reason in run.failures().values())
    three.host_vars["web-2"]["monitor_agent_label"] = "web-3"
    run = three.run(role_play(three, role=NOT_THE_FIRST))
    assert "same label" in run.failures()["web-2"]
    assert (labels(three.service), three.files()) == before or state == "present" and three.read("web-2") is None


def test_a_label_of_the_play_removes_no_client_of_another_host(three: Local) -> None:
    three.run()
    before = labels(three.service), three.files()
    play = role_play(three, play="vars: {monitor_agent_label: web-3, monitor_agent_state: absent}")
    assert three.run(play, "--limit", "web-1").failures() == {"web-1": LABEL_IN_PLAY}
    assert (labels(three.service), three.files()) == before


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_label_of_the_play_that_only_another_host_has_is_refused(three: Local, state: str) -> None:
    three.host_vars["web-2"]["label_here"] = "web-3"
    play = f"vars: {{monitor_agent_label: \"{{{{ label_here | default('') }}}}\", monitor_agent_state: {state}}}"
    run = three.run(role_play(three, play=play))
    assert run.failures() == {"web-1": LABEL_IN_PLAY}, run.output
    assert run.requests == []


def test_a_host_that_a_condition_on_an_include_leaves_out_keeps_its_client(three: Local) -> None:
    tasks = """
    - ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}
    - ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}
      vars: {monitor_agent_state: absent}
      when: inventory_hostname == 'web-2'
"""
    run = three.run(three.play(f"- hosts: all\n  gather_facts: false\n  tasks:{tasks}"))
    assert run.code == 0, run.output
    assert labels(three.service) == ["web-1", "web-3"]


@pytest.mark.parametrize("left_out", ["web-1", "web-2"])
def test_a_second_removal_of_some_hosts_only_keeps_the_clients_of_the_others(three: Local, left_out: str) -> None:
    """As for a second agent, whose clients another account has."""
    three.run()
    include = (
        "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}\n      vars: {monitor_agent_state: absent}"
    )
    tasks = f"""
    - {include}
    - monitor.cloud.monitor_clients: {{labels: [web-1, web-2, web-3]}}
      run_once: true
    - {include}
      when: inventory_hostname != '{left_out}'
      loop: [1, 2]
"""
    run = three.run(three.play(f"- hosts: all\n  gather_facts: false\n  tasks:{tasks}"))
    assert run.code == 0, run.output
    assert labels(three.service) == [left_out]


@pytest.mark.parametrize("options", ["prune: true, prune_pattern: '.*'", "renames: {web-1: web-9}"])
def test_defaults_of_a_module_are_not_for_the_role(three: Local, options: str) -> None:
    defaults = f"module_defaults: {{monitor.cloud.monitor_clients: {{{options}}}}}"
    # The second time hosts register by themselves.
    for play, role in ("serial: 1", ""), ("", NOT_THE_FIRST):
        run = three.run(role_play(three, play=f"{play}\n  {defaults}", role=role))
        assert run.code == 0, run.output
        assert labels(three.service) == ["web-1", "web-2", "web-3"]


@pytest.mark.parametrize("module", ["monitor_clients", "agent_config"])
def test_an_audit_with_defaults_of_a_module_is_right(three: Local, module: str) -> None:
    three.run()
    three.path("web-1").chmod(0o644)
    task = (
        "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
    )
    defaults = f"{{monitor.cloud.{module}: {{state: absent}}}}"
    play = f"- hosts: all\n  gather_facts: false\n  module_defaults: {defaults}\n  tasks:\n    - {task}\n"
    assert "Hosts: 3 (1 wrong_permissions, 2 ok)." in three.run(three.play(play)).output


@pytest.mark.parametrize("use", ["import_role", "include_role"])
def test_an_audit_has_no_former_facts_of_a_host_that_is_left_out(three: Local, use: str) -> None:
    three.run()
    role = "{name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
    tasks = f"[{{import_role: {role}}}, {{{use}: {role}, when: inventory_hostname != 'web-2'}}]"
    run = three.run(three.play(f"- hosts: all\n  gather_facts: false\n  tasks: {tasks}\n"))
    assert [line for line in run.output.splitlines() if line.startswith("Hosts:")] == [
        "Hosts: 3 (3 ok).",
        "Hosts: 3 (1 unreachable, 2 ok).",
    ]
    assert "a condition left it out" in " ".join(run.output.split())


ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"


@pytest.mark.parametrize("failing", ["web-1", "web-2"])
def test_a_host_that_has_failed_is_treated_in_always(three: Local, failing: str) -> None:
    """Core leaves it out of its batch."""
    for state, expected in {"present": ["web-1", "web-2", "web-3"], "absent": []}.items():
        tasks = f"""
    - block:
        - ansible.builtin.fail: {{msg: not today}}
          when: inventory_hostname == '{failing}'
      always:
        - {ROLE}
          vars: {{monitor_agent_state: {state}}}
"""
        run = three.run(three.play(f"- hosts: all\n  gather_facts: false\n  tasks:{tasks}"))
        assert run.failures() == {failing: "not today"}, run.output
        assert labels(three.service) == sorted(host for host, text in three.files().items() if text) == expected


@pytest.mark.parametrize("entry", ["present", "absent", "audit", "adopt"])
def test_a_role_that_runs_once_is_refused_before_anything_is_done(three: Local, entry: str) -> None:
    three.run("monitor.cloud.rollout", "--limit", "web-1,web-2")
    before = labels(three.service), three.files()
    state, tasks_from = (entry, "main") if entry in ("present", "absent") else ("present", entry)
    tasks = f"""
    - ansible.builtin.import_role:
        name: monitor.cloud.monitor_agent
        tasks_from: {tasks_from}
        rolespec_validate: false
      run_once: true
      vars: {{monitor_agent_state: {state}}}
"""
    play = three.play(f"- hosts: all\n  gather_facts: false\n  tasks:{tasks}")
    run = three.run(play)
    assert [reason.partition(",")[0] for reason in run.failures().values()] == ["The role can't have run_once"]
    assert (labels(three.service), three.files()) == before
    run = three.run(play, "--limit", "web-1")
    assert run.code == 0, run.output


def test_the_role_succeeds_in_rescue_once_there_is_room(three: Local) -> None:
    """Of a task that runs once, core takes the failure of the first host only for rescued."""
    three.service.set_plan("monitor-3")
    three.service.seed(labels=["elsewhere"])
    tasks = f"""
    - block:
        - {ROLE}
      rescue:
        - monitor.cloud.monitor_plan: {{min_clients: 4}}
          run_once: true
          delegate_to: localhost
        - {ROLE}
"""
    run = three.run(three.play(f"- hosts: all\n  gather_facts: false\n  tasks:{tasks}"))
    assert run.code == 0, run.output
    assert run.changed_hosts() == {"web-1", "web-2", "web-3"}
    assert all(text and text == three.expected(host) for host, text in three.files().items())


def test_a_removal_that_starts_at_a_later_task_is_checked(three: Local) -> None:
    three.run()
    three.host_vars["web-2"]["monitor_agent_label"] = "web-3"
    play = role_play(three, role="vars: {monitor_agent_state: absent}")
    run = three.run(play, "--limit", "web-1,web-2", "--start-at-task", f"*{CONFIGURE}")
    assert "same label" in run.failures()["web-2"]
    assert labels(three.service) == ["web-1", "web-2", "web-3"]


def test_a_removal_whose_check_fails_removes_nothing_if_errors_are_ignored(three: Local) -> None:
    three.run()
    before = labels(three.service), three.files()
    three.host_vars["web-1"]["monitor_agent_label"] = "web-3"
    role = "ignore_errors: true\n      vars: {monitor_agent_state: absent}"
    run = three.run(role_play(three, role=role), "--limit", "web-1")
    assert run.of(CONFIGURE)["web-1"].status == "ignored"
    assert (labels(three.service), three.files()) == before


def test_states_that_differ_by_a_template_are_refused(three: Local) -> None:
    three.run()
    before = labels(three.service), three.files()
    by_host = "\"{{ 'absent' if inventory_hostname | default('') == 'web-2' else 'present' }}\""
    run = three.run(role_play(three, play=f"vars: {{monitor_agent_state: {by_host}}}"))
    assert list(run.failures().values()) == [STATES_DIFFER]
    by_variable = "\"{{ 'present' if monitored | default(false) else 'absent' }}\""
    three.group_vars["monitored"] = True
    run = three.run(role_play(three, play=f"vars: {{monitor_agent_state: {by_variable}}}"))
    assert all("Set it in the inventory" in reason for reason in run.failures().values())
    assert (labels(three.service), three.files()) == before


@pytest.mark.parametrize("different", ["web-1", "web-2"])
@pytest.mark.parametrize("state", ["absent", "{{ ['present'] if inventory_hostname == 'web-2' else 'absent' }}"])
def test_a_state_that_some_hosts_have_is_refused_in_any_order(three: Local, different: str, state: str) -> None:
    three.host_vars[different]["monitor_agent_state"] = state
    run = three.run()
    assert list(run.failures().values()) == [STATES_DIFFER]
    assert run.requests == [] and not any(three.files().values())


def test_a_failed_installation_reports_what_was_written_and_is_retried(three: Local) -> None:
    three.host_vars["web-1"].update(monitor_agent_install_command="exit 3", monitor_agent_service="agent")
    for owner, differs in (("no_file", ["content"]), ("own", ["restart"])):
        run = three.run()
        assert set(run.failures()) == {"web-1"}
        result = run.of(CONFIGURE)["web-1"].result
        assert "exit code 3" in result["msg"] and "the next run restarts it" in result["msg"]
        assert (result["changed"], result["path"]) == (True, str(three.path("web-1")))
        assert (result["key_owner"], result["differs"]) == (owner, differs)


def test_a_file_of_the_users_own_is_written_without_the_roles_steps(three: Local, tmp_path: Path) -> None:
    log, own = tmp_path / "installed", tmp_path / "own.conf"
    three.group_vars["monitor_agent_install_command"] = f"echo once >> {log}"
    task = (
        f"{{monitor.cloud.agent_config: {{path: {own}, content: '{{{{ client.api_key }}}}', state: present, "
        "registration: monitor_agent_registration}, delegate_to: '{{ inventory_hostname }}'}"
    )
    role = "{ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}}"
    text = f"- hosts: web-1\n  gather_facts: false\n  tasks:\n    - {role}\n    - {task}\n"
    run = three.run(three.play(text))
    assert run.code == 0, run.output
    assert log.read_text() == "once\n"
    (client,) = three.service.clients()
    assert own.read_text() == client["api_key"]


def test_a_sealed_client_can_be_given_to_a_task(three: Local, tmp_path: Path) -> None:
    own = tmp_path / "own.conf"
    task = (
        f"{{monitor.cloud.agent_config: {{path: {own}, content: '{{{{ client.api_key }}}}', "
        "client: '{{ monitor_agent_registration.clients[inventory_hostname] }}'}}"
    )
    role = "{ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}}"
    run = three.run(three.play(f"- hosts: web-1\n  gather_facts: false\n  tasks:\n    - {role}\n    - {task}\n"))
    assert run.code == 0, run.output
    (client,) = three.service.clients()
    assert own.read_text() == client["api_key"]
