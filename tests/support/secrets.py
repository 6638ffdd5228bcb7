# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import base64
import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.hosts import Host

_LARGEST = 1 << 20
_PAUSE = 0.02


def plain_secrets(service: Any) -> list[str]:
    keys = [str(client[field]) for client in service.clients() for field in ("api_key", "install_code")]
    return [*service.tokens.values(), *keys]


def secrets_of(service: Emulator, *others: str) -> list[str]:
    plain = [*plain_secrets(service), *others]
    # In base64, the first and last characters depend on the text beside the secret, so leave them out.
    shifted = (b"\0" * offset + secret.encode() for secret in plain for offset in range(3))
    return [*plain, *(base64.b64encode(text).decode()[4:-4] for text in shifted)]


def found_in(text: str, secrets: Sequence[str]) -> list[str]:
    return [secret for secret in secrets if secret in text]


class Watch:
    """Search repeatedly for secrets. ``problems``: files and processes in which others can read a secret."""

    def __init__(self, service: Emulator, directories: Sequence[Path], strangers: Sequence[int]) -> None:
        self.problems: set[str] = set()
        self.rounds = 0
        self.keys_seen = 0
        self._service = service
        self._directories = directories
        self._strangers = strangers

    def scan(self) -> None:
        known = [secret.encode() for secret in plain_secrets(self._service)]
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                arguments = (process / "cmdline").read_bytes()
                if any(secret in arguments for secret in known):
                    self.problems.add(f"on a command line: {arguments[:200]!r}")
                if process.stat().st_uid in self._strangers:
                    environment = (process / "environ").read_bytes()
                    if any(secret in environment for secret in known):
                        self.problems.add(f"in the environment of a process of another user: {arguments[:200]!r}")
        for top in self._directories:
            for directory, _dummy, names in os.walk(top):
                for name in names:
                    with contextlib.suppress(OSError):
                        self._scan_file(Path(directory, name), top, known)
        self.rounds += 1

    def _scan_file(self, path: Path, top: Path, secrets: Sequence[bytes]) -> None:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return
        content = path.read_bytes()
        if any(secret in content for secret in secrets):
            self.keys_seen += 1
            above = path.parents[: len(path.relative_to(top).parents) - 1]
            if status.st_mode & 0o077 and all(directory.stat().st_mode & 0o011 for directory in above):
                self.problems.add(f"in a file that others can read: {path} {status.st_mode:o}")


@contextlib.contextmanager
def watching(
    service: Emulator, hosts: Sequence[Host], directories: Sequence[Path], strangers: Sequence[int]
) -> Iterator[Watch]:
    """Watch processes and directories of the controller and of the hosts, while the ``with`` block runs."""
    roots = [Path(f"/proc/{host.first_process}/root") for host in hosts]
    own = [root / name for root in roots for name in ("etc/monitor", "tmp", "var/tmp", "root", "home", "opt/agent")]
    watch = Watch(service, [*directories, *own], strangers)
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            begun = time.monotonic()
            watch.scan()
            # Sleep twice as long as a scan takes, so the watched runs get two thirds of the processor time.
            time.sleep(max(_PAUSE, 2 * (time.monotonic() - begun)))

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join(timeout=60)
