# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run knows about hosts, the account and the inventory, before it decides. Pure."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Mapping, Sequence

# A running service has one of these values of ActiveState. A service that crashes repeatedly is mostly "activating".
RUNNING = ("active", "reloading", "refreshing")
STOPPED = (None, "inactive", "failed", "missing", "masked")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the user wants for a host: the option ``wanted`` of agent_info, passed through unchanged."""

    state: t.Literal["present", "absent"] = "present"
    replace_key: bool = False
    installs: bool = False
    uninstall: bool = False
    service_state: t.Literal["started", "stopped", ""] = "started"
    service_enabled: bool = True


@dataclasses.dataclass(frozen=True)
class Facts:
    """What agent_info found on a host.

    ``kind``: missing, file, or link. ``problem``: why the file cannot be written. ``unknown_owner``: a desired owner or
    group that the host does not know. ``service_outdated``: the service started before the file was written.
    """

    label: str
    path: str
    kind: str
    key_owner: str
    owner_label: str | None = None
    key_fingerprint: str | None = None
    differs: Sequence[str] = ()
    permissions: Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    problem: str = ""
    unknown_owner: str = ""
    machine: str | None = None
    service: str = ""
    service_state: str | None = None
    service_enabled: str | None = None
    service_outdated: bool = False
    wanted: Wanted = Wanted()

    @property
    def runs(self) -> bool:
        return self.service_state in RUNNING

    @property
    def is_absent(self) -> bool:
        return self.wanted.state == "absent"


def facts_of(result: Mapping[str, t.Any]) -> Facts | None:
    """Return the facts in a result of agent_info; None if the result has none."""
    if not result.get("key_owner") or result.get("failed") or result.get("unreachable"):
        return None
    names = [field.name for field in dataclasses.fields(Facts) if field.name != "wanted"]
    given = {name: result[name] for name in names if name in result}
    return Facts(**given, wanted=_wanted_in(result))


def _wanted_in(result: Mapping[str, t.Any]) -> Wanted:
    given = result.get("wanted") or {}
    names = [field.name for field in dataclasses.fields(Wanted)]
    return Wanted(**{name: given[name] for name in names if name in given})


@dataclasses.dataclass(frozen=True)
class Host:
    """A host of the run. ``facts``: None if the host was not inspected, and then ``reason`` is the error, or empty.

    ``decides``: false for a host of an earlier batch: its facts are evidence, but it gets no steps.
    """

    name: str
    label: str
    facts: Facts | None = None
    reason: str = ""
    reached: bool = False
    audited: bool = True
    decides: bool = True

    @property
    def owner_label(self) -> str:
        """The label of the client whose key the host carries, or an empty text."""
        if self.facts is None:
            return ""
        return self.facts.owner_label or ""

    @property
    def is_absent(self) -> bool:
        """Whether the host was inspected, and is to be removed."""
        return self.facts is not None and self.facts.is_absent


@dataclasses.dataclass(frozen=True)
class Account:
    """The clients of the account by label. ``fingerprint`` identifies base_url, brand and token."""

    clients: Mapping[str, Mapping[str, t.Any]]
    fingerprint: str = ""
    read_only: bool = False

    @functools.cached_property
    def key_owners(self) -> dict[str, str]:
        """The label for each key fingerprint, for all clients whose keys the token can read."""
        return {client["key_fingerprint"]: label for label, client in self.clients.items() if client["key_fingerprint"]}

    @functools.cached_property
    def masked_labels(self) -> set[str]:
        """The labels of clients whose keys the token cannot read."""
        return {label for label, client in self.clients.items() if not client["key_fingerprint"]}


def account_of(result: Mapping[str, t.Any]) -> Account:
    """Return the account in a result of monitor_client_info."""
    clients = {client["label"]: client for client in result["clients"] if client["label"] is not None}
    return Account(clients, str(result.get("account_fingerprint") or ""), bool(result.get("read_only")))


@dataclasses.dataclass(frozen=True)
class Inventory:
    """The whole inventory. ``labels``: by host. ``absent``: hosts whose monitor_agent_state is absent.

    ``removed``: absent hosts that an earlier batch or play of this run removed, so other hosts may use their labels.
    ``unreadable``: why the label of a host is unknown. ``differing``: a host whose label in this run differs from its
    label in the inventory. ``accounts``: the fingerprint of the account of each host of the batch.
    """

    labels: Mapping[str, str]
    absent: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    differing: str = ""
    accounts: Mapping[str, str] = dataclasses.field(default_factory=dict)
