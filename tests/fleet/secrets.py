# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks for secrets where none may be: in output, in the arguments of processes, in files that others can read."""

from __future__ import annotations

import base64
import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.hosts import Host

_LARGEST = 1 << 20
_PAUSE = 0.02


def secrets_of(service: Emulator, *others: str) -> list[str]:
    """All tokens, keys and codes, and what base64 makes of each, wherever in a text it stands."""
    plain = [*service.tokens.values(), *others]
    for client in service.clients():
        plain += [client["api_key"], client["install_code"]]
    return [*plain, *(encoded for secret in plain for encoded in _encoded(secret))]


def _encoded(secret: str) -> Iterator[str]:
    for offset in range(3):
        # The first and last digits depend on what stands beside the secret.
        yield base64.b64encode(b"\0" * offset + secret.encode()).decode()[4:-4]


def found_in(text: str, secrets: Sequence[str]) -> list[str]:
    """The secrets that a text holds."""
    return [secret for secret in secrets if secret in text]


class Watch:
    """What was seen while something ran. ``problems`` says where a secret was, and how others could have had it."""

    def __init__(self, service: Emulator, places: Sequence[Path], strangers: Sequence[int]) -> None:
        self.problems: set[str] = set()
        self.rounds = 0
        self.keys_seen = 0
        self._service = service
        self._places = places
        self._strangers = strangers

    def look(self) -> None:
        """One round over all processes and places."""
        secrets = [*self._service.tokens.values()]
        for client in self._service.clients():
            secrets += [client["api_key"], client["install_code"]]
        wanted = [secret.encode() for secret in secrets]
        for process in Path("/proc").glob("[0-9]*"):
            self._look_at_process(process, wanted)
        for place in self._places:
            self._look_at_files(place, wanted)
        self.rounds += 1

    def _look_at_process(self, process: Path, secrets: Sequence[bytes]) -> None:
        with contextlib.suppress(OSError):
            arguments = (process / "cmdline").read_bytes()
            if any(secret in arguments for secret in secrets):
                self.problems.add(f"on a command line: {arguments[:200]!r}")
            if process.stat().st_uid in self._strangers:
                environment = (process / "environ").read_bytes()
                if any(secret in environment for secret in secrets):
                    self.problems.add(f"in the environment of a process of another user: {arguments[:200]!r}")

    def _look_at_files(self, place: Path, secrets: Sequence[bytes]) -> None:
        for directory, _dummy, names in os.walk(place):
            for name in names:
                path = Path(directory, name)
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                        continue
                    content = path.read_bytes()
                    if not any(secret in content for secret in secrets):
                        continue
                    self.keys_seen += 1
                    if status.st_mode & 0o077 and _can_be_reached(path.parent, place):
                        self.problems.add(f"in a file that others can read: {path} {status.st_mode:o}")


def _can_be_reached(directory: Path, place: Path) -> bool:
    """Whether others can enter a directory and all above it, up to the place that is watched."""
    while directory != place:
        if not directory.stat().st_mode & 0o011:
            return False
        directory = directory.parent
    return True


@contextlib.contextmanager
def watching(
    service: Emulator, hosts: Sequence[Host], places: Sequence[Path], strangers: Sequence[int]
) -> Iterator[Watch]:
    """Watch processes, directories of the controller and of the hosts while the block runs."""
    roots = [Path(f"/proc/{host.first_process}/root") for host in hosts]
    own = [root / name for root in roots for name in ("etc/monitor", "tmp", "var/tmp", "root", "home", "opt/agent")]
    watch = Watch(service, [*places, *own], strangers)
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            begun = time.monotonic()
            watch.look()
            # Twice as long for what is watched: it shares the processors with us.
            time.sleep(max(_PAUSE, 2 * (time.monotonic() - begun)))

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
