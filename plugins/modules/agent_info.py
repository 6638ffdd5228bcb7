#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the module agent_info. plugins/action/agent_info.py contains the code."""

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_info
short_description: Inspect the monitoring agent of a host
version_added: 1.0.0
description:
  - Renders the configuration, inspects the host with one shell script, and returns facts. Decides and changes nothing.
  - Fails only if the host cannot be reached, or if an option, the label or the template is invalid.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info, monitor.cloud._shared.client]
options:
  path:
    description: Absolute path of the file on the host. If the path is a symbolic link, the file replaces the link.
    type: str
    required: true
  template:
    description:
      - Template of the file, in the search path of M(ansible.builtin.template). The template can use the variables
        C(label), C(client.api_key) and C(client.install_code).
      - Without O(template) and O(content), and with O(wanted.state=absent), the module only finds the owner of the key
        in the file.
    type: str
  settings:
    description:
      - More settings for O(template). The variable C(agent_settings) contains the settings as sorted strings. The
        template V(agent.conf.j2) of the role writes a line C(name = value) for each setting, after the two secrets.
      - A value is a string without line breaks, a number, a boolean or a list. A boolean is written as C(true) or
        C(false), a list with commas. A name has only letters, digits and C(_.-). The names C(api_key) and
        C(install_code) are not allowed. O(settings) cannot be used with O(content).
    type: dict
  content:
    description:
      - Content of the file. The task replaces C(@api_key@) and C(@install_code@) by the secrets. The content cannot use
        the variable C(client), because Ansible renders arguments before the client is known.
    type: raw
  owner:
    description: Owner of the file, as name or number. If O(owner) is empty, the user who writes the file owns the file.
      RV(unknown_owner) names an owner that the host does not know.
    type: str
  group:
    description: Group of the file, as name or number. If O(group) is empty, the system selects the group.
    type: str
  mode:
    description: Mode of the file in octal digits, such as V("0640") or V(0640). The owner needs read access.
    type: raw
    default: "0600"
  create_directory:
    description: Whether to create a missing directory of the file, with mode V(0755).
    type: bool
    default: true
  service:
    description: Name of the service of the agent, whose state the module returns. If empty, no service is inspected.
    # The type str would turn false into the service "False".
    type: raw
  variables:
    description: Names of variables that contain the values of other options, for roles. The member C(wanted) has the
      names for members of O(wanted). If a variable is null or omitted, its option is not set. Messages name the
      variable in place of the option, without leading underscores.
    type: dict
    default: {}
  account_of:
    description: Names of the variables with C(base_url), C(api_token) and C(brand). RV(account) is the fingerprint of
      their values, so that M(monitor.cloud.fleet_changes) finds hosts of another account. Give names, not values.
    type: dict
    default: {}
  wanted:
    description:
      - What the user wants for the host. M(monitor.cloud.fleet_changes) reads these values in the result. A null value
        is the default.
      - RV(wanted) has the members C(installs) and C(runs_installer) in place of O(wanted.install_command).
    type: dict
    default: {}
    suboptions:
      state:
        description: Whether the host is monitored.
        type: str
        choices: [present, absent]
        default: present
      replace_key:
        description: Whether a host gets a new client, although it carries the key of a client of no host.
        type: bool
        default: false
      install_command:
        description: Command that installs the agent.
        type: str
        default: ""
      packages:
        description: Names of packages to install.
        type: list
        elements: str
        default: []
      repository:
        description: The repository of the packages.
        type: dict
        default: {}
      uninstall:
        description: Whether O(wanted.state=absent) also uninstalls the agent.
        type: bool
        default: false
      service_state:
        description: State of the service. With an empty text, the service is only restarted if it runs.
        type: str
        choices: [started, stopped, ""]
        default: started
      service_enabled:
        description: Whether the service starts at boot.
        type: bool
        default: true
seealso:
  - module: monitor.cloud.fleet_changes
  - module: monitor.cloud.agent_config
"""

EXAMPLES = r"""
- name: Inspect the host
  monitor.cloud.agent_info:
    path: /etc/monitor/agent.conf
    template: agent.conf.j2
    service: monitor-agent
    registration: account
  register: inspected
"""

RETURN = r"""
label: {description: Label of the host's client., returned: success, type: str}
client_id:
  description: Id of the host's client. Null if the account has no client with this label.
  returned: success
  type: int
path: {description: Path of the file., returned: success, type: str}
kind: {description: "V(missing), V(file) or V(link).", returned: success, type: str}
key_owner:
  description: Owner of the key in the file. V(own) is the client of the host, V(other) another client of the account,
    V(unknown) no client of the account. V(no_file) and V(no_key) mean that there is no key. With V(unverifiable), the
    service masks keys, or the file can't be read.
  returned: success
  type: str
owner_label:
  description: Label of the client whose key the file has. Null if the client is unknown.
  returned: success
  type: str
key_fingerprint:
  description: The first 12 hexadecimal digits of the SHA-256 of the key in the file. Null if there is no key.
  returned: success
  type: str
differs:
  description: Differences from the desired file. Values are V(content), V(type) (the path is a symbolic link),
    V(owner), V(group) and V(mode).
  returned: success
  type: list
  elements: str
permissions:
  description: The V(found) and V(expected) values of owner, group and mode that differ.
  returned: success
  type: dict
problem: {description: Why the file could not be written. Empty if it could be written., returned: success, type: str}
unknown_owner:
  description: A desired owner or group that the host does not know. Empty if the host knows both.
  returned: success
  type: str
machine:
  description: Identifier of the machine and the path. Two names of one machine with the same path have the same
    identifier.
  returned: success
  type: str
account:
  description: Fingerprint of the account that the host uses. Null without O(account_of).
  returned: success
  type: str
service: {description: Name of the service that was inspected. Empty if there is none., returned: success, type: str}
service_state:
  description: State that systemctl reports (C(ActiveState)), V(missing) or V(masked). V(activating) also means that the
    service crashes repeatedly. Null if the state is unknown.
  returned: success
  type: str
service_runs: {description: Whether the service runs., returned: success, type: bool}
service_enabled:
  description: Whether the service starts at boot, as systemctl reports it.
  returned: success
  type: str
service_outdated: {description: Whether the service started before the file was written., returned: success, type: bool}
wanted:
  description: Value of the option O(wanted) with its defaults. C(installs) is true if there are packages or a command.
    C(runs_installer) is true if there is a command.
  returned: success
  type: dict
"""
