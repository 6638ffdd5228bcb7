#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin agent_install; the code is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_install
short_description: Run the installer of a monitoring agent with its client's install code
version_added: 1.0.0
description:
  - Runs a command on a host with the client's install code in the environment variable E(MONITOR_INSTALL_CODE). The
    code is passed on standard input, so that it is on no command line, in no file and in no log.
  - The keyword C(environment) counts as for any command; the token of the service in it is left out.
  - Needs no Python on the host. Cannot be delegated.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.client]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  command:
    description: The command, for a POSIX shell. It must not hold the install code, because other users can see it.
    type: str
    required: true
  creates:
    description: Path that the command creates. If the path exists, the command is not run. If not set, each run runs it.
    type: str
seealso:
  - module: monitor.cloud.agent_config
"""

EXAMPLES = r"""
- name: Install the agent
  monitor.cloud.agent_install:
    command: curl -sSf https://agent.example.com/install | sh
    creates: /usr/bin/monitor-agent
    registration: registered
  become: true
"""

RETURN = r"""
label:
  description: Label of the host's client.
  returned: success
  type: str
  sample: web1
"""
