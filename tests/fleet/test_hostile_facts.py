# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host whose root adds variables of the role to its facts, which take precedence over the inventory."""

import sys

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.steps import labels, own_play, refuse, role_play

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
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    when = f"when: inventory_hostname not in {left_out}"
    play = role_play(controller, role=f"vars: {{monitor_agent_state: {state}}}\n  {when}")
    names = (f"monitor_agent_{name}" for name in ("api_token", "base_url", "config_template", "label"))
    message = refuse(controller, play, environment=CACHE)
    assert message.startswith(naming(*names))
    # One host alone differs from no other one.
    assert refuse(controller, play, "--limit", "web-2", environment=CACHE) == message


@pytest.mark.parametrize("state", ["present", "absent"])
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, state: str) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    gather = {"play": "gather_subset: ['!all', '!min']", "role": f"vars: {{monitor_agent_state: {state}}}"}
    message = refuse(controller, role_play(controller, facts=True, **gather))
    assert message.startswith(naming("monitor_agent_label"))


OF_PLAYBOOKS = {
    "monitor_agent_audit_html": [f"{name} --limit web-2" for name in ("rollout", "audit", "adopt")],
    "prune_limit": ["prune -e prune_pattern=.*"],
}


@pytest.mark.parametrize("name", OF_PLAYBOOKS)
def test_cached_facts_choose_no_file_on_the_controller_and_raise_no_limit(pair: Local, name: str) -> None:
    page = pair.directory / "1000"
    controller = hostile(pair, **{name: page.name if name == "prune_limit" else str(page)})
    controller.service.seed(20)
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    for playbook in OF_PLAYBOOKS[name]:
        message = refuse(controller, *f"monitor.cloud.{playbook}".split(), environment=CACHE)
        assert message.startswith(naming(name))
    assert not page.exists()


@pytest.mark.parametrize(
    "labels", ["['web-1', 'of-another']", "(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list"]
)
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(pair: Local, labels: str) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    gather = "gather_subset: ['!all', '!min']"
    play = own_play(controller, play=gather, facts=True, labels=labels, path="{{ monitor_agent_config_path }}")
    run = controller.run(play)
    assert "The facts of host web-2 set 'monitor_agent_label'" in str(run.failures()), run.output
    assert controller.read("web-2") is None


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    run = pair.run(role_play(pair, before=label))
    assert run.code == 0, run.output
    assert labels(pair) == ["my-web-1", "my-web-2"]
