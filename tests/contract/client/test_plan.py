# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""monitor_plan and monitor_plan_info, option by option."""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_plan, monitor_plan_info
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import failed, go, run_all_forms, sent, writes


def test_subscription_up_and_back_to_free(emulator: Emulator) -> None:
    result = run_all_forms(emulator, monitor_plan, subscription="monitor-10")
    assert result["plan"]["id"] == "monitor-10"
    assert result["previous"] == {}
    assert result["diff"]["before"] == {"subscription": "free"}
    assert result["diff"]["after"] == {
        "subscription": "monitor-10",
        "clients_included": 10,
        "price": result["plan"]["price"],
    }
    undone = run_all_forms(emulator, monitor_plan, subscription="free")
    assert undone["plan"] == {}
    assert undone["previous"] == result["plan"]


def test_a_tier_with_room_for_the_clients(emulator: Emulator) -> None:
    emulator.seed(3)
    emulator.set_plan("monitor-10")
    run_all_forms(emulator, monitor_plan, subscription="monitor-3")


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_plan_below_the_clients_that_exist_is_refused(emulator: Emulator, check_mode: bool) -> None:
    """In other words, and where plans are not there: test_changes.py of the unit tests."""
    emulator.seed(4)
    with pytest.raises(InputError, match="The account has 4 clients, and the subscription 'monitor-3' includes 3"):
        go(emulator, monitor_plan, check_mode=check_mode, min_clients=2)
    assert writes(emulator) == []


@pytest.mark.parametrize("subscription", ["monitor-3", "free"])
def test_allow_over_capacity(emulator: Emulator, subscription: str) -> None:
    emulator.seed(4)
    emulator.set_plan("monitor-10")
    run_all_forms(emulator, monitor_plan, subscription=subscription, allow_over_capacity=True)
    run_all_forms(emulator, monitor_plan, subscription="monitor-10")


def test_without_the_grant_the_error_names_it(emulator: Emulator) -> None:
    message = failed(emulator, monitor_plan, token="no_plan", subscription="monitor-3")
    assert "account_access, monitor_subscription, add_monitor" in message
    emulator.set_token("reader", scopes=["monitor:read_write"], grants={"add_monitor": True})
    message = failed(emulator, monitor_plan, token="reader", subscription="monitor-3")
    assert "has the scope monitor:read_write; its user needs the grant monitor_subscription." in message


def test_plan_info(emulator: Emulator) -> None:
    emulator.seed(2)
    free = go(emulator, monitor_plan_info, token="read_only")
    expected = {"changed": False, "plan": {}, "free": True, "clients_used": 2, "clients_included": None}
    assert {**free, "api_usage": None} == {**expected, "api_usage": None}
    emulator.set_plan("monitor-10")
    paid = go(emulator, monitor_plan_info, check_mode=True)
    assert (paid["plan"]["id"], paid["free"], paid["clients_used"], paid["clients_included"]) == (
        "monitor-10",
        False,
        2,
        10,
    )


def test_plan_info_without_the_count_is_one_request(emulator: Emulator) -> None:
    result = go(emulator, monitor_plan_info, count_clients=False)
    assert "clients_used" not in result
    assert sent(emulator) == [("GET", "/monitor/plan")]
