# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unprivileged user who owns the directory of the file gains nothing while root writes.

The writer is stopped before each command of its shell, and at one of these stops the user replaces a name. Directories
above, which only root may change: tests/unit/plugins/plugin_utils/_agent/test_host_file.py.
"""

import contextlib
import dataclasses
import itertools
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import Desired
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, tally
from ansible_collections.monitor.cloud.tests.support.host_files import run_script, stub_tools

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("dash"), reason="needs dash, and root, to be attacked by another user"
)

USER = 4242
NAME = "agent.conf"
KEY = "api_key=THE-KEY-OF-THIS-HOST\n"
OLD = "api_key=THE-OLD-KEY\n"
# Of the key's length, for writers count what they wrote.
SECRET = "what only root may ever read\n"
LEFTOVER = f".{NAME}.aB3dE6"
ENDLESS = "the command did not end"

Cases = tuple[tuple[str, str], ...]


# Which name is replaced (the temporary entry, the file, what a killed writer has left) and by what: links to a victim,
# files and directories of the user, or a trap: an empty directory, in which what is made is replaced too.
_NAMED: Cases = tuple(("name", decoy) for decoy in ("own directory", "victims", "fifo", "link"))
_ENTRY: Cases = tuple(("entry", decoy) for decoy in ("link", "own", "fifo", "victims", "own directory", "trap"))
_LINKS = {"link": "secret", "victims": ""}
KEPT, REMOVED = "a file is replaced and kept", "a file is removed"
CASES: dict[str, Cases] = {
    KEPT: (*_ENTRY, *_NAMED),
    REMOVED: (("leftover", "victims"), *_NAMED),
    "a file is new": _NAMED,
}


@contextlib.contextmanager
def _as_user() -> Iterator[None]:
    """Decoys have the modes 0777 and 0666."""
    groups, mask = os.getgroups(), os.umask(0)
    os.setgroups([])
    os.setegid(USER)
    os.seteuid(USER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
        os.umask(mask)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)


class Ground:
    """A directory that the user owns, and victims that root alone may read and change."""

    def __init__(self, root: Path, situation: str, target: str) -> None:
        self.root, self.situation = root, situation
        self.base, self.safe, self.victim = root / "base", root / "safe", root / "safe" / "victim"
        self.directory = self.base / "directory"
        self.path = self.directory / NAME
        for directory in (self.base, self.safe, self.victim, self.directory):
            directory.mkdir(mode=0o700 if directory == self.victim else 0o755)
        # Not the owner, group and mode that the writer sets: a change shows.
        for file in (self.safe / "secret", *(self.victim / name for name in ("secret", NAME, "old", "copy"))):
            _write(file, SECRET)
            os.chown(file, 0, 4)
        if target == "leftover":
            (self.directory / LEFTOVER).mkdir()
            _write(self.directory / LEFTOVER / NAME, OLD)
            os.utime(self.directory / LEFTOVER, (0, 0))
        os.chown(self.directory, USER, USER)
        if "new" not in situation:
            # As a user could if fs.protected_hardlinks is 0: another name of the file must not change.
            _write(self.safe / "linked", OLD)
            os.link(self.safe / "linked", self.path)
        self._before = self._state()

    def _state(self) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        for path in (self.safe, *self.safe.rglob("*")):
            facts, content = path.lstat(), path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(self.root))] = content, facts.st_mode, facts.st_uid, facts.st_gid
        return found

    def losses(self, loot: str, *, written: bool) -> set[str]:
        """What the user got."""
        after, before = self._state(), self._before
        lost = {f"{path} was removed" for path in before.keys() - after.keys()}
        lost |= {f"{path} was changed" for path in before.keys() & after.keys() if before[path] != after[path]}
        lost |= {f"{path} was left" for path in after.keys() - before.keys()}
        lost |= {f"the user read {text}" for text in (SECRET, KEY, OLD) if text in loot}
        if written and self.path.is_dir() and not self.path.is_symlink():
            inside = [file for file in self.path.rglob("*") if file.is_file() and not file.is_symlink()]
            if any(file.read_text(errors="replace") == KEY for file in inside):
                lost.add("a directory swallowed the file")
        return lost


class Attacker:
    """The user, who replaces a name at one stop, and takes that back ``turns`` stops later; never if that is 0."""

    def __init__(self, ground: Ground, target: str, decoy: str, moment: int, turns: int) -> None:
        self.stops = 0
        # The stops after a change of a name, an owner, a mode or a size.
        self.changes = set[int]()
        self._ground, self._target, self._decoy = ground, target, decoy
        self._first, self._last = moment, moment + turns
        self._entry: Path | None = None
        self._seen: list[object] = []
        # By device and inode: open files.
        self._opened: dict[tuple[int, int], int] = {}
        self._decoy_path = ground.directory / "decoy"
        with _as_user():
            self._make(self._decoy_path, decoy)

    def _make(self, path: Path, kind: str) -> None:
        if kind in _LINKS:
            path.symlink_to(self._ground.victim / _LINKS[kind])
        elif kind == "own":
            path.touch()
        elif kind == "fifo":
            os.mkfifo(path)
            # A writer that opens it does not wait for a reader.
            self._open(path, os.O_RDWR)
        else:
            path.mkdir()
            for name in (NAME, "old", "copy") if kind != "trap" else ():
                self._make(path / name, "own")

    def _open(self, path: Path, mode: int = os.O_RDONLY) -> None:
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if (facts.st_dev, facts.st_ino) not in self._opened:
                opened = os.open(path, mode | os.O_NONBLOCK | os.O_NOFOLLOW)
                self._opened[facts.st_dev, facts.st_ino] = opened

    def _open_all(self, root: Path) -> None:
        for directory, _inner, names in os.walk(root):
            for name in names:
                self._open(Path(directory, name))

    def act(self) -> bool:
        """Open all that can be opened, for what is written there later; and replace a name if it is the moment.

        Returns whether it matters what the writer does next.
        """
        self.stops += 1
        if not self._first:
            seen: list[object] = [(path, path.lstat()[:7]) for path in sorted(self._ground.base.rglob("*"))]
            self.changes |= {self.stops} if seen != self._seen else set()
            self._seen = seen
        with _as_user():
            self._open_all(self._ground.base)
            hidden = [path for path in _inside(self._ground.directory) if path.name[0] == "." and path.name != LEFTOVER]
            self._entry = self._entry or next(iter(hidden), None)
            if self.stops in (self._first, self._last):
                self._replace()
            if self._decoy == "trap" and self.stops >= self._first > 0:
                self._spring()
        return self._decoy == "trap" or self.stops < self._last + 12 or not self._first

    def _replace(self) -> None:
        directory = self._ground.directory
        targets = {"entry": self._entry, "name": self._ground.path, "leftover": directory / LEFTOVER}
        if target := targets[self._target]:
            _exchange(self._decoy_path, target)

    def _spring(self) -> None:
        for path in _inside(self._entry) if self._entry else ():
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.rename(self._decoy_path.with_name(f"taken-{time.monotonic_ns()}"))
                    path.symlink_to(self._ground.victim / "secret")

    def loot(self) -> str:
        """All that the user can read by now."""
        with _as_user():
            self._open_all(self._ground.root)
        found = []
        for opened in self._opened.values():
            # A FIFO has no position.
            with contextlib.suppress(OSError):
                os.lseek(opened, 0, os.SEEK_SET)
            with contextlib.suppress(OSError):
                found.append(os.read(opened, 65536))
            os.close(opened)
        return b"\n".join(found).decode(errors="replace")


def _inside(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _exchange(decoy: Path, target: Path) -> None:
    """Swap two names, of which the second may be missing, as far as it is allowed."""
    aside = decoy.with_name(f"{decoy.name}-aside")
    with contextlib.suppress(PermissionError):
        for old, new in ((target, aside), (decoy, target), (aside, decoy)):
            with contextlib.suppress(FileNotFoundError):
                old.rename(new)


class Stops:
    """Stops commands of dash, before each of which dash expands PS4; once ``$e``, the directory of the path, is set."""

    def __init__(self, directory: Path) -> None:
        self._paths = [directory / name for name in ("stop", "go")]
        for path in self._paths:
            os.mkfifo(path, 0o600)

    def within(self, script: str) -> str:
        ask = 'echo > {}; read -r v < {}; echo "$v"'.format(*self._paths)
        return script.replace("main <", f"PS4='${{e:+${{response:=$({ask})}}}}'; set -x\nmain <")

    def serve(self, has_ended: Callable[[], bool], act: Callable[[], bool]) -> bool:
        """At each stop act, which returns whether to stop again. False if it takes too long."""
        stop, go = (os.open(path, os.O_RDWR) for path in self._paths)
        last = time.monotonic()
        while not (ended := has_ended()) and time.monotonic() < last + 30.0:
            if select.select([stop], [], [], 0.002)[0]:
                os.read(stop, 1)
                os.write(go, b"\n" if act() else b"no\n")
                last = time.monotonic()
        os.close(stop)
        os.close(go)
        return ended


def _script(path: Path, situation: str) -> str:
    """The script that is attacked."""
    desired = Desired(str(path), None if situation == REMOVED else KEY.encode(), "root", "daemon", 0o640)
    script = host_file.change_script(desired, backup=situation == KEPT, new="new" in situation)
    # A FIFO must not take the time of each trial.
    return script.replace("timeout 10 ", "timeout 0.3 ")


@dataclasses.dataclass(frozen=True)
class Trial:
    """One attack on one command; ``moment`` and ``turns`` are those of the attacker, who does nothing at moment 0."""

    situation: str
    target: str
    decoy: str
    moment: int = 0
    turns: int = 0

    def run(self) -> tuple[set[str], bool, Attacker]:
        """What the user got, whether the file was written nevertheless, and the attacker."""
        with tempfile.TemporaryDirectory(prefix="hostile-", dir="/var/tmp") as root:
            os.chmod(root, 0o755)
            ground = Ground(Path(root), self.situation, self.target)
            attacker = Attacker(ground, self.target, self.decoy, self.moment, self.turns)
            done = self._stopped(ground, attacker)
            written = done is not None and not host_file.problem_of(done)
            lost = ground.losses(attacker.loot(), written=written)
            return lost if done else {*lost, ENDLESS}, written, attacker

    def _stopped(self, ground: Ground, attacker: Attacker) -> host_file.Completed | None:
        """Run the command as root, with stops; None if it did not end."""
        stops = Stops(ground.root)
        script = stops.within(_script(ground.path, self.situation))
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
            given.write(script.encode())
            given.seek(0)
            process = subprocess.Popen(
                ["dash", "-s"], stdin=given, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
            )
            ended = stops.serve(lambda: process.poll() is not None, attacker.act)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            output.seek(0)
            return host_file.Completed(code, output.read().decode(), "") if ended else None


def trials(situation: str) -> list[Trial]:
    """Each case at each stop, for good and for one command only.

    In the short form, each case after each change, in turn for good and for one command.
    """
    cases = [Trial(situation, *case) for case in CASES[situation]]
    usual = cases[0].run()[2]
    # The temporary entry is there between the first change and the last.
    entry = range(min(usual.changes - {1}, default=1), max(usual.changes) + 1)

    def is_tried(number: int, target: str, moment: int, turns: int) -> bool:
        if target == "entry" and moment not in entry:
            return False
        return SOAK or (moment in usual.changes and (number + moment) % 2 == turns)

    return [
        dataclasses.replace(case, moment=moment, turns=turns)
        for number, case in enumerate(cases)
        for moment, turns in itertools.product(range(1, usual.stops + 1), (0, 1))
        if is_tried(number, case.target, moment, turns)
    ]


@pytest.mark.parametrize("situation", CASES)
def test_the_writer_is_safe_in_hostile_directories(situation: str) -> None:
    results = {trial: trial.run() for trial in trials(situation)}
    tally(faults=len(results), runs=len(results))
    assert {trial: lost for trial, (lost, *_more) in results.items() if lost} == {}
    attacked = [attacker.stops >= trial.moment for trial, (*_more, attacker) in results.items()]
    assert sum(attacked) > len(attacked) // 2, "attacks that come too late prove nothing"
    assert any(written for _lost, written, _attacker in results.values()), "a writer that always refuses proves nothing"


@pytest.mark.parametrize("path", [".:/usr/bin:/bin", "/usr/bin:/bin:", "bin:/usr/bin:/bin"])
def test_no_program_is_taken_from_the_directory_of_the_file(tmp_path: Path, path: str) -> None:
    directory, log = tmp_path / "agent", tmp_path / "log"
    names = ("find", "stat", "mktemp", "env", "ls", "chmod", "mv", "rm", "rmdir", "wc", "head", "timeout", "sha256sum")
    for tools in (directory, directory / "bin"):
        stub_tools(tools, **dict.fromkeys(names, f'echo "$0" >> {log}; exec /usr/bin/"${{0##*/}}" "$@"'))
    os.chown(directory, USER, USER)
    desired = Desired(str(directory / NAME), KEY.encode())
    for script in (host_file.change_script(desired), host_file.inspect_script(desired)):
        done = run_script(f"cd {directory}; {script}", PATH=path)
        assert (done.returncode, done.stderr, log.exists()) == (0, "", False)
    assert host_file.parse(done.stdout) and "same|y" in done.stdout
