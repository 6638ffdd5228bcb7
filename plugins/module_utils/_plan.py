# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task wants of the monitoring plan, as a change. Pure. Sections 2.2, 4.2 and 4.3 of the API document."""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._reconcile import Change, quoted

if t.TYPE_CHECKING:
    from collections.abc import Sequence

FREE = "free"


def plan_change(
    plan: dict[str, t.Any], tiers: Sequence[dict[str, t.Any]], subscription: str | None, min_clients: int | None
) -> Change:
    """The switch of the plan to a tier (``free`` for none), or up to the smallest tier with so many clients."""
    if min_clients is not None:
        wanted = _tier_for(plan, tiers, min_clients)
    elif subscription == FREE:
        wanted = {}
    else:
        wanted = _tier(tiers, subscription)
    label = str(wanted.get("id", FREE))
    if wanted.get("id") == plan.get("id"):
        return Change("none", label, plan, plan)
    return Change("switch", label, plan, wanted)


def _tier(tiers: Sequence[dict[str, t.Any]], subscription: str | None) -> dict[str, t.Any]:
    for tier in tiers:
        if tier.get("id") == subscription:
            return tier
    known = quoted(sorted(str(tier.get("id")) for tier in tiers))
    raise InputError(f"There is no subscription {subscription!r}. There are {known}, and 'free'.")


def _tier_for(plan: dict[str, t.Any], tiers: Sequence[dict[str, t.Any]], min_clients: int) -> dict[str, t.Any]:
    if min_clients < 1:
        raise InputError(f"min_clients must be at least 1, not {min_clients}.")
    if plan.get("clients_included", 0) >= min_clients:
        return plan
    by_size = sorted(tiers, key=lambda tier: tier["clients_included"])
    large_enough = [tier for tier in by_size if tier["clients_included"] >= min_clients]
    if not large_enough:
        largest = by_size[-1] if by_size else {"id": None, "clients_included": 0}
        raise InputError(
            f"No subscription includes {min_clients} clients; the largest, {largest['id']!r}, "
            f"includes {largest['clients_included']}."
        )
    return large_enough[0]


def check_plan_fits(change: Change, existing: int) -> None:
    """InputError for a switch to a plan that includes fewer clients than there are; free states no limit."""
    if not existing:
        return
    clients = "1 client" if existing == 1 else f"{existing} clients"
    if not change.after:
        raise InputError(
            f"The account has {clients}, and the free plan states no limit. Set allow_over_capacity: true to "
            "switch all the same, or delete clients first."
        )
    if change.after["clients_included"] < existing:
        raise InputError(
            f"The account has {clients}, the subscription {change.after['id']!r} includes "
            f"{change.after['clients_included']}. Choose a larger one, or set allow_over_capacity: true."
        )


def plan_facts(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    """What a diff shows of a plan: tier, clients included and price."""
    return {
        "subscription": plan.get("id", FREE),
        "clients_included": plan.get("clients_included"),
        "price": plan.get("price"),
    }
