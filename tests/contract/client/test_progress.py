# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registrations that last: what is seen of them on the way, and what is left when they are interrupted."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Register them
      monitor.cloud.monitor_clients:
        labels: "{{ range(COUNT) | map('regex_replace', '^', 'label-') | list }}"
"""
INTERRUPTED = 99
CONCURRENCY = 8


def start(directory: Path, service: Emulator, count: int) -> tuple[subprocess.Popen[str], Path]:
    """Start to register `count` labels; the process, and the record of its results."""
    controller = Local(directory, service)
    play = controller.play(PLAY.replace("COUNT", str(count)))
    return controller.start(play, errors=subprocess.PIPE, ANSIBLE_HOME=str(directory / "home"))


def worker_of(process: subprocess.Popen[str]) -> int:
    """The process of the run's only worker, which passes signals on to what it started."""
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    return int(worker)


def limit_creates(service: Emulator, count: int, window: float) -> None:
    service.configure(rate_limit=True, rate_call=count, rate_window_scale=window / 60)


def wait_for_clients(service: Emulator, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(service.clients()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def interrupted(process: subprocess.Popen[str], service: Emulator) -> int:
    """The number of clients that an interrupted run has made, and reports."""
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == INTERRUPTED, stdout + stderr
    done = len(service.clients())
    assert f"monitor_clients: interrupted, {done} of 100 clients done. Run again to do the rest." in stderr
    return done


def test_progress_and_waiting_are_printed_on_stderr(tmp_path: Path, emulator: Emulator) -> None:
    limit_creates(emulator, 30, 9)
    process, record = start(tmp_path, emulator, 50)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stdout + stderr
    assert re.search(r"^monitor_clients: 30 of 50 clients done, waiting \d s for the rate limit$", stderr, re.MULTILINE)
    assert "clients done" not in stdout
    result = json.loads(record.read_text(encoding="utf-8"))["result"]
    assert len(result["created"]) == 50
    assert "progress" not in json.dumps(result).lower()


def test_an_interrupted_module_reports_progress_and_the_next_run_continues(tmp_path: Path, emulator: Emulator) -> None:
    limit_creates(emulator, 30, 12)
    process, _record = start(tmp_path, emulator, 100)
    wait_for_clients(emulator, 30)
    # As a terminal does it: workers and modules are in sessions of their own.
    process.send_signal(signal.SIGINT)
    done = interrupted(process, emulator)
    assert 30 <= done < 50
    assert list((tmp_path / "home" / "tmp").iterdir()) == []

    # No process continues once the service would accept more.
    time.sleep(13)
    assert len(emulator.clients()) == done
    emulator.configure(rate_limit=False)
    emulator.clear_log()
    process, _record = start(tmp_path, emulator, 100)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stdout + stderr
    assert len(emulator.requests("create_client")) == 100 - done
    # It takes less time than there is between two reports.
    assert "monitor_clients:" not in stdout + stderr
    assert len(emulator.clients()) == 100


def test_a_module_that_no_signal_reaches_stops_too(tmp_path: Path, emulator: Emulator) -> None:
    limit_creates(emulator, 30, 15)
    process, _record = start(tmp_path, emulator, 100)
    wait_for_clients(emulator, 30)
    worker = worker_of(process)
    os.kill(worker, signal.SIGSTOP)
    try:
        process.send_signal(signal.SIGINT)
        time.sleep(17)
        assert len(emulator.clients()) == 30
    finally:
        os.kill(worker, signal.SIGCONT)
    # Threads whose wait ended meanwhile may send their request before the module learns that its parent ended.
    assert 30 <= interrupted(process, emulator) <= 30 + CONCURRENCY


def test_a_terminated_module_completes_its_started_requests(tmp_path: Path, emulator: Emulator) -> None:
    """A second signal, as Ansible sends it if the first one had no effect, does not abort a request."""
    emulator.configure(latency_ms=1500)
    process, _record = start(tmp_path, emulator, 100)
    wait_for_clients(emulator, 1)
    worker = worker_of(process)
    process.send_signal(signal.SIGINT)
    for _dummy in range(3):
        time.sleep(0.1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker, signal.SIGTERM)
    done = interrupted(process, emulator)
    # No process continues.
    time.sleep(2)
    assert len(emulator.clients()) == done < 100
