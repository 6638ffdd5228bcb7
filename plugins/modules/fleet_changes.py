#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the module fleet_changes. plugins/action/fleet_changes.py contains the code."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_changes
short_description: Decide what happens to hosts and clients
version_added: 1.0.0
description:
  - Reads the account, the facts of M(monitor.cloud.agent_info) and the labels of the whole inventory. Decides the steps
    of each host of the batch.
  - Decides the same in check mode. The role P(monitor.cloud.monitor_agent#role) makes the steps.
  - Runs on the controller, once for all hosts of the batch. Sends no requests, connects to no host, changes nothing.
  - The label of a host is the label that M(monitor.cloud.agent_info) returned in this run, else the variable
    C(monitor_agent_label) in the inventory, else the label that P(monitor.cloud.client_label#filter) derives.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info, monitor.cloud._shared.account]
options:
  inspected:
    description: Name of the variable in which each host has the result of M(monitor.cloud.agent_info).
    type: str
    required: true
  orphan_pattern:
    description:
      - Regular expression for whole labels of clients without a host.
      - RV(orphans) contains only matching labels, and RV(renames) renames only matching clients.
    type: str
    default: .*
  quiet:
    description: Whether to show no warnings about the steps. Use V(true) if no task makes the steps.
    type: bool
    default: false
  details:
    description: Whether the result has RV(hosts). A rollout needs no details.
    type: bool
    default: false
seealso:
  - module: monitor.cloud.agent_info
  - module: monitor.cloud.audit_report
"""

EXAMPLES = r"""
- name: Decide what happens to hosts and clients
  monitor.cloud.fleet_changes:
    account: account
    inspected: inspected
  register: changes
  run_once: true
"""

RETURN = r"""
steps:
  description: Steps by host, as a text with spaces. Hosts without work are left out. The text is empty if the host has
    a problem.
  returned: success
  type: dict
  sample: {web-1: create write restart_after_change}
problems: {description: Why hosts cannot be changed. The keys are names of hosts., returned: success, type: dict}
create:
  description: Labels of clients to create, or to read again by id before their keys are written.
  returned: success
  type: list
  elements: str
renames:
  description: Maps old to new labels, for clients of renamed hosts. The option C(renames) of
    M(monitor.cloud.monitor_clients) takes this value.
  returned: success
  type: dict
orphans:
  description: Labels of clients that no host of the inventory has, and whose key no inspected host carries.
  returned: success
  type: list
  elements: str
orphan_problem:
  description: Why RV(orphans) can be wrong, so that no task must delete these clients. Empty if the labels of all hosts
    are certain.
  returned: success
  type: str
unreadable: {description: Hosts whose label is unknown., returned: success, type: list, elements: str}
hosts:
  description: The decision for each host of the play, with V(states) and a V(detail) in sentences.
  returned: success, with O(details=true)
  type: dict
"""
