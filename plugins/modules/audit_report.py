#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the module audit_report. plugins/action/audit_report.py contains the code."""

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_report
short_description: Report which hosts are monitored, and which keys they use
version_added: 1.0.0
description:
  - Reads the registered results of M(monitor.cloud.monitor_client_info) and M(monitor.cloud.agent_info). Shows a table,
    and writes the report as JSON, JUnit XML, HTML and metrics if requested.
  - The states of the hosts come from the same decision that M(monitor.cloud.fleet_changes) makes for a rollout.
  - With O(audits) or O(audits_variables), the facts of the hosts come from the audits of other runs. The report
    combines these facts with the present account and the present inventory.
  - Runs on the controller, once for all hosts of the play. Sends no requests, connects to no host, changes nothing.
  - The entry points C(audit) and C(report) of the role P(monitor.cloud.monitor_agent#role) run all tasks of an audit.
extends_documentation_fragment: [monitor.cloud._shared, monitor.cloud._shared.info, monitor.cloud._shared.account]
options:
  inspected:
    description: Name of the variable in which each host has the result of a M(monitor.cloud.agent_info) task. Required,
      unless O(audits) or O(audits_variables) is given. Cannot be used with O(audits) or O(audits_variables).
    type: str
  audits:
    description:
      - The audits to join. Each item is the path of a file that O(json) wrote on the controller, or a pattern of paths.
      - If several audits contain a host, the latest audit counts. An audit from the future counts only for hosts
        without another audit. The report also lists hosts that an audit contains, but the inventory does not.
      - A host without an audit is V(unreachable). The report determines the owner of each key again, because clients
        may have been renamed or deleted after the audit.
      - All audits must have the C(schema_version) of this version of the collection.
    type: list
    elements: str
  audits_variables:
    description: Regular expression. The variables whose whole name matches contain the audits to join, such as
      artifacts of other jobs. Ansible does not render text in these variables as templates.
    type: str
  max_age:
    description: Hours after which an audit is stale. The report still uses a stale audit, but names it and counts it as
      drift. V(0) allows any age. An audit from the future is always stale.
    type: float
    default: 24.0
  plan:
    description: Name of the variable with the result of a M(monitor.cloud.monitor_plan_info) task.
    type: str
  subscriptions:
    description: Name of the variable with the result of a M(monitor.cloud.monitor_subscription_info) task.
    type: str
  orphan_pattern:
    description:
      - Regular expression for labels of orphans. A client is an orphan if no host of the inventory has its label, no
        inspected host carries its key, and the expression matches the whole label.
      - If the client of a renamed host does not match, the report does not propose to adopt this client.
    type: str
    default: .*
  adopt:
    description:
      - Whether to show which renamed hosts can keep their clients, instead of the report. A host keeps the client whose
        key is in its configuration.
      - Shows only hosts of the batch, writes no file, and returns neither RV(drift) nor RV(report).
    type: bool
    default: false
  json: {description: Path on the controller for the report as JSON., type: str}
  junit: {description: "Path on the controller for the report as JUnit XML, with a test case for each host.", type: str}
  html: {description: Path on the controller for the report as one HTML page that needs no network., type: str}
  metrics:
    description:
      - Path on the controller for metrics that count hosts and clients, in the OpenMetrics text format, for a textfile
        collector. The collector of Prometheus' node_exporter reads files whose names end in C(.prom).
      - The file is replaced atomically, and all users can read the file. The names of all metrics begin with
        C(monitor_cloud_), for any brand of the service.
    type: str
  metrics_hosts:
    description: Whether the file O(metrics) also contains the name and the state of each host.
    type: bool
    default: false
  artifact:
    description:
      - Name of the artifact that passes the report to later jobs, as M(ansible.builtin.set_stats) does. The artifact
        contains no key.
      - Cannot be used with O(fail_on_drift), because Ansible discards the artifact of a failed task.
      - With O(inspected) and O(artifact), the report proposes neither adopt nor prune, because the run may have only a
        slice of the inventory.
    type: str
  fail_on_drift:
    description: Whether to fail after the report was written if RV(drift) is true.
    type: bool
    default: false
seealso:
  - module: monitor.cloud.agent_info
  - module: monitor.cloud.fleet_changes
  - module: monitor.cloud.monitor_clients
"""

EXAMPLES = r"""
- name: Read the account
  monitor.cloud.monitor_client_info:
    seal_keys: true
  register: account
  run_once: true
  delegate_to: localhost

# Write the template agent.conf.j2 into the directory templates beside the playbook.
- name: Inspect each host
  monitor.cloud.agent_info:
    path: /etc/monitor/agent.conf
    template: agent.conf.j2
    registration: account
  ignore_unreachable: true
  register: inspected
  ignore_errors: true

- name: Show and write the report
  monitor.cloud.audit_report:
    account: account
    inspected: inspected
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
    - Whether a host has another state than V(ok), an orphan exists, or a joined audit is stale.
    - A host does not count as drift if its only state is V(unverifiable), the token can read no key of the account, and
      the file of the host has a key.
    - A host counts as drift if it is V(unverifiable) for another reason, such as an undefined variable, an unreadable
      file or a failed inspection.
  returned: success, or failure because of drift, once the last host was inspected
  type: bool
report:
  description:
    - The report, as in the file O(json). C(docs/audit.schema.json) in the collection describes its members.
    - The C(state) of a host is the first of its C(states). The order of the states is V(unreachable), V(foreign_key),
      V(unknown_key), V(shared_key), V(other_label), V(not_registered), V(not_configured), V(unverifiable), V(outdated),
      V(restart_pending), V(agent_stopped), V(agent_disabled), V(wrong_permissions) and V(ok).
  returned: success, once the last host was inspected
  type: dict
files:
  description: Absolute paths of the written files, by the option (V(json), V(junit), V(html) or V(metrics)).
  returned: success, or failure because of drift
  type: dict
"""
