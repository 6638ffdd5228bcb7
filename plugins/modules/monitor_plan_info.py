#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the monitoring plan, and count the clients."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_plan_info
short_description: Read the monitoring plan and the number of clients
version_added: 1.0.0
description: Returns the monitoring plan of the account, its number of clients, and the number that the plan includes.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.info]
options:
  count_clients: {description: Whether to count the clients with one more request., type: bool, default: true}
seealso: [{module: monitor.cloud.monitor_plan}]
"""

EXAMPLES = r"""
- name: Read the plan
  monitor.cloud.monitor_plan_info:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
  register: result

- name: Warn if at least 90 % of the clients that the plan includes exist
  ansible.builtin.debug:
    msg: "{{ result.clients_used }} of {{ result.clients_included }} clients are used."
  when: not result.free and result.clients_used >= 0.9 * result.clients_included
"""

RETURN = r"""
plan:
  description: The plan of the account, with the fields of
    RV(monitor.cloud.monitor_subscription_info#module:subscriptions). Empty for the free plan.
  returned: success
  type: dict
free: {description: Whether the account is on the free plan., returned: success, type: bool}
clients_used: {description: Number of clients of the account., returned: with O(count_clients=true), type: int}
clients_included:
  description: Number of clients that the plan includes. Null for the free plan, because its limit is not known.
  returned: success
  type: int
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

from ansible_collections.monitor.cloud.plugins.module_utils._module import Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api

OPTIONS = {"count_clients": {"type": "bool", "default": True}}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the plan, and count the clients if requested."""
    plan = api.get_plan()
    result = {"changed": False, "plan": plan, "free": not plan, "clients_included": plan.get("clients_included")}
    if params["count_clients"]:
        result["clients_used"] = api.count_clients()
    return result


MODULE = Module(run, OPTIONS)
main = MODULE.main

if __name__ == "__main__":
    main()
