# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"label": "web2"}', ["web2"]),
        ('{"+and": [{"label": "web2"}, {"id": 2}]}', ["web2"]),
        ('{"label": "web2", "id": 1}', []),
        ("web2", None),
    ],
)
def test_lists_are_filtered_by_equality(emulator: Emulator, text: str, expected: list[str] | None) -> None:
    """Observed: "filters". `results` is the number of clients that match the filter."""
    emulator.seed(labels=["web1", "web2"])
    reply = emulator.call("GET", "/monitor/clients", headers={"X-Filter": text})
    assert (reply.status_code == 400) is (expected is None)
    assert [client["label"] for client in reply.json().get("data", ())] == (expected or [])
    assert reply.json().get("results", 0) == len(expected or [])


@pytest.mark.parametrize(
    ("settings", "call", "expected"),
    [
        ({"apps_as_integers": True}, ("POST", "/monitor/clients", {"label": "new"}), '"apps": {"apache": 0, '),
        ({"plan_empty_string": True}, ("PUT", "/monitor/plan", {"monitor_subscription": ""}), "{}"),
        ({"extra_fields": True}, ("GET", "/regions/us-west"), '"beta": true}'),
    ],
)
def test_settings(emulator: Emulator, settings: dict[str, Any], call: tuple[Any, ...], expected: str) -> None:
    assert expected not in emulator.call(*call).text
    emulator.reset()
    emulator.configure(**settings)
    assert expected in emulator.call(*call).text


def test_the_token_can_be_chosen() -> None:
    with Emulator(arguments=["--token", "t0ken"]) as emulator:
        assert emulator.tokens["read_write"] == "t0ken"
