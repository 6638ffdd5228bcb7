#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin adoptions; the code is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: adoptions
short_description: Report which clients renamed hosts keep
version_added: 1.0.0
description:
  - A host that carries the key of a client with another label was renamed, or cloned. Reports which of these clients
    can get the label of their host, from the registered results of M(monitor.cloud.monitor_client_info) and
    M(monitor.cloud.agent_config), the latter in check mode.
  - A conflict is reported, and its client stays unchanged. In a conflict two hosts carry the key, or the client belongs
    to another host of the inventory that is to be monitored, or another client has the label of the host.
  - If names moved on from host to host, only the last client can be renamed in a run. Run the tasks again for others.
  - Runs on the controller for all hosts at once. Calls no API, connects to no host, changes nothing.
  - The role P(monitor.cloud.monitor_agent#role) has all the tasks that are needed, in C(adopt).
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info, monitor.cloud._shared.account]
options:
  config:
    description:
      - Name of the variable that holds the result of a M(monitor.cloud.agent_config) task in check mode, on each host.
    type: str
    required: true
  orphan_pattern:
    description: Regular expression that must match the whole label of a client without a host, for a host to keep it.
    type: str
    default: .*
seealso:
  - module: monitor.cloud.audit_report
"""

EXAMPLES = r"""
- name: Determine which clients are kept
  monitor.cloud.adoptions:
    account: account
    config: config
  register: adoptions
  run_once: true

- name: Give these clients the labels of their hosts
  monitor.cloud.monitor_clients:
    labels: []
    renames: "{{ adoptions.renames }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
renames:
  description: Clients that get the label of their host, old label to new label.
  returned: success
  type: dict
  sample: {old-web1: web1}
conflicts:
  description: Hosts that carry the key of another client, which stays as it is.
  returned: success
  type: list
  elements: dict
  contains:
    host: {description: Name of the host., type: str}
    label: {description: Label of the host., type: str}
    owner_label: {description: Label of the client whose key the host carries., type: str}
    reason: {description: Why the host cannot keep the client., type: str}
  sample:
    - host: web2
      label: web2
      owner_label: web1
      reason: Carries the key of client 'web1', which belongs to host web1.
"""
