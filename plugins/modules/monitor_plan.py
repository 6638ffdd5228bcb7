#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Switch the monitoring plan of the account."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitor_plan
short_description: Manage the monitoring plan
version_added: 1.0.0
description:
  - Switches the monitoring plan of the account to a tier, to the free plan, or to the smallest tier that includes a
    number of clients. A switch changes the cost of the account.
  - The user of the token needs the grant C(monitor_subscription).
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.changes]
options:
  subscription:
    description: Id of the tier to switch to, or V(free). M(monitor.cloud.monitor_subscription_info) returns the ids.
      Required without O(min_clients).
    type: str
  min_clients:
    description: The number of clients that the plan must include. If the plan includes fewer clients, the task switches
      to the smallest tier that includes enough clients.
    type: int
  allow_over_capacity:
    description: Whether the task may switch to a tier that includes fewer clients than the account has. If the account
      has clients, a switch to the free plan also needs V(true), because the limit of the free plan is not known.
    type: bool
    default: false
seealso: [{module: monitor.cloud.monitor_plan_info}, {module: monitor.cloud.monitor_subscription_info}]
"""

EXAMPLES = r"""
- name: Make room for 30 clients
  monitor.cloud.monitor_plan:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
    min_clients: 30

# The next task gets the address and the token from environment variables.
- name: Switch to the free plan without a check of its limit
  monitor.cloud.monitor_plan:
    subscription: free
    allow_over_capacity: true
"""

RETURN = r"""
plan:
  description: The plan of the account, or in check mode the predicted plan, with the fields of
    RV(monitor.cloud.monitor_subscription_info#module:subscriptions). Empty for the free plan.
  returned: success
  type: dict
previous: {description: The plan before the task. Empty for the free plan., returned: success, type: dict}
price_difference:
  description: Price of the plan minus price of the previous plan, by period, if the service states both prices. The
    free plan costs 0. The diff of a switch shows this difference too.
  returned: success
  type: dict
  sample: {hourly: 0.015, monthly: 10}
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""

from ansible_collections.monitor.cloud.plugins.module_utils._clients import plan as plans
from ansible_collections.monitor.cloud.plugins.module_utils._module import Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import SUBSCRIPTION

OPTIONS = {
    "subscription": {"type": "str"},
    "min_clients": {"type": "int"},
    "allow_over_capacity": {"type": "bool", "default": False},
}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read the plan and the tiers. If the plan must change, count the clients and switch the plan."""
    tiers = api.find(SUBSCRIPTION)
    change = plans.plan_change(api.get_plan(), tiers, params["subscription"], params["min_clients"])
    if change.changed and not params["allow_over_capacity"]:
        plans.check_plan_fits(change, api.count_clients())
    plan = change.after
    if change.changed and not check_mode:
        plan = api.set_plan(None if change.label == plans.FREE else change.label)
    more = plans.price_difference(change.before, change.after)
    after = plans.plan_facts(change.after)
    if change.changed and more:
        after["price_difference"] = more
    return {
        "changed": change.changed,
        "plan": plan,
        "previous": change.before,
        "price_difference": more,
        "diff": {"before": plans.plan_facts(change.before), "after": after},
    }


_EITHER = ("subscription", "min_clients")
MODULE = Module(run, OPTIONS, {"required_one_of": [_EITHER], "mutually_exclusive": [_EITHER]})
main = MODULE.main

if __name__ == "__main__":
    main()
