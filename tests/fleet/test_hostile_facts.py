# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host whose root adds variables of the role to its facts, which take precedence over the inventory."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.steps import labels, refuse, role_play

INTERPRETER = """#!{python}
import json, subprocess, sys
done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
result = json.loads(done.stdout)
if "ansible_facts" in result:
    result["ansible_facts"].update({facts})
print(json.dumps(result))
"""
GATHER = "- {hosts: all, gather_facts: true, gather_subset: ['!all', '!min']}\n"
# The path is relative to the directory of the controller.
CACHE = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": "facts"}
ROLE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}
      vars: {monitor_agent_state: STATE}
      when: inventory_hostname not in left_out | default([])
"""
OWN_TASKS = """
- hosts: all
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients:
        labels: "{{ LABELS }}"
        include_keys: true
      register: registered
      run_once: true
    - monitor.cloud.agent_config:
        path: "{{ monitor_agent_config_path }}"
        content: "{{ client.api_key }}"
        registration: registered
"""


def hostile(controller: Local, **facts: str) -> Local:
    """The controller, with a host that reports these facts."""
    path = controller.directory / "python"
    path.write_text(INTERPRETER.format(python=sys.executable, facts=facts), encoding="utf-8")
    path.chmod(0o755)
    controller.group_vars["ansible_python_interpreter"] = sys.executable
    controller.host_vars["web-2"]["ansible_python_interpreter"] = str(path)
    controller.service.seed(labels=["of-another"])
    return controller


def naming(*names: str) -> str:
    """The start of a refusal that names these variables."""
    return f"The facts of host web-2 set {', '.join(map(repr, names))}. "


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("left_out", [[], ["web-1"]], ids=["all", "by itself"])
def test_a_host_does_not_choose_its_client_nor_files_nor_the_account(
    pair: Local, left_out: list[str], state: str
) -> None:
    controller = hostile(
        pair,
        monitor_agent_api_token="0" * 64,
        monitor_agent_base_url="https://192.0.2.1/v4",
        monitor_agent_config_template="/etc/hostname",
        monitor_agent_label="of-another",
    )
    controller.group_vars["left_out"] = left_out
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    play = controller.play(ROLE.replace("STATE", state))
    names = (f"monitor_agent_{name}" for name in ("api_token", "base_url", "config_template", "label"))
    message = refuse(controller, play, environment=CACHE)
    assert message.startswith(naming(*names))
    # One host alone differs from no other one.
    assert refuse(controller, play, "--limit", "web-2", environment=CACHE) == message


@pytest.mark.parametrize("state", ["present", "absent"])
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, state: str) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    message = refuse(controller, controller.play(GATHER + ROLE.replace("STATE", state)))
    assert message.startswith(naming("monitor_agent_label"))


def test_cached_facts_choose_no_file_on_the_controller(pair: Local) -> None:
    page = pair.directory / "page.html"
    controller = hostile(pair, monitor_agent_audit_html=str(page))
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    for playbook in ("rollout", "audit", "adopt"):
        message = refuse(controller, f"monitor.cloud.{playbook}", "--limit", "web-2", environment=CACHE)
        assert message.startswith(naming("monitor_agent_audit_html"))
    assert not page.exists()


def test_cached_facts_do_not_raise_the_limit_of_prune(pair: Local) -> None:
    controller = hostile(pair, prune_limit="1000")
    controller.service.seed(20)
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    message = refuse(controller, "monitor.cloud.prune", "-e", "prune_pattern=.*", environment=CACHE)
    assert message.startswith(naming("prune_limit"))


@pytest.mark.parametrize(
    "labels", ["['web-1', 'of-another']", "(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list"]
)
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(pair: Local, labels: str) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    run = controller.run(controller.play(GATHER + OWN_TASKS.replace("LABELS", labels)))
    assert "The facts of host web-2 set 'monitor_agent_label'" in str(run.failures()), run.output
    assert controller.read("web-2") is None


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    run = pair.run(role_play(pair, before=label))
    assert run.code == 0, run.output
    assert labels(pair) == ["my-web-1", "my-web-2"]
