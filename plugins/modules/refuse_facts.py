#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin refuse_facts; the code is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: refuse_facts
short_description: Fail if facts of hosts set variables of the role
version_added: 1.0.0
description:
  - Facts come from the hosts, and take precedence over the inventory. A compromised host can report a fact with the
    name of any variable, and so choose the address to which the token is sent, or its own label.
  - Fails if a fact of a host of the inventory is a variable whose name begins with one of O(prefixes), or a variable
    that a template of such a variable names, directly or through other templates. Fails too if such a template uses
    C(ansible_facts), or if the task is delegated to a host that is not its own.
  - Templates of C(monitor_agent_config_path), C(monitor_agent_config_owner), C(monitor_agent_config_group),
    C(monitor_agent_config_mode), C(monitor_agent_settings), C(monitor_agent_repository), C(monitor_agent_packages),
    C(monitor_agent_install_command), C(monitor_agent_install_creates), C(monitor_agent_uninstall_command),
    C(monitor_agent_uninstall_removes), C(monitor_agent_service) and C(monitor_agent_state) may use facts, because they
    concern nothing but the host itself; but not beside a lookup, which reads files and the environment of the
    controller.
  - Templates of C(monitor_agent_packages), C(monitor_agent_repository), C(monitor_agent_service) and
    C(monitor_agent_state) with a lookup can name no variables at all, because core renders them between a module, which
    can report facts, and the next check.
  - Runs on the controller, once for all hosts. Connects to no host, changes nothing.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info]
options:
  prefixes:
    description: Beginnings of the names of the variables.
    type: list
    elements: str
    default: [monitor_agent_]
seealso:
  - module: monitor.cloud.agent_config
"""

EXAMPLES = r"""
- name: Refuse facts that set variables of the role
  monitor.cloud.refuse_facts:
  run_once: true
"""

RETURN = r"""
"""
