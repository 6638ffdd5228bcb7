# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan, and how much of it is used."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules.monitor_plan_info import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import TIERS, Service


@pytest.mark.parametrize(
    ("plan", "count", "expected"),
    [
        ({}, True, {"free": True, "clients_included": None, "clients_used": 2}),
        (TIERS[0], False, {"free": False, "clients_included": 3}),
    ],
)
def test_plan_info(plan: dict[str, Any], count: bool, expected: dict[str, Any]) -> None:
    service = Service()
    service.responses["GET /monitor/plan"] = plan
    found = run({"count_clients": count}, service.api, False)
    assert found == {"changed": False, "plan": plan, **expected}
