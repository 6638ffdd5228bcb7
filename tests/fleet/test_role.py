# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role in plays, batches, limits, conditions and strategies: what it does and shows, and what goes wrong there."""

import platform
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    REGISTER,
    CONFIGURE,
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


LABELS = {
    "web{1}": "web{1}",
    "{{ 12345 }}": "12345",
    "{{ ansible_facts['architecture'] }}": platform.machine(),
    "{{ hostvars['web-1'].ansible_connection }}": "local",
}


@pytest.mark.parametrize(("label", "expected"), LABELS.items())
def test_a_label_that_resembles_something_else_is_a_text(single: Local, label: str, expected: str) -> None:
    single.host_vars["web-1"].update(monitor_agent_label=label, ansible_python_interpreter=sys.executable)
    for options in ([], ["-e", "monitor_agent_audit_fail_on_drift=true"]):
        tasks = f"- import_role: {AUDIT}" if options else f"- {ROLE}"
        single.succeed(single.tasks(tasks, play="gather_subset: ['!all', '!min', platform]", facts=True), *options)
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
    monitored.succeed(monitored.tasks(tasks))
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


@pytest.mark.parametrize("notify", ["Mine", "[Mine]"])
def test_a_handler_that_the_use_of_the_role_notifies_is_run(pair: Local, notify: str) -> None:
    mine = "handlers: [{name: Mine, ansible.builtin.debug: {msg: mine}}]"
    play = role_play(pair, play=mine, role=f"notify: {notify}")
    for changed in ({"web-1", "web-2"}, {"web-2"}, set[str]()):
        assert set(pair.succeed(play).of("Mine")) == changed
        pair.write("web-2", "drift" if len(changed) == 2 else pair.expected("web-2"))


def test_a_role_may_run_once_for_a_single_host(monitored: Local) -> None:
    """For several it is refused: test_refusals.py."""
    monitored.succeed(role_play(monitored, role="run_once: true"), "--limit", "web-1")


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
    run = three.succeed(three.tasks(tasks))
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
    three.succeed(three.tasks(tasks, hosts="web-1"))
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


ALL = ("web-1", "web-2", "db-1", "db-2")
OTHERS = {"web-2", "db-1", "db-2"}


@pytest.mark.parametrize("pipelining", ["False", "True"])
@pytest.mark.parametrize("user", ["root", USER])
def test_check_run_and_second_run(controller: Controller, user: str, pipelining: str) -> None:
    controller.group_vars.update(ansible_user=user, ansible_become=user != "root")
    steps = converge(controller, changes=ALL, environment={"ANSIBLE_PIPELINING": pipelining})
    assert diffs(steps.check) == {name: (None, client_label(name)) for name in ALL}
    assert sorted(steps.run.calls()) == sorted(["list_clients", "get_plan", *["create_client"] * len(ALL)])
    assert sorted(steps.run.writes()) == sorted(f"create_client {client_label(name)}" for name in ALL)
    assert {name: host.read() for name, host in controller.hosts.items()} == {
        name: text_of(controller, name) for name in ALL
    }
    assert configured(controller) == set(ALL)
    assert steps.again.calls() == ["list_clients"]
    for run, owner in ((steps.run, "no_file"), (steps.again, "own")):
        assert {event.result["key_owner"] for event in run.of(CONFIGURE).values()} == {owner}


def test_how_many_commands_a_host_gets(controller: Controller) -> None:
    """One to inspect and one to write; a single one for both if the client is new and no file is there."""
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
    assert (first, commands(), commands()) == ([3, 1, 1, 1], [1, 2, 1, 1], [1, 1, 1, 1])


def test_serial_reads_the_account_once_for_each_batch(four: Local) -> None:
    steps = converge(four, role_play(four, play="serial: 2"), changes=ALL)
    assert configured(four) == set(ALL)
    # The plan is read before the first client of a batch is created, and in check mode to predict a refusal.
    assert sorted(steps.check.calls()) == sorted(["list_clients", "get_plan"] * 2)
    assert sorted(steps.run.calls()) == sorted(["list_clients", "get_plan"] * 2 + ["create_client"] * 4)
    assert steps.again.calls() == ["list_clients"] * 2


def test_serial_with_too_small_a_plan_is_refused_before_the_first_batch(four: Local) -> None:
    four.service.set_plan("monitor-3")
    playbook = role_play(four, play="serial: 2")
    runs = [four.run(playbook, *options) for options in (["--check"], [])]
    for run in runs:
        assert (run.code, run.writes(), run.calls()) == (2, [], ["list_clients", "get_plan"]), run.output
        assert "is too small: it includes 3 clients, and 4 are needed" in run.output
    # Hosts that the inventory sets to be absent need no room, whatever their batch.
    four.host_vars["db-1"]["monitor_agent_state"] = four.host_vars["db-2"]["monitor_agent_state"] = "absent"
    converge(four, playbook, changes={"web-1", "web-2"})
    assert labels(four) == ["web-1", "web-2"]


def test_hosts_of_another_account_need_no_room_in_the_plan(four: Local) -> None:
    four.service.set_plan("monitor-3")
    other = four.service.set_token("other", grants={"account_access": "read_only"})
    for host in ("web-1", "web-2"):
        four.host_vars[host]["monitor_agent_api_token"] = other
    check = four.succeed(role_play(four, play="serial: 1"), "--check")
    assert check.changed_hosts() == set(ALL)


@pytest.mark.parametrize("failing", ["web-1", "web-2"])
def test_a_host_that_has_failed_affects_no_other_and_needs_no_room_in_the_plan(four: Local, failing: str) -> None:
    four.service.set_plan("monitor-3")
    playbook = role_play(four, before=f"{{ansible.builtin.fail: {{}}, when: inventory_hostname == '{failing}'}}")
    others = set(ALL) - {failing}
    converge(four, playbook, changes=others, codes=(2, 2, 2))
    assert (labels(four), configured(four)) == (sorted(others), others)


@pytest.mark.parametrize("left_out", [set(), {"web-1"}], ids=["both", "by itself"])
def test_localhost_that_is_not_in_the_inventory(single: Local, left_out: set[str]) -> None:
    single.host_vars["web-1"].pop("monitor_agent_config_path")
    single.group_vars["left_out"] = sorted(left_out)
    changed = {"web-1", "localhost"} - left_out
    path = 'vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.conf"}'
    role = "{name: monitor.cloud.monitor_agent}\n  when: inventory_hostname not in left_out"
    play = single.tasks(f"- ansible.builtin.import_role: {role}", play=path, hosts="web-1,localhost")
    converge(single, play, changes=changed)
    assert labels(single) == sorted(changed)
    assert {path.stem for path in single.directory.rglob("*.conf")} == changed


def test_an_audit_reports_hosts_whose_sudo_refuses_the_user(controller: Controller) -> None:
    """Core raises an exception there, and takes the host out of the play."""
    controller.group_vars.update(ansible_user=USER, ansible_become=True, ansible_become_exe="/opt/agent-sudo")
    for host in controller.hosts.values():
        host.write("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n", "/opt/agent-sudo", mode="755")
    run = controller.succeed("monitor.cloud.audit")
    assert "Hosts: 4 (4 not_registered)." in run.output
    assert "Could not be inspected: Missing sudo password." in " ".join(run.output.split())


@pytest.mark.parametrize("facts", [False, True], ids=["found out by the role", "known before"])
def test_first_host_unreachable(four: Local, facts: bool) -> None:
    reachable = dict(four.host_vars["web-1"])
    four.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    four.group_vars["ansible_python_interpreter"] = "/usr/bin/python3"
    book = role_play(four, play="gather_subset: ['!all', '!min']", facts=facts)
    converge(four, book, changes=OTHERS, codes=(4, 4, 4))
    assert configured(four) == OTHERS
    # Its client is created if possible, and the host configured when it is back.
    assert ("web-1" in labels(four)) is not facts
    four.host_vars["web-1"] = reachable
    back = four.succeed(book)
    assert back.changed_hosts() == {"web-1"}
    assert configured(four) == set(ALL)


@pytest.mark.parametrize(
    ("condition", "options", "chosen"),
    [
        ("", ["--limit", "web-2"], {"web-2"}),
        ("when: inventory_hostname != 'db-2'", [], set(ALL) - {"db-2"}),
        ("when: inventory_hostname != 'web-1'", [], OTHERS),
    ],
    ids=["limit", "condition", "condition on the first host"],
)
@pytest.mark.parametrize("use", ["import_role", "include_role", "include_tasks"])
def test_hosts_that_are_left_out_stay_as_they_are(
    four: Local, use: str, condition: str, options: list[str], chosen: set[str]
) -> None:
    (four.directory / "of_role.yml").write_text(
        "- import_role: {name: monitor.cloud.monitor_agent}\n", encoding="utf-8"
    )
    role = "include_tasks: of_role.yml" if use == "include_tasks" else f"{use}: {{name: monitor.cloud.monitor_agent}}"
    book = four.tasks(f"- ansible.builtin.{role}\n  {condition}")
    converge(four, book, *options, changes=chosen)
    assert configured(four) == set(labels(four)) == chosen
    four.run()
    four.succeed(book, *options, "-e", "monitor_agent_state=absent")
    assert configured(four) == set(labels(four)) == set(ALL) - chosen


INCLUDE = "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}"
# Uses of the role that web-2 does not reach, or whose condition fails for it.
ONLY_SOME = {
    "the item of a loop": f"""
    - {INCLUDE}
      loop: "{{{{ uses_of[site] }}}}"
""",
    "the name of a file": "- ansible.builtin.include_tasks: '{{ site }}.yml'",
    "rescue": f"""
    - block:
        - ansible.builtin.fail: {{msg: not today}}
          when: site == 'one'
      rescue:
        - {ROLE}
""",
    "a condition that fails": f"""
    - {ROLE}
      when: only_of[site]
""",
}


@pytest.mark.parametrize("use", ONLY_SOME.values(), ids=ONLY_SOME)
def test_hosts_that_do_not_reach_the_role_are_not_registered(three: Local, use: str) -> None:
    for host, site in {"web-1": "one", "web-2": "two", "web-3": "one"}.items():
        three.host_vars[host]["site"] = site
    three.group_vars |= {"only_of": {"one": True}, "uses_of": {"one": [1], "two": []}}
    for site, task in {"one": ROLE, "two": "ansible.builtin.meta: noop"}.items():
        (three.directory / f"{site}.yml").write_text(f"- {task}\n", encoding="utf-8")
    chosen, book = {"web-1", "web-3"}, three.tasks(use)
    for changed in (chosen, set[str]()):
        assert three.run(book, "--check").changed_hosts() == changed
        assert three.run(book).changed_hosts() == changed
        assert configured(three) == set(labels(three)) == chosen
    three.run(book, "-e", "monitor_agent_state=absent")
    assert configured(three) == set(labels(three)) == set()


def test_a_loop_over_customers_registers_hosts_in_their_own_account(three: Local) -> None:
    three.group_vars["token_of"] = {"one": three.service.tokens["read_write"], "two": "2" * 64}
    for host, customer in {"web-1": "one", "web-2": "two", "web-3": "one"}.items():
        three.host_vars[host]["customers"] = [customer]
    use = f"""
    - {INCLUDE}
      loop: "{{{{ customers }}}}"
      vars: {{monitor_agent_api_token: "{{{{ token_of[item] }}}}"}}
"""
    run = three.run(three.tasks(use))
    assert list(run.failures()) == ["web-2"], run.output
    assert configured(three) == set(labels(three)) == {"web-1", "web-3"}


def test_playbooks_choose_their_strategy_themselves(four: Local) -> None:
    assert four.run(ANSIBLE_STRATEGY="free").changed_hosts() == configured(four) == set(ALL)
    four.succeed("monitor.cloud.retire", "-e", "target=web-*", ANSIBLE_STRATEGY="host_pinned")
    assert sorted(configured(four)) == labels(four) == ["db-1", "db-2"]


# Core's loader makes a class of its own of the same file.
DERIVED = {
    "imported": "from ansible.plugins.strategy.linear import StrategyModule",
    "loaded": "from ansible.plugins.loader import strategy_loader\n"
    "StrategyModule = strategy_loader.get('linear', class_only=True)",
}


@pytest.mark.parametrize("source", DERIVED.values(), ids=DERIVED)
def test_a_strategy_derived_from_linear_is_taken(four: Local, source: str) -> None:
    plugin = four.directory / "strategy_plugins" / "ours.py"
    plugin.parent.mkdir()
    plugin.write_text(f"{source}\n\nclass StrategyModule(StrategyModule):\n    pass\n", encoding="utf-8")
    play = role_play(four, play="strategy: ours")
    converge(four, play, changes=ALL)
    converge(four, play, "-e", "monitor_agent_state=absent", changes=ALL)
    assert labels(four) == []
