# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import contextlib
import json
import os
import pty
import re
import select
import sys
import time

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import (
    ANSIBLE_PLAYBOOK,
    PRUNE,
    UNREACHABLE,
    WHOLE,
    Local,
    texts,
)
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse

_RETIRE = "monitor.cloud.retire"
_GONE = ("-e", "prune_pattern=(old|gone)-.*")
_CONFIRMED = (PRUNE, *_GONE, "-e", "prune_confirm=true")


@pytest.fixture
def two(pair: Local) -> Local:
    pair.monitor()
    pair.service.seed(labels=["old-1", "old-2"])
    return pair


@pytest.mark.parametrize(("reply", "deleted"), [("yes", ["old-1", "old-2"]), ("no", [])])
def test_prune_asks_in_a_terminal(two: Local, reply: str, deleted: list[str]) -> None:
    record = two.directory / "record"
    record.touch()
    command = [str(ANSIBLE_PLAYBOOK), "-i", str(two.inventory()), PRUNE, *_GONE]
    process, terminal = pty.fork()
    if process == 0:
        os.execve(command[0], command, {**two.environment(record), **WHOLE})
    shown = ""
    deadline = time.monotonic() + 120
    # os.read raises OSError when the run has ended.
    with contextlib.suppress(OSError):
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096).decode()
            elif "(yes/no)" in shown:
                # The module pause discards input that arrives before its question.
                os.write(terminal, f"{reply}\r".encode())
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, shown
    assert re.search(r"old-1\s+old-2\s+Delete these clients", shown), shown
    assert ("Deleted: old-1, old-2" if deleted else "Nothing was deleted.") in shown
    assert labels(two) == [*sorted({"old-1", "old-2"} - {*deleted}), "web-1", "web-2"]


def test_prune_without_a_terminal_needs_confirmation_and_a_limit(two: Local) -> None:
    run = two.run(PRUNE, *_GONE, **WHOLE)
    # The last message is the reason.
    message = run.events[-1].result["msg"]
    assert (run.code, run.writes()) == (2, []) and message.startswith("Nothing was deleted, because"), run.output
    assert message.endswith("set -e prune_confirm=true to delete: old-1, old-2")
    run = two.run(*_CONFIRMED, "-e", "prune_limit=1", **WHOLE)
    assert run.writes() == [] and "2 clients are more than prune_limit (1)" in str(run.failures()), run.output
    # Variables of the inventory have no effect on prune.
    two.group_vars.update(prune_limit=0, prune_pattern=".*", prune_confirm=True)
    for options, reason in (
        ((), "Choose the labels that may be deleted: -e prune_pattern=REGEX."),
        ((*_GONE, "--limit", "web-1"), "Run prune without --limit"),
        ((*_GONE, "-i", "web-1,"), "The inventory is a list of hosts."),
    ):
        assert refuse(two, PRUNE, *options, environment=WHOLE).startswith(reason)
    assert refuse(two, PRUNE, *_GONE).startswith("Set ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true")
    for given in (_GONE, _CONFIRMED[1:]):
        check = two.succeed(PRUNE, *given, "--check", **WHOLE)
        assert check.writes() == [] and "Would delete: old-1, old-2" in check.output
    run = two.succeed(*_CONFIRMED, **WHOLE)
    assert sorted(run.writes()) == ["delete_client old-1", "delete_client old-2"]
    assert "Deleted: old-1, old-2. A machine that still runs keeps its agent." in run.output


def test_prune_needs_the_label_of_each_host(two: Local) -> None:
    two.host_vars["web-2"]["monitor_agent_label"] = "{{ ansible_facts.system }}"
    two.service.seed(labels=["Linux"])
    two.group_vars["ansible_python_interpreter"] = sys.executable
    run = two.run(*_CONFIRMED, **WHOLE)
    assert run.writes() == [] and "The labels of these hosts are unknown: web-2." in str(run.failures()), run.output
    run = two.succeed(PRUNE, "-e", "prune_pattern=.* monitor_agent_gather_facts=true", "--check", **WHOLE)
    # web-2 carries the key of client web-2, so this client has a host, although its label is different.
    assert "Would delete: old-1, old-2." in run.output


# The labels contain a template, a character that reverses text, and a control sequence.
_HOSTILE = ["old-{{ 7 * 7 }}", "old-\u202egnp", "old-\u009b8D"]


def test_hostile_labels_are_deleted_and_printed_without_control_characters(two: Local) -> None:
    for playbook, given, settings in (
        (PRUNE, {"prune_pattern": "old-.*", "prune_confirm": True}, WHOLE),
        (_RETIRE, {"labels": _HOSTILE[1:]}, {}),
    ):
        two.service.seed(labels=_HOSTILE)
        run = two.succeed(playbook, "--diff", "-e", json.dumps(given), **settings)
        assert not re.search("[\u202e\u009b]", run.output) and "old-?gnp" in run.output and "old-?8D" in run.output
        assert labels(two) == ["old-{{ 7 * 7 }}", "web-1", "web-2"][playbook == PRUNE :]


def test_variables_of_the_inventory_choose_no_host_and_no_label(two: Local) -> None:
    two.group_vars.update(labels=["old-1"], monitor_agent_state="present")
    assert refuse(two, _RETIRE).startswith("Choose hosts with --limit")
    reason = "Hosts of the inventory have these labels: web-1. Retire the hosts with --limit"
    assert refuse(two, _RETIRE, "-e", "labels=web-1,old-1").startswith(reason)
    many = json.dumps({"labels": ["old-1"], "retire_limit": 2})
    assert "3 hosts and labels are more than retire_limit" in refuse(two, _RETIRE, "--limit", "all", "-e", many)
    run = two.succeed(_RETIRE, "--limit", "web-2")
    assert run.writes() == ["delete_client web-2"] and "Deleted: web-2" in run.output
    assert "Remove these hosts from the inventory, or the next rollout registers them again." in run.output
    assert two.read("web-1") and not two.read("web-2")


def test_the_client_of_a_host_that_cannot_be_reached_is_kept(two: Local) -> None:
    two.host_vars["web-1"] |= UNREACHABLE
    assert two.run(_RETIRE, "--limit", "web-*").code == 4
    assert labels(two) == ["old-1", "old-2", "web-1"]


def test_hosts_and_labels_are_retired_at_once(two: Local) -> None:
    steps = converge(two, _RETIRE, "-e", "labels=old-1", "--limit", "web-1", changes={"web-1"})
    assert "Would delete: old-1, web-1" in steps.check.output and "Deleted: old-1, web-1" in steps.run.output
    for task in ("Delete the client of the host", "Delete the clients of hosts that are gone"):
        assert steps.run.changed_hosts(task) == steps.check.changed_hosts(task) == {"web-1"}, task
    assert (labels(two), configured(two), two.read("web-1")) == (["old-2", "web-2"], {"web-2"}, None)
    assert "Deleted: no client" in steps.again.output


def test_retire_deletes_only_the_client_with_the_label_of_the_host(two: Local) -> None:
    keys = two.files()
    two.write("web-1", keys["web-2"])
    run = two.succeed(_RETIRE, "--limit", "web-1")
    assert (run.writes(), two.read("web-1")) == (["delete_client web-1"], None)
    assert "'web-2' of web-2 (carried by web-1)" in run.output
    # The client of a key that no host has stays too. The output has the command that deletes the client.
    two.succeed()
    two.write("web-1", texts(two.service.clients())["old-1"])
    check = two.succeed(_RETIRE, "--limit", "web-1", "--check")
    run = two.succeed(_RETIRE, "--limit", "web-1")
    assert "Would delete: web-1" in check.output and "Deleted: web-1" in run.output
    assert labels(two) == ["old-1", "old-2", "web-2"] and "-e labels=old-1" in run.output
    two.succeed(_RETIRE, "-e", "labels=old-1")
    assert labels(two) == ["old-2", "web-2"]


def test_an_invalid_label_fails_before_anything_is_removed(two: Local) -> None:
    run = two.run(_RETIRE, "--limit", "web-1", "-e", "labels=old-1,x")
    assert "The label 'x' has 1 character" in str(run.failures()) and run.writes() == [] and two.read("web-1")


def test_a_condition_that_leaves_out_the_check_retires_nothing(two: Local) -> None:
    play = two.play(f"- {{import_playbook: {_RETIRE}, when: inventory_hostname == 'web-2'}}")
    run = two.run(play, "--limit", "web-*", "-e", "retire_limit=1")
    assert run.writes() == [] and two.read("web-2"), run.output


@pytest.mark.parametrize(("playbook", "mask"), [("retire", {}), ("adopt", {"mask_in": "lists"})])
def test_a_token_that_only_reads_removes_and_adopts_nothing(two: Local, playbook: str, mask: dict[str, str]) -> None:
    two.service.configure(**mask)
    two.write("web-1", two.expected("web-2"))
    before = labels(two), two.files()
    options = ["--limit", "web-*"] if playbook == "retire" else []
    run = two.run(f"monitor.cloud.{playbook}", *options, MONITOR_API_TOKEN=two.service.tokens["read_only"])
    refused = ["token has read-only access" in message for message in run.failures().values()]
    assert run.code == 2 and all(refused), run.output
    assert (labels(two), two.files()) == before
