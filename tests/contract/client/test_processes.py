# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local


def test_missing_requests() -> None:
    script = f"""
import sys
sys.modules["requests"] = None
sys.path[1:1] = {[path for path in sys.path if path]!r}
from ansible_collections.monitor.cloud.plugins.module_utils._service.transport import Http, Settings
Http(Settings("https://127.0.0.1/v4"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert "InputError: Failed to import the required Python library (requests)" in done.stderr, done.stderr


# `make matrix` sets TARGET_PYTHONS.
PYTHONS = os.environ.get("TARGET_PYTHONS", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("python", PYTHONS, ids=[path.split("/")[-3] for path in PYTHONS])
def test_a_module_creates_a_client_and_then_changes_nothing(python: str, emulator: Emulator, tmp_path: Path) -> None:
    """With these variables, Ansible starts a process for the module, as on a remote host."""
    controller = Local(tmp_path, emulator)
    variables = tmp_path / "variables.json"
    variables.write_text(json.dumps({"ansible_python_interpreter": python, **controller.executing()}))
    for changed in ("true", "false"):
        run = controller.shell(f"ansible localhost -m monitor.cloud.monitor_clients -a labels=web-1 -e @{variables}")
        assert run.code == 0 and f'"changed": {changed},' in run.output, run.output
    assert [client["label"] for client in emulator.clients()] == ["web-1"]


PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients:
        labels: "{{ range(100) | map('regex_replace', '^', 'label-') | list }}"
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("pause", [True, False])
def test_a_signal_ends_a_registration_within_a_second_and_the_next_run_continues(
    tmp_path: Path, emulator: Emulator, number: signal.Signals, pause: bool
) -> None:
    """Send the signal during a pause for the rate limit, or between slow create requests."""
    controller = Local(tmp_path, emulator)
    play = controller.play(PLAY)
    home = {"ANSIBLE_HOME": str(tmp_path / "home")}
    # With `pause`, the service accepts 30 requests in 9 seconds. Without `pause`, a request takes 0.6 seconds.
    limit = {"rate_limit": 30, "rate_window": 9}
    emulator.configure(**(limit if pause else {"latency_ms": 600}))
    process = controller.start(play, errors=subprocess.PIPE, **home)[0]
    assert process.stderr is not None
    progress = next(line for line in process.stderr if "clients done" in line)
    waiting = r", waiting \d s for the rate limit" if pause else ""
    assert re.fullmatch(rf"monitor_clients: \d+ of 100 clients done{waiting}\n", progress)
    # The worker sends its progress through a queue of core. Wait until the worker releases the queue's lock.
    time.sleep(0.5)
    # A terminal would send the signal only to this process, because workers have their own sessions.
    process.send_signal(number)
    began = time.monotonic()
    stdout, stderr = process.communicate(timeout=60)
    assert time.monotonic() - began < 3, stdout + stderr
    assert "clients done" not in stdout
    # A worker checks twice a second whether its parent is alive, and a request takes 0.6 seconds.
    time.sleep(1.5)
    done = len(emulator.clients())
    time.sleep(1)
    assert len(emulator.clients()) == done < 100
    assert number != signal.SIGINT or list((tmp_path / "home" / "tmp").iterdir()) == []

    emulator.configure(rate_limit=0, latency_ms=0)
    emulator.clear_log()
    assert controller.succeed(play).writes().count("create_client label-1") <= 1
    assert len(emulator.requests("create_client")) == 100 - done
    assert len(emulator.clients()) == 100
