# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients that prune and retire delete: a confirmed list of those without a host, and those that are chosen."""

import json
import re

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, WHOLE, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse

_TOKEN = "monitor_agent_api_token"
_RETIRE = "monitor.cloud.retire"
# How clients of no host are deleted.
_DELETES = (
    f"{PRUNE} -e prune_pattern=gone.* -e prune_confirm=any",
    "monitor.cloud.retire -e labels=gone-1",
    "monitor.cloud.retire -e labels=gone-1 -e target=web-1",
)


def _digest(run: Run) -> str:
    [digest] = re.findall(r"-e prune_confirm=([0-9a-f]{12})\b", run.output)
    return str(digest)


@pytest.fixture
def two(pair: Local) -> Local:
    """A controller whose two hosts are monitored."""
    pair.monitor()
    return pair


# A host that a typo of the inventory leaves out, such as hots: or childrn:, has a client that looks like an orphan.
def test_nothing_is_pruned_that_was_not_listed_before(two: Local) -> None:
    del two.host_vars["web-2"]
    pattern = ("-e", "prune_pattern=(web|old)-.*")
    plan = two.succeed(PRUNE, *pattern, "-e", "prune_confirm=", **WHOLE)
    assert plan.writes() == [] and '"web-2"' in plan.output, plan.output
    digest = _digest(plan)
    confirmed = (PRUNE, *pattern, "-e", f"prune_confirm={digest}")
    two.service.seed(labels=["old-1"])
    for option in (digest, "yes"):
        run = two.run(PRUNE, *pattern, "-e", f"prune_confirm={option}", **WHOLE)
        assert (run.code, run.writes()) == (2, []), run.output
        assert "is not the one that prune_confirm confirms" in str(run.failures())
    assert _digest(run) != digest
    two.add("old-1")
    assert two.succeed(*confirmed, "--check", **WHOLE).writes() == []
    assert two.succeed(*confirmed, **WHOLE).writes() == ["delete_client web-2"]


def test_any_list_can_be_confirmed_within_the_limit(two: Local) -> None:
    two.service.seed(labels=["old-1", "old-2"])
    given = (PRUNE, "-e", "prune_pattern=old.*", "-e", "prune_confirm=any")
    run = two.run(*given, "-e", "prune_limit=1", **WHOLE)
    assert run.writes() == [] and "more than prune_limit (1)" in str(run.failures()), run.output
    # An inventory does not choose: this would allow nothing.
    two.group_vars["prune_limit"] = 0
    assert sorted(two.succeed(*given, **WHOLE).writes()) == ["delete_client old-1", "delete_client old-2"]


def test_variables_of_the_inventory_confirm_nothing(two: Local) -> None:
    two.group_vars.update(prune_pattern=".*", prune_confirm="any")
    two.service.seed(labels=["old-1"])
    assert "-e prune_pattern=REGEX" in refuse(two, PRUNE, environment=WHOLE)
    run = two.succeed(PRUNE, "-e", "prune_pattern=.*", **WHOLE)
    assert run.writes() == [] and '"old-1"' in run.output, run.output


@pytest.mark.parametrize("task", ["Find *", "List *", "Remove *"])
def test_nothing_is_pruned_without_the_checks(two: Local, task: str) -> None:
    two.service.seed(labels=["old-1"])
    options = ("--limit", "web-1", "--start-at-task", task, "-e", "prune_pattern=old.* prune_confirm=any")
    run = two.run(PRUNE, *options, **WHOLE)
    assert (run.code, run.calls()) == (2, []) and re.search("prune_(checked|found|orphans)", str(run.failures())), (
        run.output
    )


# The text of a label can be a template, or control a terminal: 8 characters back, or from right to left.
_HOSTILE = ["old-{{ 7 * 7 }}", "old-\u202egnp", "old-\u009b8D"]


def test_labels_are_deleted_as_they_are_and_printed_without_control_characters(two: Local) -> None:
    for playbook, given, settings in (
        (PRUNE, {"prune_pattern": "old-.*", "prune_confirm": "any"}, WHOLE),
        ("monitor.cloud.retire", {"labels": _HOSTILE[1:]}, {}),
    ):
        two.service.seed(labels=_HOSTILE)
        run = two.succeed(playbook, "--diff", "-e", json.dumps(given), **settings)
        assert not re.search("[\u202e\u009b]", run.output) and "old-?gnp" in run.output and "old-?8D" in run.output
        assert labels(two) == ["old-{{ 7 * 7 }}", "web-1", "web-2"][playbook == PRUNE :]


@pytest.mark.parametrize(("playbook", "name"), [*zip(_DELETES, ("base_url", "api_token", "brand"), strict=True)])
def test_clients_of_no_host_are_deleted_from_the_account_that_all_hosts_have(
    two: Local, playbook: str, name: str
) -> None:
    two.service.seed(labels=["gone-1"])
    options, variable = playbook.split(), f"monitor_agent_{name}"
    if "target" not in playbook:
        two.host_vars["web-2"][variable] = "https://other.example.com"
        run = two.run(*options, **WHOLE)
        assert "have different accounts" in str(run.failures()) and run.calls() == [], run.output
        del two.host_vars["web-2"][variable]
    two.group_vars[variable] = "{{ mine_only }}"
    run = two.run(*options, **WHOLE)
    assert "'mine_only' is undefined" in str(run.failures()) and run.calls() == [], run.output


def test_options_of_the_connection_come_from_variables_of_the_role(two: Local) -> None:
    token = two.service.tokens["read_write"]
    two.service.configure(brand="otherword")
    two.group_vars.update(
        {_TOKEN: "{{ token }}", "token": token, "monitor_agent_base_url": two.service.base_url},
        monitor_agent_brand="otherword",
        monitor_agent_timeout=5,
        monitor_agent_concurrency=1,
        monitor_agent_retry_timeout="{{ nowhere_set | default(omit) }}",
    )
    wrong = {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4", "MONITOR_API_TOKEN": "wrong", "MONITOR_BRAND": "wrong"}
    for deletes in _DELETES[:2]:
        playbook, *options = deletes.split()
        two.service.seed(labels=["gone-1"])
        run = two.succeed(playbook, *options, **WHOLE, **wrong, MONITOR_TIMEOUT="0.001")
        assert run.writes() == ["delete_client gone-1"] and token not in run.output


def test_variables_of_the_inventory_choose_nothing(two: Local) -> None:
    two.group_vars.update(target="all", labels=["web-1"])
    assert "Choose what to retire" in refuse(two, _RETIRE)
    run = two.succeed(_RETIRE, "-e", "target=web-2 monitor_agent_state=absent")
    assert run.writes() == ["delete_client web-2"], run.output
    assert two.read("web-1") and not two.read("web-2")


def test_the_client_of_a_host_that_cannot_be_reached_is_kept(two: Local) -> None:
    two.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    assert two.run(_RETIRE, "-e", "target=all").code == 4
    assert labels(two) == ["web-1"]


def test_hosts_and_labels_are_retired_at_once(two: Local) -> None:
    two.service.seed(labels=["web-9"])
    steps = converge(two, _RETIRE, "-e", "target=all labels=web-9", "--limit", "web-1", changes={"web-1"})
    for removed in ("configuration of: web-1", "clients: web-1, web-9"):
        assert f"Would be removed, {removed}" in steps.check.output and f"Removed, {removed}" in steps.run.output
    assert "There was no" not in steps.run.output
    for task in ("Delete the clients of hosts without a configuration", "Remove the clients of hosts that are gone"):
        assert steps.run.changed_hosts(task) == steps.check.changed_hosts(task) == {"web-1"}, task
    assert (labels(two), configured(two), two.read("web-1")) == (["web-2"], {"web-2"}, None)
    assert "There was no configuration on: web-1" in steps.again.output and "Removed" not in steps.again.output
    assert "There was no client of the label: web-1, web-9" in steps.again.output


def test_a_condition_that_leaves_out_the_check_retires_nothing(two: Local) -> None:
    play = two.play(f"- {{import_playbook: {_RETIRE}, when: inventory_hostname == 'web-2'}}")
    run = two.run(play, "-e", "target=all", "-e", "retire_limit=1")
    assert (run.code, run.writes()) == (0, []) and two.read("web-2"), run.output


@pytest.mark.parametrize(("playbook", "mask"), [("retire", {}), ("adopt", {"mask_in": "lists"})])
def test_a_token_that_only_reads_removes_and_adopts_nothing(two: Local, playbook: str, mask: dict[str, str]) -> None:
    two.service.configure(**mask)
    two.write("web-1", two.expected("web-2"))
    before = labels(two), two.files()
    options = ["-e", "target=all"] if playbook == "retire" else []
    run = two.run(f"monitor.cloud.{playbook}", *options, MONITOR_API_TOKEN=two.service.tokens["read_only"])
    refused = ["token has read-only access" in text for text in run.failures().values()]
    assert run.code == 2 and all(refused), run.output
    assert (labels(two), two.files()) == before
