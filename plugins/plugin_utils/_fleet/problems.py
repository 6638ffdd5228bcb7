# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reasons why a host must fail or orphans must stay, and the warnings of a run: sentences for users. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import is_plain_name
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.evidence import Evidence
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Facts, Host, Inventory
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import named, natural_sort_key, quoted

if t.TYPE_CHECKING:
    from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import HostChange

Pairs = Sequence[tuple[Host, "HostChange"]]


def of_host(host: Host, facts: Facts, change: HostChange, evidence: Evidence, predicts: bool) -> str:
    """Return why the host must fail; empty if its steps can be made."""
    return (
        _label_problem(host, evidence)
        or _account_problem(host, evidence)
        or _token_problem(change, evidence)
        or _service_problem(host, facts, change)
        or _key_problem(host, change, evidence)
        or _machine_problem(host, facts, change, evidence)
        or _file_problem(host, facts, change, evidence, predicts)
    )


def _label_problem(host: Host, evidence: Evidence) -> str:
    others = evidence.others_with_label(host)
    if not others:
        return ""
    # All hosts with the label get the same message, so that its order does not depend on the host.
    first, *rest = sorted([host.name, *others], key=natural_sort_key)
    hint = ""
    if len(rest) + 1 == len(evidence.inventory.labels):
        hint = " An extra variable (-e) holds for all hosts of the inventory, also with --limit."
    return (
        f"The hosts {first} and {named(rest)} have the same label {host.label!r}, but each host needs its own client. "
        "Set another monitor_agent_label for all but one of these hosts in the inventory."
        f"{hint}"
    )


def _account_problem(host: Host, evidence: Evidence) -> str:
    used = evidence.inventory.accounts.get(host.name)
    read = evidence.account.fingerprint
    if not used or not read or used == read:
        return ""
    return (
        f"{host.name} uses another account than the first host of its batch: monitor_agent_base_url, "
        "monitor_agent_api_token or monitor_agent_brand differ. Split the play by account, or use --limit."
    )


def _token_problem(change: HostChange, evidence: Evidence) -> str:
    if change.client != "delete" or not evidence.account.read_only:
        return ""
    return (
        f"The token has read-only access, so the client {change.label!r} can't be deleted. Nothing was removed. Use a "
        "token with read-write access."
    )


def _service_problem(host: Host, facts: Facts, change: HostChange) -> str:
    """Return why the service cannot run. The role restarts the service after a change, so the service must exist."""
    wanted = facts.wanted
    required = wanted.service_state == "started" or wanted.service_enabled or "restart_after_change" in change.steps
    if facts.is_absent or not facts.service or not required:
        return ""
    if facts.service_state == "masked":
        problem = (
            f"The service {facts.service} of {host.name} is masked. Run systemctl unmask {facts.service} on the host"
        )
    elif facts.service_state == "missing" and not wanted.installs:
        problem = (
            f"{host.name} has no service {facts.service}: install the agent (monitor_agent_packages), choose another "
            "service (monitor_agent_service)"
        )
    else:
        return ""
    return f'{problem}, or set monitor_agent_service: "".'


def _key_problem(host: Host, change: HostChange, evidence: Evidence) -> str:
    """Return why the host gets no new client: it probably has a client with another label."""
    if change.client != "refuse":
        return ""
    if change.adoption == "later":
        return (
            f"{host.name} carries the key of client {host.owner_label!r}, and another host carries the key of client "
            f"{host.label!r}. Nothing was changed. If the hosts were renamed, run monitor.cloud.adopt to keep the "
            "clients and their history: each run renames one of the clients. To give the host the key of client "
            f"{host.label!r} instead, set monitor_agent_replace_key: true."
        )
    whose = "No host of the inventory has this label"
    if change.owner_host:
        whose = f"The host {change.owner_host} of this client is to be removed or was renamed"
    elif evidence.inventory.unreadable:
        whose += f" (but the labels of these hosts are unknown: {named(list(evidence.inventory.unreadable))})"
    return (
        f"{host.name} carries the key of client {host.owner_label!r}. {whose}, and the account has no client "
        f"{host.label!r}. Nothing was created. If the host was renamed, or its label was changed, run "
        "monitor.cloud.adopt to keep the client and its history. If a play, a role or set_fact sets "
        "monitor_agent_label, set it in the inventory instead, or run the audit in the same play. To give the host a "
        "new client, set monitor_agent_replace_key: true."
    )


def _machine_problem(host: Host, facts: Facts, change: HostChange, evidence: Evidence) -> str:
    """Return that another name of the machine has its file."""
    holder = evidence.machine_holder(host)
    if holder in ("", host.name) or "write" not in change.steps:
        return ""
    return (
        f"{holder} and {host.name} are the same machine, so {facts.path} keeps the key of {holder}. Keep only one of "
        "these hosts in the inventory, or set another path (monitor_agent_config_path) for one of these hosts."
    )


def _file_problem(host: Host, facts: Facts, change: HostChange, evidence: Evidence, predicts: bool) -> str:
    changes_file = "write" in change.steps or "remove" in change.steps
    if not changes_file and not _is_unreadable(host, facts, evidence):
        return ""
    problem = facts.problem
    if not problem and facts.unknown_owner and not facts.wanted.installs and not predicts:
        problem = f"the host does not know {facts.unknown_owner}"
    if not problem:
        return ""
    return (
        f"{facts.path} can't be changed: {problem}. Use become, repair the host, or set another "
        "monitor_agent_config_path, monitor_agent_config_owner or monitor_agent_config_group."
    )


def _is_unreadable(host: Host, facts: Facts, evidence: Evidence) -> bool:
    """Return whether the file of a monitored host can't be read. Without become, the file can't be written either."""
    is_masked = host.label in evidence.account.masked_labels
    return facts.key_owner == "unverifiable" and not is_masked and not facts.is_absent


def of_orphans(evidence: Evidence) -> str:
    """Return why the clients without a host must not be deleted; empty if the labels of all hosts are certain."""
    unreadable = evidence.inventory.unreadable
    if unreadable:
        return f"The labels of these hosts are unknown: {named(list(unreadable))}. {next(iter(unreadable.values()))}"
    other_label = [host.name for host in evidence.hosts.values() if evidence.has_other_label(host)]
    if not other_label:
        return ""
    doubt = (
        f"These hosts carry keys of clients with another label: {named(other_label)}. So the labels of the inventory "
        "may differ from the labels that the rollout uses"
    )
    unreached = [host.name for host in evidence.hosts.values() if host.facts is None]
    if unreached:
        return f"{doubt}, and these hosts were not inspected: {named(unreached)}. Repair these hosts first."
    masked = evidence.account.masked_labels
    if masked:
        return (
            f"{doubt}, and the keys of these clients are masked: {quoted(sorted(masked))}. Use a token that can read "
            "all keys."
        )
    return ""


def warnings(hosts: Pairs, inventory: Inventory) -> list[str]:
    """Return one warning of each kind. Each warning names at most five hosts."""
    without_problem = [(host, change) for host, change in hosts if host.facts is not None and not change.problem]
    decided = [(host, change) for host, change in without_problem if host.decides]
    found = (
        _replaced_keys(decided),
        _unknown_keys(decided),
        _kept_files(decided),
        _claimed_clients(decided),
        _kept_clients(decided),
        _kept_clients_of_hosts(decided),
        _unknown_owners(decided),
        _differing_label(without_problem, inventory),
    )
    return [warning for warning in found if warning]


def _writes_over(host: Host, change: HostChange, key_owner: str) -> bool:
    return host.facts is not None and host.facts.key_owner == key_owner and "write" in change.steps


def _replaced_keys(decided: Pairs) -> str:
    found = [
        f"{host.name} (client {host.owner_label!r})" for host, change in decided if _writes_over(host, change, "other")
    ]
    if not found:
        return ""
    return (
        "The agents of these hosts reported as other clients, because the hosts carry the keys of these clients. Each "
        f"host gets its own key: {named(found)}."
    )


def _unknown_keys(decided: Pairs) -> str:
    found = [host.name for host, change in decided if _writes_over(host, change, "unknown")]
    if not found:
        return ""
    return (
        "These hosts carry a key of no client of this account, possibly of another account. Each host gets its own "
        f"key: {named(found)}."
    )


def _kept_files(decided: Pairs) -> str:
    found = []
    for host, change in decided:
        is_unknown = host.facts is not None and host.facts.key_owner == "unverifiable" and not host.is_absent
        if is_unknown and "write" not in change.steps:
            found.append(host.name)
    if not found:
        return ""
    return (
        f"The keys of these hosts can't be compared, so their files were kept: {named(found)}. If the service masks "
        "keys, use a token with read-write access. If the files can't be read, use become."
    )


def _claimed_clients(decided: Pairs) -> str:
    found = [
        f"{change.label!r} of {host.name} (carried by {change.claimed_by})"
        for host, change in decided
        if change.claimed_by
    ]
    if not found:
        return ""
    return (
        f"Clients were kept, because renamed hosts carry their keys: {named(found)}. Run monitor.cloud.adopt, or set "
        "monitor_agent_replace_key: true for the renamed hosts."
    )


def _kept_clients(decided: Pairs) -> str:
    labels = [change.kept for _host, change in decided if change.kept and not change.owner_host]
    if not labels:
        return ""
    # Other users of the account choose labels, so only a safe label may be in a command.
    example = next(filter(is_plain_name, labels), "LABEL")
    return (
        f"Clients of no host of the inventory were kept, although removed hosts carried their keys: {quoted(labels)}. "
        f"To delete a client with its data, run monitor.cloud.retire with its label: -e labels={example}"
    )


def _kept_clients_of_hosts(decided: Pairs) -> str:
    found = [
        f"{change.kept!r} of {change.owner_host} (carried by {host.name})"
        for host, change in decided
        if change.kept and change.owner_host
    ]
    if not found:
        return ""
    return (
        f"Clients of other hosts were kept, although removed hosts carried their keys: {named(found)}. If two of these "
        "names are one machine, its file was removed and its service was stopped: roll out the remaining host "
        "again."
    )


def _unknown_owners(decided: Pairs) -> str:
    found = []
    for host, change in decided:
        facts = host.facts
        if facts is not None and facts.unknown_owner and not facts.wanted.installs and "write" in change.steps:
            found.append(f"{host.name} ({facts.unknown_owner})")
    if not found:
        return ""
    return (
        "These hosts do not know the owner or group of the configuration, so an earlier task must add it: "
        f"{named(found)}."
    )


def _differing_label(hosts: Pairs, inventory: Inventory) -> str:
    if inventory.differing not in [host.name for host, _change in hosts]:
        return ""
    return (
        f"monitor_agent_label of {inventory.differing} differs from the label in the inventory. The packaged playbooks "
        "(audit, adopt, retire, prune) use the label in the inventory. Set monitor_agent_label in the inventory, or "
        "use the entry points of the role (tasks_from) in the same play."
    )
