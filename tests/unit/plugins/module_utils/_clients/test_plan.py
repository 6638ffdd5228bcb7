# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import (
    check_capacity,
    check_plan_fits,
    cost,
    plan_change,
    plan_facts,
    price_difference,
    use_of_plan,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError


@given(st.integers(1, 200), st.integers(0, 200), st.integers(0, 200))
@example(2, 1, 3)
@example(2, 1, 2)
def test_new_clients_fit_exactly_into_a_plan(existing: int, new: int, included: int) -> None:
    larger = {"id": "huge", "clients_included": 1000, "price": {"monthly": 7}}
    message = f"includes {included} clients, and {existing + new} are needed.* huge includes 1000 clients, 7 a month"
    with pytest.raises(InputError, match=message) if existing + new > included else contextlib.nullcontext():
        check_capacity(use_of_plan(existing, new, {"id": "monitor-x", "clients_included": included}, [larger]))
    check_capacity(use_of_plan(existing, new, {}, []))


_TIERS: list[dict[str, Any]] = [
    {"id": f"monitor-{size}", "clients_included": size, "price": {"hourly": 0.1, "monthly": size}}
    for size in (100, 3, 40, 10)
]


@pytest.mark.parametrize(
    ("plan", "missing", "next_tier", "expected"),
    [
        (None, 0, None, ". The plan is not known: no grant."),
        ({}, 1, "monitor-3", ", on the free plan, whose limit is not known; 1 more to register. Next tier: monitor-3,"),
        ({}, 2, "monitor-10", "; 2 more to register. Next tier: monitor-10, 10 clients, 10 a month."),
        (_TIERS[1], 2, "monitor-10", " of 3 that monitor-3 includes, 3 a month; 2 more to register. Tier needed: moni"),
        (_TIERS[1], 1, "monitor-10", "; 1 more to register. Next tier: monitor-10,"),
        (
            {"id": "nine", "clients_included": 9},
            0,
            "monitor-10",
            " of 9 that nine includes, price not known. Next tier",
        ),
        (_TIERS[0], 0, None, " of 100 that monitor-100 includes, 100 a month."),
        ({**_TIERS[0], "price": {"hourly": 0.1}}, 0, None, " of 100 that monitor-100 includes, price not known."),
        ({**_TIERS[0], "price": {"monthly": 1e15}}, 0, None, " includes, price not known."),
        ({**_TIERS[0], "price": {"monthly": 1e15 - 1}}, 0, None, " includes, 999999999999999 a month."),
        ({**_TIERS[0], "price": {"monthly": 0}}, 0, None, " includes, 0 a month."),
        ({**_TIERS[0], "price": {"monthly": 1500000.0}}, 0, None, " includes, 1500000 a month."),
        ({**_TIERS[0], "price": {"monthly": 12345.67}}, 0, None, " includes, 12345.67 a month."),
    ],
)
def test_use_and_cost_of_a_plan(plan: Any, missing: int, next_tier: str | None, expected: str) -> None:
    use = use_of_plan(2, missing, plan, _TIERS, None if plan is not None else "no grant.")
    assert cost(use).startswith("Clients: 2") and expected in cost(use)
    assert (use["next_tier"] and use["next_tier"]["id"]) == next_tier
    assert (use["plan"], use["free"]) == ((plan or {}).get("id"), None if plan is None else not plan)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"hourly": 0.1, "monthly": 20}, {"hourly": 0.3, "monthly": 60.5}, {"hourly": 0.2, "monthly": 40.5}),
        ({"monthly": 20}, {"hourly": 0.3, "monthly": 5}, {"monthly": -15}),
        ({"hourly": 0.1}, {"hourly": 0.30000449}, {"hourly": 0.200004}),
        ("free", {"monthly": 5}, {"monthly": 5}),
        ({"monthly": 5}, "free", {"monthly": -5}),
        ("7 EUR", {"monthly": 5}, {}),
        ({"monthly": "7"}, {"monthly": 5}, {}),
    ],
)
def test_the_difference_of_prices(before: Any, after: Any, expected: dict[str, float]) -> None:
    old, new = ({} if price == "free" else {"id": "x", "price": price} for price in (before, after))
    assert price_difference(old, new) == expected


@pytest.mark.parametrize(
    ("desired", "existing", "problem"),
    [
        ("monitor-3", 4, "The account has 4 clients, but the plan 'monitor-3' includes 3"),
        ("free", 1, "The account has 1 client, "),
    ],
)
def test_a_plan_that_is_too_small_for_the_clients_is_refused(desired: str, existing: int, problem: str) -> None:
    change = plan_change(_TIERS[0], _TIERS, desired, None)
    assert change.changed and plan_facts(change.after)["subscription"] == desired
    check_plan_fits(change, existing - 1)
    with pytest.raises(InputError, match=problem):
        check_plan_fits(change, existing)


@pytest.mark.parametrize(
    ("plan", "tiers", "desired", "expected"),
    [
        ({}, _TIERS, 1, "monitor-3"),
        ({}, _TIERS, 3, "monitor-3"),
        ({}, _TIERS, 4, "monitor-10"),
        (_TIERS[0], _TIERS, 4, "monitor-100"),
        ({**_TIERS[3], "id": "monitor-ten"}, _TIERS, 10, "monitor-ten"),
        ({"id": "monitor-10"}, _TIERS, 1, "monitor-3"),
        (_TIERS[0], _TIERS, "monitor-100", "monitor-100"),
        # The service does not list the tier that this account has.
        ({"id": "monitor-5", "clients_included": 5}, _TIERS, "monitor-5", "monitor-5"),
        ({}, [], 1, "The service lists no subscriptions. Check base_url"),
        ({}, _TIERS, 101, "The largest subscription, 'monitor-100', includes 100 clients. Choose a smaller"),
        (_TIERS[0], _TIERS, 0, "min_clients must be at least 1, not 0"),
        ({}, _TIERS, "monitor-4", "Choose one of these: 'free', 'monitor-3', 'monitor-10', 'monitor-40', 'mon"),
    ],
)
def test_the_smallest_sufficient_tier_is_chosen(plan: Any, tiers: Any, desired: Any, expected: str) -> None:
    options = (None, desired) if isinstance(desired, int) else (desired, None)
    if " " in expected:
        with pytest.raises(InputError, match=expected):
            plan_change(plan, tiers, *options)
    else:
        assert plan_change(plan, tiers, *options).label == expected
