# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients without a host: a list with a digest, and the removal of exactly this list. The hosts are directories."""

import json
import re

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, WHOLE, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import labels, refuse

_TOKEN = "monitor_agent_api_token"
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
    for more in (["--check"], [], ["-e", "prune_confirm="]):
        plan = two.succeed(PRUNE, *pattern, *more, **WHOLE)
        assert plan.writes() == [] and '"web-2"' in plan.output, plan.output
    digest = _digest(plan)
    confirmed = (PRUNE, *pattern, "-e", f"prune_confirm={digest}")
    two.service.seed(labels=["old-1"])
    for option in (digest, digest[:-1], "yes"):
        run = two.run(PRUNE, *pattern, "-e", f"prune_confirm={option}", **WHOLE)
        assert (run.code, run.writes()) == (2, []), run.output
        assert "is not the one that prune_confirm confirms" in str(run.failures())
    assert _digest(run) != digest
    two.add("old-1")
    assert two.succeed(confirmed[0], "--check", *confirmed[1:], **WHOLE).writes() == []
    assert two.succeed(*confirmed, **WHOLE).writes() == ["delete_client web-2"]
    assert two.succeed(*confirmed, **WHOLE).writes() == [], "there is nothing left"


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


@pytest.mark.parametrize(
    ("playbook", "name"), [*zip(_DELETES, ("base_url", "api_token", "brand"), strict=True), (_DELETES[0], "brand")]
)
def test_clients_of_no_host_are_deleted_from_the_account_that_all_hosts_have(
    two: Local, playbook: str, name: str
) -> None:
    two.service.seed(labels=["gone-1"])
    two.host_vars["web-2"][f"monitor_agent_{name}"] = "{{ of_site }}"
    two.host_vars["web-2"]["of_site"] = "https://other.example.com"
    options = playbook.split()
    if "target" not in playbook:
        assert "have different accounts" in refuse(two, *options, environment=WHOLE)
    two.group_vars[f"monitor_agent_{name}"] = "{{ mine_only }}"
    del two.host_vars["web-2"][f"monitor_agent_{name}"]
    message = refuse(two, *options, environment=WHOLE)
    assert "'mine_only' is undefined" in message, message


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
