# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that resolve the findings of an audit: which playbook, and for which hosts or labels. Pure."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import is_plain_name
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import is_too_small
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

# The kind of a step is a state, or: not_audited, for hosts in none of the joined audits; renamed, for hosts that can
# keep the client whose key they carry; clones, for hosts that share a key of unknown owner; absent, for hosts that are
# not to be monitored; undecided, for hosts whose step depends on keys of hosts outside the audit; orphans; plan.
OPTIONS = "Run each command with the options of this run (-i, --become, -e), except --limit and paths of reports."
_NEW_AUDIT = "not_audited.json"
_LATER = " Names have moved on from host to host: run the command again until no host is left to adopt."
_MOVED = (
    " First check {}: no other host carries the key, so the host may be a renamed machine that a rollout registered "
    "again. To keep its history, delete the client that has the host's label now (monitor_client), then adopt."
)
_PARTIAL = (
    "This audit does not have all hosts, and others may carry the keys of these clients. Audit the whole inventory, or "
    "join audits of all its hosts with the playbook report."
)
_SPECIAL = " Not in the command, because of their special characters: {}. {}"
_TITLES = {
    **findings.TITLES,
    "not_audited": "Not in any of the audits",
    "renamed": "Renamed hosts",
    "clones": "Same key on several hosts",
    "absent": "Monitoring to be removed",
    "undecided": "Undecided without the other hosts",
    "orphans": "Clients without a host",
    "plan": "The plan is too small",
}
# Kind of a step → what to do, the worst first.
_TEXTS: dict[str, str] = {
    "unreachable": "Find out why Ansible can't reach these hosts, then audit again.",
    "not_audited": f"These hosts are in none of the joined audits. Audit them, and join {_NEW_AUDIT} too.",
    "foreign_key": "These hosts carry the key of another client, so their data arrives under its label. Most are "
    "clones: give each host its own key. A host that shares its own key needs no change. If the next audit reports the "
    "other host instead, both are one machine: remove one from the inventory.",
    "renamed": "Renamed machines: they carry the key of a client whose host is gone, or is not to be monitored any "
    "more, and have no client of their own. Keep that client with its history, under the label of the host.",
    "unknown_key": "The key belongs to no client of this account. Give each host the key of its own client.",
    "clones": "Clones: their data is mixed. The owner of the key is unknown while keys are masked: audit again with a "
    "token that has read-write access, then give each host its own key.",
    "not_registered": "The account has no client for these hosts. Register and configure them.",
    "not_configured": "The host has a client, but no key. Configure the host.",
    "unverifiable": "Correct what the finding names; or audit again with a token that has read-write access, as a user "
    "who may read the configuration (--become).",
    "outdated": "The key is right, but the rest of the file differs, or a killed run left files beside it.",
    "restart_pending": "A run changed the configuration, and then was killed or could not restart the agent.",
    "agent_stopped": "Start the agent's service. If it stops again, see its log: systemctl status SERVICE.",
    "agent_disabled": "Enable the agent's service, so that the agent starts at boot.",
    "wrong_permissions": "Owner, group or mode of the configuration is not as expected.",
    "absent": "monitor_agent_state of these hosts is absent. The command removes the configuration, and the client "
    "with all its data.",
    "undecided": f"Renamed machines, clones, or hosts that are not to be monitored. {_PARTIAL}",
}
# Kind of a step → playbook, if it is not rollout; None for no playbook.
_PLAYBOOKS: dict[str, str | None] = {
    "undecided": None,
    "renamed": "adopt",
    **dict.fromkeys(("unreachable", "not_audited", "clones", "unverifiable"), "audit"),
}
# The default of prune_limit, above which monitor_clients deletes nothing.
_PRUNE_LIMIT = 10


@dataclasses.dataclass(frozen=True)
class Step:
    """What to do about hosts or labels (``names``). ``command`` is a list of arguments, empty for none."""

    kind: str
    text: str
    names: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return _TITLES[self.kind]

    @property
    def heading(self) -> str:
        """The title, with the id of the state that the step is about."""
        return findings.titled(self.kind) if self.kind in findings.TITLES else self.title

    @property
    def shell(self) -> str:
        return shlex.join(self.command)


def steps(report: findings.Report, *, limited: bool, unreadable: Sequence[str] = ()) -> list[Step]:
    """What to do, the worst first, after the plan: with too small a plan other steps can fail.

    ``limited``: the audit does not have all hosts. The labels of ``unreadable`` hosts are unknown. In both cases only
    steps are proposed that are right whatever key or label these other hosts have.
    """
    limited = limited or bool(unreadable) or not all(one.audited for one in report.hosts)
    groups: dict[str, list[findings.Host]] = {}
    for finding in report.hosts:
        groups.setdefault(_kind_of(finding, limited), []).append(finding)
    found = [_host_step(kind, groups[kind], report.orphans) for kind in _TEXTS if kind in groups]
    return [*_plan_step(report), *found, *_orphan_step(report, limited, unreadable)]


def _kind_of(finding: findings.Host, limited: bool) -> str:
    if not finding.audited:
        return "not_audited"
    if finding.state == "shared_key" and "unverifiable" in finding.states:
        return "clones"
    if finding.state == "not_registered" and finding.adoption == "unknown":
        # The host may be a renamed one, whose client a rollout would replace.
        return "unverifiable"
    # shared_key has no step, because another host has the wrong key.
    state = next((one for one in finding.states if one in _TEXTS), finding.state)
    # A rollout removes the monitoring of an absent host, so its other findings need no step.
    if finding.absent and state in _TEXTS.keys() - {"unreachable", "unverifiable"}:
        # In a limited audit another, renamed host may carry the key of the client, and could keep the client.
        return "undecided" if limited and finding.facts["key_owner"] != "own" else "absent"
    if finding.renamed:
        return "undecided" if limited else "renamed"
    # A host that shares its key is a clone, not a renamed host.
    return "undecided" if limited and state == "foreign_key" and not finding.shared_with else state


def _host_step(kind: str, found: Sequence[findings.Host], orphans: Sequence[str]) -> Step:
    text, playbook = _TEXTS[kind], _PLAYBOOKS.get(kind, "rollout")
    hosts = tuple(one.host for one in found)
    moved = [one.host for one in found if not one.shared_with and one.owner_label in orphans]
    if kind == "foreign_key" and moved:
        text += _MOVED.format(findings.named(moved))
    if kind == "renamed" and any(one.adoption == "later" for one in found):
        text += _LATER
    if playbook is None:
        return Step(kind, text, hosts)
    plain = [host for host in hosts if is_plain_name(host)]
    if special := [host for host in hosts if not is_plain_name(host)]:
        text += _SPECIAL.format(findings.named(special), "Choose these hosts by a group.")
    report = ("-e", f"monitor_agent_audit_json={_NEW_AUDIT}") if kind == "not_audited" else ()
    command = ("ansible-playbook", f"monitor.cloud.{playbook}", *report, "--limit", ",".join(plain))
    return Step(kind, text, hosts, command if plain else ())


def _orphan_step(report: findings.Report, limited: bool, unreadable: Sequence[str]) -> list[Step]:
    # A client whose key a host carries is not pruned: adopt or rollout comes first.
    carried = {finding.owner_label for finding in report.hosts}
    labels = tuple(label for label in report.orphans if label not in carried)
    if limited or not labels:
        unknown = f" {findings.unknown_labels(unreadable)}" if unreadable else ""
        return [Step("orphans", _PARTIAL + unknown, labels)] if labels else []
    text = (
        "Clients of hosts that are gone, or of other users of this account. The command lists what would be deleted, "
        "with all data of these clients, and a digest of the list. To delete them, add -e prune_confirm=DIGEST."
    )
    if len(labels) > _PRUNE_LIMIT:
        text += f" Set prune_limit too, even for the list, because these are more than {_PRUNE_LIMIT} clients."
    if report.unidentified:
        hosts = findings.named(report.unidentified)
        text += f" First find out whose key is on {hosts}: adopt lets a renamed host keep its client."
    if special := [label for label in labels if not is_plain_name(label)]:
        text += _SPECIAL.format(findings.named(special), "Choose these labels by a prune_pattern of your own.")
    pattern = "|".join(label.replace(".", "[.]") for label in labels if is_plain_name(label))
    command = ("ansible-playbook", "monitor.cloud.prune", "-e", f"prune_pattern={pattern}") if pattern else ()
    return [Step("orphans", text, labels, command)]


def _plan_step(report: findings.Report) -> list[Step]:
    account = report.account
    if not is_too_small(account):
        return []
    included, needed = account["clients_included"], account["clients_used"] + account["clients_missing"]
    text = f"The plan includes {included} clients, and {needed} are needed."
    if not account["next_tier"]:
        return [Step("plan", f"{text} No tier is known that includes as many: prune first, or ask the provider.")]
    return [Step("plan", f"{text} Prune first, or switch to a larger plan: monitor_plan with min_clients: {needed}.")]
