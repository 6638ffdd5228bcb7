# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that resolve the findings of an audit: one sentence, and one command to paste, for each kind. Pure."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Collection, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import is_plain_name
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import is_too_small
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

OPTIONS = (
    "Run the commands in the directory of this run. Add its options that a report can't know, such as --become, extra "
    "variables and vault passwords."
)
_NEW_AUDIT = "not_audited.json"
# Kinds that are no states: hosts in none of the joined audits; hosts that can keep the client whose key they carry;
# all hosts that one rollout repairs; hosts not to be monitored; hosts whose step depends on others.
_TITLES = {
    **findings.TITLES,
    "not_audited": "Not in any of the audits",
    "renamed": "Renamed hosts",
    "rollout": "All that a rollout repairs",
    "absent": "Monitoring to be removed",
    "undecided": "Undecided without the other hosts",
    "orphans": "Clients without a host",
    "plan": "The plan is too small",
}
_PARTIAL = "Audit the whole inventory, or join audits of all its hosts (report): other hosts may carry the same keys."
# Kind → playbook (empty: none) and what to do. Not shared_key: another host has the wrong key. Renamed hosts come
# before rollouts, which would give them the keys of other clients.
_STEPS: dict[str, tuple[str, str]] = {
    "unreachable": ("audit", "Find out why Ansible can't reach these hosts, then audit again."),
    "not_audited": ("audit", f"Audit these hosts, and join {_NEW_AUDIT} too."),
    "renamed": ("adopt", "Let these renamed hosts keep their clients, with the history, then audit again."),
    "rollout": ("rollout", "One command instead of the next ones, except those with another option."),
    "foreign_key": ("rollout", "Give these hosts, mostly clones, the keys of their own clients."),
    "unknown_key": ("rollout", "Give these hosts the keys of their own clients in this account."),
    "not_registered": ("rollout", "Register and configure these hosts."),
    "not_configured": ("rollout", "Configure these hosts: they have a client, but no key."),
    "unverifiable": (
        "audit",
        "Correct what the finding names, then audit again with a user and token that may read.",
    ),
    "outdated": ("rollout", "Write the configuration again: the key is right, the rest differs."),
    "restart_pending": ("rollout", "Restart the agents: they have not read their configuration."),
    "agent_stopped": ("rollout", "Start the agents. If one stops again, read its log on its host{log}."),
    "agent_disabled": ("rollout", "Let the agents start at boot."),
    "wrong_permissions": ("rollout", "Correct owner, group and mode of the configuration."),
    "absent": ("rollout", "Remove the configuration, and the client with all its data: monitor_agent_state is absent."),
    "undecided": ("", f"These hosts were renamed, cloned, or are to be removed. {_PARTIAL}"),
}
_REPAIRED = {kind for kind, (playbook, _text) in _STEPS.items() if playbook == "rollout"} - {"rollout", "absent"}
# The default of prune_limit.
_PRUNE_LIMIT = 10


@dataclasses.dataclass(frozen=True)
class Step:
    """What to do about hosts or labels (``names``). ``shell`` is a command line, empty for none."""

    kind: str
    text: str
    names: tuple[str, ...] = ()
    shell: str = ""

    @property
    def title(self) -> str:
        return _TITLES[self.kind]

    @property
    def heading(self) -> str:
        """The title, with the id of the state that the step is about."""
        return findings.titled(self.kind) if self.kind in findings.TITLES else self.title


def steps(
    report: findings.Report,
    *,
    limited: bool,
    sources: Sequence[str] = (),
    unreadable: Sequence[str] = (),
    services: Collection[str] = (),
) -> list[Step]:
    """What to do, in this order. The plan comes first, because other steps can fail if it is too small.

    ``limited``: the audit does not have all hosts. The labels of ``unreadable`` hosts are unknown. In both cases only
    steps are proposed that are right whatever key or label these other hosts have. ``sources`` of the inventory;
    ``services`` of stopped agents.
    """
    limited = limited or bool(unreadable) or not all(finding.audited for finding in report.hosts)
    groups: dict[str, list[findings.Host]] = {}
    for finding in report.hosts:
        groups.setdefault(_kind_of(finding, limited), []).append(finding)
    variables = {"not_audited": f"monitor_agent_audit_json={_NEW_AUDIT}"}
    labels, clones = {finding.label for finding in report.hosts}, groups.get("foreign_key", ())
    # Without it, a rollout makes no new client for a host that carries the key of a client without a host.
    if any("not_registered" in finding.states and finding.owner_label not in labels for finding in clones):
        variables["foreign_key"] = "monitor_agent_replace_key=true"
    alike = [kind for kind in groups if kind in _REPAIRED - variables.keys()]
    if len(alike) > 1:
        groups["rollout"] = [finding for kind in alike for finding in groups[kind]]
    log = f": journalctl {' '.join(f'-u {shlex.quote(name)}' for name in sorted(services))}" if services else ""
    kinds = [kind for kind in _STEPS if kind in groups]
    found = [_host_step(kind, groups[kind], sources, variables.get(kind, ""), log) for kind in kinds]
    return [*_plan_step(report), *found, *_orphan_step(report, limited, sources, unreadable)]


def _command(playbook: str, sources: Sequence[str], *options: str) -> str:
    inventory = [part for source in sources for part in ("-i", source)]
    return shlex.join(["ansible-playbook", *inventory, f"monitor.cloud.{playbook}", *options])


def _kind_of(finding: findings.Host, limited: bool) -> str:
    if not finding.audited:
        return "not_audited"
    if finding.state == "not_registered" and finding.adoption == "unknown":
        # The host may be a renamed one, whose client a rollout would replace.
        return "unverifiable"
    state = next((state for state in finding.states if state in _STEPS), finding.state)
    # A rollout removes the monitoring of an absent host, so its other findings need no step.
    if finding.absent and state in _STEPS.keys() - {"unreachable", "unverifiable"}:
        # In a limited audit another, renamed host may carry the key of the client, and could keep the client.
        return "undecided" if limited and finding.facts["key_owner"] != "own" else "absent"
    kind = "renamed" if finding.renamed else state
    # A host that shares its key is a clone, not a renamed host.
    return "undecided" if limited and kind in ("renamed", "foreign_key") and not finding.shared_with else kind


def _host_step(kind: str, found: Sequence[findings.Host], sources: Sequence[str], variable: str, log: str) -> Step:
    playbook, text = _STEPS[kind]
    hosts = tuple(finding.host for finding in found)
    plain, text = _without_special(hosts, text.format(log=log), "Choose these hosts by a group.")
    options = [*(("-e", variable) if variable else ()), "--limit", ",".join(plain)]
    return Step(kind, text, hosts, _command(playbook, sources, *options) if playbook and plain else "")


def _without_special(names: Sequence[str], text: str, choose: str) -> tuple[list[str], str]:
    """The names that can be in a command, and the text, which lists the other names."""
    special = [name for name in names if not is_plain_name(name)]
    if special:
        text += f" Not in the command, because of special characters: {findings.named(special)}. {choose}"
    return [name for name in names if name not in special], text


def _orphan_step(
    report: findings.Report, limited: bool, sources: Sequence[str], unreadable: Sequence[str]
) -> list[Step]:
    # A client whose key a host carries is not pruned: adopt or rollout comes first.
    carried = {finding.owner_label for finding in report.hosts}
    labels = tuple(label for label in report.orphans if label not in carried)
    if not labels:
        return []
    if limited:
        unknown = f" {findings.unknown_labels(unreadable)}" if unreadable else ""
        return [Step("orphans", _PARTIAL + unknown, labels)]
    text = "Delete clients of hosts that are gone: the command lists them, and asks. Others may use the account too."
    if hosts := [finding.host for finding in report.hosts if finding.adoption == "unknown"]:
        text += f" First find out whose key is on {findings.named(hosts)}: adopt lets a renamed host keep its client."
    plain, text = _without_special(labels, text, "Choose these labels by a prune_pattern of your own.")
    options = ["-e", "prune_pattern=" + "|".join(label.replace(".", "[.]") for label in plain)]
    options += ["-e", f"prune_limit={len(plain)}"] if len(plain) > _PRUNE_LIMIT else []
    command = f"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true {_command('prune', sources, *options)}"
    return [Step("orphans", text, labels, command if plain else "")]


def _plan_step(report: findings.Report) -> list[Step]:
    account = report.account
    if not is_too_small(account):
        return []
    included, needed = account["clients_included"], account["clients_used"] + account["clients_missing"]
    larger = f"switch to a larger one (monitor_plan, min_clients: {needed})"
    larger = larger if account["next_tier"] else "ask the provider"
    return [Step("plan", f"The plan includes {included} clients, and {needed} are needed: prune first, or {larger}.")]
