# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of an account: its change, how many clients it has room for, and what these and more clients cost. Pure."""

from __future__ import annotations

import operator
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Change
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

Tier = t.Dict[str, t.Any]  # noqa: UP006
FREE = "free"
_size = operator.itemgetter("clients_included")
_PERIODS = ("hourly", "monthly")
_MOST_EXPENSIVE = 1e15


def check_capacity(use: Mapping[str, t.Any]) -> None:
    """Raise InputError if the paid plan has no room for the new clients; the limit of the free plan is not known."""
    if not is_too_small(use):
        return
    needed, tier = use["clients_used"] + use["clients_missing"], use["next_tier"]
    larger = f" {tier['id']} includes {tier['clients_included']} clients, {price_text(tier['price'])}." if tier else ""
    raise InputError(
        f"The plan {use['plan']!r} is too small: it includes {use['clients_included']} clients, and {needed} are "
        f"needed. No client was created. Switch to a larger plan (monitor_plan with min_clients: {needed}), or remove "
        f"clients that are not needed.{larger} Hosts that were renamed keep their clients if you run "
        "monitor.cloud.adopt."
    )


def use_of_plan(
    used: int, missing: int, plan: Mapping[str, t.Any] | None, tiers: Sequence[Tier], problem: str | None = None
) -> dict[str, t.Any]:
    """The use and price of a plan, and the next tier, or the tier needed; None for each value that is not known.

    ``missing`` clients are to be created. ``plan`` is None if it cannot be read, for the reason ``problem``.
    """
    paid, known = plan or {}, plan is not None
    included = paid.get("clients_included")
    tier = smallest_tier(tiers, max(used + missing, (included or 0) + 1)) if known else None
    return {
        "clients_used": used,
        "clients_missing": missing,
        "plan": paid.get("id"),
        "free": not paid if known else None,
        "clients_included": included,
        "price": price_of(paid),
        "next_tier": tier
        and {**{name: tier.get(name) for name in ("id", "label", "clients_included")}, "price": price_of(tier)},
        "problem": problem,
    }


def is_too_small(use: Mapping[str, t.Any]) -> bool:
    """Whether a plan includes fewer clients than are used and are to be created."""
    included = use["clients_included"]
    return isinstance(included, int) and use["clients_used"] + use["clients_missing"] > included


def cost(use: Mapping[str, t.Any]) -> str:
    """Use and price of a plan as one line."""
    used, missing, tier = use["clients_used"], use["clients_missing"], use["next_tier"]
    more = f"; {missing} more to register" if missing else ""
    if use["free"] is None:
        return f"Clients: {used}{more}. The plan is not known: {use['problem'] or 'it was not read'}"
    plan = ", on the free plan, whose limit is not known"
    if not use["free"]:
        plan = f" of {use['clients_included']} that {use['plan']} includes, {price_text(use['price'])}"
    name = "Tier needed" if is_too_small(use) else "Next tier"
    larger = f" {name}: {tier['id']}, {tier['clients_included']} clients, {price_text(tier['price'])}." if tier else ""
    return f"Clients: {used}{plan}{more}.{larger}"


def price_of(tier: Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The price of a tier, without an hourly or monthly value that is not a finite number; other fields stay."""
    price = tier.get("price")
    if not isinstance(price, dict):
        return None
    return {
        name: value
        for name, value in price.items()
        if name not in _PERIODS or (isinstance(value, (int, float)) and abs(value) < _MOST_EXPENSIVE)
    }


def price_text(price: Mapping[str, t.Any] | None) -> str:
    """A price as text, with ``currency`` if the service adds that field, which docs/openapi.yaml (Price) lacks."""
    if not price or "monthly" not in price:
        return "price not known"
    currency = price.get("currency")
    return " ".join([f"{price['monthly']:.15g}", *([currency] if isinstance(currency, str) else []), "a month"])


def price_difference(before: Tier, after: Tier) -> dict[str, float]:
    """Period → how much more ``after`` costs than ``before``, if both prices are known; the free plan counts as 0."""
    free = dict.fromkeys(_PERIODS, 0)
    old, new = (price_of(plan) or {} if plan else free for plan in (before, after))
    # Rounded, because in floats 0.3 - 0.1 is 0.19999999999999998.
    return {period: round(new[period] - old[period], 6) for period in _PERIODS if period in old and period in new}


def plan_change(plan: Tier, tiers: Sequence[Tier], subscription: str | None, min_clients: int | None) -> Change:
    """The switch of the plan to a tier (``free`` for none), or up to the smallest tier for ``min_clients``."""
    if min_clients is not None:
        expected = _tier_for(plan, tiers, min_clients)
    else:
        # The current plan can be a tier that the service no longer lists.
        by_id = {FREE: {}, **{str(tier["id"]): tier for tier in [*tiers, plan] if tier}}
        if subscription not in by_id:
            known = listed([FREE, *(str(tier["id"]) for tier in sorted(tiers, key=_size))])
            raise InputError(f"There is no subscription {subscription!r}. Choose one of: {known}.")
        expected = by_id[subscription]
    action: t.Literal["none", "switch"] = "none" if expected.get("id") == plan.get("id") else "switch"
    return Change(action, str(expected.get("id", FREE)), plan, expected)


def _tier_for(plan: Tier, tiers: Sequence[Tier], min_clients: int) -> Tier:
    if min_clients < 1:
        raise InputError(f"min_clients must be at least 1, not {min_clients}.")
    if plan.get("clients_included", 0) >= min_clients:
        return plan
    tier = smallest_tier(tiers, min_clients)
    if tier is None:
        if not tiers:
            raise InputError("The service lists no subscriptions. Check base_url and brand.")
        largest = max(tiers, key=_size)
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
    clients, after = "1 client" if existing == 1 else f"{existing} clients", change.after
    if not after or after["clients_included"] < existing:
        fits = (
            f"{after['id']!r} includes {after['clients_included']}"
            if after
            else "the limit of the free plan is unknown"
        )
        raise InputError(
            f"The account has {clients}, and {fits}. Choose a larger subscription, delete clients first, or set "
            "allow_over_capacity: true."
        )


def plan_facts(plan: Tier) -> dict[str, t.Any]:
    """The facts of a plan for a diff: tier, clients included and price, as far as they are known."""
    price, included = plan.get("price"), plan.get("clients_included")
    facts = {"subscription": plan.get("id", FREE), "clients_included": included, "price": price}
    return {name: value for name, value in facts.items() if value is not None}
