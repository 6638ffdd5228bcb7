# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The normal case: check, run, second run and undo, as root and by sudo, with pipelining and without."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, diffs, text_of


@pytest.mark.parametrize("pipelining", ["False", "True"])
@pytest.mark.parametrize("user", ["root", USER])
def test_check_run_and_second_run(controller: Controller, user: str, pipelining: str) -> None:
    names = set(controller.hosts)
    controller.group_vars.update(ansible_user=user, ansible_become=user != "root")
    steps = converge(controller, changes=names, environment={"ANSIBLE_PIPELINING": pipelining})
    assert diffs(steps.check) == {name: (None, client_label(name)) for name in names}
    calls = ["list_clients", "get_plan", *["create_client"] * len(names)]
    assert sorted(steps.run.calls()) == sorted(calls)
    assert sorted(steps.run.writes()) == sorted(f"create_client {client_label(name)}" for name in names)
    assert {event.result["key_owner"] for event in steps.run.of(CONFIGURE).values()} == {"no_file"}
    assert configured(controller) == names
    assert {name: host.read() for name, host in controller.hosts.items()} == {
        name: text_of(controller, name) for name in names
    }
    assert steps.again.calls() == ["list_clients"]
    assert {event.result["key_owner"] for event in steps.again.of(CONFIGURE).values()} == {"own"}


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
    """One to inspect and one to write; a single one for both where the client is new and no file is there."""
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
