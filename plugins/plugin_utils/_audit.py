# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit finds: the states of hosts, clients without a host, and the account. Pure.

Works on what two tasks registered: monitor_clients in check mode for the account, agent_config in check mode for each
host. Knows fingerprints of keys, never a key.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._patterns import matching

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA_VERSION = 1
# The worst first: the state of a host is the first of those that apply.
STATES = (
    "unreachable",
    "foreign_key",
    "unknown_key",
    "shared_key",
    "not_registered",
    "not_configured",
    "unverifiable",
    "outdated",
    "wrong_permissions",
    "ok",
)
_RUNS = re.compile(r"[0-9]+|[^0-9]+")
_LONGEST_REASON = 300
_MOST_NAMES = 5


@dataclasses.dataclass(frozen=True)
class Look:
    """A host and what agent_config said of it; ``result`` is None for a host that was not looked at."""

    host: str
    label: str
    result: Mapping[str, t.Any] | None

    @property
    def reached(self) -> bool:
        return self.result is not None and not self.result.get("unreachable")

    @property
    def fingerprint(self) -> str | None:
        return self.result.get("key_fingerprint") if self.result is not None and self.reached else None


@dataclasses.dataclass(frozen=True)
class Account:
    """The account as monitor_clients in check mode describes it.

    ``clients`` are those of the hosts, by label, foreseen ones with the id None; ``labels`` are those of all clients
    that there are. ``plan`` is None where it can't be read, for the reason ``plan_problem``; ``{}`` is the free plan.
    """

    clients: Mapping[str, Mapping[str, t.Any]]
    labels: frozenset[str]
    key_owners: Mapping[str, str]
    plan: Mapping[str, t.Any] | None = None
    plan_problem: str | None = None
    tiers: Sequence[Mapping[str, t.Any]] = ()

    @property
    def masked(self) -> int:
        """How many clients there are whose keys can't be read."""
        return len(self.labels - set(self.key_owners.values()))

    def lacks(self, label: str) -> bool:
        """Whether the account certainly has no client of this label."""
        return label not in self.labels


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is to be said of a host. ``shared_with`` names the other hosts that carry the same key."""

    host: str
    label: str
    states: tuple[str, ...]
    owner_label: str | None
    shared_with: tuple[str, ...]
    detail: str

    @property
    def state(self) -> str:
        return self.states[0]


@dataclasses.dataclass(frozen=True)
class Report:
    """An audit. Hosts come worst first, orphans are labels of clients that no host of the inventory has."""

    generated_at: str
    hosts: tuple[Finding, ...]
    orphans: tuple[str, ...]
    account: dict[str, t.Any]

    @property
    def counts(self) -> dict[str, int]:
        """Hosts by state, the worst state first; states of no host are left out."""
        counted = collections.Counter(finding.state for finding in self.hosts)
        return {state: counted[state] for state in STATES if counted[state]}

    @property
    def drift(self) -> bool:
        return bool(self.orphans) or any(finding.state != "ok" for finding in self.hosts)


def audit(
    looks: Sequence[Look],
    account: Account,
    everyone: Mapping[str, str],
    *,
    generated_at: str,
    orphan_pattern: str = ".*",
) -> Report:
    """Judge the hosts and the account. ``everyone`` gives the label of each host of the whole inventory."""
    carriers = _carriers(looks)
    hosts_of = {label: host for host, label in everyone.items()}
    findings = [_finding(look, account, carriers, hosts_of) for look in looks]
    findings.sort(key=lambda finding: (STATES.index(finding.state), natural(finding.host)))
    orphans = sorted(matching(orphan_pattern, "orphan_pattern", list(account.labels - set(hosts_of))), key=natural)
    missing = sum("not_registered" in finding.states for finding in findings)
    return Report(generated_at, tuple(findings), tuple(orphans), account_facts(account, missing))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts web-2 before web-10."""
    # By length first, and not as a number: Python refuses to make one of thousands of digits.
    numbers = {part: part.lstrip("0") for part in _RUNS.findall(name) if part[0] in "0123456789"}
    return [(0, len(numbers[part]), numbers[part]) if part in numbers else (1, 0, part) for part in _RUNS.findall(name)]


def _carriers(looks: Iterable[Look]) -> dict[str, list[str]]:
    """Key fingerprint → the hosts that carry that key."""
    carriers: dict[str, list[str]] = collections.defaultdict(list)
    for look in looks:
        if look.fingerprint:
            carriers[look.fingerprint].append(look.host)
    return carriers


def _finding(
    look: Look, account: Account, carriers: Mapping[str, Sequence[str]], hosts_of: Mapping[str, str]
) -> Finding:
    same_key = carriers.get(look.fingerprint, []) if look.fingerprint else []
    shared = tuple(sorted((host for host in same_key if host != look.host), key=natural))
    said = _said_of_file(look, account, hosts_of)
    if account.lacks(look.label):
        said["not_registered"] = f"The account has no client {look.label!r}."
    if shared:
        said["shared_key"] = f"The same key is on {named(shared)}."
    states = tuple(state for state in STATES if state in said) or ("ok",)
    owner = look.result.get("owner_label") if look.result is not None and look.reached else None
    detail = " ".join(said[state] for state in states if state in said)
    return Finding(look.host, look.label, states, owner, shared, detail)


def _said_of_file(look: Look, account: Account, hosts_of: Mapping[str, str]) -> dict[str, str]:
    """State → sentence, for what a host's file shows."""
    result = look.result
    if result is None:
        return {"unreachable": "Not looked at: it had failed, or could not be reached, earlier in the play."}
    if result.get("unreachable"):
        return {"unreachable": f"Could not be reached: {reason(result)}"}
    key = result.get("key_owner")
    if key is None:
        return {"unverifiable": f"Could not be looked at: {reason(result)}"}
    said = _said_of_key(str(key), look, account, hosts_of)
    differs = list(result.get("differs") or [])
    if key == "own" and {"content", "type"} & set(differs):
        said["outdated"] = (
            "The right key, in a link where a file has to be."
            if "type" in differs
            else "The right key, but other text."
        )
    permissions = [name for name in ("owner", "group", "mode") if name in differs]
    if permissions:
        said["wrong_permissions"] = f"Not as wanted: {' and '.join(permissions)} of the file."
    return said


def _said_of_key(key: str, look: Look, account: Account, hosts_of: Mapping[str, str]) -> dict[str, str]:
    if key == "no_file":
        return {"not_configured": "There is no configuration."}
    if key == "no_key":
        return {"not_configured": "There is no key in the configuration."}
    if key == "other":
        owner = str((look.result or {}).get("owner_label"))
        host = hosts_of.get(owner)
        whose = "which no host of the inventory has" if host is None else f"the client of host {host}"
        return {"foreign_key": f"Carries the key of {owner!r}, {whose}."}
    if key == "own":
        return {}
    if key == "unknown" and not account.masked:
        return {"unknown_key": "Carries a key of no client of the account."}
    if key == "unknown":
        return {"unverifiable": f"Carries a key that none of the readable clients has; {account.masked} are masked."}
    if account.clients.get(look.label, {}).get("keys_masked"):
        return {"unverifiable": "The service masks the client's key: comparing needs read-write access."}
    if account.masked and look.fingerprint:
        return {"unverifiable": "The service masks keys: comparing needs read-write access."}
    return {"unverifiable": "The configuration can't be read as this user."}


def account_facts(account: Account, missing: int) -> dict[str, t.Any]:
    """The account for the report. ``missing``: hosts of the audit without a client."""
    used = len(account.labels)
    facts: dict[str, t.Any] = {
        "clients_used": used,
        "clients_missing": missing,
        "clients_masked": account.masked,
        "plan": None,
        "free": None,
        "clients_included": None,
        "price": None,
        "next_tier": None,
        "problem": account.plan_problem,
    }
    if account.plan is not None:
        included = account.plan.get("clients_included")
        facts.update(
            plan=account.plan.get("id"),
            free=not account.plan,
            clients_included=included,
            price=account.plan.get("price"),
            next_tier=_next_tier(account.tiers, max(used + missing, (included or 0) + 1)),
        )
    return facts


def _next_tier(tiers: Sequence[Mapping[str, t.Any]], clients: int) -> dict[str, t.Any] | None:
    """The smallest tier that includes so many clients; None if there is none."""
    fitting = [tier for tier in tiers if isinstance(tier.get("clients_included"), int)]
    fitting = [tier for tier in fitting if tier["clients_included"] >= clients]
    if not fitting:
        return None
    tier = min(fitting, key=lambda tier: int(tier["clients_included"]))
    return {name: tier.get(name) for name in ("id", "label", "clients_included", "price")}


def reason(result: Mapping[str, t.Any]) -> str:
    """Why a host could not be looked at, on one line of bounded length."""
    words = " ".join(str(result.get("msg") or "no reason given").split()).removeprefix("Task failed: ")
    printable = "".join(character for character in words if character.isprintable())
    return printable if len(printable) <= _LONGEST_REASON else f"{printable[:_LONGEST_REASON]}…"


def named(names: Sequence[str]) -> str:
    """Some names as text; of many only the first."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
