# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What inventories hold and plays ask for: batches, limits, conditions, labels, strategies, two controllers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._labels import client_label
from ansible_collections.monitor.cloud.tests.fleet.hosts import Host
from ansible_collections.monitor.cloud.tests.fleet.runs import CONFIGURE, REGISTER, Controller, Run

ROLE = """
- hosts: all
  gather_facts: {facts}
  {play}
  tasks:
    - {before}
    - ansible.builtin.import_role:
        name: monitor.cloud.monitor_agent
      {role}
"""


def play(
    controller: Controller, *, play: str = "", role: str = "", before: str = "meta: noop", facts: bool = False
) -> str:
    return controller.play(ROLE.format(play=play, role=role, before=before, facts=str(facts).lower()))


def configured(controller: Controller) -> set[str]:
    """The hosts that carry the key of the client with their label."""
    keys = {client["label"]: client["api_key"] for client in controller.service.clients()}
    return {
        name
        for name, host in controller.hosts.items()
        if client_label(name) in keys and f"api_key={keys[client_label(name)]}" in (host.read() or "")
    }


def labels(controller: Controller) -> list[str]:
    return sorted(str(client["label"]) for client in controller.service.clients())


def test_serial_reads_the_account_once_for_each_batch(controller: Controller) -> None:
    run = controller.run(play(controller, play="serial: 2"))
    assert run.code == 0, run.output
    assert configured(controller) == set(controller.hosts)
    assert sorted(run.calls()) == sorted(["list_clients", "get_plan"] * 2 + ["create_client"] * 4)
    again = controller.run(play(controller, play="serial: 2"))
    assert again.calls() == ["list_clients"] * 2
    assert again.changed_hosts() == set()


def test_limit_touches_no_other_host(controller: Controller) -> None:
    run = controller.run("monitor.cloud.rollout", "--limit", "web-2")
    assert run.code == 0, run.output
    assert configured(controller) == {"web-2"}
    assert labels(controller) == ["web-2"]


@pytest.mark.parametrize("facts", [False, True], ids=["found out by the role", "known before"])
def test_first_host_unreachable(controller: Controller, facts: bool) -> None:
    controller.host_vars["web-1"] = {"ansible_host": "127.0.77.250"}
    run = controller.run(play(controller, facts=facts))
    assert run.code == 4, run.output
    assert configured(controller) == {"web-2", "db-1", "db-2"}
    # Its client is made where nothing spoke against it, and configured when it is back.
    assert ("web-1" in labels(controller)) is not facts
    controller.host_vars.clear()
    assert controller.run().code == 0
    assert configured(controller) == set(controller.hosts)


def test_first_host_failed_earlier(controller: Controller) -> None:
    failing = "{ansible.builtin.command: 'false', when: inventory_hostname == 'web-1'}"
    run = controller.run(play(controller, before=failing))
    assert run.code == 2
    assert configured(controller) == {"web-2", "db-1", "db-2"}
    assert labels(controller) == ["db-1", "db-2", "web-2"]


@pytest.mark.parametrize("check", [True, False])
def test_condition_on_the_role_leaves_out_the_first_host(controller: Controller, check: bool) -> None:
    book = play(controller, role="when: inventory_hostname != 'web-1'")
    run = controller.run(book, *(["--check"] if check else []))
    assert run.code == 0, run.output
    assert run.changed_hosts() == {"web-2", "db-1", "db-2"}
    if check:
        assert run.writes() == []
        return
    assert configured(controller) == {"web-2", "db-1", "db-2"}
    assert labels(controller) == ["db-1", "db-2", "web-2"]
    assert controller.run(book).changed_hosts() == set()
    undo = controller.run(book, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert labels(controller) == []


def test_condition_on_the_role_leaves_out_another_host(controller: Controller) -> None:
    book = play(controller, role="when: inventory_hostname != 'db-2'")
    assert controller.run(book).changed_hosts() == {"web-1", "web-2", "db-1"}
    controller.run()
    undo = controller.run(book, "-e", "monitor_agent_state=absent")
    assert undo.code == 0, undo.output
    assert labels(controller) == ["db-2"], "the client of a host that is left out stays"
    assert configured(controller) == {"db-2"}


def test_a_host_name_of_60_characters(controllers: Callable[..., Controller], running: list[Host]) -> None:
    controller = controllers(running[0])
    name = "web-" + "x" * 43 + ".example.com."
    assert len(name) == 60
    controller.hosts = {name: running[0]}
    run = controller.run()
    assert run.code == 0, run.output
    assert configured(controller) == {name}
    assert [len(label) for label in labels(controller)] == [32]


@pytest.mark.parametrize(
    ("options", "batches"),
    [((), ""), ((), "serial: 1"), (("--limit", "web-1"), "")],
    ids=["in the batch", "in different batches", "one outside the limit"],
)
def test_colliding_labels_are_refused_before_any_call(
    controller: Controller, options: tuple[str, ...], batches: str
) -> None:
    controller.host_vars = {name: {"monitor_agent_label": "the-same"} for name in ("web-1", "db-2")}
    run = controller.run(play(controller, play=batches), *options)
    assert run.code == 2
    message = " ".join(run.failures().values())
    assert "web-1" in message
    assert "db-2" in message
    assert "the-same" in message
    assert run.calls() == []
    assert configured(controller) == set()


def test_a_label_from_the_inventory(controller: Controller) -> None:
    controller.host_vars["web-1"] = {"monitor_agent_label": "front-door"}
    run = controller.run()
    assert run.code == 0, run.output
    assert labels(controller) == ["db-1", "db-2", "front-door", "web-2"]
    assert run.of(CONFIGURE)["web-1"].result["label"] == "front-door"


def test_a_label_from_play_vars_is_refused_clearly(controller: Controller) -> None:
    run = controller.run(play(controller, play="vars: {monitor_agent_label: '{{ inventory_hostname }}-x'}"))
    assert run.code == 2
    assert set(run.failures()) == set(controller.hosts)
    assert all("in the inventory" in message for message in run.failures().values())
    assert configured(controller) == set()


@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_other_strategies_are_refused_before_any_call(controller: Controller, strategy: str) -> None:
    run = controller.run(play(controller, play=f"strategy: {strategy}"))
    assert run.code == 2
    assert all("linear" in message for message in run.failures().values()), run.output
    assert run.calls() == []


def test_one_label_that_the_service_refuses(controller: Controller) -> None:
    controller.service.configure(strict_labels=True)
    controller.host_vars["db-1"] = {"monitor_agent_label": "not so good"}
    run = controller.run()
    assert run.code == 2
    assert set(run.failures()) == {"db-1"}
    assert "not so good" in run.failures()["db-1"]
    assert configured(controller) == {"web-1", "web-2", "db-2"}


def test_hosts_of_different_states_are_refused(controller: Controller) -> None:
    controller.host_vars["db-1"] = {"monitor_agent_state": "absent"}
    run = controller.run()
    assert run.code == 2
    assert run.calls() == []


def test_two_controllers_at_once(controller: Controller) -> None:
    controller.service.clear_log()
    started = [controller.start("monitor.cloud.rollout") for dummy in range(2)]
    runs: list[Run] = [controller.finish(*one) for one in started]
    assert [run.code for run in runs] == [0, 0], runs[0].output + runs[1].output
    assert labels(controller) == sorted(controller.hosts)
    assert configured(controller) == set(controller.hosts)


SOURCES = """
- hosts: all
  gather_facts: false
  module_defaults:
    group/monitor.cloud.api:
      {defaults}
  tasks:
    - ansible.builtin.import_role: {{name: monitor.cloud.monitor_agent}}
"""


def test_connection_from_module_defaults_and_variables(controller: Controller) -> None:
    url, token = controller.service.base_url, controller.service.tokens["read_write"]
    nowhere = "http://127.0.0.1:1/v4"
    wrong = {
        "MONITOR_BASE_URL": nowhere,
        "MONITOR_API_TOKEN": "not-a-token",
        "MONITOR_RETRY_TIMEOUT": "0",
    }
    book = controller.play(SOURCES.format(defaults=f"{{base_url: '{url}', api_token: '{token}'}}"))
    run = controller.run(book, "--limit", "web-1", **wrong)
    assert run.code == 0, f"module_defaults count before the environment: {run.output}"
    book = controller.play(SOURCES.format(defaults=f"{{base_url: '{nowhere}', api_token: not-a-token}}"))
    controller.group_vars.update(monitor_agent_base_url=url, monitor_agent_api_token=token)
    run = controller.run(book, "--limit", "web-1", **wrong)
    assert run.code == 0, f"variables of the role count before both: {run.output}"
    assert set(run.statuses(REGISTER).values()) == {"ok"}
