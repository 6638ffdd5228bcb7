# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role in plays, batches, limits, conditions and strategies: what it does and shows, and what goes wrong there."""

import itertools
import sys

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    Controller,
    Local,
)
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    diffs,
    labels,
    role_play,
    text_of,
)

RESTART = "Start, enable or restart the agent"
INSTALLER = "Run the installer"
INSPECT = "Inspect the host"
ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
INCLUDE = "ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}"
ABSENT = "vars: {monitor_agent_state: absent}"
NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"


# By options: the tasks that check mode runs on a host without a client.
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


def test_a_host_that_has_failed_gets_no_client_if_the_role_is_in_always(three: Local) -> None:
    """Core leaves it out of its batch: the first host, and another one."""
    tasks = f"""
    - block:
        - ansible.builtin.fail: {{msg: not today}}
          when: inventory_hostname != 'web-3'
      always:
        - {ROLE}
"""
    run = three.run(three.tasks(tasks))
    assert (run.code, sorted(run.failures())) == (2, ["web-1", "web-2"]), run.output
    assert all("run again." in message for message in run.failures().values()), run.output
    assert labels(three) == sorted(configured(three)) == ["web-3"]


def test_a_removal_removes_nothing_after_an_error_that_is_ignored(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    # Without the account, each host fails, and goes on.
    run = monitored.succeed(role_play(monitored, role=f"ignore_errors: true\n  {ABSENT}"), MONITOR_API_TOKEN="wrong")
    assert set(run.statuses(INSPECT).values()) == {"ignored"} and run.statuses() == {}
    assert (labels(monitored), monitored.files()) == before


def test_nothing_is_removed_in_another_account_than_was_read(three: Local) -> None:
    three.monitor()
    # The account is that of the first host, which then fails; the second one is the first that is left.
    three.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    three.host_vars["web-2"]["monitor_agent_api_token"] = three.service.set_token("other")
    run = three.run(role_play(three, role=f"ignore_errors: true\n  {ABSENT}"))
    assert run.statuses(INSPECT)["web-2"] == "ignored", run.output
    assert [write for write in run.writes() if "web-3" not in write] == []


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
    assert {host: event.result["state"] for host, event in steps.check.of(INSPECT).items()} == {
        host: state for host, (state, _client, _file) in STATES.items()
    }
    assert labels(three) == sorted(configured(three)) == ["web-2", "web-3", "web-4"]
    assert three.read("web-1") is None


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
        assert {event.result["key_owner"] for event in run.of(INSPECT).values()} == {owner}


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
    assert four.succeed(playbook).writes() == []


def test_a_host_that_has_failed_affects_no_other_and_needs_no_room_in_the_plan(four: Local) -> None:
    """The first host, so that another one decides what runs once."""
    four.service.set_plan("monitor-3")
    run = four.run(role_play(four, before="{ansible.builtin.fail: {}, when: inventory_hostname == 'web-1'}"))
    assert ({*run.failures()}, labels(four), configured(four)) == ({"web-1"}, sorted(OTHERS), OTHERS), run.output


def test_a_host_that_failed_gets_no_client_although_errors_are_ignored(four: Local) -> None:
    four.host_vars["web-2"]["monitor_agent_config_path"] = "/dev/null/agent.conf"
    others = set(ALL) - {"web-2"}
    run = four.succeed(role_play(four, role="ignore_errors: true"))
    assert (run.statuses(INSPECT)["web-2"], labels(four)) == ("ignored", sorted(others))
