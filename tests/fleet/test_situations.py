# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays and networks: batches, limits, hosts that fail or are unreachable, conditions, strategies, two controllers."""

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, role_play

ALL = ("web-1", "web-2", "db-1", "db-2")
NOT_THE_FIRST = {"web-2", "db-1", "db-2"}
UNREACHABLE = "127.0.77.250"


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


def test_limit_touches_no_other_host(four: Local) -> None:
    converge(four, ROLLOUT, "--limit", "web-2", changes={"web-2"})
    assert configured(four) == {"web-2"}
    assert labels(four) == ["web-2"]


@pytest.mark.parametrize("facts", [False, True], ids=["found out by the role", "known before"])
def test_first_host_unreachable(four: Local, facts: bool) -> None:
    reachable = dict(four.host_vars["web-1"])
    four.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": UNREACHABLE}
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


@pytest.mark.parametrize("left_out", ["web-1", "db-2"])
def test_condition_on_the_role_leaves_out_a_host(four: Local, left_out: str) -> None:
    book = role_play(four, role=f"when: inventory_hostname != '{left_out}'")
    others = set(ALL) - {left_out}
    converge(four, book, changes=others)
    assert configured(four) == others
    # The first host registers all others of its batch.
    assert set(labels(four)) == (others if left_out == "web-1" else set(ALL))
    four.run()
    undo = four.run(book, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert configured(four) == set(labels(four)) == {left_out}, "the client of a host that is left out stays"


def test_playbooks_choose_their_strategy_themselves(four: Local) -> None:
    assert four.run(ANSIBLE_STRATEGY="free").changed_hosts() == configured(four) == set(ALL)
    retired = four.run("monitor.cloud.retire", "-e", "target=web-*", ANSIBLE_STRATEGY="host_pinned")
    assert retired.code == 0, retired.output
    assert sorted(configured(four)) == labels(four) == ["db-1", "db-2"]


_DERIVED = {
    "imported": "from ansible.plugins.strategy.linear import StrategyModule as Linear\n",
    "loaded": "from ansible.plugins.loader import strategy_loader\n"
    "Linear = strategy_loader.get('linear', class_only=True)\n",
}


def test_a_strategy_derived_from_linear_is_taken(four: Local) -> None:
    plugins = four.directory / "strategy_plugins"
    plugins.mkdir()
    for name, source in _DERIVED.items():
        (plugins / f"{name}.py").write_text(f"{source}\n\nclass StrategyModule(Linear):\n    pass\n", encoding="utf-8")
        for state, expected in {"present": set(ALL), "absent": set[str]()}.items():
            play = role_play(four, play=f"strategy: {name}", role=f"vars: {{monitor_agent_state: {state}}}")
            run = four.run(play)
            assert run.code == 0, run.output
            assert configured(four) == set(labels(four)) == expected
