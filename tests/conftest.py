# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import transport
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support import machines as debian
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.support.servers import Listener

# Background jobs of shell scripts ignore SIGINT, but tests interrupt processes by SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
# On a busy machine an example can take longer than the deadline of hypothesis.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session")
def emulator_process() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def emulator(emulator_process: Emulator) -> Emulator:
    emulator_process.reset()
    return emulator_process


@pytest.fixture(scope="session")
def workshop() -> Iterator[tuple[Path, Path]]:
    """Create a directory for hosts, and a directory for SSH keys."""
    if reason := fleet.missing():
        pytest.skip(reason)
    # Use a short path: the path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="fleet-") as temporary:
        directory = Path(temporary)
        directory.chmod(0o711)
        yield directory, fleet.make_keys(directory)


@pytest.fixture(scope="session")
def machines(workshop: tuple[Path, Path]) -> Iterator[Callable[..., list[fleet.Host]]]:
    """Return a function that starts hosts. A second call with the same name and ``prepare`` returns the same host."""
    started: dict[tuple[str, str], fleet.Host] = {}

    def start(*names: str, prepare: str = "") -> list[fleet.Host]:
        new = [name for name in names if (name, prepare) not in started]
        for host in fleet.start(new, *workshop, prepare):
            started[host.name, prepare] = host
        return [started[name, prepare] for name in names]

    yield start
    for host in started.values():
        host.stop()


@pytest.fixture(scope="session")
def booted(workshop: tuple[Path, Path], emulator_process: Emulator) -> Iterator[Callable[..., list[debian.Machine]]]:
    if reason := debian.missing() or debian.cannot_boot(workshop[0]):
        pytest.skip(reason)
    running: dict[str, debian.Machine] = {}

    with contextlib.ExitStack() as stack:

        def boot(*names: str) -> list[debian.Machine]:
            new = [name for name in names if name not in running]
            started = debian.running(new, *workshop, emulator_process)
            running.update((machine.name, machine) for machine in stack.enter_context(started))
            return [running[name] for name in names]

        yield boot


@pytest.fixture
def controllers(workshop: tuple[Path, Path], emulator: Emulator) -> Callable[..., Controller]:
    """Return a function that resets hosts, and creates a controller for these hosts."""
    directory, keys = workshop

    def make(*hosts: fleet.Host) -> Controller:
        for host in hosts:
            host.reset()
        return Controller(Path(tempfile.mkdtemp(prefix="c-", dir=directory)), keys, emulator, hosts)

    return make


@pytest.fixture
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FIRST_BACKOFF", 0.02)


@pytest.fixture
def opened() -> Iterator[Callable[..., Listener]]:
    listeners: list[Listener] = []

    def listen(kind: Callable[..., Listener], *arguments: Any, **options: Any) -> Listener:
        listeners.append(kind(*arguments, **options))
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first: at the end, the other processes would be idle while these tests run."""
    items.sort(key=lambda item: item.path.name != "test_kinds_of_hosts.py")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true, count skipped tests as failed, except container tests on a machine that cannot boot containers."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") != "true" or reporter is None:
        return
    if any(debian.NO_CONTAINERS not in str(report.longrepr) for report in reporter.stats.get("skipped", [])):
        reporter.write_line("\nWith CI=true, a skipped test counts as failed.")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
