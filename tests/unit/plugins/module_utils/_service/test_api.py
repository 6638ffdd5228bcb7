# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations as requests, and what errors of them report; all of them on the wire: tests/contract."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, TIERS, Service


def test_requests_and_values() -> None:
    service = Service()
    assert service.api.list_clients() == CLIENTS
    assert service.api.get_client("a/b") is None
    service.api.set_plan("monitor-10")
    assert service.received == [
        "GET /monitor/clients",
        "GET /monitor/clients/a%2Fb",
        ("PUT /monitor/plan", {"monitor_subscription": "monitor-10"}),
    ]


def test_another_plan_than_requested_is_an_error_with_its_purpose() -> None:
    service = Service()
    service.responses["PUT /monitor/plan"] = TIERS[0]
    with pytest.raises(ApiError, match="Could not switch the plan to monitor-10: the service confirmed 'monitor-3'"):
        service.api.set_plan("monitor-10")
