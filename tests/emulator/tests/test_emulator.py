# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The emulator as a process, and what it responds, with settings and without.

Not here: settings and faults whose effect other tests need in order to pass.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.emulator.settings import describe

COMMAND = [sys.executable, "-m", "ansible_collections.monitor.cloud.tests.emulator"]


def test_prints_the_environment_and_ends_cleanly() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "--port", "0"], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip().removeprefix("export ") for dummy in range(3)]
        environment = dict(line.split("=", 1) for line in lines)
        assert list(environment) == ["MONITOR_BASE_URL", "MONITOR_API_TOKEN", "MONITOR_READ_ONLY_TOKEN"]
        assert environment["MONITOR_BASE_URL"].endswith("/v4")
        address, both, reads = environment.values()
        for token, scope in ((both, "monitor:read_write"), (reads, "monitor:read_only")):
            headers = {"Authorization": f"Bearer {token}"}
            answer = requests.get(address + "/monitor/clients", headers=headers, timeout=60)
            assert answer.ok and scope in answer.headers["X-OAuth-Scopes"]
        process.send_signal(signal.SIGINT)
        dummy, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.splitlines() == [
        "Paste these lines into another shell, in which you run Ansible:",
        "",
        "",
        "Serving. Stop it with Ctrl-C in this shell; the account is lost then.",
    ]


def test_a_busy_port_and_an_unknown_setting_fail_with_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        for options, message in (
            (["--port", port], f"cannot listen on 127.0.0.1:{port}: Address already in use. Take a free port: "),
            (["--set", "colour=red"], "There is no setting 'colour'. Choose one of: account_code, "),
        ):
            done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False, timeout=60)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert done.stderr.startswith(f"emulator: {message}")


def test_settings_are_described() -> None:
    assert 'update_verb="post"  (one of "post", "put_only")' in describe()


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


@pytest.mark.parametrize(("kind", "made"), [("drop", 0), ("lost_response", 1)])
def test_a_connection_is_reset(emulator: Emulator, kind: str, made: int) -> None:
    """What else faults do, contract tests and tests/faults/test_operations_and_faults.py need in order to pass."""
    emulator.fault(kind=kind)
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        emulator.call("POST", "/monitor/clients", {"label": "web"})
    assert len(emulator.clients()) == made


def test_fields_of_a_response_are_removed_and_added(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    whole = emulator.call("GET", "/monitor/clients").json()
    emulator.fault(kind="edit", remove=["data.apps.nginx", "pages", "page.none"], add={"data.new": [1], "none.new": 1})
    edited = emulator.call("GET", "/monitor/clients").json()
    apps = {"apache": False, "mysql": False}
    assert edited == {"data": [{**one, "apps": apps, "new": [1]} for one in whole["data"]], "page": 1, "results": 2}


def test_reports_of_agents_are_kept_by_host(emulator: Emulator) -> None:
    one, two = emulator.seed(labels=["one", "two"])
    for host, (code, key) in {"web-1": (one, one), "web-2": (two, one)}.items():
        report = {"host": host, "install_code": code["install_code"], "api_key": key["api_key"]}
        url = f"{emulator.base_url.rpartition('/')[0]}/_emulator/reports"
        assert requests.post(url, json=report, timeout=60).ok
    assert emulator.reports() == {"web-1": "one", "web-2": None}
    emulator.clear_reports()
    assert emulator.reports() == {}


CLIENT = "GET /monitor/clients/1"
CREATE = "POST /monitor/clients"
PLAN = "PUT /monitor/plan"
NEW = {"label": "new"}
SECOND_PAGE = {"availability_records": 120}

# Settings, a call, its body and token; the status of the response, and what its JSON has, as a regular expression.
RESPONSES: list[tuple[dict[str, Any], str, Any, str, int, str]] = [
    ({}, CLIENT, None, "read_write", 200, '"api_key": "([0-9A-F]{4,16}-?){4}", "install_code"'),
    ({}, CLIENT, None, "read_only", 200, r'"api_key": "\[REDACTED\]", "install_code": "\[REDACTED\]"'),
    ({"mask_text": ""}, CLIENT, None, "read_only", 200, '"api_key": "", "install_code": ""'),
    ({"mask_kind": "cut_short"}, CLIENT, None, "read_only", 200, '"api_key": "\\w{6}", "install_code": "\\w{6}"'),
    ({"mask_kind": "missing"}, CLIENT, None, "read_only", 200, '{"id": 1, "label": "web", "created": '),
    ({"key_format": "plain_hex"}, CREATE, NEW, "read_write", 200, '"api_key": "[0-9a-f]{40}"'),
    ({}, CREATE, {}, "read_write", 200, '"label": "monitor002"'),
    ({"label_required": True}, CREATE, {}, "read_write", 400, '"field": "label"'),
    ({"duplicate_status": 409}, CREATE, {"label": "web"}, "read_write", 409, "Label must be unique"),
    ({"duplicate_reason": "Taken."}, CREATE, {"label": "web"}, "read_write", 400, '"reason": "Taken."'),
    # JSON text, since Python takes 0 and False for the same.
    ({"apps_as_integers": True}, CREATE, NEW, "read_write", 200, '"apps": {"apache": 0, '),
    ({"apps_as_integers": True}, CLIENT, None, "read_write", 200, '"apps": {"apache": false, '),
    ({"delete_status": 204}, "DELETE /monitor/clients/1", None, "read_write", 204, "^null$"),
    ({"extra_fields": True}, CLIENT, None, "read_write", 200, '"tags": '),
    ({"extra_fields": True}, "GET /monitor/subscriptions/monitor-3", None, "", 200, '"retention_days": '),
    ({"extra_fields": True}, "GET /regions/us-west", None, "", 200, '"site_type": '),
    ({"extra_fields": True}, "GET /regions/us-west/availability", None, "", 200, '"stock": '),
    ({"extra_fields": True}, CREATE, {"label": "no"}, "read_write", 400, '"code": "E400"'),
    ({}, PLAN, {}, "read_write", 200, '"id": "monitor-10"'),
    ({}, PLAN, {"monitor_subscription": "monitor-4"}, "read_write", 400, '"field": "monitor_subscription"'),
    ({}, "GET /monitor/plan", None, "no_plan", 403, "lacks the grant"),
    ({"forbidden_status": 401}, "GET /monitor/plan", None, "no_plan", 401, "lacks the grant"),
    (SECOND_PAGE, "GET /regions/availability?page=2", None, "", 200, '"page": 2, "pages": 2, "results": 120'),
    (SECOND_PAGE, "GET /regions/availability?page=3", None, "", 404, "Not found"),
    ({**SECOND_PAGE, "past_end": "empty"}, "GET /regions/availability?page=3", None, "", 200, r'{"data": \[\], '),
    ({}, "GET /monitor", None, "", 404, '"field": ""'),
    ({}, "PUT /monitor/clients/1", NEW, "read_write", 405, '"field": ""'),
    ({"error_field": "null"}, "GET /monitor/clients/9", None, "read_write", 404, '"field": null'),
    ({"error_field": "null"}, CREATE, {"label": "no"}, "read_write", 400, '"field": "label"'),
    ({"error_field": "missing"}, "GET /nowhere", None, "", 404, r'^{"errors": \[{"reason": "[^"]*"}\]}$'),
]


@pytest.mark.parametrize(("settings", "request_line", "body", "token", "status", "expected"), RESPONSES)
def test_responses(
    emulator: Emulator, settings: dict[str, Any], request_line: str, body: Any, token: str, status: int, expected: str
) -> None:
    emulator.seed(labels=["web"])
    emulator.set_plan("monitor-10")
    emulator.configure(**settings)
    method, path = request_line.split(" ")
    reply = emulator.call(method, path, body, token=token or None)
    assert reply.status_code == status
    assert re.search(expected, json.dumps(reply.json() if reply.text else None))
    assert ("content-type" in reply.headers) is bool(reply.text)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b'{"label": null}', b'{"label": "\\ud800abc"}']
)
def test_an_invalid_body_is_refused_with_an_error_of_the_service(emulator: Emulator, body: bytes) -> None:
    reply = emulator.call("POST", "/monitor/clients", body)
    assert reply.status_code == 400
    (error,) = reply.json()["errors"]
    assert error["reason"]
    assert emulator.clients() == []
    assert emulator.requests()[0]["status"] == 400


def test_rate_limit_of_a_token_and_an_operation_holds_until_its_window_is_over(emulator: Emulator) -> None:
    emulator.configure(rate_limit=True, rate_window_scale=1 / 60, rate_call=3)
    assert [emulator.call("GET", "/monitor/plan").status_code for dummy in range(5)] == [200, 200, 200, 429, 429]
    for path, token in (("/monitor/clients", "read_write"), ("/monitor/plan", "read_only")):
        assert emulator.call("GET", path, token=token).status_code == 200
    assert emulator.call("GET", "/monitor/plan").headers["retry-after"] == "1"
    time.sleep(1)
    assert emulator.call("GET", "/monitor/plan").status_code == 200


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
        ("configure", {"page_size_max": "many"}, "of type int"),
        ("configure", {"page_size_max": True}, "of type int"),
        ("configure", {"mask_labels": "web"}, "of type tuple"),
        ("fault", {"kind": "fire"}, "not fire"),
        ("fault", {"kind": "drop", "color": "red"}, "argument 'color'"),
        ("fault", {"kind": "meanwhile", "changes": {"paint": []}}, "not paint"),
        ("fault", {"kind": "drop", "match": {"day": "Monday"}}, "not day"),
        ("fault", {"kind": "drop", "operation": "get_weather"}, "not get_weather"),
        ("set_plan", {"tier": "gold"}, "KeyError('gold')"),
    ],
    ids=str,
)
def test_an_invalid_setting_or_fault_is_refused(
    emulator: Emulator, method: str, given: dict[str, Any], message: str
) -> None:
    before = emulator.settings()
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(emulator, method)(**given)
    assert (emulator.settings(), emulator.faults()) == (before, [])
