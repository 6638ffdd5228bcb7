# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbook retire takes for its choice, and what it does not."""

import shlex
import textwrap

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, labels, refuse

RETIRE = "monitor.cloud.retire"


@pytest.fixture
def two(pair: Local) -> Local:
    """A controller whose hosts are monitored, and an account with clients of hosts that are gone."""
    pair.monitor()
    pair.service.seed(labels=["old-database-1", "web-9"])
    return pair


def test_variables_of_the_inventory_choose_nothing(two: Local) -> None:
    two.group_vars.update(target="all", labels=["web-1"])
    assert "Choose what to retire" in refuse(two, RETIRE)
    for choice, label in (('{"labels": ["web-9"]}', "web-9"), ("target=web-2 monitor_agent_state=absent", "web-2")):
        run = two.run(RETIRE, "-e", choice)
        assert (run.code, run.writes()) == (0, [f"delete_client {label}"]), run.output
    assert two.read("web-1") and not two.read("web-2")


_CHOOSE, _LATE = "Choose what to retire", "Run it without --start-at-task."
_GONE = "-e 'target=web-2 labels=web-9 retire_limit=1' --start-at-task"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-e 'target=all retire_limit=1'", "more than retire_limit (1)"),
        ("-e 'target=all retire_limit=2' -e '{labels: [web-9]}'", "retire 3 clients"),
        ("-e 'labels=old-database-1,web-9 retire_limit=1'", "This would retire 2 clients"),
        ("-e target=", _CHOOSE),
        ("-e labels=", _CHOOSE),
        ("-e 'target=web-1 labels=web-9,x'", "The label 'x' has 1 character"),
        ("-e 'target=web-1 labels=old-database-1,web-2'", "The label 'web-2' is that of host web-2"),
        ("-e labels=web-2", "Retire the host itself (-e target=web-2), or remove it from the inventory if it is gone."),
        ("-e 'target=web-1 monitor_agent_state=present'", "monitor_agent_state is not absent"),
        (f"{_GONE} '{CONFIGURE}'", _LATE),
        (f"{_GONE} 'Remove the clients of hosts that are gone'", _LATE),
    ],
)
def test_what_is_refused_before_any_call(two: Local, options: str, expected: str) -> None:
    assert expected in refuse(two, RETIRE, *shlex.split(options))


def test_the_client_of_a_host_that_cannot_be_reached_is_kept(two: Local) -> None:
    two.host_vars["web-1"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.77.250"}
    assert two.run(RETIRE, "-e", "target=all").code == 4
    assert labels(two) == ["old-database-1", "web-1", "web-9"]


def test_hosts_and_labels_are_retired_at_once(two: Local) -> None:
    steps = converge(two, RETIRE, "-e", "target=all labels=web-9", "--limit", "web-1", changes={"web-1"})
    for removed in ("configuration of: web-1", "clients: web-1, web-9"):
        assert f"Would be removed, {removed}" in steps.check.output and f"Removed, {removed}" in steps.run.output
    assert "There was no" not in steps.run.output
    for task in ("Remove the clients of the hosts", "Remove the clients of hosts that are gone"):
        assert steps.run.changed_hosts(task) == steps.check.changed_hosts(task) == {"web-1"}, task
    assert (labels(two), configured(two), two.read("web-1")) == (["old-database-1", "web-2"], {"web-2"}, None)
    assert "There was no configuration on: web-1" in steps.again.output and "Removed" not in steps.again.output
    assert "There was no client of the label: web-1, web-9" in steps.again.output


def test_labels_of_facts_that_are_not_gathered_and_vaulted_ones_do_not_prevent_a_retirement(two: Local) -> None:
    two.host_vars["web-1"]["monitor_agent_label"] = "{{ ansible_facts.hostname }}"
    vault = VaultLib([("default", VaultSecret(b"secret"))]).encrypt(b"web-two").decode()
    (two.directory / "host_vars").mkdir()
    label = f"monitor_agent_label: !vault |\n{textwrap.indent(vault, '  ')}"
    (two.directory / "host_vars" / "web-2.yml").write_text(label, encoding="utf-8")
    run = two.run(RETIRE, "-e", "labels=web-9")
    assert (run.code, run.writes()) == (0, ["delete_client web-9"]), run.output


def test_a_condition_that_leaves_out_the_check_retires_nothing(two: Local) -> None:
    play = two.play(f"- {{import_playbook: {RETIRE}, when: inventory_hostname == 'web-2'}}")
    run = two.run(play, "-e", "target=all", "-e", "retire_limit=1")
    assert (run.code, run.writes()) == (0, []) and two.read("web-2"), run.output


@pytest.mark.parametrize("service", [{"MONITOR_API_TOKEN": "wrong"}, {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4"}])
def test_nothing_is_removed_if_the_service_cannot_be_used(two: Local, service: dict[str, str]) -> None:
    before = labels(two), two.files()
    run = two.run(RETIRE, "-e", "target=all", "-e", "monitor_agent_retry_timeout=0", **service)
    assert run.code == 2, run.output
    assert (labels(two), two.files()) == before
