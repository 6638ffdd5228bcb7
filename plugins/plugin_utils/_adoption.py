# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which clients hosts may keep that carry a key under another label: machines that were renamed. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._labels import MAX_LENGTH, MIN_LENGTH
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import named, natural, reason

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Account, Look

# What becomes of a host: it keeps a client under its own label, or stays as it is because of a conflict, or because
# nothing is known of its key; or there is nothing to do.
ADOPT, CONFLICT, UNKNOWN, NOTHING = "adopt", "conflict", "unknown", "nothing"


@dataclasses.dataclass(frozen=True)
class Adoption:
    """What becomes of a host; ``owner_label`` is the client whose key it carries."""

    host: str
    label: str
    owner_label: str | None
    action: str
    detail: str


def adoptions(looks: Sequence[Look], account: Account, everyone: Mapping[str, str]) -> list[Adoption]:
    """Judge each host, in the order of their names. ``everyone``: host → label of the whole inventory."""
    carriers = collections.defaultdict(list)
    for look in looks:
        if look.fingerprint:
            carriers[look.fingerprint].append(look.host)
    hosts_of = {label: host for host, label in everyone.items()}
    found = [_adoption(look, account, carriers, hosts_of) for look in looks]
    return sorted(found, key=lambda adoption: natural(adoption.host))


def renames(found: Sequence[Adoption]) -> dict[str, str]:
    """Old label → new label, of the clients that are adopted."""
    return {str(one.owner_label): one.label for one in found if one.action == ADOPT}


def _adoption(
    look: Look, account: Account, carriers: Mapping[str, Sequence[str]], hosts_of: Mapping[str, str]
) -> Adoption:
    result: Mapping[str, t.Any] = look.result or {}
    key = result.get("key_owner") if look.reached else None
    owner = result.get("owner_label") if key == "other" else None
    if key == "other":
        problem = _conflict(look, str(owner), account, carriers, hosts_of)
        if problem:
            return Adoption(look.host, look.label, owner, CONFLICT, problem)
        return Adoption(look.host, look.label, owner, ADOPT, f"Client {owner!r} gets the label {look.label!r}.")
    if key is None:
        why = "not looked at" if look.result is None else reason(result)
        return Adoption(look.host, look.label, None, UNKNOWN, f"Not known whose key it carries: {why}")
    if key == "unverifiable" or key == "unknown" and account.masked:
        return Adoption(look.host, look.label, None, UNKNOWN, "Not known whose key it carries: keys are masked.")
    said = {
        "own": "Carries its own key.",
        "unknown": "Carries a key of no client of the account.",
    }.get(key, "Carries no key.")
    return Adoption(look.host, look.label, None, NOTHING, said)


def _conflict(
    look: Look,
    owner: str,
    account: Account,
    carriers: Mapping[str, Sequence[str]],
    hosts_of: Mapping[str, str],
) -> str:
    """Why a host can't keep the client whose key it carries; empty if it can."""
    others = [host for host in carriers.get(look.fingerprint or "", []) if host != look.host]
    if others:
        return f"Carries the key of client {owner!r}, and so does {named(sorted(others, key=natural))}."
    if owner in hosts_of:
        return f"Carries the key of client {owner!r}, which is that of host {hosts_of[owner]}."
    if not account.lacks(look.label):
        return f"Carries the key of client {owner!r}, but another client has the label {look.label!r}."
    if not MIN_LENGTH <= len(look.label) <= MAX_LENGTH:
        return f"The label {look.label!r} is not valid."
    return ""
