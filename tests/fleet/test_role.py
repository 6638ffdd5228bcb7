# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role does and shows beside the files of its hosts, and what goes wrong there. The hosts are directories."""

import platform
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, REGISTER, Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse, role_play

CHECK = "Check the variables and read the account"
HANDLER = "Restart the monitoring agent"
RETIRE = "monitor.cloud.retire"
RECORD = "Record that the agent was restarted"
REMOVE = "Remove the clients of the hosts"
ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
AUDIT = "{name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
ABSENT = "vars: {monitor_agent_state: absent}"
NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"


def shown(run: Run) -> list[str]:
    """The headers of the role's tasks, as the default callback prints them."""
    return re.findall(r"^(?:TASK|RUNNING HANDLER) \[monitor\.cloud\.monitor_agent : (.*)\]", run.output, re.MULTILINE)


def test_a_rollout_shows_no_task_that_is_skipped(pair: Local) -> None:
    runs = [pair.run("monitor.cloud.rollout", *options) for options in (["--check"], [], [])]
    assert [shown(run) for run in runs] == [[REGISTER, CONFIGURE]] * 3
    pair.host_vars["web-2"].update(monitor_agent_service="monitor-agent", monitor_agent_config_mode="0640")
    run = pair.run("monitor.cloud.rollout", "--check")
    assert shown(run) == [REGISTER, CONFIGURE, HANDLER, RECORD], run.output
    assert set(run.of(HANDLER)) == set(run.of(RECORD)) == {"web-2"}
    assert "skipping:" not in "".join(each.output for each in (*runs, run))


@pytest.mark.parametrize("of", ["extra variable", "inventory", "play", "role", "roles"])
def test_a_removal_shows_the_tasks_that_it_needs(pair: Local, of: str) -> None:
    pair.monitor()
    play = role_play(pair, play=ABSENT if of == "play" else "", role=ABSENT if of == "role" else "")
    if of == "roles":
        play = pair.tasks("- {role: monitor.cloud.monitor_agent, monitor_agent_state: absent}", section=of)
    if of == "inventory":
        pair.group_vars["monitor_agent_state"] = "absent"
    extra = ["-e", "monitor_agent_state=absent"] if of == "extra variable" else []
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], []), ([], [])):
        run = pair.run(play, *extra, *options)
        assert (run.code, labels(pair)) == (0, left), run.output
        assert shown(run) == ([REGISTER, CONFIGURE] if of == "inventory" else [CHECK, CONFIGURE, REMOVE])
        assert ("skipping:" in run.output) == (of == "inventory")
    assert run.changed_hosts() == set()


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_host_without_the_first_uses_the_defaults_of_the_play(pair: Local, state: str) -> None:
    if state == "absent":
        pair.monitor()
        pair.group_vars["monitor_agent_state"] = "absent"
    service = {"base_url": pair.service.base_url, "api_token": pair.service.tokens["read_write"]}
    play = role_play(
        pair,
        play=f"module_defaults: {{group/monitor.cloud.api: {service}}}",
        role=NOT_THE_FIRST,
    )
    wrong = {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4", "MONITOR_API_TOKEN": "wrong"}
    run = pair.run(play, "-e", "ansible_python_interpreter=/nowhere/python", **wrong)
    assert (run.code, run.changed_hosts()) == (0, {"web-2"}), run.output
    assert labels(pair) == (["web-2"] if state == "present" else ["web-1"])


@pytest.mark.parametrize("options", ["prune: true, prune_pattern: '.*', prune_limit: 100", "renames: {web-1: web-9}"])
def test_defaults_of_a_module_are_not_for_the_role(three: Local, options: str) -> None:
    three.service.seed(labels=["elsewhere"])
    defaults = f"module_defaults: {{monitor.cloud.monitor_clients: {{{options}}}}}"
    # The second time hosts register by themselves.
    for play, role, hosts in (("serial: 1", "", ["web-1", "web-2", "web-3"]), ("", NOT_THE_FIRST, ["web-2", "web-3"])):
        for state, expected in {"present": hosts, "absent": []}.items():
            book = role_play(three, play=f"{play}\n  {defaults}", role=role)
            run = three.run(book, "-e", f"monitor_agent_state={state}")
            assert (run.code, labels(three)) == (0, ["elsewhere", *expected]), run.output


@pytest.mark.parametrize("module", ["monitor_clients", "agent_config"])
def test_an_audit_with_defaults_of_a_module_is_right(monitored: Local, module: str) -> None:
    monitored.path("web-1").chmod(0o644)
    defaults = f"module_defaults: {{monitor.cloud.{module}: {{state: absent}}}}"
    run = monitored.run(monitored.tasks(f"- import_role: {AUDIT}", play=defaults))
    assert "Hosts: 3 (1 wrong_permissions, 2 ok)." in run.output


LABELS = {"web{1}": "web{1}", "{{ 12345 }}": "12345", "{{ ansible_facts['architecture'] }}": platform.machine()}


@pytest.mark.parametrize(("label", "expected"), LABELS.items())
def test_a_label_that_resembles_something_else_is_a_text(single: Local, label: str, expected: str) -> None:
    single.host_vars["web-1"].update(monitor_agent_label=label, ansible_python_interpreter=sys.executable)
    for options in ([], ["-e", "monitor_agent_audit_fail_on_drift=true"]):
        tasks = f"- import_role: {AUDIT}" if options else f"- {ROLE}"
        run = single.run(single.tasks(tasks, play="gather_subset: ['!all', '!min', platform]", facts=True), *options)
        assert run.code == 0, run.output
    assert labels(single) == [expected]


def test_the_keys_of_another_host_are_redacted_in_an_installers_output(monitored: Local) -> None:
    monitored.host_vars["web-1"]["monitor_agent_install_command"] = f"cat {monitored.path('web-2')}; exit 1"
    run = monitored.run()
    assert "<api_key of web-2>" in run.failures()["web-1"]
    assert found_in(run.output, secrets_of(monitored.service)) == []


def test_an_executed_module_whose_output_breaks_shows_no_key(monitored: Local, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\npython3 "$@" | head -c 900\n')
    broken.chmod(0o755)
    task = "{monitor.cloud.monitor_clients: {labels: [web-1, web-2, web-3], include_keys: true}, run_once: true}"
    run = monitored.run(monitored.tasks(f"- {task}"), "-vvv", "-e", f"ansible_python_interpreter={broken}")
    assert run.failures()
    assert found_in(run.output, secrets_of(monitored.service)) == []


@pytest.mark.parametrize("left_out", ["web-1", "web-2"])
def test_a_second_removal_of_some_hosts_only_keeps_the_clients_of_the_others(monitored: Local, left_out: str) -> None:
    """As for a second agent, whose clients another account has."""
    include = "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}"
    tasks = f"""
    - {include}
      vars: {{monitor_agent_state: absent}}
    - monitor.cloud.monitor_clients: {{labels: [web-1, web-2, web-3]}}
      run_once: true
    - {include}
      vars: {{monitor_agent_state: absent}}
      when: inventory_hostname != '{left_out}'
      loop: [1, 2]
"""
    run = monitored.run(monitored.tasks(tasks))
    assert run.code == 0, run.output
    assert labels(monitored) == [left_out]


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
        run = three.run(three.tasks(tasks))
        assert run.failures() == {failing: "not today"}, run.output
        assert labels(three) == sorted(host for host, text in three.files().items() if text) == expected


def test_a_role_may_run_once_for_a_single_host(monitored: Local) -> None:
    """For several it is refused: test_refusals.py."""
    run = monitored.run(role_play(monitored, role="run_once: true"), "--limit", "web-1")
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
    run = three.run(three.tasks(tasks))
    assert run.code == 0, run.output
    assert run.changed_hosts() == {"web-1", "web-2", "web-3"}
    assert all(text and text == three.expected(host) for host, text in three.files().items())


def test_a_removal_whose_check_fails_removes_nothing_if_errors_are_ignored(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    monitored.host_vars["web-1"]["monitor_agent_label"] = "web-3"
    role = "ignore_errors: true\n  vars: {monitor_agent_state: absent}"
    run = monitored.run(role_play(monitored, role=role), "--limit", "web-1")
    assert run.of(CONFIGURE)["web-1"].status == "ignored"
    assert (labels(monitored), monitored.files()) == before


def test_a_state_by_a_template_of_variables_that_hosts_have_is_refused(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    monitored.group_vars["present_here"] = True
    state = "\"{{ 'present' if present_here | default(false) else 'absent' }}\""
    run = monitored.run(role_play(monitored, play=f"vars: {{monitor_agent_state: {state}}}"))
    assert all("Set it in the inventory instead." in reason for reason in run.failures().values())
    assert len(run.failures()) == 3 and (labels(monitored), monitored.files()) == before


def test_a_failed_installation_reports_what_was_written_and_is_retried(three: Local) -> None:
    three.host_vars["web-1"].update(monitor_agent_install_command="exit 3", monitor_agent_service="agent")
    for owner, differs in (("no_file", ["content"]), ("own", ["restart"])):
        run = three.run()
        assert set(run.failures()) == {"web-1"}
        result = run.of(CONFIGURE)["web-1"].result
        assert "exit code 3" in result["msg"] and "the next run restarts it" in result["msg"]
        assert (result["changed"], result["path"]) == (True, str(three.path("web-1")))
        assert (result["key_owner"], result["differs"]) == (owner, differs)


@pytest.mark.parametrize(
    "of",
    [
        "registration: monitor_agent_registration",
        "client: '{{ monitor_agent_registration.clients[inventory_hostname] }}'",
    ],
)
def test_a_file_of_the_users_own_is_written_without_the_roles_steps(three: Local, tmp_path: Path, of: str) -> None:
    log, own = tmp_path / "installed", tmp_path / "own.conf"
    three.group_vars["monitor_agent_install_command"] = f"echo once >> {log}"
    tasks = f"""
    - ansible.builtin.include_role: {{name: monitor.cloud.monitor_agent}}
    - monitor.cloud.agent_config: {{path: {own}, content: "{{{{ client.api_key }}}}", state: present, {of}}}
      delegate_to: "{{{{ inventory_hostname }}}}"
"""
    run = three.run(three.tasks(tasks, hosts="web-1"))
    assert run.code == 0, run.output
    assert log.read_text() == "once\n"
    (client,) = three.service.clients()
    assert own.read_text() == client["api_key"]


@pytest.fixture
def two(pair: Local) -> Local:
    """A controller whose hosts are monitored, and an account with clients of hosts that are gone."""
    pair.monitor()
    pair.service.seed(labels=["old-database-1", "web-9"])
    return pair


def test_variables_of_the_inventory_choose_nothing(two: Local) -> None:
    two.group_vars.update(target="all", labels=["web-1"])
    assert "Choose what to retire" in refuse(two, RETIRE)
    for choice, label in (('{"labels": ["web-9"]}', "web-9"), ("target=web-2 monitor_agent_state=absent", "web-2")):
        run = two.run(RETIRE, "-e", choice)
        assert (run.code, run.writes()) == (0, [f"delete_client {label}"]), run.output
    assert two.read("web-1") and not two.read("web-2")


def test_the_client_of_a_host_that_cannot_be_reached_is_kept(two: Local) -> None:
    two.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    assert two.run(RETIRE, "-e", "target=all").code == 4
    assert labels(two) == ["old-database-1", "web-1", "web-9"]


def test_hosts_and_labels_are_retired_at_once(two: Local) -> None:
    steps = converge(two, RETIRE, "-e", "target=all labels=web-9", "--limit", "web-1", changes={"web-1"})
    for removed in ("configuration of: web-1", "clients: web-1, web-9"):
        assert f"Would be removed, {removed}" in steps.check.output and f"Removed, {removed}" in steps.run.output
    assert "There was no" not in steps.run.output
    for task in ("Remove the clients of the hosts", "Remove the clients of hosts that are gone"):
        assert steps.run.changed_hosts(task) == steps.check.changed_hosts(task) == {"web-1"}, task
    assert (labels(two), configured(two), two.read("web-1")) == (["old-database-1", "web-2"], {"web-2"}, None)
    assert "There was no configuration on: web-1" in steps.again.output and "Removed" not in steps.again.output
    assert "There was no client of the label: web-1, web-9" in steps.again.output


def test_a_condition_that_leaves_out_the_check_retires_nothing(two: Local) -> None:
    play = two.play(f"- {{import_playbook: {RETIRE}, when: inventory_hostname == 'web-2'}}")
    run = two.run(play, "-e", "target=all", "-e", "retire_limit=1")
    assert (run.code, run.writes()) == (0, []) and two.read("web-2"), run.output


@pytest.mark.parametrize("service", [{"MONITOR_API_TOKEN": "wrong"}, {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4"}])
def test_nothing_is_removed_if_the_service_cannot_be_used(two: Local, service: dict[str, str]) -> None:
    before = labels(two), two.files()
    run = two.run(RETIRE, "-e", "target=all", "-e", "monitor_agent_retry_timeout=0", **service)
    assert run.code == 2, run.output
    assert (labels(two), two.files()) == before
