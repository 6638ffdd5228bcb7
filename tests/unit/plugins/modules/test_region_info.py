# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regions by their fields, and by what is available there."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules.region_info import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import Service

EU, US = (
    {"id": name, "country": name, "capabilities": ["Block Storage"], "status": status}
    for name, status in (("eu", "ok"), ("us", "outage"))
)
RECORDS = [{"region": "eu", "plan": "small", "available": True}, {"region": "us", "plan": "small", "available": False}]
OPTIONS: dict[str, Any] = {**dict.fromkeys(("id", "country", "status", "compute_type")), "capabilities": []}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [EU, US]),
        ({"id": "us"}, [US]),
        ({"country": "EU"}, [EU]),
        ({"status": "outage"}, [US]),
        ({"capabilities": [" block storage"], "compute_type": "small"}, [EU]),
        ({"capabilities": ["Clients"]}, []),
        ({"id": "us", "include_availability": True}, [{**US, "availability": RECORDS[1:]}]),
    ],
)
def test_region_info(options: dict[str, Any], expected: list[Any]) -> None:
    service = Service()
    service.responses["GET /regions"] = {"data": [EU, US], "pages": 1, "results": 2}
    service.responses["GET /regions/availability"] = {"data": RECORDS, "pages": 1, "results": 2}
    service.responses["GET /regions/us"], service.responses["GET /regions/us/availability"] = US, RECORDS[1:]
    found = run({**OPTIONS, "include_availability": False, **options}, service.api, False)
    assert found == {"changed": False, "regions": expected}
