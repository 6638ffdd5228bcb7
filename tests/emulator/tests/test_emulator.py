# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The emulator as a process, and what it responds, with settings and without.

Not here: settings and faults whose effect other tests need in order to pass.
"""

import json
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


def test_prints_the_environment_and_ends_cleanly() -> None:
    command = [sys.executable, "-m", "ansible_collections.monitor.cloud.tests.emulator", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip().removeprefix("export ") for dummy in range(3)]
        environment = dict(line.split("=", 1) for line in lines)
        assert list(environment) == ["MONITOR_BASE_URL", "MONITOR_API_TOKEN", "MONITOR_READ_ONLY_TOKEN"]
        address, both, reads = environment.values()
        for token, scope in ((both, "monitor:read_write"), (reads, "monitor:read_only")):
            headers = {"Authorization": f"Bearer {token}"}
            response = requests.get(address + "/monitor/clients", headers=headers, timeout=60)
            assert response.ok and scope in response.headers["X-OAuth-Scopes"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_reset_goes_back_to_the_options_of_the_start() -> None:
    with Emulator(arguments=["--set", "brand=longview", "--seed", "3"]) as emulator:
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
    assert edited == {"data": [{**one, "apps": apps, "new": [1]} for one in whole["data"]], "page": 1, "results": 2}


CLIENT = "GET /monitor/clients/1"
CREATE = "POST /monitor/clients"
NEW = {"label": "new"}
EXTRA = {"extra_fields": True}


# Settings, a call and its body; the status of the response, and what its JSON has, as a regular expression.
@pytest.mark.parametrize(
    ("settings", "request_line", "body", "status", "expected"),
    [
        ({}, CLIENT, None, 200, '"api_key": "([0-9A-F]{4,16}-?){4}", "install_code"'),
        ({"key_format": "plain_hex"}, CREATE, NEW, 200, '"api_key": "[0-9a-f]{40}"'),
        ({}, CREATE, {}, 200, '"label": "monitor002"'),
        ({"label_required": True}, CREATE, {}, 400, '"field": "label"'),
        ({}, CREATE, b"[" * 100_000, 400, '"reason": '),
        ({}, CREATE, b'{"label": "\\ud800abc"}', 400, '"reason": '),
        # JSON text, since Python takes 0 and False for the same.
        ({"apps_as_integers": True}, CREATE, NEW, 200, '"apps": {"apache": 0, '),
        ({"delete_status": 204}, "DELETE /monitor/clients/1", None, 204, "^null$"),
        (EXTRA, CLIENT, None, 200, '"tags": '),
        (EXTRA, "GET /monitor/subscriptions/monitor-3", None, 200, '"retention_days": '),
        (EXTRA, "GET /regions/us-west", None, 200, '"site_type": '),
        (EXTRA, "GET /regions/us-west/availability", None, 200, '"stock": '),
        (EXTRA, CREATE, {"label": "no"}, 400, '"code": "E400"'),
        ({}, "PUT /monitor/plan", {}, 200, '"id": "monitor-10"'),
        ({"past_end": "empty"}, "GET /monitor/clients?page=3", None, 200, r'{"data": \[\], '),
        ({"error_field": "null"}, "GET /monitor/clients/9", None, 404, '"field": null'),
        ({"error_field": "missing"}, "GET /nowhere", None, 404, r'^{"errors": \[{"reason": "[^"]*"}\]}$'),
    ],
)
def test_responses(
    emulator: Emulator, settings: dict[str, Any], request_line: str, body: Any, status: int, expected: str
) -> None:
    emulator.seed(labels=["web"])
    emulator.set_plan("monitor-10")
    emulator.configure(**settings)
    reply = emulator.call(*request_line.split(" "), body)
    assert reply.status_code == status
    assert re.search(expected, json.dumps(reply.json() if reply.text else None))
    assert ("content-type" in reply.headers) is bool(reply.text)


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
