# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays and networks: the normal case over SSH, batches, limits, hosts that fail, conditions, strategies."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    diffs,
    labels,
    role_play,
    text_of,
)

ALL = ("web-1", "web-2", "db-1", "db-2")
NOT_THE_FIRST = {"web-2", "db-1", "db-2"}


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


def test_a_steady_run_costs_each_host_one_task_and_the_service_the_pages_of_the_list(controller: Controller) -> None:
    controller.service.seed(count=1000)
    controller.run()
    steady = controller.run()
    assert steady.calls() == ["list_clients"] * 3, "1,004 clients are three pages"
    assert len({request["page"] for request in steady.requests}) == 3
    first, *others = controller.hosts
    tasks = {name: [event.task for event in steady.events if event.host == name] for name in controller.hosts}
    assert {name: len(tasks[name]) for name in others} == dict.fromkeys(others, 1)
    assert len(tasks[first]) == 2


def test_how_many_commands_a_host_gets(controller: Controller) -> None:
    """One to inspect and one to write; a single one for both if the client is new and no file is there."""
    hosts, counted = list(controller.hosts.values()), "/opt/agent-seen"
    for host in hosts:
        host.write(f'#!/bin/sh\necho >> {counted}\nexec /bin/sh "$@"\n', "/opt/agent-shell", mode="755")
    controller.group_vars.update(ansible_shell_executable="/opt/agent-shell")

    def commands() -> list[int]:
        run = controller.run()
        assert run.code == 0, run.output
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
    check = four.run(role_play(four, play="serial: 1"), "--check")
    assert check.code == 0, check.output
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
    run = controller.run("monitor.cloud.audit")
    assert run.code == 0, run.output
    assert "Hosts: 4 (4 not_registered)." in run.output
    assert "Could not be inspected: Missing sudo password." in " ".join(run.output.split())


@pytest.mark.parametrize("facts", [False, True], ids=["found out by the role", "known before"])
def test_first_host_unreachable(four: Local, facts: bool) -> None:
    reachable = dict(four.host_vars["web-1"])
    four.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    four.group_vars["ansible_python_interpreter"] = "/usr/bin/python3"
    book = role_play(four, play="gather_subset: ['!all', '!min']", facts=facts)
    converge(four, book, changes=NOT_THE_FIRST, codes=(4, 4, 4))
    assert configured(four) == NOT_THE_FIRST
    # Its client is created if possible, and the host configured when it is back.
    assert ("web-1" in labels(four)) is not facts
    four.host_vars["web-1"] = reachable
    back = four.run(book)
    assert back.code == 0, back.output
    assert back.changed_hosts() == {"web-1"}
    assert configured(four) == set(ALL)


@pytest.mark.parametrize(
    ("condition", "options", "chosen"),
    [
        ("", ["--limit", "web-2"], {"web-2"}),
        ("when: inventory_hostname != 'db-2'", [], set(ALL) - {"db-2"}),
        ("when: inventory_hostname != 'web-1'", [], NOT_THE_FIRST),
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
    undo = four.run(book, *options, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert configured(four) == set(labels(four)) == set(ALL) - chosen


def test_playbooks_choose_their_strategy_themselves(four: Local) -> None:
    assert four.run(ANSIBLE_STRATEGY="free").changed_hosts() == configured(four) == set(ALL)
    retired = four.run("monitor.cloud.retire", "-e", "target=web-*", ANSIBLE_STRATEGY="host_pinned")
    assert retired.code == 0, retired.output
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
