# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Root writes a file in a directory of another user. The user attacks the script of root, but gains nothing.

The script of root stops before each shell command. At one stop, the user replaces a file or a directory.
"""

import contextlib
import dataclasses
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._host import host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import Desired
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, tally
from ansible_collections.monitor.cloud.tests.support.host_files import run_script, stub_tools

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("dash"), reason="needs dash and root")

USER = 4242
NAME = "agent.conf"
KEY = "api_key=THE-KEY-OF-THIS-HOST\n"
OLD = "api_key=THE-OLD-KEY\n"
# SECRET is as long as KEY, because the script compares the sizes of files.
SECRET = "what only root may ever read\n"
# Name of a temporary directory that a killed run left. Root must not remove a directory that a user can replace.
LEFTOVER = f".{NAME}.aB3dE6"

REPLACED = "a file is replaced"
REMOVED = "a file is removed"
NEW = "a file is new"
READ = "a file is read"
# The directory is sticky. The old file belongs to the user, and has an ACL for the user.
SHARED = "a file of the user is replaced"
# The directory is sticky and belongs to root, and the user replaces a subdirectory.
STICKY = "a file is below a sticky directory"
CREATED = "a directory is created below a sticky directory"
# Each decoy is a symbolic link, a file or a directory that the user puts in the place of another file. A "trap" is an
# empty directory in which the user also replaces new files of root.
_NAMED = [("name", decoy) for decoy in ("own directory", "victims", "link")]
_ENTRY = [("entry", decoy) for decoy in ("link", "own", "victims", "own directory", "trap")]
_LINKS = {"link": "secret", "victims": ""}
# Columns: the path that the user replaces, the decoy. "entry" is the temporary directory of the script.
_READ = [("name", decoy) for decoy in ("link", "hard link")]
_PARENT = [("parent", "victims")]
CASES = {
    REPLACED: [*_ENTRY, *_NAMED],
    REMOVED: _NAMED,
    NEW: _NAMED,
    SHARED: _NAMED,
    STICKY: _PARENT,
    CREATED: _PARENT,
    READ: _READ,
}


@contextlib.contextmanager
def _as_user() -> Iterator[None]:
    groups = os.getgroups()
    mask = os.umask(0)
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


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)


def _allow(path: Path, *options: str) -> None:
    """Let the user read a file, or with the option -d all new files of a directory."""
    if shutil.which("setfacl"):
        subprocess.run(["setfacl", *options, "-m", f"u:{USER}:rw", path], check=False, capture_output=True)


class Ground:
    """A directory of the user, and files ("victims") that only root may read and change."""

    def __init__(self, root: Path, situation: str) -> None:
        self.root = root
        self.safe = root / "safe"
        self.victim = root / "safe" / "victim"
        self.directory = root / "directory"
        self._shared = situation == SHARED
        self.parent = self.directory / "parent" if situation in (STICKY, CREATED) else self.directory
        self.path = self.parent / NAME
        if situation == CREATED:
            self.path = self.parent / "missing" / NAME
        for directory in (self.safe, self.victim, self.directory):
            directory.mkdir(mode=0o700 if directory == self.victim else 0o755)
        # The script sets another group and mode, so the test notices if the script changes a victim.
        for file in (self.safe / "secret", *(self.victim / name for name in ("secret", NAME, "old", "copy"))):
            _write(file, SECRET)
            os.chown(file, 0, 4)
        (self.directory / LEFTOVER).mkdir()
        os.utime(self.directory / LEFTOVER, (0, 0))
        if situation in (SHARED, STICKY, CREATED):
            self.directory.chmod(0o1777)
        else:
            os.chown(self.directory, USER, USER)
            _allow(self.directory, "-d")
        if situation == SHARED:
            _write(self.path, OLD)
            _allow(self.path)
            for path in (self.path, self.directory / LEFTOVER):
                os.chown(path, USER, USER)
        if situation == READ:
            _write(self.path, "the text of the user\n")
            os.chown(self.path, USER, USER)
        if situation in (REPLACED, REMOVED):
            # If fs.protected_hardlinks is 0, a user can make a hard link to a file of root.
            _write(self.safe / "linked", OLD)
            os.link(self.safe / "linked", self.path)
        self._before = self._state()

    def _state(self) -> dict[str, tuple[object, ...]]:
        state: dict[str, tuple[object, ...]] = {}
        for path in (self.safe, *self.safe.rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            state[str(path)] = content, status.st_mode, status.st_uid, status.st_gid
        return state

    def losses(self, loot: str, *, written: bool) -> set[str]:
        after = self._state()
        before = self._before
        lost = {f"{name} was changed" for name in before | after if before.get(name) != after.get(name)}
        private = (SECRET, KEY) if self._shared else (SECRET, KEY, OLD)
        lost |= {f"the user read {content}" for content in private if content in loot}
        if not (self.directory / LEFTOVER).is_dir():
            lost.add("root removed a directory of the user")
        if written and self.path.is_dir() and not self.path.is_symlink():
            inside = [file for file in self.path.rglob("*") if file.is_file() and not file.is_symlink()]
            if any(file.read_text(errors="replace") == KEY for file in inside):
                lost.add("a directory swallowed the file")
        return lost


class Attacker:
    """The user who replaces a path at one stop. The user restores the path ``turns`` stops later, or never (0)."""

    def __init__(self, ground: Ground, trial: "Trial") -> None:
        self.stops = 0
        # Numbers of the stops at which a name, an owner, a mode or a size has changed.
        self.changes = list[int]()
        self._ground = ground
        self._trial = trial
        self._entry: Path | None = None
        self._seen: list[object] = []
        self._opened: dict[tuple[int, int], int] = {}
        self._decoy = ground.directory / "decoy"
        with _as_user():
            self._make(self._decoy, trial.decoy)

    def _make(self, path: Path, kind: str) -> None:
        if kind in _LINKS:
            path.symlink_to(self._ground.victim / _LINKS[kind])
        elif kind == "hard link":
            # The user can make this link if fs.protected_hardlinks is 0.
            os.seteuid(0)
            os.link(self._ground.victim / "secret", path)
            os.seteuid(USER)
        elif kind == "own":
            path.touch()
        else:
            path.mkdir()
            for name in (NAME, "old", "copy") if kind != "trap" else ():
                (path / name).touch()

    def _open_all(self, root: Path) -> None:
        for directory, _inner, names in os.walk(root):
            for path in (Path(directory, name) for name in names):
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    if (status.st_dev, status.st_ino) not in self._opened:
                        self._opened[status.st_dev, status.st_ino] = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)

    def act(self) -> None:
        """Keep each readable file open, because root can write a key to the file later. Then replace the path."""
        self.stops += 1
        directory = self._ground.directory
        first = self._trial.moment
        if not first:
            seen: list[object] = [(path, path.lstat()[:7]) for path in sorted(directory.rglob("*"))]
            self.changes += [self.stops] if seen != self._seen else []
            self._seen = seen
        with _as_user():
            self._open_all(directory)
            hidden = (path for path in _inside(directory) if path.name[0] == "." and path.name != LEFTOVER)
            self._entry = self._entry or next(hidden, None)
            target = {"entry": self._entry, "parent": self._ground.parent}.get(self._trial.target, self._ground.path)
            if target and self.stops in (first, first + self._trial.turns):
                _exchange(self._decoy, target)
            if self._trial.decoy == "trap" and self.stops >= first > 0:
                self._spring()

    def _spring(self) -> None:
        for path in _inside(self._entry) if self._entry else ():
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.rename(self._decoy.with_name(f"taken-{time.monotonic_ns()}"))
                    path.symlink_to(self._ground.victim / "secret")

    def loot(self) -> str:
        with _as_user():
            self._open_all(self._ground.root)
        content = b""
        for opened in self._opened.values():
            with os.fdopen(opened, "rb") as file:
                content += file.read()
        return content.decode(errors="replace")


def _inside(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _exchange(decoy: Path, target: Path) -> None:
    """Swap two paths, as far as permissions allow. The target can be missing."""
    aside = decoy.with_name(f"{decoy.name}-aside")
    with contextlib.suppress(PermissionError):
        for old, new in ((target, aside), (decoy, target), (aside, decoy)):
            with contextlib.suppress(FileNotFoundError):
                old.rename(new)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One attack on one script. If ``moment`` is 0, the user does nothing."""

    situation: str
    target: str
    decoy: str
    moment: int = 0
    turns: int = 0

    def run(self) -> tuple[set[str], bool, Attacker]:
        with tempfile.TemporaryDirectory(prefix="hostile-", dir="/var/tmp") as root:
            os.chmod(root, 0o755)
            ground = Ground(Path(root), self.situation)
            attacker = Attacker(ground, self)
            content = None if self.situation == REMOVED else KEY.encode()
            desired = Desired(str(ground.path), content, "root", "daemon", 0o640)
            script = host_file.change_script(desired, new=self.situation == NEW)
            if self.situation == READ:
                script = host_file.inspect_script(desired)
            if self.target == "parent":
                script = script.replace("main <", "e=/\nmain <")
            done = run_with_stops(script, ground.root, attacker)
            written = not host_file.problem_of(done)
            lost = ground.losses(attacker.loot(), written=written)
            if self.situation == READ:
                lost |= {"the text of another file was read"} if SECRET in done.stdout else set()
                written = "the text of the user" in done.stdout
            return lost, written, attacker


def run_with_stops(script: str, root: Path, attacker: Attacker) -> host_file.Completed:
    """Run a script as root that stops before each command: dash expands PS4, which waits for the attacker."""
    stop = root / "stop"
    go = root / "go"
    for path in (stop, go):
        os.mkfifo(path, 0o600)
    if not SOAK:
        # Most commands of a script are in this function, so a short run has no stops there.
        script = script.replace("unsafe() {", "unsafe() {\nset +x")
    script = script.replace("main <", f"PS4='${{e:+$(echo > {stop}; read -r v < {go})}}'; set -x\nmain <")
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(script.encode())
        given.seek(0)
        process = subprocess.Popen(
            ["dash", "-s"], stdin=given, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        )
        stops, goes = (os.open(path, os.O_RDWR) for path in (stop, go))
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([stops], [], [], 0.002)[0]:
                os.read(stops, 1)
                attacker.act()
                os.write(goes, b"\n")
        os.close(stops)
        os.close(goes)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        output.seek(0)
        return host_file.Completed(code, output.read().decode(), "")


@pytest.mark.parametrize("situation", CASES)
def test_the_writer_is_safe_in_hostile_directories(situation: str) -> None:
    """Try each attack at each change of the directory, or at each stop. Attacks end after some commands, or never."""
    first = Trial(situation, *CASES[situation][0]).run()[2]
    moments = first.changes
    turns = [0, 1]
    if situation in (STICKY, CREATED, READ):
        # The script enters the subdirectory, or reads the file, some commands after the check.
        moments = list(range(1, first.stops))
        turns = [1, 2, 3, 4]
    trials = [
        Trial(situation, *case, moment, turns[(number + moment) % len(turns)])
        for number, case in enumerate(CASES[situation])
        for moment in moments
    ]
    results = {trial: trial.run() for trial in trials}
    tally(faults=len(results), runs=len(results))
    assert {trial: lost for trial, (lost, *_more) in results.items() if lost} == {}
    attacked = [attacker.stops >= trial.moment for trial, (*_more, attacker) in results.items()]
    assert sum(attacked) > len(attacked) // 2, "most attacks came after the end of the script"
    assert any(written for _lost, written, _attacker in results.values()), "the script never succeeded"


@pytest.mark.parametrize("path", [".:/usr/bin:/bin", "/usr/bin:/bin:", "bin:/usr/bin:/bin"])
def test_no_program_is_taken_from_the_directory_of_the_file(tmp_path: Path, path: str) -> None:
    directory = tmp_path / "agent"
    log = tmp_path / "log"
    names = ("find", "stat", "mktemp", "env", "ls", "chmod", "mv", "rm", "rmdir", "wc", "head", "timeout", "sha256sum")
    for tools in (directory, directory / "bin"):
        stub_tools(tools, **dict.fromkeys(names, f'echo "$0" >> {log}; exec /usr/bin/"${{0##*/}}" "$@"'))
    os.chown(directory, USER, USER)
    desired = Desired(str(directory / NAME), KEY.encode())
    for script in (host_file.change_script(desired), host_file.inspect_script(desired)):
        done = run_script(f"cd {directory}; {script}", PATH=path)
        assert (done.returncode, done.stderr, log.exists()) == (0, "", False)
    assert host_file.parse(done.stdout) and "same|y" in done.stdout
