# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options that choose the client of a host."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  client:
    description:
      - The client, as M(monitor.cloud.monitor_client) returns it with
        O(monitor.cloud.monitor_client#module:include_keys=true).
    type: dict
  label:
    description:
      - Label of the client in O(registration).
      - If not set, the variable C(monitor_agent_label) of the host, or else what the filter
        P(monitor.cloud.client_label#filter) makes of its name.
    type: str
  registration:
    description:
      - Name of the variable that holds the result of a M(monitor.cloud.monitor_clients) task with
        O(monitor.cloud.monitor_clients#module:include_keys=true). The name, not its value, which would be rendered anew
        for each host, and be shown among the arguments of the task.
      - If there are several names, the first one that holds clients is used.
    type: list
    elements: str
"""
