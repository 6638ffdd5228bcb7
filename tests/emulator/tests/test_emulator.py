# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The emulator as a process: its command line, its end, and the harness that steers it."""

import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

COMMAND = [sys.executable, "-m", "ansible_collections.monitor.cloud.tests.emulator"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_prints_the_environment_and_ends_cleanly(number: signal.Signals) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "--port", "0"], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip().removeprefix("export ") for dummy in range(2)]
        environment = dict(line.split("=", 1) for line in lines)
        assert set(environment) == {"MONITOR_BASE_URL", "MONITOR_API_TOKEN"}
        assert environment["MONITOR_BASE_URL"].endswith("/v4")
        assert requests.get(environment["MONITOR_BASE_URL"] + "/regions", timeout=60).ok
        process.send_signal(number)
        dummy, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.splitlines() == [
        "Paste these two lines into another shell, in which you run Ansible:",
        "",
        "",
        "Serving. Stop it with Ctrl-C in this shell; the account is lost then.",
    ]


def test_a_busy_port_fails_with_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        done = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"emulator: cannot listen on 127.0.0.1:{port}: Address already in use. ")
    assert done.stderr.endswith(f": {' '.join(COMMAND)} --port 0\n")


def test_settings_are_listed() -> None:
    done = subprocess.run([*COMMAND, "--list-settings"], capture_output=True, text=True, check=True, timeout=60)
    assert 'update_verb="post"  (one of "post", "put_only")' in done.stdout


def test_ends_with_its_input() -> None:
    """Which ends with the process that started it, however that ends."""
    command = [*COMMAND, "--port", "0", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline().startswith(b"export MONITOR_BASE_URL=")
        dummy, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")


def test_a_reset_goes_back_to_the_options_of_the_start_and_the_database_keeps_the_account(tmp_path: Path) -> None:
    arguments = ["--database", str(tmp_path / "account.sqlite"), "--set", "brand=longview", "--token", "abc"]
    with Emulator(arguments=[*arguments, "--seed", "3"]) as emulator:
        assert len(emulator.call("GET", "/longview/clients").json()["data"]) == 3
        emulator.configure(brand="other", latency_ms=1)
        emulator.set_token("more")
        emulator.fault(kind="drop")
        emulator.set_plan("other-3")
        emulator.reset()
        assert (emulator.clients(), emulator.requests(), emulator.faults()) == ([], [], [])
        assert emulator.settings()["latency_ms"] == 0
        assert (set(emulator.tokens), emulator.tokens["read_write"]) == ({"read_write", "read_only", "no_plan"}, "abc")
        assert emulator.call("GET", "/longview/plan").json() == {}
        assert emulator.call("POST", "/longview/clients", {"label": "web"}).json()["id"] == 1
        emulator.set_plan("longview-10")
        before = emulator.clients()
    with Emulator(arguments=arguments) as emulator:
        assert emulator.clients() == before
        assert emulator.call("GET", "/longview/plan").json()["id"] == "longview-10"


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


def test_an_emulator_that_cannot_start_reports_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        Emulator(arguments=["--set", "colour=red"]).__enter__()
    assert "no setting 'colour'" in capfd.readouterr().err


def test_reports_of_agents_are_kept_by_host(emulator: Emulator) -> None:
    one, two = emulator.seed(labels=["one", "two"])
    for host, (code, key) in {"web-1": (one, one), "web-2": (two, one)}.items():
        report = {"host": host, "install_code": code["install_code"], "api_key": key["api_key"]}
        url = f"{emulator.base_url.rpartition('/')[0]}/_emulator/reports"
        assert requests.post(url, json=report, timeout=60).ok
    assert emulator.reports() == {"web-1": "one", "web-2": None}
    emulator.clear_reports()
    assert emulator.reports() == {}
