# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which clients are returned, and which requests that takes."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules.monitor_client_info import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import Service

OPTIONS: dict[str, Any] = {"id": None, "label": None, "label_pattern": None, "include_keys": False}
OPTIONS |= {"base_url": "https://api.example.com/v4", "brand": "monitor", "api_token": "token"}


@pytest.mark.parametrize(
    ("options", "labels", "request_"),
    [
        ({}, ["web1", "web2"], "GET /monitor/clients"),
        ({"id": "1"}, ["web1"], "GET /monitor/clients/1"),
        ({"id": "7"}, [], "GET /monitor/clients/7"),
        ({"label": "web2"}, ["web2"], "GET /monitor/clients"),
        ({"label_pattern": ".*1"}, ["web1"], "GET /monitor/clients"),
    ],
)
def test_client_info(options: dict[str, Any], labels: list[str], request_: str) -> None:
    service = Service()
    found = run({**OPTIONS, **options}, service.api, False)
    assert [client["label"] for client in found["clients"]] == labels
    assert not any("api_key" in client for client in found["clients"])
    assert service.received == [request_]
