# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts that set variables of the role; with real facts, caches and templates: tests/fleet/test_facts.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.action.refuse_facts import ActionModule
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of


class HostVars(dict[str, Any]):
    def raw_get(self, host: str) -> Any:
        return self[host]


@pytest.mark.parametrize(
    ("own", "refused"),
    [
        ({"monitor_agent_base_url": "https://evil"}, "monitor_agent_base_url"),
        ({"ansible_address": "https://evil", "monitor_agent_base_url": "{{ ansible_address }}"}, "ansible_address"),
        ({"address": "{{ a }}", "a": "https://evil", "monitor_agent_base_url": "{{ address }}"}, "a"),
        ({"monitor_agent_label": "{{ ansible_facts.a }}"}, "ansible_facts"),
        ({"a": "/etc", "monitor_agent_config_path": "{{ a }}/agent.conf"}, ""),
        ({"a": "/etc", "monitor_agent_install_creates": "{{ lookup('file', a) }}"}, "a"),
        ({"a": "/etc", "monitor_agent_settings": {"b": "{{ a | expandvars }}"}}, "a"),
        ({"monitor_agent_install_command": "{{ lookup('env', ansible_facts.a) }}"}, "ansible_facts"),
        ({"other": "https://evil"}, ""),
    ],
)
def test_a_fact_that_decides_is_refused_through_templates_too(own: dict[str, Any], refused: str) -> None:
    facts = {name.removeprefix("ansible_"): value for name, value in own.items() if "{{" not in str(value)}
    hostvars = HostVars(web={**own, "ansible_facts": facts})
    variables = {"inventory_hostname": "web", "groups": {"all": []}, "hostvars": hostvars}
    # As for the implicit localhost, which is in no group.
    variables["ansible_play_hosts_all"] = ["web"]
    done = action_of(ActionModule, {}, variables).run(task_vars=variables)
    assert done.get("failed", False) is bool(refused)
    assert f"Facts of host web set what must not come from a host: {refused}. " in done.get("msg", "") or not refused


@pytest.mark.parametrize(
    ("value", "refused"), [("{{ lookup('file', b) }}", True), ("{{ lookup('file', 'b') }}", False)]
)
def test_a_lookup_of_a_variable_is_refused_beside_modules(value: str, refused: bool) -> None:
    hostvars = HostVars(web={"monitor_agent_packages": [value], "monitor_agent_config_path": "{{ lookup('file', b) }}"})
    variables = {"inventory_hostname": "web", "groups": {"all": ["web"]}, "hostvars": hostvars}
    variables["ansible_play_hosts_all"] = ["web"]
    message = action_of(ActionModule, {}, variables).run(task_vars=variables).get("msg", "")
    assert message.startswith("monitor_agent_packages of web has a lookup, and names the variables b. ") is refused


def test_a_delegated_role_is_refused() -> None:
    action = action_of(ActionModule, {}, {})
    action._task.delegate_to = "db"
    assert "can't be delegated: db would get" in action.run(task_vars={"inventory_hostname": "web"})["msg"]
