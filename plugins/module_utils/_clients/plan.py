# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The change of the monitoring plan that a task asks for. Pure."""

from __future__ import annotations

import operator
import typing as t
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Change
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

Tier = t.Dict[str, t.Any]  # noqa: UP006
FREE = "free"
_size = operator.itemgetter("clients_included")


def plan_change(plan: Tier, tiers: Sequence[Tier], subscription: str | None, min_clients: int | None) -> Change:
    """The switch of the plan to a tier (``free`` for none), or up to the smallest tier for ``min_clients``."""
    if min_clients is not None:
        expected = _tier_for(plan, tiers, min_clients)
    else:
        # The plan may be a tier that is no longer offered.
        by_id = {FREE: {}, **{str(tier["id"]): tier for tier in [plan, *tiers] if tier}}
        if subscription not in by_id:
            known = listed([str(tier["id"]) for tier in sorted(tiers, key=_size)])
            raise InputError(f"There is no subscription {subscription!r}. Choose one of {known}, or 'free'.")
        expected = by_id[subscription]
    label = str(expected.get("id", FREE))
    if expected.get("id") == plan.get("id"):
        return Change("none", label, plan, plan)
    return Change("switch", label, plan, expected)


def _tier_for(plan: Tier, tiers: Sequence[Tier], min_clients: int) -> Tier:
    if min_clients < 1:
        raise InputError(f"min_clients must be at least 1, not {min_clients}.")
    if plan.get("clients_included", 0) >= min_clients:
        return plan
    tier = smallest_tier(tiers, min_clients)
    if tier is None:
        largest = max(tiers, key=_size, default={"id": None, "clients_included": 0})
        raise InputError(
            f"No subscription includes {min_clients} clients; the largest, {largest['id']!r}, "
            f"includes {largest['clients_included']}. Choose a smaller min_clients."
        )
    return tier


def smallest_tier(tiers: Sequence[Tier], clients: int) -> Tier | None:
    """The smallest tier that includes this number of clients; None if there is none."""
    return min((tier for tier in tiers if _size(tier) >= clients), key=_size, default=None)


def check_plan_fits(change: Change, existing: int) -> None:
    """Raise InputError for a switch to a plan that includes fewer clients than exist, or whose limit is unknown."""
    if not existing:
        return
    clients = "1 client" if existing == 1 else f"{existing} clients"
    if not change.after:
        raise InputError(
            f"The account has {clients}, and the limit of the free plan is not known. Set allow_over_capacity: true to "
            "switch nevertheless, or delete clients first."
        )
    if change.after["clients_included"] < existing:
        raise InputError(
            f"The account has {clients}, and the subscription {change.after['id']!r} includes "
            f"{change.after['clients_included']}. Choose a larger one, or set allow_over_capacity: true."
        )


def plan_facts(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    """The facts of a plan for a diff: tier, clients included and price, as far as they are known."""
    price = plan.get("price")
    facts = {
        "subscription": plan.get("id", FREE),
        "clients_included": plan.get("clients_included"),
        "price": _known(price) if isinstance(price, dict) else price,
    }
    return _known(facts)


def _known(facts: dict[str, t.Any]) -> dict[str, t.Any]:
    return {name: value for name, value in facts.items() if value is not None}
