# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of the role shows: the tasks that do something, and none that is skipped. The hosts are directories."""

import re

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, REGISTER, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import role_play
from ansible_collections.monitor.cloud.tests.support.tasks import labels

CHECK = "Check the variables and read the account"
HANDLER = "Restart the monitoring agent"
RECORD = "Record that the agent was restarted"
REMOVE = "Remove the clients of the hosts"
_HEADER = re.compile(r"^(?:TASK|RUNNING HANDLER) \[monitor\.cloud\.monitor_agent : (.*)\]", re.MULTILINE)


def shown(run: Run) -> list[str]:
    """The headers of the role's tasks, as the default callback prints them."""
    assert "skipping:" not in run.output
    return _HEADER.findall(run.output)


def test_each_state_shows_the_tasks_that_it_needs(pair: Local) -> None:
    for options in (["--check"], [], []):
        assert shown(pair.run("monitor.cloud.rollout", *options)) == [REGISTER, CONFIGURE]
    removed = pair.run("monitor.cloud.rollout", "-e", "monitor_agent_state=absent")
    assert shown(removed) == [CHECK, CONFIGURE, REMOVE], removed.output
    assert labels(pair.service) == []


def test_the_restart_is_shown_if_a_service_is_set_and_something_changed(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_service"] = "monitor-agent"
    run = pair.run("monitor.cloud.rollout", "--check")
    assert shown(run) == [REGISTER, CONFIGURE, HANDLER, RECORD], run.output
    assert set(run.of(HANDLER)) == set(run.of(RECORD)) == {"web-2"}


def test_a_state_that_only_the_inventory_sets(pair: Local) -> None:
    pair.monitor()
    pair.group_vars["monitor_agent_state"] = "absent"
    for options, left in ((["--check"], ["web-1", "web-2"]), ([], []), ([], [])):
        run = pair.run("monitor.cloud.rollout", *options)
        assert run.code == 0, run.output
        assert labels(pair.service) == left
        assert len(_HEADER.findall(run.output)) == 2
    assert run.changed_hosts() == set()


@pytest.mark.parametrize("kind", ["role", "play", "import"])
def test_a_state_of_the_play_or_the_role(pair: Local, kind: str) -> None:
    pair.monitor()
    variables = "vars: {monitor_agent_state: absent}"
    if kind == "role":
        play = pair.tasks("- {role: monitor.cloud.monitor_agent, monitor_agent_state: absent}", section="roles")
    else:
        play = role_play(pair, play=variables) if kind == "play" else role_play(pair, role=variables)
    assert shown(pair.run(play)) == [CHECK, CONFIGURE, REMOVE]
    assert labels(pair.service) == []


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_host_without_the_first_uses_the_defaults_of_the_play(pair: Local, state: str) -> None:
    if state == "absent":
        pair.monitor()
        pair.group_vars["monitor_agent_state"] = "absent"
    service = {"base_url": pair.service.base_url, "api_token": pair.service.tokens["read_write"]}
    play = role_play(
        pair,
        play=f"module_defaults: {{group/monitor.cloud.api: {service}}}",
        role="when: inventory_hostname != 'web-1'",
    )
    wrong = {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4", "MONITOR_API_TOKEN": "wrong"}
    run = pair.run(play, "-e", "ansible_python_interpreter=/nowhere/python", **wrong)
    assert (run.code, run.changed_hosts()) == (0, {"web-2"}), run.output
    assert labels(pair.service) == (["web-2"] if state == "present" else ["web-1"])
