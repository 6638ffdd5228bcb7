# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, texts
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels, role_play, text_of

_NO_SERVICE = (
    "{} has no service no-such-service: install the agent (monitor_agent_packages), choose another service "
    '(monitor_agent_service), or set monitor_agent_service: "".'
)
_SERVICE = {"service": "no-such-service"}
_INSTALLER = {"install_command": "false"}
_FAILED = "The installer of '{}' failed"
# Columns: variables of a host, a part of its error, whether the host gets a client.
PLANS: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "", True),
    (_SERVICE, _NO_SERVICE, False),
    ({**_SERVICE, "service_enabled": False}, _NO_SERVICE, False),
    # With an empty service_state, the role restarts only a service that runs.
    ({**_SERVICE, "service_enabled": False, "service_state": ""}, "", True),
    ({"config_owner": "unknown-user"}, "the host does not know the user unknown-user.", False),
    ({"config_group": "no-such-group"}, "the host does not know the group no-such-group.", False),
    # An installer can add a service or an owner, so these hosts fail later.
    ({**_SERVICE, **_INSTALLER}, _FAILED, True),
    ({"config_owner": "unknown-user", **_INSTALLER}, _FAILED, True),
]


def test_a_host_that_cannot_run_the_agent_gets_no_client(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *(f"web-{number}" for number in range(len(PLANS))))
    cases = dict(zip(controller.host_vars, PLANS, strict=True))
    for host, (variables, _message, _client) in cases.items():
        controller.host_vars[host] |= {f"monitor_agent_{name}": value for name, value in variables.items()}
        controller.host_vars[host].setdefault("monitor_agent_service", "")
    assert controller.succeed("monitor.cloud.audit").failures() == {}
    run = controller.run()
    failures = run.failures()
    assert failures.keys() == {host for host, (_variables, message, _client) in cases.items() if message}
    for host, message in failures.items():
        assert cases[host][1].format(host) in message
    assert labels(controller) == [host for host, (_variables, _message, client) in cases.items() if client]
    assert configured(controller) == cases.keys() - failures.keys()


def test_a_renamed_host_gets_no_new_client(pair: Local) -> None:
    pair.service.seed(labels=["old-1"])
    text = texts(pair.service.clients())["old-1"]
    pair.write("web-1", text)
    for options in (["--check"], []):
        run = pair.run(ROLLOUT, *options)
        message = run.failures()["web-1"]
        assert "web-1 carries the key of client 'old-1'. No host of the inventory has this label" in message
        assert "monitor.cloud.adopt" in message and "monitor_agent_replace_key: true" in message
    assert (labels(pair), pair.read("web-1")) == (["old-1", "web-2"], text)
    assert run.writes() == ["create_client web-2"]
    pair.succeed(ROLLOUT, "-e", "monitor_agent_replace_key=true")
    assert (labels(pair), configured(pair)) == (["old-1", "web-1", "web-2"], {"web-1", "web-2"})
    pair.succeed("monitor.cloud.retire", "--limit", "web-1")
    pair.write("web-1", text)
    pair.succeed("monitor.cloud.adopt")
    assert labels(pair) == ["web-1", "web-2"]
    assert pair.succeed().changed_hosts() == set() and pair.read("web-1") == text


def test_two_names_of_one_machine_do_not_swap_its_key(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_config_path"] = str(pair.path("web-1"))
    contents: set[str | None] = set()
    for forks in ("5", "1", "5"):
        run = pair.run(ROLLOUT, "--forks", forks)
        [(host, message)] = run.failures().items()
        other = "web-1" if host == "web-2" else "web-2"
        one_machine = f"{other} and {host} are the same machine, so {pair.path('web-1')} keeps the key of {other}"
        assert one_machine in message
        assert configured(pair) == {other}
        contents.add(pair.read(other))
    assert len(contents) == 1
    audit = pair.succeed("monitor.cloud.audit")
    assert "One machine with several names: 2." in audit.output and "monitor.cloud.rollout" not in audit.output
    # One machine can have two agents, if their paths differ.
    pair.host_vars["web-2"]["monitor_agent_config_path"] += ".second"
    pair.succeed()
    assert configured(pair) == {"web-1", "web-2"}


_TAKEN = "The hosts {} and web-3 have the same label 'web-3'"
# Columns: the host that gets the label of web-3, the value of --limit, options of the play.
SAME_LABEL: list[tuple[str, str, dict[str, Any]]] = [
    ("web-1", "web-1", {}),
    ("web-2", "web-1,web-2", {"use": "include_role", "role": "when: inventory_hostname != 'web-1'"}),
    ("web-2", "web-2", {"role": "vars: {monitor_agent_state: absent}"}),
    # A play that ignores the error goes on, but the host has no steps.
    ("web-2", "web-2", {"role": "ignore_errors: true\n  vars: {monitor_agent_state: absent}"}),
]


@pytest.mark.parametrize(("host", "limit", "use"), SAME_LABEL)
def test_a_label_that_another_host_of_the_inventory_has_is_refused(
    monitored: Local, host: str, limit: str, use: dict[str, Any]
) -> None:
    monitored.host_vars[host]["monitor_agent_label"] = "web-3"
    before = monitored.files()
    run = monitored.run(role_play(monitored, **use), "--limit", limit)
    [message] = [event.result["msg"] for event in run.events if event.status in ("failed", "ignored")]
    assert (run.writes(), monitored.files()) == ([], before), run.output
    assert _TAKEN.format(host) in message


def test_nothing_is_adopted_if_hosts_may_be_unknown(single: Local) -> None:
    """If the inventory is only a list of hosts, adopt would treat all other clients as clients without a host."""
    single.service.seed(labels=["web-1", "web-2"])
    single.write("web-1", text_of(single, "web-2"))
    run = single.shell("ansible-playbook -i web-1, -c local monitor.cloud.adopt")
    assert "would count as clients without a host" in run.failures()["web-1"] and run.writes() == [], run.output


def test_a_client_that_is_only_listed_is_created_anew(pair: Local) -> None:
    """The service still lists deleted clients."""
    pair.monitor()
    old = {client["id"] for client in pair.service.clients()}
    pair.service.configure(lists_deleted=True)
    pair.succeed(role_play(pair, role="vars: {monitor_agent_state: absent}"))
    check = pair.succeed(role_play(pair), "--check")
    assert check.changed_hosts() == {"web-1", "web-2"} and labels(pair) == []
    run = pair.succeed(role_play(pair))
    assert sorted(run.writes()) == ["create_client web-1", "create_client web-2"]
    assert not old & {client["id"] for client in pair.service.clients()}
    assert all(pair.read(host) == pair.expected(host) for host in pair.host_vars)
    pair.service.configure(lists_deleted=False)
    assert pair.succeed(role_play(pair)).calls() == ["list_clients"]
