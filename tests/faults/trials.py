# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Trials of a writer against the attacker, and what the attacker got. Runs as root in namespaces of its own.

Each trial has a directory of its own in memory: what is attacked, and victims that root alone may read and change.
"""

import contextlib
import ctypes
import dataclasses
import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import typing as t
from collections import Counter
from pathlib import Path

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import remote_file as host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed
from ansible_collections.monitor.cloud.tests.faults import attacker

USER = 4242
NAME = "agent.conf"
KEY = "api_key=THE-KEY-OF-THIS-HOST\n"
OLD = "api_key=THE-OLD-KEY\n"
ENDLESS = "the command did not end"
# Of the key's length, for writers count what they wrote.
SECRET = "what only root may ever read\n"
# A naive writer hangs at a FIFO: the trial does not wait for it.
PATIENCE = {"collection": 30.0, "naive": 1.0}
_LIBC = ctypes.CDLL(None, use_errno=True)
_BIND, _PRIVATE, _REC, _DETACH = 0x1000, 0x40000, 0x4000, 2

WAYS = ("input", "file", "mounted")
_FILES, _DIRECTORIES = ("link", "own", "fifo"), ("victims", "own directory", "links")
# What passes for a directory that was just made.
_EMPTY = ("empty victims", "trap")
_ABOVE = tuple(("directory", decoy) for decoy in _DIRECTORIES)
_NAMED = tuple(("name", decoy) for decoy in ("own directory", "victims", "fifo", "link"))


def _entry(*decoys: str) -> tuple[tuple[str, str], ...]:
    return tuple(("entry", decoy) for decoy in decoys)


# By step: which name is replaced, and by what.
STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "creation": _entry(*_FILES, *_DIRECTORIES, *_EMPTY) + _ABOVE,
    "content": _entry(*_FILES, *_DIRECTORIES) + _ABOVE,
    "owner": _entry("link", "victims", "own directory", "links") + _ABOVE,
    "mode": _entry("link", "victims", "own directory", "links") + _ABOVE,
    "backup": (("both", "own"), *_NAMED, *_ABOVE),
    "move": (*_NAMED, *_entry("link", "own"), *_ABOVE),
    "clean-up": (("leftover", "victims"), ("leftover", "links"), *_entry("victims", "own directory", "link"), *_ABOVE),
    "removal": _ABOVE,
    "parents": tuple(
        (target, decoy) for target in ("parent", "parents") for decoy in ("victims", "own directory", *_EMPTY)
    ),
    "appearance": _NAMED,
    "appearance at once": _NAMED,
    "appearance beside others": _NAMED,
}
_NEW = ("parents", "appearance", "appearance at once", "appearance beside others")
# A mounted file is there, in a directory that is there; a removal is the same for all.
CASES = [
    (way, step)
    for way in WAYS
    for step in STEPS
    if not (step == "removal" and way != "input") and not (step in _NEW and way == "mounted")
]


def naive_command(desired: Desired, *, backup: bool, source: str | None) -> str:
    """A writer that resolves every name again in the directory of the file, for a proof that the attacks work."""
    path, size = desired.path, len(desired.data or b"")
    directory, quoted = shlex.quote(os.path.dirname(path)), shlex.quote(path)
    left = f"""for d in {directory}/.{shlex.quote(os.path.basename(path))}.writing-*; do [ -d "$d" ] || continue
rm -f "$d/{NAME}"; rmdir "$d"; done"""
    keep = f'u=$(mktemp {directory}/.XXXXXXXX); cp {quoted} "$u"; mv -f "$u" {quoted}~'
    return f"""echo begun; umask 077; [ -d {directory} ] || (umask 022; mkdir -p {directory})
{left}
t=$(mktemp {directory}/.XXXXXXXX); trap 'rm -f "$t"' EXIT
cat {shlex.quote(source) if source else ""} > "$t"; [ $(wc -c < "$t") -eq {size} ] || exit 1
chown {desired.owner}:{desired.group} "$t"; chmod {desired.mode:04o} "$t"
{keep if backup else ":"}
mv -f "$t" {quoted} && echo "monitor.cloud done" """


@dataclasses.dataclass(frozen=True)
class Result:
    """Numbers of trials: all, attacked, lost to the attacker, and with the file written; what was lost, how often."""

    trials: int
    begun: int
    successes: int
    written: int
    lost: dict[str, int]


class Ground:
    """What one trial is about. ``above``: the root of the file system that ``root`` is in, as this process sees it."""

    def __init__(self, root: Path, step: str, target: str, above: str = "/") -> None:
        self.above = Path(above)
        self.root = self.above / root.relative_to("/")
        self.base, self.victim = self.root / "base", self.root / "safe" / "victim"
        self.directory = self.base / "directory"
        self.path = self.directory / "sub" / NAME if target == "parents" else self.directory / NAME
        self.mounted = False
        self.root.mkdir()
        self._make_victims()
        self.base.mkdir()
        if step != "parents":
            self.directory.mkdir()
        if target == "leftover":
            (self.directory / attacker.LEFTOVER).mkdir()
            (self.directory / attacker.LEFTOVER).chmod(0o1700)
            _file(self.directory / attacker.LEFTOVER / NAME, OLD)
        if target in ("directory", "parent", "parents"):
            os.chown(self.base, USER, USER)
        else:
            os.chown(self.directory, USER, USER)
        if step == "appearance beside others":
            # As /tmp is: any user may add names, and remove his own.
            os.chown(self.directory, 0, 0)
            self.directory.chmod(0o1777)
        if step not in _NEW:
            # As a user could if fs.protected_hardlinks is 0: another name of the file must not change.
            _file(self.root / "safe" / "linked", OLD)
            os.link(self.root / "safe" / "linked", self.path)
        self.source = self.root / "safe" / "source"
        _file(self.source, KEY)
        _file(self.root / "mounted", OLD)
        self.before = self._state()

    def inside(self, path: Path) -> str:
        """The path as those see it who are in that file system."""
        return f"/{path.relative_to(self.above)}"

    def plan(self, step: str, target: str, decoy: str, *, turns: bool) -> attacker.Plan:
        return attacker.Plan(
            step=step,
            target="parent" if target == "parents" else target,
            decoy=decoy,
            turns=turns or step == "removal" or target == "leftover",
            base=self.inside(self.base),
            directory=self.inside(self.directory),
            name=str(self.path.relative_to(self.directory)),
            victim=self.inside(self.victim),
        )

    def mount(self) -> None:
        """Make the file a mount point."""
        self.mounted = True
        _check(_LIBC.mount(bytes(self.root / "mounted"), bytes(self.path), None, _BIND, None))

    def _make_victims(self) -> None:
        safe = self.root / "safe"
        safe.mkdir()
        self.victim.mkdir(mode=0o700)
        # Not the owner, group and mode that the writer sets: a change shows.
        for path in (safe / "secret", *(self.victim / name for name in ("secret", NAME, "old", "copy"))):
            _file(path, SECRET)
            os.chown(path, 0, 4)
        (self.victim / "empty").mkdir()

    def _state(self) -> dict[str, tuple[t.Any, ...]]:
        found = {}
        for directory, directories, files in os.walk(self.root / "safe"):
            for path in (Path(directory), *(Path(directory) / name for name in (*directories, *files))):
                facts = path.lstat()
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path.relative_to(self.root))] = (content, facts.st_mode, facts.st_uid, facts.st_gid)
        return found

    def losses(self, loot: str, *, written: bool) -> set[str]:
        """What the attacker got."""
        after, before = self._state(), self.before
        lost = {f"{path} was removed" for path in before.keys() - after.keys()}
        lost |= {f"{path} was changed" for path in before.keys() & after.keys() if before[path] != after[path]}
        lost |= {f"{path} was left" for path in after.keys() - before.keys()}
        if SECRET.strip() in loot:
            lost.add("a victim was read")
        if KEY.strip() in loot or OLD.strip() in loot:
            lost.add("a key was read")
        if written and self.path.is_dir() and not self.path.is_symlink():
            inside = [file for file in self.path.rglob("*") if file.is_file() and not file.is_symlink()]
            if any(file.read_text(errors="replace") == KEY for file in inside):
                lost.add("a directory swallowed the file")
        return lost

    def leave(self) -> None:
        """Unmount: many mounts would make each read of their list slower."""
        if self.mounted:
            for path in (self.path, self.base / "decoy-1" / NAME):
                _LIBC.umount2(bytes(path), _DETACH)


def _file(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)


def _check(code: int) -> None:
    if code != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Opponent:
    """The attacker's process, which the command ``enter`` starts. ``elder``: it keeps the mounts that there are now."""

    def __init__(self, *enter: str, elder: bool = False) -> None:
        program = Path(attacker.__file__).read_text(encoding="utf-8")
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        command = [*enter, *user, "/usr/bin/python3", "-c", program, *(["elder"] if elder else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Before the first of the trials mounts anything.
        assert not elder or self._ask() == "ready\n"

    def begin(self, plan: attacker.Plan, root: Path) -> None:
        """Let it attack, and return when it is ready."""
        assert self._ask({"plan": vars(plan), "root": str(root)}) == "ready\n"

    def end(self) -> tuple[bool, str]:
        """Let it stop; whether it attacked, and what it could read."""
        begun, loot = json.loads(self._ask({}))
        return bool(begun), str(loot)

    def _ask(self, order: dict[str, t.Any] | None = None) -> str:
        assert self.process.stdin and self.process.stdout
        if order is not None:
            self.process.stdin.write(f"{json.dumps(order)}\n")
            self.process.stdin.flush()
        return self.process.stdout.readline()


def command_for(ground: Ground, step: str, way: str, writer: str, number: int) -> str:
    """The command that is attacked."""
    if step == "removal":
        naive = f'rm -f {shlex.quote(str(ground.path))} && echo "monitor.cloud done"'
        return naive if writer == "naive" else host_file.remove_command(str(ground.path))
    # With an announced size that is never reached, the writer has to clean up.
    data = KEY.encode() + b"x" * (step == "clean-up")
    write = naive_command if writer == "naive" else host_file.write_command
    return write(
        Desired(str(ground.path), data, owner="root", group="daemon", mode=0o640),
        # A mounted file is not backed up while others can change its directory.
        backup=step == "backup" or (number % 2 == 0 and way != "mounted"),
        source=str(ground.source) if way == "file" else None,
    )


def carry_out(command: str, patience: float) -> tuple[bool, bool]:
    """Run the command as root: whether it did its work, and whether it ended."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _none = process.communicate(KEY.encode(), timeout=patience)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False, False
    return not host_file.failure(Completed(process.returncode, output.decode(), "")), True


def attempt(
    opponent: Opponent, root: Path, way: str, writer: str, number: int, case: tuple[str, str, str]
) -> tuple[set[str], bool, bool]:
    """One trial: what the attacker got, whether the file was written nevertheless, and whether there was an attack."""
    step, target, decoy = case
    ground = Ground(root, step, target)
    if way == "mounted":
        ground.mount()
    plan = ground.plan(step, target, decoy, turns=number // len(STEPS[step]) % 2 == 1)
    opponent.begin(plan, root)
    written, ended = carry_out(command_for(ground, step, way, writer, number), PATIENCE[writer])
    begun, loot = opponent.end()
    lost = ground.losses(loot, written=written)
    ground.leave()
    return lost if ended else {*lost, ENDLESS}, written, begun


def trials(way: str, writer: str, step: str, count: int, enough: int, room: Path) -> Result:
    """``count`` trials, fewer if the attacker won ``enough`` of them, more if it came too late in most of them."""
    opponents = [Opponent(), Opponent(elder=True)] if way == "mounted" else [Opponent()]
    lost: Counter[str] = Counter()
    done = successes = written = begun = 0
    for number, (target, decoy) in zip(range(10 * count), itertools.cycle(STEPS[step]), strict=False):
        opponent = opponents[number % len(opponents)]
        root = room / f"{step.replace(' ', '-')}-{number}"
        got, arrived, attacked = attempt(opponent, root, way, writer, number, (step, target, decoy))
        lost.update(f"{what} ({target}: {decoy})" for what in got)
        done, successes, written = done + 1, successes + bool(got - {ENDLESS}), written + arrived
        begun += attacked
        # On a busy machine the attacker may not run in time.
        if successes >= enough or (done >= count and begun > count // 10):
            break
    return Result(done, begun, successes, written, lost)


def in_namespaces(way: str, writer: str, step: str, count: int, enough: int) -> Result:
    """The trials, in a process that sees neither the mounts nor the processes of others."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = [*unshare, sys.executable, "-m", __name__, json.dumps([way, writer, step, count, enough])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, stdin=subprocess.DEVNULL)
    return Result(**json.loads(done.stdout))


def main() -> None:
    way, writer, step, count, enough = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="trials-") as temporary:
        _check(_LIBC.mount(None, b"/", None, _PRIVATE | _REC, None))
        _check(_LIBC.mount(b"tmpfs", os.fsencode(temporary), b"tmpfs", 0, b"mode=755"))
        os.chmod(temporary, 0o755)
        print(json.dumps(vars(trials(way, writer, step, count, enough, Path(temporary)))))
        # What was killed may still be in there.
        _check(_LIBC.umount2(os.fsencode(temporary), _DETACH))


if __name__ == "__main__":
    main()
