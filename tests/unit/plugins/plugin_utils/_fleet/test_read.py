# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.read import Run, read_run, reason_of
from ansible_collections.monitor.cloud.tests.support.fleet import inspection, run_variables

UNREACHABLE = MappingProxyType({"unreachable": True, "msg": "Task failed: no\n route"})


class Failing:
    """A variable with a template or a vault that fails when its value is used."""

    def __str__(self) -> str:
        raise AnsibleError("the variable x is undefined.")


def run(
    results: Mapping[str, Mapping[str, Any]], variables: Mapping[str, Mapping[str, Any]] | None = None, **play: str
) -> Run:
    """Read a run. ``results``: the result of agent_info on each host. ``variables``: more variables of hosts."""
    given = variables or {}
    hosts = {name: {"inspected": result, **given.get(name, {})} for name, result in results.items()}
    return read_run(run_variables(hosts, **play), "inspected")


def of(made: Run, name: str) -> Host:
    return next(host for host in made.hosts if host.name == name)


@pytest.mark.parametrize(
    ("result", "key_owner", "reason", "reached"),
    [
        (inspection("web"), "own", "", True),
        (UNREACHABLE, None, "no route.", False),
        ({"failed": True, "msg": "no sudo!", "key_owner": "own"}, None, "no sudo!", True),
        ({"failed": True}, None, "no reason given.", True),
        # A condition excluded the host, or an earlier task failed.
        ({**inspection("web"), "skipped": True}, None, "", False),
        ({}, None, "", False),
        ("no result", None, "", False),
    ],
)
def test_the_facts_of_a_host(result: Any, key_owner: str | None, reason: str, reached: bool) -> None:
    web = of(run({"web": result}), "web")
    found = web.facts and web.facts.key_owner
    assert (found, web.reason, web.reached, web.decides) == (key_owner, reason, reached, True)


def test_a_failed_host_has_no_facts_but_its_label_counts() -> None:
    made = run({"web": inspection("www"), "db": inspection("db-1")}, failed="web")
    assert (of(made, "web").facts, of(made, "web").label, of(made, "web").decides) == (None, "www", False)
    assert made.inventory.labels == {"web": "www", "db": "db-1"}


def test_hosts_of_earlier_batches_and_of_other_plays() -> None:
    results = {"web-1": inspection("web-1"), "web-2": inspection("web-2"), "db": inspection("db-1")}
    made = run(results, batch="web-2", other_plays="db")
    assert [(host.name, host.facts is not None, host.decides) for host in made.hosts] == [
        ("web-1", True, False),
        ("web-2", True, True),
    ]
    assert made.inventory.labels == {"web-1": "web-1", "web-2": "web-2", "db": "db-1"}


GONE = inspection("gone", "no_file", state="absent")
ABSENT = MappingProxyType({"monitor_agent_state": "absent"})


@pytest.mark.parametrize(
    ("result", "variables", "play", "absent", "removed"),
    [
        # The result of this run says the state.
        (GONE, {}, {"other_plays": "gone"}, True, True),
        (GONE, {}, {"batch": "web"}, True, True),
        (inspection("gone"), ABSENT, {"other_plays": "gone"}, False, False),
        # A host of this batch is not removed yet.
        (GONE, {}, {}, True, False),
        # The removal failed, or the host was not inspected, so its agent may still run.
        (GONE, ABSENT, {"batch": "web", "failed": "gone"}, True, False),
        (UNREACHABLE, ABSENT, {"batch": "web"}, True, False),
        ({"failed": True, "msg": "no sudo"}, ABSENT, {"other_plays": "gone"}, True, False),
        ({**GONE, "skipped": True, "key_owner": ""}, ABSENT, {"other_plays": "gone"}, True, False),
        ({}, ABSENT, {"other_plays": "gone"}, True, False),
        ({}, {"monitor_agent_state": "present"}, {"other_plays": "gone"}, False, False),
        ({}, {"monitor_agent_state": Failing()}, {"other_plays": "gone"}, False, False),
        ({}, {}, {"other_plays": "gone"}, False, False),
    ],
)
def test_absent_hosts(
    result: Any, variables: Mapping[str, Any], play: dict[str, str], absent: bool, removed: bool
) -> None:
    inventory = run({"web": inspection("web"), "gone": result}, {"gone": variables}, **play).inventory
    assert inventory.absent == frozenset({"gone"} if absent else ())
    assert inventory.removed == frozenset({"gone"} if removed else ())


LABEL = "monitor_agent_label"


@pytest.mark.parametrize(
    ("result", "variables", "label", "unreadable", "differing"),
    [
        ({}, {}, "web-example-03bbe82a", "", ""),
        ({}, {LABEL: "of-inventory"}, "of-inventory", "", ""),
        (inspection("rendered"), {LABEL: "rendered"}, "rendered", "", ""),
        (inspection("rendered"), {LABEL: "of-inventory"}, "rendered", "", "web.example"),
        (inspection("rendered"), {}, "rendered", "", "web.example"),
        # The label of the inventory is unknown, so it does not differ.
        (inspection("rendered"), {LABEL: Failing()}, "rendered", "", ""),
        ({}, {LABEL: Failing()}, "web-example-03bbe82a", "monitor_agent_label of host web.example: the variable x", ""),
    ],
)
def test_the_label_of_a_host(
    result: Any, variables: Mapping[str, Any], label: str, unreadable: str, differing: str
) -> None:
    made = run({"web.example": result}, {"web.example": variables}).inventory
    assert made.labels == {"web.example": label}
    assert list(made.unreadable) == (["web.example"] if unreadable else [])
    assert unreadable in made.unreadable.get("web.example", "")
    assert made.differing == differing


def test_the_first_host_of_the_play_whose_label_differs_is_named() -> None:
    results = {name: inspection(f"{name}-rendered") for name in ("web-1", "web-2", "web-3")}
    assert run(results, batch="web-2 web-3").inventory.differing == "web-1"
    assert run(results, batch="web-3", other_plays="web-1").inventory.differing == "web-2"


def test_a_label_of_invalid_length_is_no_label_of_a_host() -> None:
    made = run({"web": {}, "db": {}}, {"web": {LABEL: "x"}, "db": {LABEL: "y" * 33}})
    assert made.inventory.labels == {}
    assert made.inventory.unreadable == {}
    assert [host.label for host in made.hosts] == ["x", "y" * 33]


def test_accounts_and_names_of_variables_are_of_the_batch() -> None:
    results = {name: {**inspection(name), "account": f"account of {name}"} for name in ("web-1", "web-2")}
    results["web-3"] = inspection("web-3")
    variables = {name: {f"variable_of_{name}": 1} for name in results}
    made = run(results, variables, batch="web-2 web-3")
    assert made.inventory.accounts == {"web-2": "account of web-2"}
    assert {"variable_of_web-2", "variable_of_web-3", "hostvars"} <= made.names
    assert "variable_of_web-1" not in made.names


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "no reason given."),
        ("no \n  route", "no route."),
        ("Task failed: Why?", "Why?"),
        (f"far{' ' * 500}away", "far away."),
        ("x" * 300, f"{'x' * 300}."),
        ("x" * 301, f"{'x' * 300}…"),
        (f"{'y ' * 1501}z", f"{'y ' * 150}…"),
        ("cut…", "cut…"),
        ("a\x1b[31mb", "a\ufffd[31mb."),
        (7, "7."),
    ],
)
def test_a_reason_is_one_line(message: Any, reason: str) -> None:
    assert reason_of(message) == reason
