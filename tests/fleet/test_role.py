# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role in plays, batches, limits, conditions and strategies: what it does and shows, and what goes wrong there."""

import itertools
import json
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    CONFIGURE_NEW,
    EXECUTED,
    REGISTER,
    ROLLOUT,
    Controller,
    Local,
    Run,
)
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    diffs,
    labels,
    refuse,
    role_play,
    text_of,
)

RESTART = "Restart the monitoring agent"
INSTALLER = "Run the installer"
RETIRE = "monitor.cloud.retire"
REMOVE = "Delete the clients of hosts whose configuration is removed"
# In the include that REMOVE is.
DELETE = "Delete the clients of hosts without a configuration"
COST = "Show what the new clients cost"
NEW = "Do what is new on the host, or uninstall the agent"
# What each run shows, in this order, whatever the state; then what is new.
TASKS = [
    "Validating arguments against arg spec 'main' - Register the hosts of the play and configure their agents",
    "Check that monitor_agent_config is among the tags",
    "Refuse facts that would decide",
    "Check that each host of the inventory has a label of its own",
    "Forget the results of an earlier use of the role",
    "Read the account",
    CONFIGURE,
    REMOVE,
    REGISTER,
    COST,
    NEW,
]
OF_NEW = [CONFIGURE_NEW, "Install the agent", "Uninstall the agent", "Restart the agent, or start it"]
ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
AUDIT = "{name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
INCLUDE = "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}"
ABSENT = "vars: {monitor_agent_state: absent}"
NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"


def shown(run: Run) -> list[str]:
    """The headers of the role's tasks, as the default callback prints them."""
    return re.findall(r"^TASK \[monitor\.cloud\.monitor_agent : (.*)\]", run.output, re.MULTILINE)


def test_check_mode_and_run_show_the_same_tasks_in_one_order(pair: Local) -> None:
    runs = [pair.succeed("monitor.cloud.rollout", *options) for options in (["--check"], [], [])]
    assert [shown(run) for run in runs] == [[*TASKS, *OF_NEW]] * 2 + [TASKS]
    once = {task for task in TASKS if len(runs[1].of(task)) == 1}
    assert once == {*TASKS[1:6], REGISTER}
    pair.host_vars["web-2"].update(monitor_agent_service="monitor-agent", monitor_agent_config_mode="0640")
    pair.host_vars["web-2"]["ansible_python_interpreter"] = sys.executable
    assert set(pair.succeed("monitor.cloud.rollout", "--check").of(RESTART)) == {"web-2"}
    pair.host_vars["web-2"]["monitor_agent_service"] = ""
    play = role_play(pair, role=ABSENT)
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], []), ([], [])):
        run = pair.succeed(play, *options)
        assert labels(pair) == left, run.output
    assert shown(run) == [*TASKS[:8], DELETE, "Remember the removed clients", *TASKS[8:]]
    assert run.changed_hosts() == set() and run.statuses(REGISTER) == {}


@pytest.mark.parametrize("uninstall", [False, True])
def test_a_use_that_would_create_what_an_earlier_use_deleted_is_refused(pair: Local, uninstall: bool) -> None:
    """Also if its first host was not in the earlier use."""
    pair.monitor()
    uses = [("web-2", {"monitor_agent_state": "absent", "monitor_agent_uninstall": uninstall}), ("all", {})]
    plays = [
        {"hosts": hosts, "gather_facts": False, "vars": given, "roles": ["monitor.cloud.monitor_agent"]}
        for hosts, given in uses
    ]
    play = pair.play(json.dumps(plays))
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], ["web-1"])):
        run = pair.run(play, *options)
        assert run.failures().keys() == {"web-2"} and labels(pair) == left, run.output
        assert run.failures()["web-2"].startswith("This run has removed the client of web-2"), run.failures()


def test_check_mode_shows_that_the_service_cannot_be_restarted(single: Local) -> None:
    single.host_vars["web-1"].update(
        ansible_python_interpreter="/nowhere/python", monitor_agent_service="monitor-agent"
    )
    for options in (["--check"], []):
        run = single.run(ROLLOUT, *options)
        assert run.failures().keys() == {"web-1"}, run.output


# By options: the tasks that are run on a host without a client, and whether the run succeeds.
_ALL = {CONFIGURE_NEW, INSTALLER, RESTART}
TAGS: dict[str, set[str] | None] = {
    "--tags monitor_agent_config,monitor_agent_install": {CONFIGURE_NEW, INSTALLER},
    "--tags monitor_agent_config,monitor_agent_service": {CONFIGURE_NEW, RESTART},
    "--tags monitor_agent_install": None,
    "--tags other": set(),
    "--skip-tags monitor_agent_config": None,
    "--skip-tags monitor_agent_install,monitor_agent_service": {CONFIGURE_NEW},
    "--skip-tags monitor_agent_config,monitor_agent_install,monitor_agent_service": set(),
}


@pytest.mark.parametrize("options", TAGS)
def test_tags_choose_parts_of_the_role(single: Local, options: str) -> None:
    single.group_vars.update(monitor_agent_install_command="true", monitor_agent_service="no-such-agent")
    single.group_vars["ansible_python_interpreter"] = sys.executable
    play = single.tasks(f"- {ROLE}")
    expected = TAGS[options]
    # In check mode a service that is not there yet is no failure.
    check = single.run(play, "--check", *options.split())
    seen = {task for task in _ALL if check.of(task)}
    assert (check.code, seen) == ((2, set()) if expected is None else (0, expected)), check.output
    if expected is None:
        assert "only monitor_agent_config finds out" in str(check.failures())
    run = single.run(play, *options.split())
    assert len(run.writes()) == bool(expected), run.output
    if expected and RESTART not in expected:
        # The restart that was left out is made by the next run.
        pending = single.succeed(ROLLOUT, "--check", "--skip-tags", "monitor_agent_install")
        assert pending.of(CONFIGURE)["web-1"].result["differs"] == ["restart"]
        assert set(pending.of(RESTART)) == {"web-1"}


@pytest.mark.parametrize("options", [[], ["--skip-tags", "monitor_agent_install"]])
def test_an_agent_is_uninstalled_before_its_configuration_and_client_are_removed(
    three: Local, options: list[str]
) -> None:
    """A host where that fails keeps both. One without an agent to uninstall, and one that stays, are not concerned."""
    three.monitor()
    three.add("new-1")
    for host in ("web-1", "web-2", "web-3"):
        three.host_vars[host]["monitor_agent_state"] = "absent"
    program = (
        "test -e {{ monitor_agent_config_path }} && test -e {{ playbook_dir }}/fixed && rm -r {{ playbook_dir }}/agent"
    )
    three.host_vars["web-1"].update(monitor_agent_uninstall=True, monitor_agent_uninstall_command="true")
    three.host_vars["web-2"].update(
        monitor_agent_uninstall=True,
        monitor_agent_uninstall_command=program,
        monitor_agent_uninstall_removes="{{ playbook_dir }}/agent",
    )
    three.group_vars["ansible_python_interpreter"] = sys.executable
    (three.directory / "agent").mkdir()
    play = three.tasks(f"- {ROLE}")
    three.succeed(play, "--check", *options)
    assert labels(three) == ["web-1", "web-2", "web-3"]
    run = three.run(play, *options)
    assert labels(three) == (["new-1"] if options else ["new-1", "web-2"]), run.output
    assert set(run.failures()) == (set() if options else {"web-2"})
    assert {host for host, text in three.files().items() if text} == {*labels(three)}
    (three.directory / "fixed").touch()
    three.succeed(play, *options)
    assert labels(three) == ["new-1"] and (three.directory / "agent").exists() == bool(options)
    again = three.succeed(play, *options)
    # Its uninstaller is run each time, because it names nothing that it removes.
    changed = {(event.host, event.task) for event in again.events if event.status == "changed"}
    assert again.writes() == [] and changed == (
        set() if options else {("web-1", "monitor.cloud.monitor_agent : Run the uninstaller")}
    )


@pytest.mark.parametrize("use", ["among roles", "removal after another use"])
def test_a_static_use_that_leaves_out_the_first_host_names_include_role(pair: Local, use: str) -> None:
    """Core skips what runs once for all hosts then."""
    if use == "among roles":
        play = pair.tasks(f"- {{role: monitor.cloud.monitor_agent, {NOT_THE_FIRST}}}", section="roles")
    else:
        pair.monitor()
        play = pair.tasks(f"- {INCLUDE}\n- {ROLE}\n  {NOT_THE_FIRST}\n  {ABSENT}")
    before = labels(pair), pair.files()
    for options in (["--check"], []):
        run = pair.run(play, *options)
        [(host, message)] = run.failures().items()
        assert (run.code, host, run.writes()) == (2, "web-2", []), run.output
        assert "Use the condition on ansible.builtin.include_role instead" in message
        assert (labels(pair), pair.files()) == before


def test_defaults_of_modules_are_not_for_the_role(monitored: Local) -> None:
    monitored.service.seed(labels=["elsewhere"])
    monitored.path("web-1").chmod(0o644)
    defaults = """serial: 1
  module_defaults:
    monitor.cloud.monitor_clients: {state: absent, prune: true, prune_pattern: '.*', prune_limit: 9,
      renames: {web-1: x1}}
    monitor.cloud.agent_config: {state: absent}"""
    audit = monitored.succeed(monitored.tasks(f"- import_role: {AUDIT}", play=defaults))
    assert "Hosts: 3 (1 wrong_permissions, 2 ok)." in audit.output
    play = monitored.tasks(f"- {INCLUDE}", play=defaults)
    for state, left in (("present", ["web-1", "web-2", "web-3"]), ("absent", [])):
        monitored.succeed(play, "-e", f"monitor_agent_state={state}")
        assert labels(monitored) == ["elsewhere", *left]


def test_a_label_that_resembles_something_else_is_a_text(pair: Local) -> None:
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    pair.host_vars["web-1"]["monitor_agent_label"] = "web{1}"
    pair.host_vars["web-2"]["monitor_agent_label"] = "{{ 12345 | string }}"
    pair.succeed(pair.tasks(f"- {ROLE}"))
    assert labels(pair) == ["12345", "web{1}"]
    pair.succeed(pair.tasks(f"- import_role: {AUDIT}"), "-e", "monitor_agent_audit_fail_on_drift=true")


def test_a_label_that_is_made_of_hostvars_is_refused(single: Local) -> None:
    """One that is made of facts: test_variables.py."""
    single.host_vars["web-1"]["monitor_agent_label"] = "{{ hostvars['web-1'].ansible_connection }}"
    assert "monitor_agent_label of host web-1: " in refuse(single, role_play(single))


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
    monitored.group_vars |= monitored.executing()
    run = monitored.run(monitored.tasks(f"- {task}"), "-vvv", "-e", f"ansible_python_interpreter={broken}")
    assert run.failures() and EXECUTED in run.output
    assert found_in(run.output, secrets_of(monitored.service)) == []


def test_a_second_removal_of_some_hosts_only_keeps_the_clients_of_the_others(monitored: Local) -> None:
    """As for a second agent, whose clients another account has."""
    tasks = f"""
    - {INCLUDE}
      {ABSENT}
    - monitor.cloud.monitor_clients: {{labels: [web-1, web-2, web-3]}}
      run_once: true
    - {INCLUDE}
      {ABSENT}
      {NOT_THE_FIRST}
      loop: [1, 2]
"""
    monitored.succeed(monitored.tasks(tasks))
    assert labels(monitored) == ["web-1"]


def test_a_client_is_not_deleted_and_created_by_each_run_of_a_play(pair: Local) -> None:
    """As if the configuration were moved so. A host of the other state, or of another account, is not concerned."""
    pair.monitor()
    old = "vars: {monitor_agent_state: absent, monitor_agent_config_path: '{{ playbook_dir }}/old.conf'}"
    condition = "when: inventory_hostname == 'web-1'"
    play = pair.tasks(f"- {INCLUDE}\n  {condition}\n  {old}\n- {INCLUDE}\n- {INCLUDE}")
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], ["web-2"]), ([], ["web-2"])):
        run = pair.run(play, *options)
        [(host, message)] = run.failures().items()
        assert (run.code, host, labels(pair)) == (2, "web-1", left), run.output
        assert "remove the old file with ansible.builtin.file instead" in message
    pair.service.set_token("other")
    moved = "vars: {monitor_agent_api_token: '{{ other }}'}"
    play = pair.tasks(f"- {INCLUDE}\n  {condition}\n  {old}\n- {INCLUDE}\n  {moved}")
    pair.succeed(play, "-e", f"other={pair.service.tokens['other']}")
    assert labels(pair) == ["web-1", "web-2"]


@pytest.mark.parametrize("failing", ["web-1", "web-2"])
def test_a_host_that_has_failed_is_to_run_again_if_the_role_is_in_always(three: Local, failing: str) -> None:
    """Core leaves it out of its batch, so that it would be without a client."""
    tasks = f"""
    - block:
        - ansible.builtin.fail: {{msg: not today}}
          when: inventory_hostname == '{failing}'
      always:
        - {ROLE}
"""
    play, others = three.tasks(tasks), sorted(set(three.host_vars) - {failing})
    for state, expected in {"present": others, "absent": [failing]}.items():
        if state == "absent":
            three.service.seed(labels=[failing])
            three.write(failing, three.expected(failing))
        run = three.run(play, "-e", f"monitor_agent_state={state}")
        [(host, message)] = run.failures().items()
        assert (run.code, host) == (2, failing) and message.endswith("Run again."), run.output
        assert labels(three) == sorted(configured(three)) == expected


def test_a_handler_that_the_use_of_the_role_notifies_is_run(pair: Local) -> None:
    mine = "handlers: [{name: Mine, ansible.builtin.debug: {msg: mine}}]"
    play = role_play(pair, play=mine, role="notify: Mine")
    for changed in ({"web-1", "web-2"}, {"web-2"}, set[str]()):
        assert set(pair.succeed(play).of("Mine")) == changed
        pair.write("web-2", "drift" if len(changed) == 2 else pair.expected("web-2"))


def test_a_role_may_run_once_for_a_single_host(monitored: Local) -> None:
    """For several it is refused: test_refusals.py."""
    monitored.succeed(role_play(monitored, role="run_once: true"), "--limit", "web-1")


def test_in_rescue_of_the_role_itself_all_hosts_but_the_first_are_to_run_again(three: Local) -> None:
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
    again = run.of(CONFIGURE)
    assert (run.code, configured(three)) == (2, {"web-1"}), run.output
    assert all(again[host].result["msg"].endswith("Run again.") for host in ("web-2", "web-3"))
    assert three.succeed().changed_hosts() == {"web-2", "web-3"}
    assert labels(three) == ["elsewhere", "web-1", "web-2", "web-3"]


def test_a_removal_removes_nothing_after_an_error_that_is_ignored(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    # Without the account, each host fails, and goes on.
    run = monitored.succeed(role_play(monitored, role=f"ignore_errors: true\n  {ABSENT}"), MONITOR_API_TOKEN="wrong")
    assert set(run.statuses().values()) == {"ignored"}
    assert (labels(monitored), monitored.files()) == before


@pytest.mark.parametrize("state", ["present", "absent"])
def test_nothing_is_changed_in_another_account_than_was_read(three: Local, state: str) -> None:
    three.monitor() if state == "absent" else None
    before = labels(three)
    # The account is that of the first host, which then fails; the second one is the first that is left.
    three.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    three.host_vars["web-2"]["monitor_agent_api_token"] = three.service.set_token("other")
    run = three.run(role_play(three, role=f"ignore_errors: true\n  vars: {{monitor_agent_state: {state}}}"))
    assert (run.statuses()["web-2"], run.writes(), labels(three)) == ("ignored", [], before), run.output


# By host: its state, and whether it has a client, and a file, before.
STATES = {
    "web-1": ("absent", True, True),
    "web-2": ("present", False, False),
    "web-3": ("present", True, True),
    "web-4": ("present", True, False),
    "web-5": ("absent", True, False),
    "web-6": ("absent", False, False),
}


def test_hosts_of_one_batch_may_have_different_states(three: Local) -> None:
    three.add("web-4", "web-5", "web-6")
    three.service.seed(labels=[host for host, (_state, client, _file) in STATES.items() if client])
    for host, (state, _client, file) in STATES.items():
        three.host_vars[host]["monitor_agent_state"] = state
        three.write(host, three.expected(host) if file else None)
    steps = converge(three, changes={"web-1", "web-2", "web-4"})
    assert {host: event.result["state"] for host, event in steps.check.of(CONFIGURE).items()} == {
        host: state for host, (state, _client, _file) in STATES.items()
    }
    assert labels(three) == sorted(configured(three)) == ["web-2", "web-3", "web-4"]
    assert three.read("web-1") is None


def test_a_failed_installation_keeps_what_was_written_and_is_retried(three: Local) -> None:
    three.host_vars["web-1"].update(monitor_agent_install_command="exit 3", monitor_agent_service="agent")
    for owner, differs in (("no_file", ["content"]), ("own", ["restart"])):
        run = three.run()
        assert set(run.failures()) == {"web-1"}
        assert "exit code 3" in run.of("Run the installer")["web-1"].result["msg"]
        result = run.of(CONFIGURE)["web-1"].result
        assert (result["changed"], result["path"]) == (True, str(three.path("web-1")))
        # The restart is pending until a run makes it.
        assert (result["key_owner"], result["differs"]) == (owner, differs)


def test_a_file_of_the_users_own_is_written_with_sealed_keys(single: Local) -> None:
    file = '{path: "{{ playbook_dir }}/%s", content: "@api_key@", state: present, %s}'
    forms = {"1.own": "registration: mine", "2.own": "client: '{{ mine.clients[0] }}'"}
    writes = "".join(f"- monitor.cloud.agent_config: {file % form}\n" for form in forms.items())
    single.succeed(
        single.tasks(
            f"- {INCLUDE}\n- monitor.cloud.monitor_client_info: {{seal_keys: true}}\n  register: mine\n{writes}"
        )
    )
    (client,) = single.service.clients()
    assert [(single.directory / name).read_text() for name in forms] == [client["api_key"]] * 2


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
    for task in (DELETE, "Remove the clients of hosts that are gone"):
        assert steps.run.changed_hosts(task) == steps.check.changed_hosts(task) == {"web-1"}, task
    assert (labels(two), configured(two), two.read("web-1")) == (["old-database-1", "web-2"], {"web-2"}, None)
    assert "There was no configuration on: web-1" in steps.again.output and "Removed" not in steps.again.output
    assert "There was no client of the label: web-1, web-9" in steps.again.output


def test_a_condition_that_leaves_out_the_check_retires_nothing(two: Local) -> None:
    play = two.play(f"- {{import_playbook: {RETIRE}, when: inventory_hostname == 'web-2'}}")
    run = two.run(play, "-e", "target=all", "-e", "retire_limit=1")
    assert (run.code, run.writes()) == (0, []) and two.read("web-2"), run.output


@pytest.mark.parametrize("playbook", ["retire -e target=all", "adopt"])
@pytest.mark.parametrize("masked", [True, False])
def test_a_token_that_only_reads_removes_and_adopts_nothing(two: Local, playbook: str, masked: bool) -> None:
    if not masked:
        two.service.configure(mask_in="lists" if playbook == "adopt" else "everywhere")
    two.write("web-1", two.expected("web-2"))
    before = labels(two), two.files()
    for options in (["--check"], []):
        given = [f"monitor.cloud.{playbook.split()[0]}", *playbook.split()[1:], *options]
        run = two.run(*given, MONITOR_API_TOKEN=two.service.tokens["read_only"])
        refused = ["token has read-only access" in text for text in run.failures().values()]
        assert run.code == 2 and all(refused), run.output
        assert (labels(two), two.files()) == before


@pytest.mark.parametrize("fields", [{}, {"ansible_host": "127.0.0.1"}], ids=["new", "known"])
def test_one_machine_under_two_names_keeps_the_key_that_it_has(pair: Local, fields: dict[str, str]) -> None:
    if fields:
        pair.monitor()
    for values in pair.host_vars.values():
        values.update(fields, monitor_agent_config_path=str(pair.directory / "agent.conf"))
    pair.write("web-1", pair.expected("web-1"))
    for _run in range(2 if fields else 1):
        run = pair.run(ROLLOUT, "--forks", "1")
        assert set(run.failures()) == {"web-2"}, run.output
        assert "web-2 and web-1 are one machine: " in run.failures()["web-2"]
        assert pair.read("web-1") == pair.expected("web-1")


def test_two_names_that_may_be_one_machine_are_both_named(pair: Local) -> None:
    pair.monitor()
    pair.write("web-2", pair.expected("web-1"))
    for options, text in ((["--check"], "would get"), ([], "now has")):
        run = pair.succeed(ROLLOUT, *options)
        assert f"The host {text} the key of 'web-2'." in " ".join(run.output.split())
        assert "If web-2 and web-1 are one machine, keep one of them in the inventory." in " ".join(run.output.split())


def test_a_label_that_is_derived_is_shown_before_its_client_is_created(pair: Local) -> None:
    pair.add("web-3.example.com")
    label = client_label("web-3.example.com")
    for options, shown_once in ((["--check"], True), ([], True), ([], False)):
        run = pair.succeed(ROLLOUT, *options)
        assert (f"web-3.example.com gets a client with the label {label}" in run.output) is shown_once, run.output
        assert "web-1 gets" not in run.output


ALL = ("web-1", "web-2", "db-1", "db-2")
OTHERS = {"web-2", "db-1", "db-2"}
# Of a batch that has new clients: the account before the hosts are inspected, and again before clients are created.
READS = ["list_clients", "list_clients", "get_plan"]


def test_check_run_and_second_run(controller: Controller) -> None:
    """As root, and as a user who becomes root, with pipelining and without."""
    for host, (user, pipelining) in zip(ALL, itertools.product(("root", USER), (False, True)), strict=True):
        connection = {"ansible_user": user, "ansible_become": user != "root", "ansible_pipelining": pipelining}
        controller.host_vars[host] = connection
    steps = converge(controller, changes=ALL)
    assert diffs(steps.check) == {name: (None, client_label(name)) for name in ALL}
    assert sorted(steps.run.calls()) == sorted([*READS, *["create_client"] * len(ALL)])
    assert sorted(steps.run.writes()) == sorted(f"create_client {client_label(name)}" for name in ALL)
    assert {name: host.read() for name, host in controller.hosts.items()} == {
        name: text_of(controller, name) for name in ALL
    }
    assert configured(controller) == set(ALL)
    assert steps.again.calls() == ["list_clients"]
    for run, owner in ((steps.run, "no_file"), (steps.again, "own")):
        assert {event.result["key_owner"] for event in run.of(CONFIGURE).values()} == {owner}


def test_how_many_commands_a_host_gets(controller: Controller) -> None:
    """One to inspect, one to write. For a new client, two to inspect, one to try, one to write; two more for a file."""
    hosts, counted = list(controller.hosts.values()), "/opt/agent-seen"
    for host in hosts:
        host.write(f'#!/bin/sh\necho >> {counted}\nexec /bin/sh "$@"\n', "/opt/agent-shell", mode="755")
    controller.group_vars.update(ansible_shell_executable="/opt/agent-shell")

    def commands() -> list[int]:
        controller.succeed()
        assert {host.name: host.read() for host in hosts} == {
            host.name: text_of(controller, host.name) for host in hosts
        }
        return [host.run(f"cat {counted}; : > {counted}").count("\n") for host in hosts]

    hosts[0].write("api_key=of an image\n")
    first = commands()
    hosts[1].run(f"rm {CONFIG}")
    assert (first, commands(), commands()) == ([6, 4, 4, 4], [1, 2, 1, 1], [1, 1, 1, 1])


def test_serial_reads_the_account_once_for_each_batch(four: Local) -> None:
    steps = converge(four, role_play(four, play="serial: 2"), changes=ALL)
    assert configured(four) == set(ALL)
    # The plan is read before the first client of a batch is created, and in check mode to predict a refusal. Check mode
    # names the tier that would be needed: the free plan has no known limit.
    assert sorted(steps.check.calls()) == sorted([*READS, "list_subscriptions"] * 2)
    assert sorted(steps.run.calls()) == sorted(READS * 2 + ["create_client"] * 4)
    assert steps.again.calls() == ["list_clients"] * 2


def test_check_mode_shows_the_cost_of_new_clients(four: Local) -> None:
    """In one line at normal verbosity; the audit's page has it too."""
    four.service.set_plan("monitor-10")
    four.service.seed(labels=["other-1", "other-2"])
    line = "Clients: 2 of 10 that monitor-10 includes, 20 a month; 4 more to register."
    check = four.succeed(ROLLOUT, "--check")
    assert COST in check.output and any(line in text for text in check.output.splitlines()), check.output
    four.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_html=audit.html")
    assert line in (four.directory / "audit.html").read_text(encoding="utf-8")
    assert four.succeed(ROLLOUT).of(COST) == {}


def test_serial_with_too_small_a_plan_is_refused_before_the_batch_that_needs_more(four: Local) -> None:
    four.service.set_plan("monitor-3")
    playbook = role_play(four, play="serial: 2")
    run = four.run(playbook)
    assert (run.code, labels(four)) == (2, ["web-1", "web-2"]), run.output
    # The tiers are read to name the one that is needed.
    assert sorted(run.calls()) == sorted([*READS * 2, "create_client", "create_client", "list_subscriptions"])
    assert "is too small: it includes 3 clients, and 4 are needed" in run.output
    # Hosts that the inventory sets to be absent need no room.
    four.host_vars["db-1"]["monitor_agent_state"] = four.host_vars["db-2"]["monitor_agent_state"] = "absent"
    converge(four, playbook, changes=())


def test_a_host_that_has_failed_affects_no_other_and_needs_no_room_in_the_plan(four: Local) -> None:
    """The first host, so that another one decides what runs once."""
    four.service.set_plan("monitor-3")
    playbook = role_play(four, before="{ansible.builtin.fail: {}, when: inventory_hostname == 'web-1'}")
    converge(four, playbook, changes=OTHERS, codes=(2, 2, 2))
    assert (labels(four), configured(four)) == (sorted(OTHERS), OTHERS)


def test_a_host_that_failed_gets_no_client_although_errors_are_ignored(four: Local) -> None:
    four.host_vars["web-2"]["monitor_agent_config_path"] = "/dev/null/agent.conf"
    others = set(ALL) - {"web-2"}
    run = four.succeed(role_play(four, role="ignore_errors: true"))
    assert (run.statuses()["web-2"], labels(four)) == ("ignored", sorted(others))


def test_any_errors_fatal_ends_a_run_before_the_first_client_or_after_all(four: Local) -> None:
    four.service.configure(strict_labels=True)
    four.group_vars["monitor_agent_service"] = "agent"
    play = role_play(four, play="any_errors_fatal: true")
    four.host_vars["db-1"]["monitor_agent_config_template"] = "none-such.j2"
    run = four.run(play)
    assert (run.code, run.writes()) == (2, []), run.output
    # What only the service refuses fails later.
    four.host_vars["db-1"] |= {"monitor_agent_config_template": "agent.conf.j2", "monitor_agent_label": "not so good"}
    run = four.run(play)
    others = {"web-1", "web-2", "db-2"}
    assert (run.code, set(run.failures()), configured(four)) == (2, {"db-1"}, others), run.output
    # Their restart is made by the next run.
    check = four.run(ROLLOUT, "--check", "--limit", "!db-1")
    assert {host: event.result["differs"] for host, event in check.of(CONFIGURE).items()} == dict.fromkeys(
        others, ["restart"]
    )


def test_localhost_that_is_not_in_the_inventory(single: Local) -> None:
    single.host_vars["web-1"].pop("monitor_agent_config_path")
    (single.directory / "host_vars").mkdir()
    (single.directory / "host_vars" / "localhost.yml").write_text("monitor_agent_label: here\n", encoding="utf-8")
    path = 'vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.conf"}'
    play = single.tasks(f"- {INCLUDE}", play=path, hosts="web-1,localhost")
    converge(single, play, changes={"web-1", "localhost"})
    assert labels(single) == ["here", "web-1"]
    assert {path.stem for path in single.directory.rglob("*.conf")} == {"web-1", "localhost"}


def test_an_audit_reports_hosts_whose_sudo_refuses_the_user(controller: Controller) -> None:
    """Core raises an exception there, and takes the host out of the play."""
    controller.group_vars.update(ansible_user=USER, ansible_become=True, ansible_become_exe="/opt/agent-sudo")
    for host in controller.hosts.values():
        host.write("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n", "/opt/agent-sudo", mode="755")
    run = controller.succeed("monitor.cloud.audit")
    assert "Hosts: 4 (4 not_registered)." in run.output
    assert "Could not be inspected: Missing sudo password." in " ".join(run.output.split())


def test_first_host_unreachable(four: Local) -> None:
    reachable = dict(four.host_vars["web-1"])
    four.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    converge(four, changes=OTHERS, codes=(4, 4, 4))
    assert configured(four) == OTHERS
    assert sorted(OTHERS) == labels(four)
    four.host_vars["web-1"] = reachable
    assert four.succeed().changed_hosts() == {"web-1"}
    assert configured(four) == set(ALL)


# Uses of the role that a host of the site "two" does not reach, or whose condition fails for it; in tasks or roles.
ONE = "when: site == 'one'"
ONLY_SOME = {
    # Of each of these the host is the first of three, of the others the second.
    "include_role": f"- {INCLUDE}\n  {ONE}",
    "include_tasks": f"- ansible.builtin.include_tasks: one.yml\n  {ONE}",
    "import_role": f"- {ROLE}\n  {ONE}",
    "roles": f"- role: monitor.cloud.monitor_agent\n  {ONE}",
    "the item of a loop": f"- {INCLUDE}\n  loop: '{{{{ uses_of[site] }}}}'",
    "the name of a file": "- ansible.builtin.include_tasks: '{{ site }}.yml'",
    "rescue": f"""
- block:
    - ansible.builtin.fail: {{msg: not today}}
      {ONE}
  rescue:
    - {ROLE}
""",
    "a condition that fails": f"- {ROLE}\n  when: only_of[site]",
}


def test_hosts_that_do_not_reach_the_role_stay_as_they_are(single: Local) -> None:
    """A play for each use, with hosts of its own."""
    single.host_vars.clear()
    single.group_vars |= {"only_of": {"one": True}, "uses_of": {"one": [1], "two": []}}
    for site, task in {"one": ROLE, "two": "ansible.builtin.meta: noop"}.items():
        (single.directory / f"{site}.yml").write_text(f"- {task}\n", encoding="utf-8")
    left_out, plays = set[str](), []
    for number, (use, text) in enumerate(ONLY_SOME.items()):
        hosts = [f"{name}-{number}" for name in ("a", "b", "c")]
        single.add(*hosts)
        left_out.add(hosts[0] if use.startswith("include") else hosts[1])
        path = single.tasks(text, hosts=",".join(hosts), section="roles" if use == "roles" else "tasks")
        plays.append(Path(path).read_text(encoding="utf-8"))
    for host, values in single.host_vars.items():
        values["site"] = "two" if host in left_out else "one"
    book, chosen = single.play("\n".join(plays)), set(single.host_vars) - left_out
    converge(single, book, changes=chosen, codes=(2, 2, 2))
    assert configured(single) == chosen and labels(single) == sorted(map(client_label, chosen))
    single.service.seed(labels=list(map(client_label, left_out)))
    for host in left_out:
        single.write(host, single.expected(host))
    single.run(book, "-e", "monitor_agent_state=absent")
    assert configured(single) == left_out and labels(single) == sorted(map(client_label, left_out))
