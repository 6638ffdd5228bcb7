#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin audit_report; the code is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_report
short_description: Report which hosts are monitored, and under whose key
version_added: 1.0.0
description:
  - Evaluates the registered results of M(monitor.cloud.monitor_client_info), and of M(monitor.cloud.agent_config) in
    check mode. Shows a table, and writes the report as JSON, JUnit XML, HTML and metrics if requested.
  - With O(audits), evaluates audits of other runs instead. The report then has the hosts as these audits inspected
    them, and the account and the inventory as they are now.
  - Runs on the controller, once for all hosts of the play. Calls no API, connects to no host, changes nothing.
  - The role P(monitor.cloud.monitor_agent#role) has all the tasks that are needed, in C(audit) and C(report).
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info, monitor.cloud._shared.account]
options:
  config:
    description: Name of the variable that holds the result of a M(monitor.cloud.agent_config) task in check mode, on
      each host. Required, unless O(audits) or O(audits_variables) is given.
    type: str
  audits:
    description:
      - The audits to join. Each is the path of a file that O(json) wrote on the controller, or a pattern of paths.
      - If several audits have a host, the latest counts. An audit from the future counts only for hosts that no other
        audit has. The report names hosts of audits that the inventory does not have.
      - A host that no audit has is V(unreachable). The owner of each key is determined again, because clients may have
        been renamed or deleted since.
    type: list
    elements: str
  audits_variables:
    description: Regular expression; variables whose whole name matches hold audits to join, such as artifacts of other
      jobs. No text in these variables is rendered as a template.
    type: str
  max_age:
    description: Hours after which an audit is stale; an audit from the future is stale too. The report names a stale
      audit, still uses it, and counts it as drift. V(0) allows any age.
    type: float
    default: 24.0
  plan:
    description: Name of the variable that holds the result of a M(monitor.cloud.monitor_plan_info) task.
    type: str
  subscriptions:
    description: Name of the variable that holds the result of a M(monitor.cloud.monitor_subscription_info) task.
    type: str
  orphan_pattern:
    description: Regular expression; a client is an orphan if the expression matches its whole label and no host of the
      inventory has that label.
    type: str
    default: .*
  adopt:
    description:
      - Whether to show, instead of the report, which renamed hosts can keep the client whose key they carry.
        RV(renames) has these clients. No file is written.
      - Fails if the label of a host of the inventory is unknown, because its client would count as one without a host.
    type: bool
    default: false
  json: {description: Path on the controller for the report as JSON., type: str}
  junit: {description: "Path on the controller for the report as JUnit XML, with a test case a host.", type: str}
  html: {description: Path on the controller for the report as one HTML page that needs no network., type: str}
  metrics:
    description:
      - Path on the controller for counts of the report as metrics, in the OpenMetrics text format, for a textfile
        collector. The collector of Prometheus' node_exporter reads files whose names end in C(.prom).
      - The file is replaced as a whole, and all users may read it. The names of the metrics begin with
        C(monitor_cloud_), with any brand of the service.
    type: str
  metrics_hosts:
    description: Whether O(metrics) also has a series for each host, with its name and state.
    type: bool
    default: false
  artifact:
    description:
      - Name under which the report is passed on to later jobs, as M(ansible.builtin.set_stats) does. It holds no key.
      - Cannot be used with O(fail_on_drift), because Ansible discards the artifact of a failed task.
      - With O(config), the report then proposes neither adopt nor prune, because the run may have a slice of the
        inventory.
    type: str
  fail_on_drift:
    description: Whether to fail, after the report, if RV(drift).
    type: bool
    default: false
seealso:
  - module: monitor.cloud.agent_config
  - module: monitor.cloud.monitor_clients
"""

EXAMPLES = r"""
- name: Read the account
  monitor.cloud.monitor_client_info:
    seal_keys: true
  register: account
  run_once: true
  delegate_to: localhost

# The template is one of yours, in templates/ beside the playbook.
- name: Inspect each host
  monitor.cloud.agent_config:
    path: /etc/monitor/agent.conf
    template: agent.conf.j2
    registration: account
  check_mode: true
  ignore_unreachable: true
  register: config
  failed_when: false

- name: Report
  monitor.cloud.audit_report:
    account: account
    config: config
    html: audit.html
    json: audits/web.json
    metrics: audit.prom
  run_once: true

- name: Join the audits of several runs, for the account and the inventory as they are now
  monitor.cloud.audit_report:
    account: account
    audits: ["audits/*.json"]
    html: audit.html
  run_once: true
"""

RETURN = r"""
drift:
  description:
    - Whether a host is in another state than V(ok), there is an orphan, or a joined audit is stale.
    - If the token reads the keys of no client, a host whose only finding is a key that cannot be compared is no drift.
  returned: success, or failure because of drift, once the last host was inspected
  type: bool
report:
  description:
    - The report, as O(json) has it. C(docs/audit.schema.json) in the collection describes its members.
    - The C(state) of a host is the first of its C(states), which are V(unreachable), V(foreign_key), V(unknown_key),
      V(shared_key), V(not_registered), V(not_configured), V(unverifiable), V(outdated), V(restart_pending),
      V(agent_stopped), V(agent_disabled), V(wrong_permissions) and V(ok).
  returned: success, once the last host was inspected
  type: dict
renames:
  description:
    - Clients of renamed hosts that can get the label of their host, old label to new label, as the option C(renames) of
      M(monitor.cloud.monitor_clients) takes them.
    - A client is left out if several hosts carry its key, if it belongs to another host of the inventory that is to be
      monitored, or if another client has the new label.
    - If names moved on from host to host, only the last client is returned. Audit again for the others.
  returned: success, once the last host was inspected
  type: dict
files:
  description: Absolute paths of the files that were written, by their kind.
  returned: success, or failure because of drift
  type: dict
"""
