# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tiers: all, the one of an id, or none."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules.monitor_subscription_info import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import TIERS, Service


@pytest.mark.parametrize(("name", "expected"), [(None, TIERS), ("monitor-3", TIERS[:1]), ("monitor-9", [])])
def test_subscription_info(name: Any, expected: Any) -> None:
    service = Service()
    service.responses["GET /monitor/subscriptions/monitor-3"] = TIERS[0]
    assert run({"id": name}, service.api, False) == {"changed": False, "subscriptions": expected}
