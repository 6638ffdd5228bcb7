# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that resolve the findings of an audit: advice and a command for each kind of finding. Pure.

Each host with a finding gets one kind. The table _ADVICE has the advice and the playbook for each kind.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import is_plain_name
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import is_too_small
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import named
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.states import TITLES
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import Finding, Report, titled

OPTIONS = (
    "Run the commands in the directory in which the audit was started. Add options that the report does not know, such "
    "as --become, extra variables and vault passwords."
)
# Titles of the steps that do not repair a state of hosts, by kind.
_TITLES = {
    "same_machine": "One machine with several names",
    "renamed": "Renamed hosts",
    "rollout": "All that a rollout repairs",
    "clones": "Clones that need their own clients",
    "absent": "Monitoring to be removed",
    "undecided": "Undecided without the other hosts",
    "orphans": "Clients without a host",
    "plan": "The plan is too small",
}
_PARTIAL = "Audit the whole inventory, or join audits of all its hosts (report): other hosts may carry the same keys."
_PLAY_SETS_LABELS = (
    "If a play, a role or set_fact sets monitor_agent_label, the audit sees only the label of the inventory: set the "
    "label in the inventory, or run the audit in the same play (tasks_from: audit)."
)
# A sentence about the whole report: the labels of most hosts are probably wrong.
LABELS_DIFFER = (
    "More than half of the hosts carry the key of a client with another label, so the labels of this audit are "
    f"probably wrong. {_PLAY_SETS_LABELS} If the hosts were renamed, or their agents were configured by hand, check "
    "what monitor.cloud.adopt would rename: run it with --check. Until the labels are right, the report proposes "
    "neither adopt nor prune."
)


@dataclasses.dataclass(frozen=True)
class _Advice:
    """What to do about a kind of finding. ``playbook``: empty if no command helps. ``variable``: an extra variable."""

    text: str
    playbook: str = ""
    variable: str = ""


# The advice for each kind, in the order of work. adopt comes before rollout, because a rollout gives a renamed host the
# key of another client.
_ADVICE = {
    "unreachable": _Advice("Find out why these hosts were not inspected, then audit the hosts again.", "audit"),
    "same_machine": _Advice("Keep one name of each machine in the inventory, then audit again. A rollout would fail."),
    "renamed": _Advice("Let these renamed hosts keep their clients, with the history, then audit again.", "adopt"),
    "other_label": _Advice(
        "Each host carries the key of a client with another label, and adopt cannot keep this client. If a host was "
        "renamed, give its client the label of the host, by the id of the client (monitor_client). "
        f"{_PLAY_SETS_LABELS} To give a host a new client, run a rollout with -e monitor_agent_replace_key=true."
    ),
    "foreign_key": _Advice("Give each host the key of its own client. The hosts are probably clones.", "rollout"),
    "unknown_key": _Advice("Give each host the key of its own client in this account.", "rollout"),
    "not_registered": _Advice("Register and configure these hosts.", "rollout"),
    "not_configured": _Advice(
        "Configure these hosts: the account has their clients, but the hosts have no keys.", "rollout"
    ),
    "unverifiable": _Advice(
        "Fix the cause that the finding names, then audit again. User and token need read access.", "audit"
    ),
    "outdated": _Advice(
        "Write the configuration again: the key is right, but the rest of the file differs.", "rollout"
    ),
    "restart_pending": _Advice("Restart the agents: the agents have not read the new configuration.", "rollout"),
    "agent_stopped": _Advice("Start the agents.", "rollout"),
    "agent_disabled": _Advice("Let the agents start at boot.", "rollout"),
    "wrong_permissions": _Advice("Fix owner, group and mode of the configuration.", "rollout"),
    "rollout": _Advice("Run one rollout for these findings:", "rollout"),
    "clones": _Advice(
        "Give each host a new client: several hosts carry the same key, and no host of the inventory has the label of "
        "its client.",
        "rollout",
        "monitor_agent_replace_key=true",
    ),
    "absent": _Advice(
        "monitor_agent_state is absent: remove the configuration, and the client with all its data.", "rollout"
    ),
    "undecided": _Advice(f"These hosts were renamed, cloned, or are to be removed. {_PARTIAL}"),
}
# If there are several of these kinds, one rollout repairs all of them.
_REPAIRED = (
    "foreign_key",
    "unknown_key",
    "not_registered",
    "not_configured",
    "outdated",
    "restart_pending",
    "agent_stopped",
    "agent_disabled",
    "wrong_permissions",
)
_Groups = Mapping[str, Sequence[Finding]]


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
        if self.kind in TITLES:
            return titled(self.kind)
        return _TITLES[self.kind]


def steps(report: Report, *, limited: bool, sources: Sequence[str] = ()) -> list[Step]:
    """Return the steps in the order of work. If the plan is too small, rollouts can fail, so the plan comes first.

    ``limited``: the audit lacks hosts of the inventory, or does not know the labels of all hosts. Leave out steps that
    can be wrong then. ``sources``: files of the inventory.
    """
    limited = limited or not all(finding.host.audited for finding in report.hosts)
    groups: _Groups = _grouped(report, limited)
    repaired = [kind for kind in _REPAIRED if kind in groups]
    details = ""
    if len(repaired) > 1:
        details = _counts(repaired, groups)
        groups = _folded(repaired, groups)
    found = _plan_step(report)
    found += [_host_step(kind, groups[kind], sources, details) for kind in _ADVICE if kind in groups]
    if report.orphans:
        found.append(_orphan_step(report, limited, sources))
    return found


def _grouped(report: Report, limited: bool) -> dict[str, list[Finding]]:
    """Return the hosts that need a step, by kind. Each host has one kind."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.hosts:
        kind = _kind_of(finding, limited, report.labels_differ)
        if kind:
            groups.setdefault(kind, []).append(finding)
    return groups


def _kind_of(finding: Finding, limited: bool, labels_differ: bool) -> str:
    """Return the kind of the step for a host; empty if the host needs no step."""
    if finding.state == "ok":
        return ""
    if finding.same_machine:
        return "same_machine"
    if finding.facts is None and "unreachable" in finding.states:
        return "unreachable"
    if finding.facts is None:
        return "unverifiable"
    if finding.facts.is_absent:
        # A renamed host that is not in the limited audit may carry the key of this client, and could keep the client.
        if limited and finding.facts.key_owner != "own":
            return "undecided"
        return "absent"
    kind = _kind_of_key(finding, labels_differ)
    # A host that shares its key is a clone, not a renamed host.
    if limited and kind in ("renamed", "foreign_key") and not finding.shared_with:
        return "undecided"
    return kind


def _kind_of_key(finding: Finding, labels_differ: bool) -> str:
    """Return the kind for a host that must be monitored. The key of the host decides before the other states."""
    if labels_differ and (finding.is_renamed or "other_label" in finding.states):
        return "other_label"
    if finding.is_renamed:
        return "renamed"
    if "other_label" in finding.states and finding.shared_with:
        return "clones"
    if finding.adoption == "unknown" and "not_registered" in finding.states and not finding.shared_with:
        # The host may be renamed. A rollout would give a renamed host a new client.
        return "unverifiable"
    # The state shared_key has no advice: the rollout of the other hosts repairs it.
    return next((state for state in finding.states if state in _ADVICE), "")


def _counts(repaired: Sequence[str], groups: _Groups) -> str:
    return ", ".join(f"{titled(kind)}: {len(groups[kind])}" for kind in repaired)


def _folded(repaired: Sequence[str], groups: _Groups) -> _Groups:
    """Return the groups, with one group for all kinds that one rollout repairs."""
    rest = {kind: group for kind, group in groups.items() if kind not in repaired}
    together = [finding for kind in repaired for finding in groups[kind]]
    return {**rest, "rollout": together}


def _host_step(kind: str, affected: Sequence[Finding], sources: Sequence[str], repaired: str) -> Step:
    """Return the step of a kind. ``repaired``: the kinds that the step "rollout" repairs."""
    advice = _ADVICE[kind]
    names = tuple(finding.name for finding in affected)
    plain, special = _plain_names(names, "Choose these hosts by a group.")
    sentences = [advice.text]
    if kind == "rollout":
        sentences = [f"{advice.text} {repaired}."]
    services = _stopped_services(affected)
    if kind in ("agent_stopped", "rollout") and services:
        sentences.append(f"If an agent stops again, read the log on its host: {_journalctl(services)}.")
    text = " ".join([*sentences, *special])
    if not advice.playbook or not plain:
        return Step(kind, text, names)
    options = ["--limit", ",".join(plain)]
    if advice.variable:
        options = ["-e", advice.variable, *options]
    return Step(kind, text, names, _command(advice.playbook, sources, *options))


def _stopped_services(affected: Sequence[Finding]) -> list[str]:
    stopped = [finding.facts for finding in affected if "agent_stopped" in finding.states]
    return sorted({facts.service for facts in stopped if facts is not None})


def _journalctl(services: Sequence[str]) -> str:
    command = ["journalctl"]
    for service in services:
        command += ["-u", service]
    return shlex.join(command)


def _command(playbook: str, sources: Sequence[str], *options: str) -> str:
    command = ["ansible-playbook"]
    for source in sources:
        command += ["-i", source]
    return shlex.join([*command, f"monitor.cloud.{playbook}", *options])


def _plain_names(names: Sequence[str], choose: str) -> tuple[list[str], list[str]]:
    """Return the names that a command can contain, and a sentence about the other names if there are any."""
    plain = [name for name in names if is_plain_name(name)]
    special = [name for name in names if not is_plain_name(name)]
    if not special:
        return plain, []
    return plain, [f"The command leaves out names with special characters: {named(special)}. {choose}"]


def _orphan_step(report: Report, limited: bool, sources: Sequence[str]) -> Step:
    labels = tuple(report.orphans)
    doubt = _doubt_about_orphans(report, limited)
    if doubt:
        return Step("orphans", doubt, labels)
    text = "Delete the clients of hosts that are gone. The command asks first. Other users may own some of them."
    unknown = [finding.name for finding in report.hosts if finding.adoption == "unknown"]
    if unknown:
        text += f" First find out whose key is on {named(unknown)}: adopt lets a renamed host keep its client."
    plain, special = _plain_names(labels, "Choose these labels by your own prune_pattern.")
    text = " ".join([text, *special])
    if not plain:
        return Step("orphans", text, labels)
    pattern = "|".join(label.replace(".", "[.]") for label in plain)
    command = _command("prune", sources, "-e", f"prune_pattern={pattern}", "-e", f"prune_limit={len(plain)}")
    return Step("orphans", text, labels, f"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true {command}")


def _doubt_about_orphans(report: Report, limited: bool) -> str:
    """Return why the report proposes no deletion of the clients without a host; empty if it does."""
    if report.labels_differ:
        return "Some of these clients may belong to hosts whose labels are wrong. First find out why the labels differ."
    if report.orphan_problem and limited:
        return f"{_PARTIAL} {report.orphan_problem}"
    if limited:
        return _PARTIAL
    return report.orphan_problem


def _plan_step(report: Report) -> list[Step]:
    account = report.account
    if not is_too_small(account):
        return []
    included = account["clients_included"]
    needed = account["clients_used"] + account["clients_missing"]
    larger = "ask the provider"
    if account["next_tier"]:
        larger = f"switch to a larger plan (monitor_plan, min_clients: {needed})"
    return [Step("plan", f"The plan includes {included} clients, but {needed} are needed: prune first, or {larger}.")]
