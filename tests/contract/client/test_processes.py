# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules in processes of their own.

On each Python that a host may have; on one that is too old, or that lacks the library requests: one sentence that
states what to do. Registrations that last: what is seen of them, and what is left when they are interrupted.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_plan_info
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.tasks import as_module

_PLUGINS = Path(monitor_plan_info.__file__).parents[1]


def test_an_old_python_fails_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    message = as_module(monitor_plan_info, {"base_url": "http://127.0.0.1:1/v4"})[0]["msg"]
    sentence = "monitor.cloud needs Python 3.9 or newer on the host where the module runs; this is 3.8."
    assert message.startswith(sentence) and sys.executable in message
    # What fails in 3.8 before that: subscripts of classes.
    for file in [*(_PLUGINS / "module_utils").rglob("*.py"), *(_PLUGINS / "modules").glob("*.py")]:
        assert not re.search(r"^\w+ = (dict|list|tuple|set)\[", file.read_text(), re.MULTILINE), file


def test_missing_requests() -> None:
    script = f"""
import sys
sys.modules["requests"] = None
sys.path[1:1] = {[path for path in sys.path if path]!r}
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import Http, Settings
try:
    Http(Settings("https://127.0.0.1/v4"))
except Exception as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert f"The Python library requests is missing for {sys.executable} " in done.stdout
    assert "Install it with the tool that installed that Python" in done.stdout and "pipx inject" in done.stdout


# `make matrix` sets it; without it, that is our own.
PYTHONS = os.environ.get("TARGET_PYTHONS", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("python", PYTHONS, ids=[path.split("/")[-3] for path in PYTHONS])
def test_a_module_creates_a_client_and_then_changes_nothing(python: str, emulator: Emulator, tmp_path: Path) -> None:
    """As on another host: on the controller itself, a module is run in its process."""
    controller = Local(tmp_path, emulator)
    variables = tmp_path / "variables.json"
    variables.write_text(json.dumps({"ansible_python_interpreter": python, **controller.executing()}))
    for changed in ("true", "false"):
        run = controller.shell(f"ansible localhost -m monitor.cloud.monitor_clients -a labels=web-1 -e @{variables}")
        assert run.code == 0 and f'"changed": {changed},' in run.output, run.output
    assert [client["label"] for client in emulator.clients()] == ["web-1"]


# Registrations that last

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients:
        labels: "{{ range(100) | map('regex_replace', '^', 'label-') | list }}"
"""
INTERRUPTED = 99
CONCURRENCY = 8


def start(directory: Path, service: Emulator) -> subprocess.Popen[str]:
    """Start to register 100 labels."""
    controller = Local(directory, service)
    environment = {"ANSIBLE_HOME": str(directory / "home")}
    return controller.start(controller.play(PLAY), errors=subprocess.PIPE, **environment)[0]


def limit_creates(service: Emulator, window: float) -> None:
    """Let the service take 30 creates within this number of seconds."""
    service.configure(rate_limit=True, rate_call=30, rate_window_scale=window / 60)


def wait_for_clients(service: Emulator, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(service.clients()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def interrupted(process: subprocess.Popen[str], service: Emulator, code: int) -> int:
    """The number of clients that an interrupted run has made, and reports."""
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stdout + stderr
    done = len(service.clients())
    assert f"monitor_clients: interrupted, {done} of 100 clients done. Run again to do the rest." in stderr
    assert "clients done" not in stdout
    return done


def test_an_interrupted_module_reports_progress_and_the_next_run_continues(tmp_path: Path, emulator: Emulator) -> None:
    limit_creates(emulator, window=9)
    process = start(tmp_path, emulator)
    assert process.stderr is not None
    progress = next(line for line in process.stderr if "clients done" in line)
    assert re.fullmatch(r"monitor_clients: 30 of 100 clients done, waiting \d s for the rate limit\n", progress)
    # As a terminal does it: workers are in sessions of their own.
    process.send_signal(signal.SIGINT)
    done = interrupted(process, emulator, INTERRUPTED)
    assert 30 <= done < 50
    assert list((tmp_path / "home" / "tmp").iterdir()) == []

    # No process continues once the service would accept more.
    time.sleep(6)
    assert len(emulator.clients()) == done
    emulator.configure(rate_limit=False)
    emulator.clear_log()
    process = start(tmp_path, emulator)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stdout + stderr
    assert len(emulator.requests("create_client")) == 100 - done
    assert len(emulator.clients()) == 100


def test_a_module_that_no_signal_reaches_stops_too(tmp_path: Path, emulator: Emulator) -> None:
    limit_creates(emulator, window=9)
    process = start(tmp_path, emulator)
    wait_for_clients(emulator, 30)
    process.kill()
    # The worker ends by itself: else the pipe to it would stay open.
    assert 30 <= interrupted(process, emulator, -signal.SIGKILL) <= 30 + CONCURRENCY


def test_a_terminated_module_completes_its_started_requests(tmp_path: Path, emulator: Emulator) -> None:
    """A second signal, as Ansible sends it if the first one had no effect, does not abort a request."""
    emulator.configure(latency_ms=700)
    process = start(tmp_path, emulator)
    wait_for_clients(emulator, 1)
    # The only worker.
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    process.send_signal(signal.SIGINT)
    for _dummy in range(3):
        time.sleep(0.1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(worker), signal.SIGTERM)
    done = interrupted(process, emulator, INTERRUPTED)
    # No process continues.
    time.sleep(1)
    assert len(emulator.clients()) == done < 100
