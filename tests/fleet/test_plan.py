# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the plan of a run refuses before a client is created, what it warns of, and templates with transformed keys."""

import base64
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels

_UNKNOWN_OWNER = {"monitor_agent_config_owner": "unknown-user"}
_MISSING_SERVICE = {"monitor_agent_service": "no-such-service"}
_NO_SERVICE = (
    "web-1 has no service no-such-service: install it (monitor_agent_packages), name another (monitor_agent_service), "
    'or set monitor_agent_service: "".'
)
_INSTALLER = {"monitor_agent_install_command": "false"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (_MISSING_SERVICE, _NO_SERVICE),
        ({**_MISSING_SERVICE, "monitor_agent_service_enabled": False}, _NO_SERVICE),
        (_UNKNOWN_OWNER, "the host does not know the user unknown-user"),
        ({"monitor_agent_config_group": "no-such-group"}, "the host does not know the user"),
    ],
)
def test_a_host_that_cannot_run_the_agent_gets_no_client(pair: Local, variables: dict[str, Any], message: str) -> None:
    pair.host_vars["web-1"] |= variables
    run = pair.run()
    assert list(run.failures()) == ["web-1"] and message in run.failures()["web-1"]
    assert run.writes() == ["create_client web-2"] and configured(pair) == {"web-2"}
    # Audits report such a host.
    audit = pair.run("monitor.cloud.audit")
    assert audit.failures() == {}
    assert audit.of("Inspect the host")["web-1"].result["key_owner"] == "no_file"


@pytest.mark.parametrize("variables", [_MISSING_SERVICE, _UNKNOWN_OWNER])
def test_packages_and_installers_can_add_service_and_owner(single: Local, variables: dict[str, Any]) -> None:
    single.host_vars["web-1"] |= {**variables, **_INSTALLER}
    run = single.run()
    assert run.writes() == ["create_client web-1"]
    # The installer fails here.
    assert "The installer of 'web-1' failed" in run.failures()["web-1"]


@pytest.mark.parametrize("variables", [{"monitor_agent_service_state": "", "monitor_agent_service_enabled": False}])
def test_a_service_that_need_not_run_may_be_missing(single: Local, variables: dict[str, Any]) -> None:
    single.host_vars["web-1"] |= {**_MISSING_SERVICE, **variables}
    assert single.run("monitor.cloud.rollout", "--check").failures() == {}


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
    pair.succeed("monitor.cloud.adopt")
    assert labels(pair) == ["web-1", "web-2"]
    assert pair.succeed().changed_hosts() == set() and pair.read("web-1") == text


def test_a_host_can_be_given_a_new_client_in_place_of_another(pair: Local) -> None:
    _renamed(pair)
    pair.group_vars["monitor_agent_replace_key"] = True
    converge(pair, changes={"web-1", "web-2"})
    assert labels(pair) == ["old-1", "web-1", "web-2"]
    assert configured(pair) == {"web-1", "web-2"}


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


def test_a_name_that_is_close_to_a_variable_of_the_role_is_reported_once(pair: Local) -> None:
    pair.group_vars |= {"monitor_agent_confg_path": "/x", "monitor_agent_display_name": "web", "monitor_agents": 1}
    run = pair.succeed()
    shown = "".join(run.output.split())
    assert shown.count("hasnovariablemonitor_agent_") == 1
    assert "novariablemonitor_agent_confg_path.Ifmonitor_agent_config_pathismeant" in shown


_TRANSFORMED = {
    "base64": "Authorization: Basic {{ ('agent:' ~ client.api_key) | b64encode }}\n",
    "upper": "{% if label != 'x' %}{{ client.api_key | upper | hash('sha256') }}{% endif %}\n",
    "comparison": "key={{ client.api_key if client.api_key != client.install_code else 'same' }}\n",
    "condition": "{{ 'a' if client.api_key[0] in '01234567' else 'b' }} {{ client.api_key | length }}"
    " {{ client.install_code | md5 }}\n",
}


@pytest.mark.parametrize("text", _TRANSFORMED.values(), ids=_TRANSFORMED)
def test_templates_can_do_with_keys_what_templates_can(pair: Local, text: str) -> None:
    template = pair.directory / "own.j2"
    template.write_text(f"# {{{{ level }}}}\n{text}")
    pair.group_vars |= {"monitor_agent_config_template": str(template), "level": 1}
    steps = converge(pair, changes={"web-1", "web-2"})
    assert found_in(steps.run.output + str(steps.run.events), secrets_of(pair.service)) == []
    if "b64encode" in text:
        keys = {client["label"]: client["api_key"] for client in pair.service.clients()}
        assert base64.b64decode(str(pair.read("web-1")).split()[-1]).decode() == f"agent:{keys['web-1']}"
    # The rest of the file differs: the key is still the host's own.
    pair.group_vars["level"] = 2
    run = converge(pair, changes={"web-1", "web-2"}).run
    assert {event.result["key_owner"] for event in run.of(CONFIGURE).values()} == {"own"}


@pytest.mark.parametrize("text", ["api_key=a-key-as-text\n", "{{ 'x' if client.api_key == 'y' else 'z' }}\n"])
def test_a_text_without_a_key_is_refused(single: Local, text: str) -> None:
    (single.directory / "own.j2").write_text(text)
    single.group_vars["monitor_agent_config_template"] = "own.j2"
    run = single.run(single.tasks("- import_role: {name: monitor.cloud.monitor_agent}"))
    assert "own.j2 writes neither the api_key nor the install_code of client" in run.failures()["web-1"]
    assert run.writes() == []
