# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role in plays, batches, limits, conditions and strategies: what it does and shows, and what goes wrong there."""

import itertools
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    REGISTER,
    UNREACHABLE,
    Controller,
    Local,
    Run,
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
# What each run shows, in this order, whatever the state; then what hosts show that need something.
TASKS = [
    "Validating arguments against arg spec 'main' - Register the hosts of the play and configure their agents",
    "Refuse facts that set variables of the role",
    "Forget the results of an earlier use of the role",
    "Read the account",
    INSPECT,
    "Check that each host has a label of its own",
    REGISTER,
    "Show what the new clients cost",
    "Install, configure, restart or uninstall the agent",
]
APPLY = [
    "Stop the agent, and disable its start at boot",
    "Install or uninstall the agent",
    CONFIGURE,
    RESTART,
    "Delete the clients of hosts whose configuration is removed",
]
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
    assert [shown(run) for run in runs] == [[*TASKS, *APPLY]] * 2 + [TASKS]
    assert {task for task in TASKS if len(runs[1].of(task)) == 1} == {*TASKS[1:4], *TASKS[5:7]}
    play = role_play(pair, role=ABSENT)
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], []), ([], [])):
        run = pair.succeed(play, *options)
        assert labels(pair) == left, run.output
    assert shown(run) == TASKS and run.statuses(REGISTER) == {}


# By options: the tasks that check mode runs on a host without a client.
TAGS: dict[str, set[str]] = {
    "--tags monitor_agent_config,monitor_agent_install": {CONFIGURE, INSTALLER},
    "--tags monitor_agent_config,monitor_agent_service": {CONFIGURE, RESTART},
    "--tags monitor_agent_install": set(),
    "--tags other": set(),
    "--skip-tags monitor_agent_config": set(),
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


def test_a_handler_that_the_use_of_the_role_notifies_is_run(pair: Local) -> None:
    mine = "handlers: [{name: Mine, ansible.builtin.debug: {msg: mine}}]"
    play = role_play(pair, play=mine, role="notify: Mine")
    assert set(pair.succeed(play).of("Mine")) == {"web-1", "web-2"}
    pair.write("web-2", "drift")
    assert set(pair.succeed(play).of("Mine")) == {"web-2"}


def test_a_removal_removes_nothing_after_an_error_that_is_ignored(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    # Without the account, each host fails, and goes on.
    run = monitored.succeed(role_play(monitored, role=f"ignore_errors: true\n  {ABSENT}"), MONITOR_API_TOKEN="wrong")
    assert set(run.statuses(INSPECT).values()) == {"ignored"} and run.statuses() == {}
    assert (labels(monitored), monitored.files()) == before


@pytest.mark.parametrize("state", ["present", "absent"])
def test_nothing_is_changed_in_another_account_than_was_read(three: Local, state: str) -> None:
    three.monitor() if state == "absent" else None
    # The account is that of the first host, which then fails; the second one is the first that is left.
    three.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    three.host_vars["web-2"]["monitor_agent_api_token"] = three.service.set_token("other")
    run = three.run(role_play(three, role=f"ignore_errors: true\n  vars: {{monitor_agent_state: {state}}}"))
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


def test_any_errors_fatal_ends_a_run_before_the_first_client(four: Local) -> None:
    four.host_vars["db-1"]["monitor_agent_config_template"] = "none-such.j2"
    run = four.run(role_play(four, play="any_errors_fatal: true"))
    assert (run.code, run.writes()) == (2, []), run.output


def test_localhost_that_is_not_in_the_inventory(single: Local) -> None:
    single.host_vars["web-1"].pop("monitor_agent_config_path")
    (single.directory / "host_vars").mkdir()
    (single.directory / "host_vars" / "localhost.yml").write_text("monitor_agent_label: here\n", encoding="utf-8")
    path = 'vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.conf"}'
    run = single.succeed(single.tasks(f"- {INCLUDE}", play=path, hosts="web-1,localhost"))
    assert (labels(single), run.changed_hosts()) == (["here", "web-1"], {"web-1", "localhost"})
    assert {path.stem for path in single.directory.rglob("*.conf")} == {"web-1", "localhost"}


def test_first_host_unreachable(four: Local) -> None:
    reachable = dict(four.host_vars["web-1"])
    four.host_vars["web-1"] |= UNREACHABLE
    assert four.run().code == 4
    assert (labels(four), configured(four)) == (sorted(OTHERS), OTHERS)
    four.host_vars["web-1"] = reachable
    assert four.succeed().changed_hosts() == {"web-1"}


# Uses of the role that a host of the site "two" does not reach, or whose condition fails for it; in tasks or roles.
ONE = "when: site == 'one'"
ONLY_SOME = {
    # Of the first the host is the first of three, of the others the second.
    "include_role": f"- {INCLUDE}\n  {ONE}",
    "import_role": f"- {ROLE}\n  {ONE}",
    "roles": f"- role: monitor.cloud.monitor_agent\n  {ONE}",
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
    single.group_vars["only_of"] = {"one": True}
    left_out, plays = set[str](), []
    for number, (use, text) in enumerate(ONLY_SOME.items()):
        hosts = [f"{name}-{number}" for name in ("a", "b", "c")]
        single.add(*hosts)
        left_out.add(hosts[use != "include_role"])
        path = single.tasks(text, hosts=",".join(hosts), section="roles" if use == "roles" else "tasks")
        plays.append(Path(path).read_text(encoding="utf-8"))
    for host, values in single.host_vars.items():
        values["site"] = "two" if host in left_out else "one"
    book, chosen = single.play("\n".join(plays)), set(single.host_vars) - left_out
    assert single.run(book).code == 2
    assert configured(single) == chosen and labels(single) == sorted(chosen)
    single.service.seed(labels=sorted(left_out))
    for host in left_out:
        single.write(host, single.expected(host))
    single.run(book, "-e", "monitor_agent_state=absent")
    assert configured(single) == left_out and labels(single) == sorted(left_out)


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
    assert all("run again." in again[host].result["msg"] for host in ("web-2", "web-3"))
    assert three.succeed().changed_hosts() == {"web-2", "web-3"}
    assert labels(three) == ["elsewhere", "web-1", "web-2", "web-3"]
