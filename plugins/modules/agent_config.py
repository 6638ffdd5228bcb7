#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin agent_config; the code is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_config
short_description: Configure the monitoring agent of a host with its client's keys
version_added: 1.0.0
description:
  - Writes the configuration of a host's agent from a template that sees the host's client, or removes it.
  - Inspects the host with a shell command. If something differs, more commands find out what, and write the file.
    Needs no Python on the host.
  - Over a connection that passes no standard input, the content is transferred to a private temporary file first, as
    core does with modules.
  - The file is written in a private directory beside the path, C(.<name>.writing-<process>-<random>), and moved to
    the path when it is complete, with its owner and mode. If a run was killed, the next run removes that directory,
    and counts the host as changed. The directory of a writer that still runs is not touched.
  - If another user owns the directory of the file and changes it, the task fails, and does not write or remove a file
    elsewhere. A symbolic link among the parents is followed only if no other user can change it.
  - On a file system that ignores permissions, such as CIFS, the task fails if other users could read the file.
  - A file that is a mount can be neither replaced nor removed.
  - At most 64 KiB are read or written.
  - Returns whose key the host carried before, so that clones are found, and warns of the key of another client.
  - The template is rendered with placeholders, which are then replaced by the client's secrets. So no message of a
    template shows a secret. A template that transforms a secret, or whose text differs each time, is refused.
    A comparison with a secret compares a placeholder, so its result is wrong without an error. Options that hold a
    secret are refused.
  - Cannot be delegated. On a Windows host or a network device O(state=present) fails, and O(state=absent) does nothing.
  - Calls no API. Use M(monitor.cloud.monitor_clients) first.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.changes, monitor.cloud._shared.client]
options:
  path:
    description: Absolute path of the file on the host. A symbolic link there is replaced, not followed.
    type: str
    required: true
  template:
    description:
      - Template of the file, looked up as M(ansible.builtin.template) does. It sees C(client), with C(api_key) and
        C(install_code), and C(label).
      - Required with O(state=present), unless O(content) is given.
    type: str
  settings:
    description:
      - More settings for O(template), which sees them as C(agent_settings), a sorted dictionary of texts. The template
        V(agent.conf.j2) of the role writes C(name = value) for each, after the two secrets.
      - A value is a text without line breaks, a number, a boolean (written as C(true) or C(false)), or a list of these
        (written with commas). A name has letters, digits and C(_.-) only, and is not C(api_key) or C(install_code).
    type: dict
    default: {}
  content:
    description:
      - The text of the file. C(@api_key@) and C(@install_code@) stand for the two secrets. The text can't use
        C(client), because Ansible renders arguments before the client is known.
    type: raw
  state:
    description: Whether the file has to exist.
    type: str
    choices: [present, absent]
    default: present
  inventory_label:
    description: The label that the inventory gives the host, empty for none. The task fails if O(label) differs, which
      a play or a task can set for all hosts at once.
    type: raw
  base_url:
    description:
      - With O(registration) of M(monitor.cloud.monitor_client_info), the task fails if O(base_url), O(api_token) and
        O(brand) differ from those by which that task read the account. Nothing is sent to the service.
      - If empty, the environment variable E(MONITOR_BASE_URL) counts. The account is not compared if O(base_url),
        O(api_token), O(brand) and O(inventory_label) are not set.
    type: str
  api_token:
    description: As O(base_url), with E(MONITOR_API_TOKEN).
    type: str
  brand:
    description: As O(base_url), with E(MONITOR_BRAND).
    type: str
  removed:
    description: Name of the variable that lists the clients that the same run has removed, each as the
      C(account_fingerprint) of M(monitor.cloud.monitor_client_info), a space and the label. If the host's client is
      listed, O(state=present) fails, because each run would delete the client and create another one.
    type: str
  owner:
    description: User that owns the file, by name or number. If empty or not set, the user who writes the file.
    type: str
  group:
    description: Group of the file, by name or number. If empty or not set, the group of the user who writes the file,
      or of the directory if that has the setgid bit.
    type: str
  mode:
    description:
      - Permissions of the file, as octal digits in quotes, with which the owner can read it. A number without quotes is
        refused, because YAML reads C(0640) and C(640) as different numbers.
      - If the file has an ACL, O(mode) sets what owner, group and others may do. The entries for other users and
        groups, and the mask, stay when the file is replaced, for which the host needs C(getfacl) and C(setfacl).
      - The ACL is not kept if another user than root and the user who writes can change the directory, or if the file
        gets another owner and was not root's, because such a user could have set the ACL.
    type: raw
    default: "0600"
  before_install:
    description:
      - Whether the agent is installed afterwards, which can add O(owner) and O(group). If the host does not have them
        yet, nothing is written, and RV(owner_missing) is true. Run this module once more after the installation.
    type: bool
    default: false
  before_uninstall:
    description: With O(state=absent), whether the agent is uninstalled before its configuration is removed. Then this
      task only checks, and removes nothing. Run this module once more after the agent is uninstalled.
    type: bool
    default: false
  create_directory:
    description: Whether to create the directory of the file, with mode V(0755), if it is missing.
    type: bool
    default: true
  backup:
    description:
      - Whether to keep an old file with other content, beside the new file, with a process number and the date in its
        name. Only the user who writes owns and can read the old file.
      - An old file of more than 64 KiB is refused. Needs a file system with hard links. The target of a symbolic link
        gets no backup, because it stays unchanged.
    type: bool
    default: false
  service:
    description:
      - Service that reads the file. It has to be restarted, by a handler, after each change.
      - Before a change, a marker is made beside the path, an empty file C(.<name>.restart-<random>). As long as a
        marker exists, the task is changed, with V(restart) among RV(differs), and notifies the handler. So no restart
        is lost if a run is killed, or if a restart fails.
      - After the restart, the handler has to run this module once more, with O(restarted).
      - If empty or not set, no marker is left, and existing markers are ignored. O(state=absent) removes all markers.
    # The type str would turn false into a service "False".
    type: raw
  inspect_service:
    description: Whether O(service_started) and O(service_enabled) count.
    type: bool
    default: true
  service_started:
    description: Whether O(service) has to run. If the service does not run, RV(service_differs) has V(state); the task
      does not start the service. Inspected by the same command as the file.
    type: bool
    default: false
  service_enabled:
    description: As O(service_started), whether O(service) has to start at boot, with V(enabled) in
      RV(service_differs). Inspected with systemd only.
    type: bool
    default: false
  restarted:
    description: RV(restart_markers) of the task that notified the handler. The task then only removes these markers,
      and reports no change. Other markers stay, because their changes may be later than the restart.
    type: list
    elements: str
seealso:
  - module: monitor.cloud.monitor_clients
"""

EXAMPLES = r"""
- name: Register all hosts at once
  monitor.cloud.monitor_clients:
    base_url: "{{ monitor_base_url }}"
    api_token: "{{ monitor_api_token }}"
    labels: "{{ (ansible_play_batch | monitor.cloud.client_labels(hostvars)).values() | list }}"
    seal_keys: true
  register: registered
  run_once: true
  delegate_to: localhost

- name: Write both values on each host
  monitor.cloud.agent_config:
    path: /etc/monitor/agent.conf
    content: |
      install_code=@install_code@
      api_key=@api_key@
    registration: registered
  become: true

# The template is one of yours, in templates/ beside the playbook.
- name: Write the configuration that a service reads, so that no restart is lost
  monitor.cloud.agent_config:
    path: /etc/monitor/agent.conf
    template: agent.conf.j2
    registration: registered
    service: monitor-agent
  become: true
  register: configured
  notify: Restart the agent

# The handlers. If the restart fails, the second handler does not run, and the next run restarts the agent.
#
# - name: Restart the agent
#   ansible.builtin.service:
#     name: monitor-agent
#     state: restarted
#   become: true
#
# - name: Record that the agent was restarted
#   listen: Restart the agent
#   monitor.cloud.agent_config:
#     path: /etc/monitor/agent.conf
#     restarted: "{{ configured.restart_markers }}"
#   become: true

- name: Remove the configuration
  monitor.cloud.agent_config:
    path: /etc/monitor/agent.conf
    state: absent
  become: true
"""

RETURN = r"""
path:
  description: Path of the file.
  returned: success
  type: str
  sample: /etc/monitor/agent.conf
label:
  description: Label of the host's client.
  returned: success, without O(restarted)
  type: str
  sample: web1
state:
  description: The option O(state).
  returned: success, without O(restarted)
  type: str
  sample: present
before_uninstall:
  description: Whether the removal was only checked because of O(before_uninstall).
  returned: success, without O(restarted)
  type: bool
registered:
  description: Whether the host has a client. Without one, if O(registration) names a result of
    M(monitor.cloud.monitor_client_info), everything else is checked and nothing is written. Always true with
    O(state=absent).
  returned: success, without O(restarted)
  type: bool
key_owner:
  description: Whose key the file carried before the task. V(no_file), V(no_key), V(own), V(other) for the key of
    another client of the account, V(unknown) for a key of no client of the account, or V(unverifiable) if the keys are
    masked or the file cannot be read.
  returned: success, without O(restarted)
  type: str
  sample: other
owner_label:
  description: Label of the client whose key the file carried before; null if not known.
  returned: success, without O(restarted)
  type: str
  sample: db1
key_fingerprint:
  description: First 12 hexadecimal digits of the SHA-256 of the key that the file carried before; null for none.
  returned: success, without O(restarted)
  type: str
  sample: 1f3a5c7e9b2d
differs:
  description:
    - What differed from the desired file. Any of V(content), V(type) (it was a symbolic link), V(owner), V(group),
      V(mode), V(leftovers) (a private directory of a run that was killed), V(restart) (O(service) was not
      restarted since an earlier change). Without a file, only V(content) and V(restart). Empty if there was nothing
      to do.
    - A missing or additional final newline is not a difference, because agents write such files themselves.
    - If the keys are masked, the content is not compared.
  returned: success, with O(state=present)
  type: list
  elements: str
  sample: [mode]
permissions:
  description: Owner, group and mode as far as they differed, each as found and as expected.
  returned: success, with O(state=present)
  type: dict
  sample: {mode: {found: "0644", expected: "0600"}}
owner_missing:
  description: Whether nothing was written because the host does not have the owner or group yet, with
    O(before_install=true).
  returned: success, with O(state=present), if there was something to write
  type: bool
  sample: false
restart_markers:
  description: Markers of pending restarts, for O(restarted). In check mode, only markers of earlier runs.
  returned: success, with O(service) and O(state=present)
  type: list
  elements: str
  sample: [3f9a01bc]
service_state:
  description: State of O(service), as C(systemctl is-active) reports it before the task. V(active), V(reloading) and
    V(refreshing) mean that the service runs. Without systemd, V(active) or V(inactive) as the init script reports it.
    Null without systemd and init script, or without a service.
  returned: success, with O(service_started=true) or O(service_enabled=true), and O(state=present)
  type: str
  sample: active
service_differs:
  description: V(state) and V(enabled), if the service is not as O(service_started) and O(service_enabled) require.
  returned: success, without O(restarted)
  type: list
  elements: str
  sample: [enabled]
"""
