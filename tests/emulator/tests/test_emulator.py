# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the emulator responds, with settings and without, and what a reset does.

Not here: settings and faults whose effect other tests need in order to pass.
"""

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


def test_a_reset_goes_back_to_the_options_of_the_start() -> None:
    with Emulator(arguments=["--set", "brand=longview", "--seed", "3", "--token", "t0ken"]) as emulator:
        assert emulator.tokens["read_write"] == "t0ken"
        assert len(emulator.call("GET", "/longview/clients").json()["data"]) == 3
        before = emulator.tokens
        emulator.configure(brand="other", latency_ms=1)
        emulator.set_token("more")
        emulator.fault(kind="drop")
        emulator.set_plan("other-3")
        emulator.reset()
        assert (emulator.clients(), emulator.requests(), emulator.faults()) == ([], [], [])
        assert (emulator.settings()["latency_ms"], emulator.tokens) == (0, before)
        assert emulator.call("GET", "/longview/plan").json() == {}
        assert emulator.call("POST", "/longview/clients", {"label": "web"}).json()["id"] == 1
        # The input ends with the process that started the emulator, however that ends.
        assert emulator.process.stdin is not None
        emulator.process.stdin.close()
        assert emulator.process.wait(60) == 0


def test_a_port_in_use_is_named(emulator: Emulator) -> None:
    port = str(urlsplit(emulator.base_url).port)
    command = [sys.executable, "-m", "ansible_collections.monitor.cloud.tests.emulator", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and f"port {port}: Address already in use. Choose another: make emul" in done.stderr


def test_a_late_call_does_nothing_after_a_reset(emulator: Emulator) -> None:
    emulator.fault(kind="slow", seconds=0.5)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(emulator.call, "POST", "/monitor/clients", {"label": "web"})
        while not emulator.requests("create_client"):
            time.sleep(0.01)
        emulator.reset()
        assert late.result().status_code == 503
    assert emulator.clients() == []


def test_fields_of_a_response_are_removed_and_added(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    whole = emulator.call("GET", "/monitor/clients").json()
    emulator.fault(kind="edit", remove=["data.apps.nginx", "pages", "page.none"], add={"data.new": [1], "none.new": 1})
    edited = emulator.call("GET", "/monitor/clients").json()
    apps = {"apache": False, "mysql": False}
    assert edited == {
        "data": [{**client, "apps": apps, "new": [1]} for client in whole["data"]],
        "page": 1,
        "results": 2,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"label": "web2"}', ["web2"]),
        ('{"+and": [{"label": "web2"}, {"id": 2}]}', ["web2"]),
        ('{"label": "web2", "id": 1}', []),
        ('{"colour": "red"}', []),
        ("web2", None),
    ],
)
def test_lists_are_filtered_by_equality(emulator: Emulator, text: str, expected: list[str] | None) -> None:
    """Observed: "filters": before pages are made, so `results` counts what matches."""
    emulator.seed(labels=["web1", "web2"])
    reply = emulator.call("GET", "/monitor/clients", headers={"X-Filter": text})
    assert (reply.status_code == 400) is (expected is None)
    assert [client["label"] for client in reply.json().get("data", ())] == (expected or [])
    assert reply.json().get("results", 0) == len(expected or [])


@pytest.mark.parametrize(
    ("settings", "method", "path", "status", "expected"),
    [
        ({"delete_status": 204}, "DELETE", "/monitor/clients/1", 204, "^$"),
        ({"apps_as_integers": True}, "POST", "/monitor/clients", 200, '"apps": {"apache": 0, "mysql": 0, "nginx": 0}'),
        ({}, "PUT", "/monitor/plan", 400, "''"),
        ({"plan_empty_string": True}, "PUT", "/monitor/plan", 200, "^{}$"),
        ({"extra_fields": True}, "GET", "/regions/us-west", 200, '"resolvers": {.*, "beta": true}, .*, "beta": true}$'),
        ({"extra_fields": True}, "GET", "/nowhere", 404, '"reason": "Not found", .*"beta": true}'),
        ({"past_end": "empty"}, "GET", "/monitor/clients?page=3", 200, r'"data": \[\]'),
        ({"error_field": "null"}, "GET", "/monitor/clients/9", 404, '"field": null'),
        ({"error_field": "missing"}, "GET", "/nowhere", 404, r'^{"errors": \[{"reason": "[^"]*"}\]}$'),
    ],
)
def test_responses(
    emulator: Emulator, settings: dict[str, Any], method: str, path: str, status: int, expected: str
) -> None:
    emulator.seed(labels=["web"])
    emulator.configure(**settings)
    body = {"PUT": {"monitor_subscription": ""}, "POST": {"label": "new"}}.get(method)
    reply = emulator.call(method, path, body)
    assert reply.status_code == status
    assert re.search(expected, reply.text)


def test_responses_are_checked_against_the_contract_by_default(emulator: Emulator) -> None:
    # A product word that is too long makes the service invent a label that the contract does not allow.
    brand = "x" * 40
    emulator.configure(brand=brand)
    assert emulator.call("POST", f"/{brand}/clients", {}).status_code == 500
    emulator.configure(validate_responses=False)
    assert emulator.call("POST", f"/{brand}/clients", {}).status_code == 200


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("configure", {"colour": "red"}, "no setting 'colour'"),
        ("configure", {"update_verb": "patch"}, "one of post, put_only"),
        ("configure", {"page_size_max": True}, "of type int"),
        ("configure", {"mask_labels": "web"}, "of type tuple"),
        ("fault", {"kind": "drop", "color": "red"}, "argument 'color'"),
        ("fault", {"kind": "drop", "match": {"day": "Monday"}}, "not day"),
        ("fault", {"kind": "drop", "operation": "get_weather"}, "not get_weather"),
    ],
)
def test_an_invalid_setting_or_fault_is_refused(
    emulator: Emulator, method: str, given: dict[str, Any], message: str
) -> None:
    before = emulator.settings()
    with pytest.raises(ValueError, match=message):
        getattr(emulator, method)(**given)
    assert (emulator.settings(), emulator.faults()) == (before, [])
