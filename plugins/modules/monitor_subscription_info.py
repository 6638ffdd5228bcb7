#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the tiers of the monitoring plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_subscription_info
short_description: Read the available tiers of the monitoring plan
version_added: 1.0.0
description: Returns the tiers, with the number of clients and the price of each tier. The task needs no token.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.info]
options:
  id: {description: Id of the only tier to return., type: str}
seealso: [{module: monitor.cloud.monitor_plan}]
"""

EXAMPLES = r"""
- name: Read one tier
  monitor.cloud.monitor_subscription_info:
    base_url: "{{ monitor_base_url }}"
    id: monitor-10
"""

RETURN = r"""
subscriptions:
  description: The tiers. The list is empty if no tier has the O(id).
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Id of the tier., type: str}
    label: {description: Name of the tier., type: str}
    clients_included: {description: Number of clients that the tier includes., type: int}
    price: {description: "Price per hour, C(hourly), and per month, C(monthly).", type: dict}
  sample:
    - id: monitor-10
      label: Monitor 10 pack
      clients_included: 10
      price: {hourly: 0.06, monthly: 40}
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

from ansible_collections.monitor.cloud.plugins.module_utils._module import Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import SUBSCRIPTION

OPTIONS = {"id": {"type": "str"}}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the tier that has the id, or all tiers if no id is given."""
    return {"changed": False, "subscriptions": api.find(SUBSCRIPTION, params["id"])}


MODULE = Module(run, OPTIONS)
main = MODULE.main

if __name__ == "__main__":
    main()
