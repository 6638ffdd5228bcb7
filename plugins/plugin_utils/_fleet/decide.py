# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only place that decides what happens to hosts and clients. Rollout, audit, adopt, retire and prune use it.

What a rollout does with a host, by the client with the host's label and the key in the host's file:

    client exists, own key                    keep
    client exists, no key or another key      verify: read the client by its id, then write its key
    client missing, no key or unknown key     create a client, write its key
    client missing, key of another host       a clone: create a client, write its key
    client missing, key of a client without   the host was probably renamed, or a play sets its label:
      a host in the inventory                   refuse, unless monitor_agent_replace_key is true
    key masked, or file unreadable            keep the file

If monitor_agent_state is absent, the file and the client with the host's label are removed. Clients of other labels
stay. These hosts fail: two hosts with one label; all but one name of a machine (the first name, or the name that has
the key); a host of another account; a host without its service. The module ``problems`` has these rules and their
sentences. The module ``evidence`` answers questions that need several hosts. All of this is pure.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet import problems, states
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.evidence import Adoption, Evidence
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import (
    STOPPED,
    Account,
    Facts,
    Host,
    Inventory,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import Others

# What happens to the client with the label of the host.
# verify: the client is read by its id before the host gets its key, because the list can contain deleted clients.
# refuse: nothing, and the host fails.
ClientAction = t.Literal["keep", "create", "verify", "refuse", "delete"]
# After these actions, the host gets the key of the client.
_NEW_KEY = ("create", "verify")


@dataclasses.dataclass
class HostChange:
    """The decision for a host.

    ``steps``: in the order in which the files present.yml and absent.yml of the role make them. ``problem``: why the
    host must fail; then it has no steps. ``adoption``: whether the host can keep the client whose key it carries
    (:data:`.evidence.Adoption`). ``owner_host``: another host, which has the label of this client. ``kept``: the label
    of this client, if the host is removed. ``claimed_by``: a renamed host that carries the key of the own client,
    so this client is not deleted. ``shared_with``: other hosts with the same key. ``same_machine``: other names of the
    machine. ``states`` and ``detail``: what an audit shows.
    """

    host: str
    label: str
    client: ClientAction = "keep"
    steps: list[str] = dataclasses.field(default_factory=list)
    problem: str = ""
    adoption: Adoption = "nothing"
    owner_host: str = ""
    kept: str = ""
    claimed_by: str = ""
    shared_with: Others = Others()
    same_machine: Others = Others()
    states: Sequence[str] = ("ok",)
    detail: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """Return the decision as plain data for the result of a task."""
        result = dataclasses.asdict(self)
        result["shared_with"] = list(self.shared_with.names)
        result["same_machine"] = list(self.same_machine.names)
        return result


@dataclasses.dataclass
class Changes:
    """The decision for the fleet. The fields other than ``hosts`` are about the hosts of the batch (``decides``).

    ``create``: labels of clients to create or verify. ``renames``: maps old to new labels, for adopt.
    ``orphans``: labels of clients without a host. ``orphan_problem``: why the orphans must not be deleted.
    """

    hosts: Mapping[str, HostChange]
    create: list[str]
    renames: dict[str, str]
    orphans: list[str]
    orphan_problem: str
    warnings: list[str]


def decide(
    hosts: Sequence[Host],
    account: Account,
    inventory: Inventory,
    *,
    orphan_pattern: str = ".*",
    predicts: bool = False,
) -> Changes:
    """Return what to do.

    ``predicts``: check mode. An earlier task may only predict that it adds the user who owns the file, so a missing
    user is no problem then.

    Raise InputError if ``orphan_pattern`` is not a regular expression.
    """
    evidence = Evidence(hosts, account, inventory, orphan_pattern)
    changes = {host.name: _host_change(host, evidence, predicts) for host in hosts}
    pairs = [(host, changes[host.name]) for host in hosts]
    decided = [(host, change) for host, change in pairs if host.decides]
    return Changes(
        hosts=changes,
        create=[host.label for host, change in decided if change.client in _NEW_KEY],
        renames={host.owner_label: host.label for host, change in decided if change.adoption == "adopt"},
        orphans=evidence.orphans,
        orphan_problem=problems.of_orphans(evidence),
        warnings=problems.warnings(pairs, inventory),
    )


def _host_change(host: Host, evidence: Evidence, predicts: bool) -> HostChange:
    change = HostChange(host.name, host.label)
    change.shared_with = evidence.others_with_key(host)
    change.same_machine = evidence.others_on_machine(host)
    change.adoption = evidence.adoption(host)
    change.owner_host = evidence.host_of_key(host)
    # A host that was not inspected has no facts, and no steps.
    if host.facts is not None:
        if host.facts.is_absent:
            _decide_removal(change, host, host.facts, evidence)
        else:
            _decide_rollout(change, host, host.facts, evidence)
        change.problem = problems.of_host(host, host.facts, change, evidence, predicts)
    change.states, change.detail = states.describe(host, change, evidence)
    if change.problem:
        change.client = "refuse"
        change.steps = []
    return change


def _decide_rollout(change: HostChange, host: Host, facts: Facts, evidence: Evidence) -> None:
    change.client = _client_action(host, facts, change, evidence)
    if change.client == "refuse":
        return
    if change.client in _NEW_KEY:
        change.steps.append(change.client)
    if facts.wanted.installs:
        change.steps.append("install")
    writes = _writes(change, facts, evidence)
    if writes:
        change.steps.append("write")
    service_steps = _service_steps(facts, writes=writes)
    if service_steps:
        change.steps += ["service", *service_steps]


def _client_action(host: Host, facts: Facts, change: HostChange, evidence: Evidence) -> ClientAction:
    # Example: web-1 was renamed to web-2, and web-2 to web-3. With the key of client web-2, the host web-2 would lose
    # the history of client web-1, and would share a key with web-3.
    if change.adoption == "later":
        return "refuse"
    if host.label in evidence.account.clients:
        if facts.key_owner in ("own", "unverifiable"):
            return "keep"
        return "verify"
    carries_other_key = facts.key_owner == "other"
    if carries_other_key and not evidence.is_clone(host) and not facts.wanted.replace_key:
        # With a new client, a renamed host would lose its history.
        return "refuse"
    return "create"


def _writes(change: HostChange, facts: Facts, evidence: Evidence) -> bool:
    """Return whether agent_config runs. It changes nothing if the file is as desired."""
    if change.client in _NEW_KEY:
        return True
    if facts.key_owner == "unverifiable" or change.label in evidence.account.masked_labels:
        # Keep the file, because its key may be correct: some services show a key only when a client is created.
        return False
    # A package or an installer can replace a file without differences.
    return facts.wanted.installs or bool(facts.differs)


def _service_steps(facts: Facts, *, writes: bool) -> list[str]:
    """Return the steps for the service of a host that is present. ``writes``: the file may change."""
    if not facts.service:
        return []
    steps = []
    if facts.wanted.service_enabled and facts.service_enabled == "disabled":
        steps.append("enable")
    if facts.wanted.service_state == "stopped":
        # Only the installation shows whether the package starts the service.
        if facts.service_state not in STOPPED or facts.wanted.installs:
            steps.append("stop")
        return steps
    steps += _start_steps(facts)
    if writes or facts.wanted.installs:
        steps += _restart_after_change(facts)
    return steps


def _start_steps(facts: Facts) -> list[str]:
    must_run = facts.wanted.service_state == "started"
    is_stopped = must_run and facts.service_state is not None and not facts.runs
    # The service module treats a repeatedly crashing service as running. Only a restart resets the counter of crashes.
    if is_stopped and facts.service_state == "activating":
        return ["restart"]
    if facts.runs and facts.service_outdated:
        return ["restart"]
    if is_stopped:
        return ["start"]
    return []


def _restart_after_change(facts: Facts) -> list[str]:
    if facts.wanted.service_state == "started" or facts.runs:
        return ["restart_after_change"]
    if facts.wanted.installs:
        # Only an inspection after the installation shows whether the service runs.
        return ["restart_if_running"]
    return []


def _decide_removal(change: HostChange, host: Host, facts: Facts, evidence: Evidence) -> None:
    """Remove only what belongs to the host. File and service stay if another name of the machine is monitored."""
    has_monitored_name = evidence.machine_holder(host) != ""
    if not has_monitored_name:
        change.steps += _removal_steps(facts)
    if host.owner_label and host.owner_label != host.label:
        change.kept = host.owner_label
    change.claimed_by = evidence.claimed_by(host.label)
    if host.label in evidence.account.clients and not change.claimed_by:
        change.client = "delete"
        change.steps.append("delete_client")


def _removal_steps(facts: Facts) -> list[str]:
    steps = []
    starts_at_boot = facts.service_enabled in ("enabled", "enabled-runtime")
    if facts.service and (starts_at_boot or facts.service_state not in STOPPED):
        steps.append("stop")
    if facts.wanted.uninstall:
        steps.append("uninstall")
    if facts.kind != "missing":
        steps.append("remove")
    return steps
