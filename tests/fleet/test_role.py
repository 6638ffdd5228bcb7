# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import sys

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, INSPECT, UNREACHABLE, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, role_play

RESTART = "Start, stop, enable or restart the agent"
INSTALLER = "Run the installer"
ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
NOT_THE_THIRD = "{fail: , when: inventory_hostname != 'web-3'}"
INCLUDE = "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}"
ABSENT = "vars: {monitor_agent_state: absent}"
# Options of a run, and the tasks that check mode runs on a host without a client.
TAGS: dict[str, set[str]] = {
    "--tags monitor_agent_config,monitor_agent_service": {CONFIGURE, RESTART},
    "--tags monitor_agent_install": set(),
    "--skip-tags monitor_agent_config,monitor_agent_install,monitor_agent_service": set(),
}


def test_tags_choose_parts_of_the_role(single: Local) -> None:
    single.group_vars.update(monitor_agent_install_command="true", monitor_agent_service="no-such-agent")
    single.group_vars["ansible_python_interpreter"] = sys.executable
    play = single.tasks(f"- {ROLE}")
    for options, expected in TAGS.items():
        check = single.run(play, "--check", *options.split())
        seen = {task for task in (CONFIGURE, INSTALLER, RESTART) if check.of(task)}
        assert (check.code, seen) == (0, expected), check.output
    run = single.succeed(play, "--skip-tags", "monitor_agent_service", "--tags", "monitor_agent_config")
    assert len(run.writes()) == 1 and not (run.of(INSTALLER) or run.of(RESTART)), run.output


def test_a_second_removal_of_some_hosts_only_keeps_the_clients_of_the_others(monitored: Local) -> None:
    tasks = f"""
    - {INCLUDE}
      {ABSENT}
    - monitor.cloud.monitor_clients: {{labels: [web-1, web-2, web-3]}}
      run_once: true
    - {INCLUDE}
      {ABSENT}
      when: inventory_hostname != 'web-1'
      loop: [1, 2]
"""
    monitored.succeed(monitored.tasks(tasks))
    assert labels(monitored) == ["web-1"]


# Columns: the hosts that fail, a part of their error, the tasks of the play.
FAILING = [
    ({"web-1"}, "as requested", f"- {{fail: , when: inventory_hostname == 'web-1'}}\n- {ROLE}"),
    ({"web-1", "web-2"}, "as requested", f"- block: [{NOT_THE_THIRD}]\n  always: [{ROLE}]"),
    (
        {"web-2"},
        "mode '9' is not valid",
        f"- {ROLE}\n  ignore_errors: true\n"
        "  vars: {monitor_agent_config_mode: \"{{ '9' if inventory_hostname == 'web-2' else '0600' }}\"}",
    ),
]


@pytest.mark.parametrize(("failed", "message", "tasks"), FAILING)
def test_a_host_that_failed_gets_no_client_and_needs_no_room_in_the_plan(
    three: Local, failed: set[str], message: str, tasks: str
) -> None:
    three.service.set_plan("monitor-3")
    # The plan includes enough clients only for the hosts that do not fail.
    three.service.seed(labels=[f"other-{host}" for host in failed])
    run = three.run(three.tasks(tasks))
    messages = {event.host: str(event.result["msg"]) for event in run.events if event.status in ("failed", "ignored")}
    assert messages.keys() == failed and all(message in text for text in messages.values()), run.output
    left = three.host_vars.keys() - failed
    assert (configured(three), {*labels(three)}) == (left, left | {f"other-{host}" for host in failed})


def test_a_removal_removes_nothing_after_an_error_that_is_ignored(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    run = monitored.succeed(role_play(monitored, role=f"ignore_errors: true\n  {ABSENT}"), MONITOR_API_TOKEN="wrong")
    assert set(run.statuses(INSPECT).values()) == {"ignored"} and run.statuses() == {}
    assert (labels(monitored), monitored.files()) == before


def test_nothing_is_removed_in_another_account_than_was_read(monitored: Local) -> None:
    # web-1 selects the account, then fails. web-2 has another token, and becomes the first host of the removal.
    monitored.host_vars["web-1"] |= UNREACHABLE
    monitored.host_vars["web-2"]["monitor_agent_api_token"] = monitored.service.set_token("other")
    run = monitored.run(role_play(monitored, role=f"ignore_errors: true\n  {ABSENT}"))
    [reason] = [event.result["msg"] for event in run.events if event.status == "ignored"]
    assert reason.startswith("web-2 uses another account than the first host of its batch"), run.output
    assert [write for write in run.writes() if "web-3" not in write] == []


# Columns by host: monitor_agent_state, whether a client exists before, whether a file exists before.
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
    converge(three, changes={"web-1", "web-2", "web-4"})
    assert labels(three) == sorted(configured(three)) == ["web-2", "web-3", "web-4"]
    assert three.read("web-1") is None


def test_serial_with_too_small_a_plan_is_refused_before_the_batch_that_needs_more(four: Local) -> None:
    four.service.set_plan("monitor-3")
    playbook = role_play(four, play="serial: 2")
    run = four.run(playbook)
    assert (run.code, labels(four)) == (2, ["web-1", "web-2"]), run.output
    # Each batch reads the list twice: before it inspects hosts, and before it creates clients.
    reads = ["list_clients", "list_clients", "get_plan"]
    # The last request searches for a tier that is large enough.
    assert sorted(run.calls()) == sorted([*reads * 2, "create_client", "create_client", "list_subscriptions"])
    assert "is too small: it includes 3 clients, and 4 are needed" in run.output
    # Hosts with monitor_agent_state absent need no client of the plan.
    four.host_vars["db-1"]["monitor_agent_state"] = four.host_vars["db-2"]["monitor_agent_state"] = "absent"
    assert four.succeed(playbook).writes() == []
