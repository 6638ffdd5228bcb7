# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The states of a host in an audit, and a sentence for each state. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Facts, Host

if t.TYPE_CHECKING:
    from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import HostChange
    from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.evidence import Evidence

# Titles of states in reports and documentation, the worst state first. A host has the first state that applies.
TITLES = {
    "unreachable": "Unreachable",
    "foreign_key": "Key of another client",
    "unknown_key": "Unknown key",
    "shared_key": "Shared key",
    "other_label": "Client with another label",
    "not_registered": "Not registered",
    "not_configured": "Not configured",
    "unverifiable": "Not verifiable",
    "outdated": "Outdated configuration",
    "restart_pending": "Restart pending",
    "agent_stopped": "Agent stopped",
    "agent_disabled": "Agent disabled",
    "wrong_permissions": "Wrong permissions",
    "ok": "OK",
}
# An absent host only has these states of its key. Its missing client and file are as expected.
_STATES_OF_ABSENT = ("foreign_key", "unknown_key", "other_label")


def describe(host: Host, change: HostChange, evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """Return the states of a host, the worst first, and the sentences for them."""
    if host.facts is None:
        sentences = _not_inspected(host, evidence)
    elif host.facts.is_absent:
        sentences = _absent_states(host, host.facts, change, evidence)
    else:
        sentences = _present_states(host, host.facts, change, evidence)
    if host.facts is not None and change.shared_with:
        sentences["shared_key"] = _shared_key(host.facts, change)
    states = tuple(state for state in TITLES if state in sentences)
    detail = [sentences[state] for state in states]
    if states and change.same_machine:
        detail.append(f"The inventory has this machine under other names too: {change.same_machine}.")
    # The sentence of the state other_label already tells how to go on.
    if change.problem and "other_label" not in states:
        detail.append(f"A rollout would fail: {change.problem}")
    return states or ("ok",), " ".join(detail)


def _shared_key(facts: Facts, change: HostChange) -> str:
    sentence = f"The same key is on {change.shared_with}."
    if facts.key_owner != "own" or change.same_machine:
        return sentence
    return f"{sentence} It is the key of this host, so the rollout of {change.shared_with} repairs this."


def _not_inspected(host: Host, evidence: Evidence) -> dict[str, str]:
    """Return the states of a host without facts. Only the inventory and the account show whether it has a client."""
    found = {}
    if not host.audited:
        found["unreachable"] = "Not inspected: none of the joined audits contains the host."
    elif host.reached:
        found["unverifiable"] = f"Could not be inspected: {host.reason}"
    elif host.reason:
        found["unreachable"] = f"Could not be reached: {host.reason}"
    else:
        found["unreachable"] = (
            "Not inspected: the host failed earlier, could not be reached, or was excluded by a condition."
        )
    inventory = evidence.inventory
    is_certain = host.name not in inventory.absent and host.name not in inventory.unreadable
    if is_certain and host.label not in evidence.account.clients:
        found["not_registered"] = _not_registered(host)
    return found


def _not_registered(host: Host) -> str:
    return f"The account has no client {host.label!r}."


def _absent_states(host: Host, facts: Facts, change: HostChange, evidence: Evidence) -> dict[str, str]:
    """Return the states of a host whose monitor_agent_state is absent: only what a rollout would remove."""
    remains = "remove" in change.steps or "stop" in change.steps or change.client == "delete"
    if not remains:
        return {}
    of_key = _key_state(host, facts, change, evidence)
    found = {state: sentence for state, sentence in of_key.items() if state in _STATES_OF_ABSENT}
    if found:
        return found
    return {"outdated": "The host is still monitored, although its monitor_agent_state is absent."}


def _present_states(host: Host, facts: Facts, change: HostChange, evidence: Evidence) -> dict[str, str]:
    sentences = _key_state(host, facts, change, evidence)
    sentences.update(_file_states(facts))
    sentences.update(_service_states(facts, change))
    if host.label not in evidence.account.clients and not evidence.has_other_label(host):
        sentences["not_registered"] = _not_registered(host)
    return sentences


def _key_state(host: Host, facts: Facts, change: HostChange, evidence: Evidence) -> dict[str, str]:
    """Return the state that the key in the host's file shows, with its sentence. Empty if the key is the host's own."""
    masked = len(evidence.account.masked_labels)
    if facts.key_owner == "own":
        return {}
    if facts.key_owner == "other" and evidence.has_other_label(host):
        return {"other_label": _other_label(host, change, evidence)}
    if facts.key_owner == "other":
        return {"foreign_key": f"Carries the key of client {host.owner_label!r}. {_whose(host, change, evidence)}."}
    if facts.key_owner == "no_file":
        return {"not_configured": f"There is no configuration {facts.path}."}
    if facts.key_owner == "no_key":
        return {"not_configured": f"There is no key in the configuration {facts.path}."}
    if facts.key_owner == "unknown" and not masked:
        return {"unknown_key": "Carries a key that no client of the account has."}
    if facts.key_owner == "unknown":
        return {"unverifiable": f"Carries a key that no readable client has. Clients with masked keys: {masked}."}
    if host.label in evidence.account.masked_labels or facts.key_fingerprint:
        return {"unverifiable": "The service masks keys: a comparison needs read-write access."}
    return {"unverifiable": f"The configuration {facts.path} can't be read as this user."}


def _other_label(host: Host, change: HostChange, evidence: Evidence) -> str:
    clients = (
        f"Carries the key of client {host.owner_label!r}, and the account has no client {host.label!r}. "
        f"{_whose(host, change, evidence)}."
    )
    return f"{clients} The host was renamed, its label was changed, or a play sets monitor_agent_label."


def _whose(host: Host, change: HostChange, evidence: Evidence) -> str:
    if change.owner_host:
        return f"The client {host.owner_label!r} belongs to host {change.owner_host}"
    if host.owner_label not in evidence.unclaimed:
        return "The client may belong to another user: its label does not match monitor_agent_audit_orphan_pattern"
    return f"No host of the inventory has the label {host.owner_label!r}"


def _file_states(facts: Facts) -> dict[str, str]:
    found = {}
    if facts.key_owner == "own" and "type" in facts.differs:
        found["outdated"] = "The key is right, but the path is a symbolic link instead of a file."
    elif facts.key_owner == "own" and "content" in facts.differs:
        found["outdated"] = "The key is right, but the rest of the file differs."
    pairs = [f"{name} {value['found']} instead of {value['expected']}" for name, value in facts.permissions.items()]
    if pairs:
        found["wrong_permissions"] = f"Not as expected: {', '.join(pairs)}."
    return found


def _service_states(facts: Facts, change: HostChange) -> dict[str, str]:
    if not facts.service:
        return {}
    found = {}
    must_run = facts.wanted.service_state == "started"
    is_stopped = must_run and facts.service_state is not None and not facts.runs
    is_unusable = facts.wanted.service_enabled and facts.service_state in ("missing", "masked")
    if is_stopped or is_unusable:
        found["agent_stopped"] = f"The agent does not run: its service {facts.service} is {facts.service_state}."
    if "enable" in change.steps:
        found["agent_disabled"] = "The agent does not start at boot: its service is disabled."
    if "restart" in change.steps and facts.service_outdated:
        found["restart_pending"] = "The agent was not restarted since its configuration was changed."
    if facts.wanted.service_state == "stopped" and facts.runs:
        found["outdated"] = f"The service {facts.service} runs, but monitor_agent_service_state is stopped."
    return found
