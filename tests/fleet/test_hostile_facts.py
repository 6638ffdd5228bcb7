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
MINIMUM = "gather_subset: ['!all', '!min']"
GATHER = f"- {{hosts: all, gather_facts: true, {MINIMUM}}}\n"
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


FACTS = {
    "monitor_agent_api_token": "0" * 64,
    "monitor_agent_audit_html": "1000",
    "monitor_agent_base_url": "https://192.0.2.1/v4",
    "monitor_agent_config_template": "/etc/hostname",
    "monitor_agent_label": "of-another",
    "prune_limit": "1000",
}
# A playbook, or keywords of the role in a play, with options.
RUNS = [
    *(f"monitor.cloud.{name} --limit web-2" for name in ("rollout", "audit", "adopt")),
    "monitor.cloud.prune -e prune_pattern=.*",
    *(f"{play} -e monitor_agent_state={state}" for play in ("all", "not-the-first") for state in ("present", "absent")),
    "all --limit web-2",
]


@pytest.mark.parametrize("run", RUNS)
def test_cached_facts_choose_no_client_nor_files_nor_the_account_and_raise_no_limit(pair: Local, run: str) -> None:
    controller, (playbook, *options) = hostile(pair, **FACTS), run.split()
    controller.service.seed(20)
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    if "." not in playbook:
        condition = "when: inventory_hostname != 'web-1'" if playbook == "not-the-first" else ""
        playbook = role_play(controller, role=condition)
    assert refuse(controller, playbook, *options, environment=CACHE).startswith(naming(*FACTS))
    assert not (controller.directory / "1000").exists()


@pytest.mark.parametrize("state", ["present", "absent"])
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, state: str) -> None:
    play = role_play(hostile(pair, monitor_agent_label="of-another"), play=MINIMUM, facts=True)
    assert refuse(pair, play, "-e", f"monitor_agent_state={state}").startswith(naming("monitor_agent_label"))


@pytest.mark.parametrize(
    "labels", ["['web-1', 'of-another']", "(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list"]
)
@pytest.mark.parametrize(("state", "text"), [("present", None), ("absent", "api_key=1")])
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(
    pair: Local, labels: str, state: str, text: str | None
) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    controller.write("web-2", text)
    path = "{{ monitor_agent_config_path }}"
    run = controller.run(own_play(controller, play=MINIMUM, facts=True, labels=labels, path=path, state=state))
    assert "The facts of host web-2 set 'monitor_agent_label'" in str(run.failures()), run.output
    assert controller.read("web-2") == text


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    run = pair.run(role_play(pair, before=label))
    assert run.code == 0, run.output
    assert labels(pair) == ["my-web-1", "my-web-2"]
