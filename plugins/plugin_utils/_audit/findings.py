# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of an audit: states of hosts, renamed hosts, clients without a host. No keys. Pure."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import functools
import re
import typing as t
from collections.abc import Collection, Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import listed, matching
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import use_of_plan
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable

SCHEMA_VERSION = 2
# Titles of states in reports and documentation, the worst state first. A host has the first state that applies.
TITLES = {
    "unreachable": "Unreachable",
    "foreign_key": "Key of another client",
    "unknown_key": "Unknown key",
    "shared_key": "Shared key",
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
STATES = tuple(TITLES)


def titled(state: str) -> str:
    """Return the title of a state, with the id of the state in parentheses."""
    return f"{TITLES[state]} ({state})"


# What the playbook adopt does for a host. later: a later run renames the client, because another client still has
# the label. unknown: the owner of the key is unknown. nothing: the host carries no key of another client.
Adoption = t.Literal["adopt", "later", "conflict", "unknown", "nothing"]
_LONGEST_REASON = 300
# Show at most five names in a sentence of a report.
named = functools.partial(listed, limit=5, form=str)


def unknown_labels(hosts: Sequence[str]) -> str:
    """Return a sentence about hosts whose label cannot be read, such as a label in a vault with another password."""
    return f"Labels are unknown, because variables of these hosts cannot be read: {named(hosts)}."


@dataclasses.dataclass(frozen=True)
class Host:
    """A host with its facts (from :func:`facts_of`) and its finding (from :func:`audit`).

    ``audited``: false if no audit of a joined report contains the host. ``absent``: monitor_agent_state is absent.
    ``shared_with``: other hosts with the same key. ``same_machine``: other names of the machine in the inventory.
    """

    host: str
    label: str
    facts: Mapping[str, t.Any]
    audited: bool = True
    absent: bool = False
    states: tuple[str, ...] = ("ok",)
    shared_with: tuple[str, ...] = ()
    same_machine: tuple[str, ...] = ()
    detail: str = ""
    adoption: Adoption = "nothing"

    @property
    def state(self) -> str:
        return self.states[0]

    @property
    def renamed(self) -> bool:
        """Whether the host was renamed, and can keep its old client."""
        return self.adoption in ("adopt", "later")


def facts_of(result: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the facts about a host from the result of agent_config, even if the task failed. ``result`` can be empty.

    ``key_owner``: None if the host was not inspected. ``reason``: why the host was not inspected, or why a rollout
    would fail.
    """
    given = {} if result.get("skipped") else result
    facts = {} if given.get("unreachable") else given
    names = ("key_owner", "owner_label", "key_fingerprint", "machine", "service", "service_state")
    return {
        "reached": bool(facts),
        "reason": _reason(given.get("msg")) if given and (facts.get("failed") or not facts.get("key_owner")) else None,
        **{name: facts.get(name) for name in names},
        **{name: list(facts.get(name) or ()) for name in ("differs", "service_differs")},
        "permissions": dict(facts.get("permissions") or {}),
    }


def _reason(message: t.Any) -> str:
    """Return a message as one line of limited length that ends with a period."""
    words = str(message or "no reason given")[: 10 * _LONGEST_REASON].replace("Task failed: ", "").split()
    text = printable(" ".join(words), "\ufffd")
    text = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


@dataclasses.dataclass(frozen=True)
class Account:
    """The account. ``clients``: by label. ``plan``: ``{}`` for the free plan, None if the plan cannot be read."""

    clients: Mapping[str, Mapping[str, t.Any]]
    url: str = ""
    plan: Mapping[str, t.Any] | None = None
    plan_problem: str | None = None
    tiers: Sequence[dict[str, t.Any]] = ()

    @functools.cached_property
    def key_owners(self) -> dict[str, str]:
        """The label for each key fingerprint, for all clients whose keys the token can read."""
        return {client["key_fingerprint"]: label for label, client in self.clients.items() if client["key_fingerprint"]}

    @functools.cached_property
    def masked_labels(self) -> set[str]:
        """The labels of clients whose keys the token cannot read."""
        return {label for label, client in self.clients.items() if not client["key_fingerprint"]}


@dataclasses.dataclass(frozen=True)
class Report:
    """The report of an audit. ``hosts``: worst state first. ``orphans``: labels of clients without a host.

    In a joined report, ``sources`` are the joined audits, and ``notes`` are sentences, such as about stale audits.
    """

    generated_at: str
    hosts: Sequence[Host]
    orphans: Sequence[str]
    account: dict[str, t.Any]
    sources: Sequence[dict[str, t.Any]] = ()
    notes: Sequence[str] = ()

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
        return {
            finding.host
            for finding in self.hosts
            if finding.states == ("unverifiable",) and finding.facts["key_fingerprint"]
        }

    @property
    def renames(self) -> dict[str, str]:
        """The new label for each old label, for all clients that renamed hosts can keep."""
        return {
            str(finding.facts["owner_label"]): finding.label for finding in self.hosts if finding.adoption == "adopt"
        }

    @property
    def drift(self) -> str:
        """The drift as text; empty without drift. A stale audit is drift, because its hosts may have changed."""
        stale = sum(source["stale"] for source in self.sources)
        states = collections.Counter(finding.state for finding in self.hosts if finding.host not in self.not_compared)
        parts = [f"{states[state]} {state}" for state in STATES if states[state] and state != "ok"]
        parts += [f"{len(self.orphans)} client{'s' * (len(self.orphans) > 1)} without a host"] * bool(self.orphans)
        return ", ".join([*parts, *[f"{stale} stale audit{'s' * (stale > 1)}"] * bool(stale)])


def audit(
    hosts: Sequence[Host],
    account: Account,
    labels: Mapping[str, str],
    *,
    generated_at: str = "",
    absent: Collection[str] = (),
    orphan_pattern: str = ".*",
    **joined: t.Any,
) -> Report:
    """Return the report of an audit. ``labels``: the label of each host of the whole inventory."""
    free = list(account.clients.keys() - {*labels.values()})
    orphans = sorted(matching(orphan_pattern, "orphan_pattern", free), key=natural_sort_key)
    # Renamed hosts can keep clients without a host, or of absent hosts. Other clients can belong to other users.
    fleet = _Fleet(hosts, account, labels, {*orphans, *(labels[host] for host in absent)})
    audited = [fleet.finding(dataclasses.replace(finding, absent=finding.host in absent)) for finding in hosts]
    ordered = sorted(audited, key=lambda finding: (STATES.index(finding.state), natural_sort_key(finding.host)))
    missing = sum("not_registered" in finding.states and not finding.renamed for finding in ordered)
    use = use_of_plan(len(account.clients), missing, account.plan, account.tiers, account.plan_problem)
    facts = {**use, "clients_masked": len(account.masked_labels)}
    return Report(generated_at, ordered, orphans, facts, **joined)


class _Fleet:
    """Compute the finding of each host from all inspected hosts, the account and the inventory."""

    def __init__(self, hosts: Sequence[Host], account: Account, labels: Mapping[str, str], free: set[str]) -> None:
        self.account, self._free = account, free
        self.host_of = {label: host for host, label in labels.items()}
        self._alike: dict[tuple[str, str | None], list[str]] = collections.defaultdict(list)
        for finding in sorted(hosts, key=lambda finding: natural_sort_key(finding.host)):
            for name in ("key_fingerprint", "machine"):
                self._alike[name, finding.facts[name]].append(finding.host)
        self._adoptions = self._renamed(hosts)

    def _renamed(self, hosts: Sequence[Host]) -> dict[str, Adoption]:
        """Return how each renamed host can keep the client whose key is on the host.

        Renames can form a chain: web-1 became web-2, and web-2 became web-3. No host may have the old label of the
        first host. No client may have the new label of the last host. The client of the last host is renamed first.
        """
        others = [finding for finding in hosts if finding.facts["key_owner"] == "other"]
        sole = [finding for finding in others if not self._others(finding, "key_fingerprint")]
        carriers = {finding.facts["owner_label"]: finding for finding in sole}
        adoptions: dict[str, Adoption] = {}
        for first in [finding for owner, finding in carriers.items() if owner in self._free]:
            chain = [first]
            while following := carriers.pop(chain[-1].label, None):
                chain.append(following)
            last = chain[-1].label
            if last not in self.account.clients:
                adoptions.update({finding.host: "later" for finding in chain}, **{chain[-1].host: "adopt"})
        return adoptions

    def finding(self, finding: Host) -> Host:
        shared, names = self._others(finding, "key_fingerprint"), self._others(finding, "machine")
        sentences = self._file_states(finding)
        if finding.absent and finding.label not in self.account.clients:
            sentences.pop("not_configured", None)
        elif finding.absent and not sentences:
            sentences["outdated"] = "The host is still monitored, although its monitor_agent_state is absent."
        elif finding.label not in self.account.clients:
            sentences["not_registered"] = f"The account has no client {finding.label!r}."
        if shared:
            sentences["shared_key"] = f"The same key is on {named(shared)}."
        states = tuple(state for state in STATES if state in sentences)
        detail = " ".join(sentences[state] for state in states)
        if states and names:
            detail += f" The inventory has this machine under other names too: {named(names)}."
        # If the key belongs to another client, the report has a step for the host, so leave out the reason.
        if finding.facts["reason"] and finding.facts["key_owner"] not in (None, "other"):
            detail += f" A rollout would fail: {finding.facts['reason']}"
        return dataclasses.replace(
            finding,
            states=states or ("ok",),
            shared_with=shared,
            same_machine=names,
            detail=detail,
            adoption=self._adoption(finding),
        )

    def _others(self, finding: Host, name: str) -> tuple[str, ...]:
        """Return the other hosts that have the same value of a fact."""
        value = finding.facts[name]
        return tuple(host for host in self._alike[name, value] if host != finding.host) if value else ()

    def _adoption(self, finding: Host) -> Adoption:
        key = finding.facts["key_owner"]
        if key in (None, "unverifiable") or (key == "unknown" and self.account.masked_labels):
            return "unknown"
        return self._adoptions.get(finding.host, "conflict") if key == "other" else "nothing"

    def _file_states(self, finding: Host) -> dict[str, str]:
        """Return a sentence for each state that the file or the service of the host shows."""
        facts, reason, differs = finding.facts, finding.facts["reason"], finding.facts["differs"]
        if not finding.audited:
            return {"unreachable": "Not inspected: none of the joined audits contains the host."}
        if not facts["reached"]:
            unknown = "Not inspected: the host failed earlier, could not be reached, or was excluded by a condition."
            return {"unreachable": f"Could not be reached: {reason}" if reason else unknown}
        if facts["key_owner"] is None:
            return {"unverifiable": f"Could not be inspected: {reason}"}
        sentences = self._key_states(finding)
        if facts["key_owner"] == "own" and {"type", "content"} & {*differs}:
            what = (
                "the path is a symbolic link instead of a file" if "type" in differs else "the rest of the file differs"
            )
            sentences["outdated"] = f"The key is right, but {what}."
        needs, state = facts["service_differs"], facts["service_state"]
        if "restart" in needs:
            sentences["restart_pending"] = "The agent was not restarted since its configuration was changed."
        if "state" in needs:
            sentences["agent_stopped"] = f"The agent does not run: its service {facts['service']} is {state}."
        if "enabled" in needs:
            sentences["agent_disabled"] = "The agent does not start at boot: its service is disabled."
        permissions = facts["permissions"].items()
        pairs = [f"{name} {value['found']} instead of {value['expected']}" for name, value in permissions]
        if pairs:
            sentences["wrong_permissions"] = f"Not as expected: {', '.join(pairs)}."
        return sentences

    def _key_states(self, finding: Host) -> dict[str, str]:
        """Return a sentence for each state that the key in the host's file shows."""
        key, masked = finding.facts["key_owner"], len(self.account.masked_labels)
        if key == "own":
            return {}
        if key == "other":
            owner = finding.facts["owner_label"]
            whose = "No host of the inventory has this label"
            if owner in self.host_of:
                whose = f"This client belongs to host {self.host_of[owner]}"
            elif owner not in self._free:
                whose = "The client may belong to another user: its label does not match orphan_pattern"
            elif finding.label in self.account.clients:
                whose += f", and another client has the label {finding.label!r}"
            return {"foreign_key": f"Carries the key of client {owner!r}. {whose}."}
        if key in ("no_file", "no_key"):
            missing = "configuration" if key == "no_file" else "key in the configuration"
            return {"not_configured": f"There is no {missing}."}
        if key == "unknown" and not masked:
            return {"unknown_key": "Carries a key that no client of the account has."}
        if key == "unknown":
            return {"unverifiable": f"Carries a key that no readable client has. Clients with masked keys: {masked}."}
        if finding.label in self.account.masked_labels or finding.facts["key_fingerprint"]:
            return {"unverifiable": "The service masks keys: a comparison needs read-write access."}
        return {"unverifiable": "The configuration can't be read as this user."}


def natural_sort_key(name: str) -> str:
    """Return a sort key that puts web-2 before web-10."""
    return re.sub("[0-9]+", lambda number: number[0].zfill(20), name)


def parse_time(generated_at: t.Any) -> datetime.datetime:
    """Return the time of a report in UTC. Raise ValueError or OverflowError if the time is invalid or has no zone."""
    return datetime.datetime.strptime(str(generated_at), "%Y-%m-%dT%H:%M:%S%z").astimezone(datetime.timezone.utc)


def format_time(at: datetime.datetime) -> str:
    """Return a time in UTC in the format of reports."""
    return at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
