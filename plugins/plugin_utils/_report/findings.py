# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit: a finding for each host, clients without a host, and the plan. No keys. Pure.

The function ``decide`` finds the states of the hosts. A report only counts, sorts and names them.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import use_of_plan
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet import facts as fleet_facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import Changes, HostChange
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.evidence import Adoption
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import Others, natural_sort_key
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import Joined
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.states import TITLES

STATES = tuple(TITLES)


def titled(state: str) -> str:
    """Return the title of a state, with the id of the state in parentheses."""
    return f"{TITLES[state]} ({state})"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A host of a report: its facts, and the decision about it."""

    host: fleet_facts.Host
    change: HostChange

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def label(self) -> str:
        return self.host.label

    @property
    def facts(self) -> fleet_facts.Facts | None:
        """The facts of the host; None if the host was not inspected."""
        return self.host.facts

    @property
    def states(self) -> tuple[str, ...]:
        """All states that apply, the worst first."""
        return tuple(self.change.states)

    @property
    def state(self) -> str:
        return self.states[0]

    @property
    def detail(self) -> str:
        return self.change.detail

    @property
    def shared_with(self) -> Others:
        return self.change.shared_with

    @property
    def same_machine(self) -> Others:
        return self.change.same_machine

    @property
    def adoption(self) -> Adoption:
        return self.change.adoption

    @property
    def is_renamed(self) -> bool:
        """Whether the host was renamed, and can keep its old client."""
        return self.adoption in ("adopt", "later")


@dataclasses.dataclass(frozen=True)
class Account(fleet_facts.Account):
    """The account and its plan. ``plan``: ``{}`` for the free plan, None if the plan cannot be read."""

    url: str = ""
    plan: Mapping[str, t.Any] | None = None
    plan_problem: str | None = None
    tiers: Sequence[dict[str, t.Any]] = ()


@dataclasses.dataclass(frozen=True)
class Report:
    """The report of an audit. ``hosts``: worst state first. ``orphans``: labels of clients without a host.

    ``account``: the use of the plan (:func:`use_of_plan`), and ``clients_masked``. ``joined``: the audits of a joined
    report. ``orphan_problem``: why the clients without a host must not be deleted yet.
    """

    generated_at: str
    hosts: Sequence[Finding]
    orphans: Sequence[str]
    account: dict[str, t.Any]
    joined: Joined = Joined()
    orphan_problem: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """The number of hosts by state, the worst state first. States without hosts are left out."""
        counted = collections.Counter(finding.state for finding in self.hosts)
        return {state: counted[state] for state in STATES if counted[state]}

    @functools.cached_property
    def not_compared(self) -> set[str]:
        """Hosts whose only finding is that keys could not be compared, because the token can read no keys."""
        if self.account["clients_masked"] < self.account["clients_used"]:
            return set()
        return {finding.name for finding in self.hosts if _is_not_compared(finding)}

    @property
    def drifted(self) -> list[Finding]:
        """The hosts that count as drift."""
        return [finding for finding in self.hosts if finding.state != "ok" and finding.name not in self.not_compared]

    @property
    def labels_differ(self) -> bool:
        """Whether more than half of the hosts carry the key of a client with another label."""
        count = sum("other_label" in finding.states for finding in self.hosts)
        return count > len(self.hosts) / 2

    @property
    def drift(self) -> str:
        """The drift as text; empty without drift. A stale audit is drift, because its hosts may have changed."""
        counted = collections.Counter(finding.state for finding in self.drifted)
        parts = [f"{counted[state]} {state}" for state in STATES if counted[state]]
        if self.orphans:
            parts.append(f"{counted_noun(len(self.orphans), 'client')} without a host")
        stale = sum(source["stale"] for source in self.joined.sources)
        if stale:
            parts.append(counted_noun(stale, "stale audit"))
        return ", ".join(parts)


def _is_not_compared(finding: Finding) -> bool:
    has_key = finding.facts is not None and finding.facts.key_fingerprint is not None
    return finding.states == ("unverifiable",) and has_key


def counted_noun(number: int, noun: str) -> str:
    """Return a number with a noun, such as "1 audit" or "2 audits"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}s"


def report_of(
    hosts: Sequence[fleet_facts.Host],
    changes: Changes,
    account: Account,
    *,
    generated_at: str = "",
    joined: Joined | None = None,
) -> Report:
    """Return the report about the hosts, with the states that were decided."""
    findings = [Finding(host, changes.hosts[host.name]) for host in hosts]
    missing = sum("not_registered" in finding.states for finding in findings)
    use = use_of_plan(len(account.clients), missing, account.plan, account.tiers, account.plan_problem)
    return Report(
        generated_at,
        sorted(findings, key=_worst_first),
        changes.orphans,
        {**use, "clients_masked": len(account.masked_labels)},
        joined or Joined(),
        changes.orphan_problem,
    )


def _worst_first(finding: Finding) -> tuple[int, str]:
    return STATES.index(finding.state), natural_sort_key(finding.name)
