# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that resolve the findings of an audit: advice and a command for each kind of finding. Pure."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import is_plain_name
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import is_too_small
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

OPTIONS = (
    "Run the commands in the directory in which the audit was started. Add options that the report does not know, such "
    "as --become, extra variables and vault passwords."
)
# Titles of the steps that do not repair a state of hosts, by kind.
_TITLES = {
    "same_machine": "One machine with several names",
    "renamed": "Renamed hosts",
    "rollout": "All that a rollout repairs",
    "absent": "Monitoring to be removed",
    "undecided": "Undecided without the other hosts",
    "orphans": "Clients without a host",
    "plan": "The plan is too small",
}
_PARTIAL = "Audit the whole inventory, or join audits of all its hosts (report): other hosts may carry the same keys."
# The playbook (empty if no command helps) and the advice for each kind, in the order of work. A rollout gives renamed
# hosts the keys of other clients, so adopt comes before rollout.
_STEPS: dict[str, tuple[str, str]] = {
    "unreachable": ("audit", "Find out why these hosts were not inspected, then audit the hosts again."),
    "same_machine": ("", "Keep one name of each machine in the inventory, then audit again. A rollout would fail."),
    "renamed": ("adopt", "Let these renamed hosts keep their clients, with the history, then audit again."),
    "rollout": ("rollout", "Run this command instead of the rollout commands for the same hosts below."),
    "foreign_key": ("rollout", "Give each host the key of its own client. The hosts are probably clones."),
    "unknown_key": ("rollout", "Give each host the key of its own client in this account."),
    "not_registered": ("rollout", "Register and configure these hosts."),
    "not_configured": ("rollout", "Configure these hosts: the account has their clients, but the hosts have no keys."),
    "unverifiable": (
        "audit",
        "Fix the cause that the finding names, then audit again. User and token need read access.",
    ),
    "outdated": ("rollout", "Write the configuration again: the key is right, but the rest of the file differs."),
    "restart_pending": ("rollout", "Restart the agents: the agents have not read the new configuration."),
    "agent_stopped": ("rollout", "Start the agents. If an agent stops again, read the log on its host"),
    "agent_disabled": ("rollout", "Let the agents start at boot."),
    "wrong_permissions": ("rollout", "Fix owner, group and mode of the configuration."),
    "absent": ("rollout", "monitor_agent_state is absent: remove the configuration, and the client with all its data."),
    "undecided": ("", f"These hosts were renamed, cloned, or are to be removed. {_PARTIAL}"),
}
_REPAIRED = {kind for kind, (playbook, _text) in _STEPS.items() if playbook == "rollout"} - {"rollout", "absent"}


@dataclasses.dataclass(frozen=True)
class Step:
    """Advice to the user about hosts or labels (``names``), and a command line (``shell``), which can be empty."""

    kind: str
    text: str
    names: tuple[str, ...] = ()
    shell: str = ""

    @property
    def heading(self) -> str:
        """The title, with the id of the state if the kind of the step is a state."""
        return findings.titled(self.kind) if self.kind in findings.TITLES else _TITLES[self.kind]


def steps(
    report: findings.Report, *, limited: bool, sources: Sequence[str] = (), unreadable: Sequence[str] = ()
) -> list[Step]:
    """Return the steps in the order of work. If the plan is too small, rollouts can fail, so the plan comes first.

    ``limited``: the audit lacks hosts of the inventory. ``unreadable``: hosts whose label is unknown. Leave out
    steps that can be wrong if the audit lacks a host, or a label is unknown. ``sources``: files of the inventory.
    """
    limited = limited or bool(unreadable) or not all(finding.audited for finding in report.hosts)
    groups: dict[str, list[findings.Host]] = {}
    for finding in report.hosts:
        groups.setdefault(_kind_of(finding, limited), []).append(finding)
    variables: dict[str, str] = {}
    labels, clones = {finding.label for finding in report.hosts}, groups.get("foreign_key", ())
    # If a host has the key of an orphan, a rollout creates a new client only with monitor_agent_replace_key.
    if any("not_registered" in finding.states and finding.facts["owner_label"] not in labels for finding in clones):
        variables["foreign_key"] = "monitor_agent_replace_key=true"
    alike = [kind for kind in groups if kind in _REPAIRED - variables.keys()]
    if len(alike) > 1:
        groups["rollout"] = [finding for kind in alike for finding in groups[kind]]
    kinds = [kind for kind in _STEPS if kind in groups]
    host_steps = [_host_step(kind, groups[kind], sources, variables.get(kind, "")) for kind in kinds]
    return [*_plan_step(report), *host_steps, *_orphan_step(report, limited, sources, unreadable)]


def _command(playbook: str, sources: Sequence[str], *options: str) -> str:
    inventory = [part for source in sources for part in ("-i", source)]
    return shlex.join(["ansible-playbook", *inventory, f"monitor.cloud.{playbook}", *options])


def _kind_of(finding: findings.Host, limited: bool) -> str:
    if finding.same_machine and finding.state != "ok":
        return "same_machine"
    if finding.state == "not_registered" and finding.adoption == "unknown":
        # The host may be renamed. A rollout would give a renamed host a new client.
        return "unverifiable"
    state = next((state for state in finding.states if state in _STEPS), finding.state)
    # A rollout removes the monitoring of an absent host, so other findings of this host need no step.
    if finding.absent and state in _STEPS.keys() - {"unreachable", "unverifiable"}:
        # A renamed host that is not in the limited audit may carry the key of this client, and could keep the client.
        return "undecided" if limited and finding.facts["key_owner"] != "own" else "absent"
    kind = "renamed" if finding.renamed else state
    # A host that shares its key is a clone, not a renamed host.
    return "undecided" if limited and kind in ("renamed", "foreign_key") and not finding.shared_with else kind


def _host_step(kind: str, affected: Sequence[findings.Host], sources: Sequence[str], variable: str) -> Step:
    playbook, text = _STEPS[kind]
    if kind == "agent_stopped":
        services = sorted({str(finding.facts["service"]) for finding in affected})
        text += f": {shlex.join(['journalctl', *(part for name in services for part in ('-u', name))])}."
    hosts = tuple(finding.host for finding in affected)
    plain, text = _without_special(hosts, text, "Choose these hosts by a group.")
    options = [*(("-e", variable) if variable else ()), "--limit", ",".join(plain)]
    return Step(kind, text, hosts, _command(playbook, sources, *options) if playbook and plain else "")


def _without_special(names: Sequence[str], text: str, choose: str) -> tuple[list[str], str]:
    """Return the names that a command can contain, and the advice with a list of the other names."""
    special = [name for name in names if not is_plain_name(name)]
    if special:
        text += f" The command leaves out names with special characters: {findings.named(special)}. {choose}"
    return [name for name in names if name not in special], text


def _orphan_step(
    report: findings.Report, limited: bool, sources: Sequence[str], unreadable: Sequence[str]
) -> list[Step]:
    # If a host carries the key of a client, adopt or rollout comes before prune.
    carried = {finding.facts["owner_label"] for finding in report.hosts}
    labels = tuple(label for label in report.orphans if label not in carried)
    if not labels:
        return []
    if limited:
        unknown = f" {findings.unknown_labels(unreadable)}" if unreadable else ""
        return [Step("orphans", _PARTIAL + unknown, labels)]
    text = "Delete the clients of hosts that are gone. The command asks first. Other users may own some of them."
    if hosts := [finding.host for finding in report.hosts if finding.adoption == "unknown"]:
        text += f" First find out whose key is on {findings.named(hosts)}: adopt lets a renamed host keep its client."
    plain, text = _without_special(labels, text, "Choose these labels by your own prune_pattern.")
    pattern = "|".join(label.replace(".", "[.]") for label in plain)
    options = ["-e", f"prune_pattern={pattern}", "-e", f"prune_limit={len(plain)}"]
    command = f"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true {_command('prune', sources, *options)}"
    return [Step("orphans", text, labels, command if plain else "")]


def _plan_step(report: findings.Report) -> list[Step]:
    account = report.account
    if not is_too_small(account):
        return []
    included, needed = account["clients_included"], account["clients_used"] + account["clients_missing"]
    larger = f"switch to a larger plan (monitor_plan, min_clients: {needed})"
    larger = larger if account["next_tier"] else "ask the provider"
    return [Step("plan", f"The plan includes {included} clients, but {needed} are needed: prune first, or {larger}.")]
