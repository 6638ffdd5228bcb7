# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays and networks: batches, limits, hosts that fail or are unreachable, conditions, strategies, two controllers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse, role_play

ALL = ("web-1", "web-2", "db-1", "db-2")
NOT_THE_FIRST = {"web-2", "db-1", "db-2"}
UNREACHABLE = "127.0.77.250"


def test_serial_reads_the_account_once_for_each_batch(controller: Controller) -> None:
    steps = converge(controller, role_play(controller, play="serial: 2"), changes=ALL)
    assert configured(controller) == set(ALL)
    # The plan is read before the first client of a batch is created, and in check mode to predict a refusal.
    assert sorted(steps.check.calls()) == sorted(["list_clients", "get_plan"] * 2)
    assert sorted(steps.run.calls()) == sorted(["list_clients", "get_plan"] * 2 + ["create_client"] * 4)
    assert steps.again.calls() == ["list_clients"] * 2


def test_serial_with_too_small_a_plan_is_refused_before_the_first_batch(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *ALL)
    emulator.set_plan("monitor-3")
    playbook = role_play(controller, play="serial: 2")
    runs = [controller.run(playbook, *options) for options in (["--check"], [])]
    for run in runs:
        assert (run.code, run.writes(), run.calls()) == (2, [], ["list_clients", "get_plan"]), run.output
        assert "is too small: it includes 3 clients, and 4 are needed" in run.output
    # Hosts that the inventory sets to be absent need no room, whatever their batch.
    controller.host_vars["db-1"]["monitor_agent_state"] = controller.host_vars["db-2"]["monitor_agent_state"] = "absent"
    converge(controller, playbook, changes={"web-1", "web-2"})
    assert labels(controller) == ["web-1", "web-2"]


def test_hosts_of_another_account_need_no_room_in_the_plan(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *ALL)
    emulator.set_plan("monitor-3")
    other = emulator.set_token("other", grants={"account_access": "read_only"})
    for host in ("web-1", "web-2"):
        controller.host_vars[host]["monitor_agent_api_token"] = other
    check = controller.run(role_play(controller, play="serial: 1"), "--check")
    assert check.code == 0, check.output
    assert check.changed_hosts() == set(ALL)


def test_a_host_that_has_failed_needs_no_room_in_the_plan(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *ALL)
    emulator.set_plan("monitor-3")
    playbook = role_play(controller, before="{ansible.builtin.fail: {}, when: inventory_hostname == 'web-2'}")
    converge(controller, playbook, changes={"web-1", "db-1", "db-2"}, codes=(2, 2, 2))
    assert labels(controller) == ["db-1", "db-2", "web-1"]


def test_serial_with_an_invalid_label_is_refused_before_the_first_batch(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *ALL)
    controller.host_vars["db-2"]["monitor_agent_label"] = "db"
    assert "monitor_agent_label of host db-2" in refuse(controller, role_play(controller, play="serial: 2"))[0]


LOCALHOST = """
- hosts: web-1,localhost
  gather_facts: false
  vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.conf"}
  tasks:
    - ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}
      when: inventory_hostname not in left_out | default([])
"""


@pytest.mark.parametrize("left_out", [set(), {"web-1"}], ids=["both", "by itself"])
def test_localhost_that_is_not_in_the_inventory(emulator: Emulator, tmp_path: Path, left_out: set[str]) -> None:
    controller = Local(tmp_path, emulator, "web-1")
    controller.host_vars["web-1"].pop("monitor_agent_config_path")
    controller.group_vars["left_out"] = sorted(left_out)
    changed = {"web-1", "localhost"} - left_out
    converge(controller, controller.play(LOCALHOST), changes=changed)
    assert labels(controller) == sorted(changed)
    assert {path.stem for path in tmp_path.rglob("*.conf")} == changed
    path = next(tmp_path.rglob("localhost.conf"))
    audit = controller.run("monitor.cloud.audit", "-e", "target=localhost", "-e", f"monitor_agent_config_path={path}")
    assert audit.code == 0, audit.output
    assert "(1 ok)" in audit.output


def test_limit_touches_no_other_host(controller: Controller) -> None:
    converge(controller, ROLLOUT, "--limit", "web-2", changes={"web-2"})
    assert configured(controller) == {"web-2"}
    assert labels(controller) == ["web-2"]


@pytest.mark.parametrize("facts", [False, True], ids=["found out by the role", "known before"])
def test_first_host_unreachable(controller: Controller, facts: bool) -> None:
    controller.host_vars["web-1"] = {"ansible_host": UNREACHABLE}
    book = role_play(controller, facts=facts)
    converge(controller, book, changes=NOT_THE_FIRST, codes=(4, 4, 4))
    assert configured(controller) == NOT_THE_FIRST
    # Its client is created if possible, and the host configured when it is back.
    assert ("web-1" in labels(controller)) is not facts
    controller.host_vars.clear()
    back = controller.run(book)
    assert back.code == 0, back.output
    assert back.changed_hosts() == {"web-1"}
    assert configured(controller) == set(ALL)


def test_first_host_failed_earlier(controller: Controller) -> None:
    failing = "{ansible.builtin.fail: {msg: not today}, when: inventory_hostname == 'web-1'}"
    converge(controller, role_play(controller, before=failing), changes=NOT_THE_FIRST, codes=(2, 2, 2))
    assert configured(controller) == NOT_THE_FIRST
    assert labels(controller) == sorted(NOT_THE_FIRST)


def test_condition_on_the_role_leaves_out_the_first_host(controller: Controller) -> None:
    book = role_play(controller, role="when: inventory_hostname != 'web-1'")
    converge(controller, book, changes=NOT_THE_FIRST)
    assert configured(controller) == NOT_THE_FIRST
    assert labels(controller) == sorted(NOT_THE_FIRST)
    undo = controller.run(book, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert labels(controller) == []


def test_a_label_of_two_hosts_is_refused_without_the_first_host(controller: Controller) -> None:
    controller.run()
    controller.host_vars["web-2"] = {"monitor_agent_label": "db-1"}
    role = "when: inventory_hostname != 'web-1'\n      vars: {monitor_agent_state: absent}"
    refused = refuse(controller, role_play(controller, role=role), "--limit", "web-1,web-2")
    assert all("db-1" in message for message in refused)
    assert "db-1" in labels(controller), "the client of the other host stays"
    assert configured(controller) == set(ALL)


def test_condition_on_the_role_leaves_out_another_host(controller: Controller) -> None:
    book = role_play(controller, role="when: inventory_hostname != 'db-2'")
    converge(controller, book, changes={"web-1", "web-2", "db-1"})
    controller.run()
    undo = controller.run(book, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert labels(controller) == ["db-2"], "the client of a host that is left out stays"
    assert configured(controller) == {"db-2"}


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_other_strategies_are_refused_before_any_call(controller: Controller, strategy: str, state: str) -> None:
    controller.run()
    play = role_play(controller, play=f"strategy: {strategy}", role=f"vars: {{monitor_agent_state: {state}}}")
    (message,) = refuse(controller, play)
    assert repr(strategy) in message
    assert "Use the strategy 'linear'" in message
    assert configured(controller) == set(ALL)


@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_playbooks_choose_their_strategy_themselves(controller: Controller, strategy: str) -> None:
    environment = {"ANSIBLE_STRATEGY": strategy}
    converge(controller, ROLLOUT, changes=ALL, environment=environment)
    assert configured(controller) == set(ALL)
    retire = ("monitor.cloud.retire", "-e", "target=web-*")
    converge(controller, *retire, changes={"web-1", "web-2"}, environment=environment)
    assert labels(controller) == ["db-1", "db-2"]
    assert configured(controller) == {"db-1", "db-2"}


@pytest.mark.parametrize("base", ["imported", "loaded"])
def test_a_strategy_derived_from_linear_is_taken(controller: Controller, base: str) -> None:
    sources = {
        "imported": "from ansible.plugins.strategy.linear import StrategyModule as Linear\n",
        "loaded": "from ansible.plugins.loader import strategy_loader\n"
        "Linear = strategy_loader.get('linear', class_only=True)\n",
    }
    plugins = controller.directory / "strategy_plugins"
    plugins.mkdir()
    (plugins / "ours.py").write_text(f"{sources[base]}\n\nclass StrategyModule(Linear):\n    pass\n", encoding="utf-8")
    environment = {"ANSIBLE_STRATEGY_PLUGINS": str(plugins)}
    play = role_play(controller, play="strategy: ours")
    converge(controller, play, changes=ALL, environment=environment)
    assert configured(controller) == set(ALL)
    play = role_play(controller, play="strategy: ours", role="vars: {monitor_agent_state: absent}")
    converge(controller, play, changes=ALL, environment=environment)
    assert labels(controller) == []
