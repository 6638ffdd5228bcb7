# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels of hosts: derived, set, shared by two hosts, set outside the inventory, refused by the service."""

import platform
import re
import sys

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    labels,
    role_play,
    text_of,
)


def test_prune_keeps_the_client_of_a_host_whose_label_fails(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_label"] = "{{ site }}-web-2"
    assert pair.run(ROLLOUT, "-e", "site=eu").code == 0
    run = pair.run("monitor.cloud.prune", "-e", "prune_pattern=.*")
    assert (run.code, run.requests) == (2, []), run.output
    assert re.search("'site' is undefined|host web-2: the template '{{ site }}-web-2' fails", run.output)


@pytest.mark.parametrize("playbook", ["prune -e prune_pattern=web.*", "adopt"])
@pytest.mark.parametrize("source", ["-i inventory.yml -i broken.yml", "-i web-1,"])
def test_nothing_is_pruned_nor_adopted_by_a_part_of_the_inventory(single: Local, source: str, playbook: str) -> None:
    single.inventory()
    (single.directory / "broken.yml").write_text("all: {hosts: {web-2: ", encoding="utf-8")
    single.service.seed(labels=["web-1", "web-2"])
    single.write("web-1", text_of(single, "web-2"))
    run = single.shell(f"ansible-playbook {source} -c local monitor.cloud.{playbook}")
    assert "would be taken for clients without a host" in run.failures()["web-1"], run.output
    assert run.writes() == []


@pytest.mark.parametrize("playbook", ["prune", "adopt"])
def test_clients_of_labels_that_are_made_of_facts_are_kept(single: Local, playbook: str) -> None:
    single.host_vars["web-1"].update(
        monitor_agent_label="{{ ansible_facts['architecture'] | default(inventory_hostname) }}",
        ansible_python_interpreter=sys.executable,
    )
    run = single.run(role_play(single, play="gather_subset: ['!all', '!min', platform]", facts=True))
    assert (run.code, run.writes()) == (0, [f"create_client {platform.machine()}"]), run.output
    run = single.run(f"monitor.cloud.{playbook}", "-e", "prune_pattern=.*")
    assert (run.code, run.writes()) == (2, []), run.output
    assert "monitor_agent_label of host web-1 is made of facts, which this run does not have" in str(run.failures())


@pytest.mark.parametrize("label", ["web{1}", "{{ 12345 }}"])
def test_a_label_that_resembles_something_else_is_a_text(single: Local, label: str) -> None:
    single.host_vars["web-1"]["monitor_agent_label"] = label
    audit = ("monitor.cloud.audit", "-e", "monitor_agent_audit_fail_on_drift=true")
    assert (single.run().code, single.run(*audit).code) == (0, 0)
    assert labels(single) == [label.strip("{ }") if "{{" in label else label]


def test_one_label_that_the_service_refuses(four: Local) -> None:
    four.service.configure(strict_labels=True)
    four.host_vars["db-1"]["monitor_agent_label"] = "not so good"
    others = {"web-1", "web-2", "db-2"}
    # What the service is going to refuse is its own matter: check mode can't know.
    assert four.run(ROLLOUT, "--check").code == 0
    for changed in (others, set()):
        run = four.run()
        assert run.code == 2
        assert set(run.failures()) == {"db-1"}
        assert "Could not create client 'not so good': the service returned 400" in run.failures()["db-1"]
        assert run.changed_hosts() == changed
        assert configured(four) == others
