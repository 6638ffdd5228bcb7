# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One client by its label or id, and by which requests; what is refused: tests/contract/client/test_bad_input.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules.monitor_client import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import Service

OPTIONS = {"label": None, "id": None, "state": "present", "include_keys": False}
READ, BY_ID = "GET /monitor/clients", "GET /monitor/clients/1"
CREATE, RENAME = ("POST /monitor/clients", {"label": "web3"}), ("POST /monitor/clients/1", {"label": "www1"})
DELETE = "DELETE /monitor/clients/1"


@pytest.mark.parametrize(
    ("options", "received"),
    [
        ({"label": "web1"}, [READ]),
        ({"label": "web3"}, [READ, "GET /monitor/plan", CREATE]),
        ({"label": "web1", "state": "absent"}, [READ, BY_ID, DELETE]),
        ({"label": "web3", "state": "absent"}, [READ]),
        ({"id": "1", "label": "www1"}, [BY_ID, READ, RENAME]),
        ({"id": "1", "state": "absent"}, [BY_ID, DELETE]),
        ({"id": "7", "state": "absent"}, ["GET /monitor/clients/7", READ]),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_which_requests_are_made(options: dict[str, Any], received: list[Any], check_mode: bool) -> None:
    service = Service()
    result = run({**OPTIONS, **options}, service.api, check_mode)
    assert result["changed"] is (received[-1] in (CREATE, RENAME, DELETE))
    assert service.writes == [] if check_mode else service.received == received
