# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the plan of a run refuses before a client is created, and what it warns of."""

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels

_NO_SERVICE = (
    "{} has no service no-such-service: install it (monitor_agent_packages), name another (monitor_agent_service), "
    'or set monitor_agent_service: "".'
)
_SERVICE = {"service": "no-such-service"}
_INSTALLER = {"install_command": "false"}
_UNKNOWN = "the host does not know the user"
_FAILED = "The installer of '{}' failed"
# Variables of a host, a part of its error, and whether it gets a client.
PLANS: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "", True),
    (_SERVICE, _NO_SERVICE, False),
    ({**_SERVICE, "service_enabled": False}, _NO_SERVICE, False),
    ({"config_owner": "unknown-user"}, f"{_UNKNOWN} unknown-user", False),
    ({"config_group": "no-such-group"}, _UNKNOWN, False),
    # An installer can add service and owner. Here it fails.
    ({**_SERVICE, **_INSTALLER}, _FAILED, True),
    ({"config_owner": "unknown-user", **_INSTALLER}, _FAILED, True),
]


def test_a_host_that_cannot_run_the_agent_gets_no_client(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *(f"web-{number}" for number in range(len(PLANS))))
    cases = dict(zip(controller.host_vars, PLANS, strict=True))
    for host, (variables, _message, _client) in cases.items():
        controller.host_vars[host] |= {f"monitor_agent_{name}": value for name, value in variables.items()}
        controller.host_vars[host].setdefault("monitor_agent_service", "")
    # An audit reports such hosts, and does not fail.
    assert controller.succeed("monitor.cloud.audit").failures() == {}
    run = controller.run()
    failures = run.failures()
    assert failures.keys() == {host for host, (_variables, message, _client) in cases.items() if message}
    for host, message in failures.items():
        assert cases[host][1].format(host) in message
    assert labels(controller) == [host for host, (_variables, _message, client) in cases.items() if client]
    assert configured(controller) == cases.keys() - failures.keys()


def _renamed(controller: Local, old: str = "old-1") -> str:
    """Give web-1 the key of a client with another label; returns the file's text."""
    [client] = controller.service.seed(labels=[old])
    text = f"install_code={client['install_code']}\napi_key={client['api_key']}\n"
    controller.write("web-1", text)
    return text


def test_a_renamed_host_gets_no_new_client(pair: Local) -> None:
    text = _renamed(pair)
    for options in (["--check"], []):
        run = pair.run(ROLLOUT, *options)
        message = run.failures()["web-1"]
        assert "web-1 carries the key of client 'old-1', which no host of the inventory has" in message
        assert "monitor.cloud.adopt" in message and "monitor_agent_replace_key: true" in message
    assert (labels(pair), pair.read("web-1")) == (["old-1", "web-2"], text)
    assert run.writes() == ["create_client web-2"]
    # The user decides: a new client, or, after the old key is there again, the same client.
    pair.succeed(ROLLOUT, "-e", "monitor_agent_replace_key=true")
    assert (labels(pair), configured(pair)) == (["old-1", "web-1", "web-2"], {"web-1", "web-2"})
    pair.succeed("monitor.cloud.retire", "--limit", "web-1")
    pair.write("web-1", text)
    pair.succeed("monitor.cloud.adopt")
    assert labels(pair) == ["web-1", "web-2"]
    assert pair.succeed().changed_hosts() == set() and pair.read("web-1") == text


@pytest.mark.parametrize(
    ("other", "fails"),
    [
        ({}, False),
        # The client belongs to a host that is going to be removed.
        ({"monitor_agent_state": "absent"}, False),
        ({"monitor_agent_label": "{{ ansible_facts.nothing }}"}, True),
    ],
)
def test_the_key_of_another_host_of_the_inventory_is_a_clones(pair: Local, other: dict[str, str], fails: bool) -> None:
    _renamed(pair, "web-2")
    pair.host_vars["web-2"] |= other
    run = pair.run(ROLLOUT, "--limit", "web-1")
    if fails:
        assert "no host of the inventory has (but the labels of these hosts are unknown: 'web-2')" in str(
            run.failures()
        )
    else:
        assert run.failures() == {} and configured(pair) == {"web-1"}
        # Core breaks lines, before 2.19 at hyphens too.
        assert "web-1carriedthekeyofclient'web-2',soitreportedasthatclient." in "".join(run.output.split())


def test_two_names_of_one_machine_do_not_swap_its_key(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_config_path"] = str(pair.path("web-1"))
    texts = set()
    # With both hosts at once too, only one of them writes.
    for forks in ("5", "1", "5"):
        run = pair.run(ROLLOUT, "--forks", forks)
        [(host, message)] = run.failures().items()
        other = "web-1" if host == "web-2" else "web-2"
        assert f"{other} and {host} are one machine: {pair.path('web-1')} has the key of {other}" in message
        assert configured(pair) == {other}
        texts.add(pair.read(other))
    assert len(texts) == 1
    # The paths of one machine.
    pair.host_vars["web-2"]["monitor_agent_config_path"] += ".second"
    pair.succeed()
    assert configured(pair) == {"web-1", "web-2"}
