# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shell commands that inspect and write a host's file, run by a local /bin/sh."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    LARGEST_FILE,
    HostFile,
    absolute,
    facts_command,
    got_no_input,
    markers_in,
    parse_facts,
    problem,
    read_command,
    remove_command,
    was_written,
    write_command,
)

_NAMES = [
    "agent.conf",
    "with space",
    "it's",
    "-dash",
    "$HOME",
    "a;b",
    'quo"te',
    "ümlaut",
    "*",
    "new\nline",
    "!x!!",
    "a\\b",
]
_NAMES += ["newline at the end\n", "tilde~=x", "[a-z]?", "\\0101"]


def _sh(
    command: str, given: bytes = b"", shell: Sequence[str] = ("/bin/sh",), path: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a shell; ``path`` is a directory of tools that count before the others."""
    tools = {} if path is None else {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [*shell, "-c", command], input=given, capture_output=True, check=False, timeout=60, env={**os.environ, **tools}
    )


def _facts(path: Path, shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None) -> HostFile:
    done = _sh(facts_command(str(path)), shell=shell, path=tools)
    assert (done.returncode, done.stderr) == (0, b"")
    found = parse_facts(done.stdout.decode())
    assert found is not None
    return found


def _write(
    path: Path,
    content: bytes,
    *,
    mode: int = 0o600,
    backup: bool = False,
    size: int | None = None,
    tools: Path | None = None,
) -> tuple[int, str]:
    size = len(content) if size is None else size
    command = write_command(str(path), size, owner=None, group=None, mode=mode, backup=backup)
    done = _sh(command, content, path=tools)
    return done.returncode, done.stdout.decode()


# Each runs `-c command`. The last word of a login shell's is a shell of its own, as connections and sudo start it.
_SHELLS = {
    "dash": ["dash"],
    "bash": ["bash"],
    "bash, posix": ["bash", "--posix"],
    "busybox": ["busybox", "sh"],
    "mksh": ["mksh"],
    "ksh93": ["ksh93"],
    "zsh": ["zsh"],
    "yash": ["yash"],
}
_LOGIN_SHELLS = ["bsd-csh", "tcsh", "fish", "zsh"]
_TOOLS = ["chmod", "chown", "date", "dd", "env", "find", "ln", "ls", "mkdir", "mv", "pwd", "readlink", "rm"]
_TOOLS += ["rmdir", "sha256sum", "sleep", "stat"]


def _installed(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def _live(root: Path, name: str, shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None) -> None:
    """A file is made with its directories, replaced with a backup, read and removed."""
    path = root / "new" / f"sub {name}" / name
    assert _facts(path, shell, tools).kind == "no_parent"
    contents, source = [b"key: 0A1B\x00\xff\n", b"second", b"third\n"], root / "source"
    markers: tuple[str, ...] = ()
    for number, content in enumerate(contents):
        source.write_bytes(content)
        command = write_command(
            str(path),
            len(content),
            owner=str(os.geteuid()),
            group=str(os.getegid()),
            mode=0o640,
            backup=number == 1,
            restart=number != 1,
            source=str(source) if number == 2 else None,
        )
        done = _sh(command, b"" if number == 2 else content, shell, tools)
        assert was_written(done.returncode, done.stdout.decode()), done
        assert done.stderr == b""
        assert path.read_bytes() == content
        markers = markers_in(done.stdout.decode())
        assert len(markers) == (number != 1)
        if number == 0:
            assert _facts(path, shell, tools).markers == markers
            done = _sh(remove_command(str(path), markers), shell=shell, path=tools)
            assert was_written(done.returncode, done.stdout.decode()), done
            assert os.listdir(path.parent) == [name]
    marker = f".{name}.restart-{markers[0]}"
    assert (path.parent / marker).lstat().st_size == 0
    assert stat.S_IMODE((path.parent / marker).lstat().st_mode) == 0o600
    (kept,) = set(os.listdir(path.parent)) - {name, marker}
    assert (path.parent / kept).read_bytes() == contents[0]
    assert kept.startswith(f"{name}.")
    assert sorted(os.listdir(root)) == ["new", "source"]
    me = path.stat()
    assert _facts(path, shell, tools) == HostFile(
        "file",
        True,
        str(me.st_uid),
        pwd.getpwuid(me.st_uid).pw_name,
        str(me.st_gid),
        grp.getgrgid(me.st_gid).gr_name,
        0o640,
        hashlib.sha256(contents[2]).hexdigest(),
        size=len(contents[2]),
        markers=markers,
    )
    assert _sh(read_command(str(path)), shell=shell, path=tools).stdout == contents[2]
    done = _sh(remove_command(str(path)), shell=shell, path=tools)
    assert was_written(done.returncode, done.stdout.decode()), done
    assert _facts(path, shell, tools) == HostFile("missing", True)
    assert os.listdir(path.parent) == [kept]
    assert was_written(_sh(remove_command(str(path))).returncode, "monitor.cloud done")


@pytest.mark.parametrize("name", _NAMES)
def test_the_life_of_a_file(tmp_path: Path, name: str) -> None:
    _live(tmp_path, name)


@pytest.mark.parametrize("name", [_NAMES[0], "".join(_NAMES)])
@pytest.mark.parametrize("shell", _SHELLS.values(), ids=_SHELLS)
def test_the_life_of_a_file_in_each_shell(tmp_path: Path, shell: list[str], name: str) -> None:
    _installed(shell[0])
    _live(tmp_path, name, shell)


@pytest.mark.parametrize("box", ["busybox", "toybox"])
def test_the_life_of_a_file_with_the_tools_of(tmp_path: Path, box: str) -> None:
    _installed(box)
    tools, root = tmp_path / "tools", tmp_path / "root"
    tools.mkdir()
    root.mkdir()
    applets = subprocess.run([box, *(["--list"] * (box == "busybox"))], capture_output=True, check=True).stdout.split()
    for tool in set(_TOOLS).intersection(applet.decode() for applet in applets):
        (tools / tool).symlink_to(str(shutil.which(box)))
    _live(root, "agent.conf", tools=tools)


@pytest.mark.parametrize("name", [_NAMES[0], "".join(_NAMES)])
@pytest.mark.parametrize("login", _LOGIN_SHELLS)
def test_the_life_of_a_file_under_a_login_shell(tmp_path: Path, login: str, name: str) -> None:
    """As sshd starts a command that core has given to sudo: a shell in a shell in the login shell."""
    _installed(login)
    between = tmp_path / "shell"
    between.write_text(
        "#!/usr/bin/env python3\nimport os, shlex, sys\n"
        'inner = "/bin/sh -c " + shlex.quote("umask 022 ; " + sys.argv[2])\n'
        'command = "/bin/sh -c " + shlex.quote(inner + " && sleep 0")\n'
        f"os.execvp({login!r}, [{login!r}, '-c', command])\n"
    )
    between.chmod(0o755)
    root = tmp_path / "root"
    root.mkdir()
    _live(root, name, [str(between)])


@pytest.mark.parametrize("name", _NAMES)
def test_commands_hold_no_character_that_login_shells_change(name: str) -> None:
    path = f"/etc/{name}/{name}"
    commands = [facts_command(path, name), read_command(path), remove_command(path), remove_command(path, ["0123abcd"])]
    commands += [write_command(path, 3, owner="o", group="g", mode=0o600, backup=True, restart=True, source=path)]
    for command in map(shlex.quote, commands):
        assert "\n" not in command
        assert command.replace("=$! ", "").count("!") == 0
        assert not any(pair in command for pair in ("\\\\", "\\'", '\\"'))


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400, 0o4755, 0o0])
def test_modes(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.conf"
    assert was_written(*_write(path, b"x", mode=mode))
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert _facts(path).mode == mode


def test_kinds(tmp_path: Path) -> None:
    file, link, fifo = tmp_path / "file", tmp_path / "link", tmp_path / "fifo"
    file.write_text("x")
    link.symlink_to(file)
    os.mkfifo(fifo)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert _facts(file).kind == "file"
    assert _facts(link).kind == "link"
    assert _facts(tmp_path / "dangling").kind == "link"
    assert _facts(fifo).kind == "other"
    assert _facts(tmp_path).kind == "directory"
    assert _facts(tmp_path / "none").kind == "missing"
    assert _facts(file / "below").kind == "no_parent"
    assert _facts(file / "below").writable is False


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    target, directory = tmp_path / "target", tmp_path / "directory"
    target.write_text("old")
    directory.mkdir()
    for name, to in (("one", target), ("two", directory)):
        link = tmp_path / name
        link.symlink_to(to)
        assert was_written(*_write(link, b"new"))
        assert not link.is_symlink()
        assert link.read_text() == "new"
    assert target.read_text() == "old"
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("given", [b"", b"only ha", b"more than was announced"])
def test_truncated_input_changes_nothing(tmp_path: Path, given: bytes) -> None:
    path = tmp_path / "agent.conf"
    path.write_text("old")
    returncode, output = _write(path, given, size=10)
    assert not was_written(returncode, output)
    assert got_no_input(returncode, output)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["agent.conf"]


def test_a_directory_at_the_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file" / "agent.conf"
    (tmp_path / "file").write_text("x")
    returncode, output = _write(path, b"new")
    assert not was_written(returncode, output)
    assert not got_no_input(returncode, output)


def test_a_backup_keeps_the_content_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    assert was_written(*_write(path, b"old", mode=0o644, backup=True))
    assert os.listdir(tmp_path) == ["agent.conf"]
    assert was_written(*_write(path, b"new", backup=True))
    (kept,) = [file for file in tmp_path.iterdir() if file != path]
    assert kept.name.startswith("agent.conf.")
    assert kept.read_text() == "old"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.fixture
def free_pid() -> int:
    """The process id of something that has ended."""
    with subprocess.Popen(["/bin/true"]) as ended:
        return ended.pid


def _leave(left: Path, name: str) -> None:
    left.mkdir()
    left.chmod(0o1700)
    for suffix in ("", "-", ".2026-11-21@10:00:00~"):
        (left / f"{name}{suffix}").write_text("half a ke")


@pytest.mark.parametrize("name", _NAMES)
def test_leftovers_of_a_killed_writer_are_found_and_removed(tmp_path: Path, free_pid: int, name: str) -> None:
    path = tmp_path / name
    left = tmp_path / f".{name}.writing-{free_pid}-aB3dE6gH"
    _leave(left, name)
    assert _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert os.listdir(tmp_path) == [name]
    assert not _facts(path).leftovers
    _leave(left, name)
    assert _sh(remove_command(str(path))).returncode == 0
    assert os.listdir(tmp_path) == []


def test_leftovers_of_a_killed_writer_have_the_expected_name(tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False)
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        while not os.listdir(tmp_path):
            assert writer.poll() is None
        # The writer lives: its file is not a leftover, and another writer leaves it alone.
        (mine,) = os.listdir(tmp_path)
        assert not _facts(path).leftovers
        assert was_written(*_write(path, b"other"))
        assert sorted(os.listdir(tmp_path)) == sorted([mine, "agent.conf"])
        writer.kill()
    assert _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert os.listdir(tmp_path) == ["agent.conf"]


@pytest.mark.parametrize("tools", ["GNU", "busybox", "toybox"])
@pytest.mark.parametrize("age", [0, 3600, 86400 - 60, 2 * 86400 + 60])
def test_a_process_that_got_the_number_of_a_writer_keeps_its_directory_for_a_day(
    tmp_path: Path, age: int, tools: str
) -> None:
    """Some round the age up to days, some down: on either, no directory of a day goes, and one of two days goes."""
    base, root = tmp_path / "tools", tmp_path / "root"
    base.mkdir()
    root.mkdir()
    if tools != "GNU":
        _installed(tools)
        (base / "find").symlink_to(str(shutil.which(tools)))
    path, left = root / "agent.conf", root / f".agent.conf.writing-{os.getpid()}-aB3dE6gH"
    _leave(left, "agent.conf")
    then = time.time() - age
    os.utime(left, (then, then))
    assert _facts(path, tools=base).leftovers is (age > 2 * 86400)
    assert was_written(*_write(path, b"new", tools=base))
    assert left.exists() is (age <= 2 * 86400)


def test_files_with_other_names_are_not_leftovers(tmp_path: Path, free_pid: int) -> None:
    path = tmp_path / "agent.conf"
    others = [
        f".agent.conf.writing-{free_pid}-short",
        f".agent.conf.writing-{free_pid}-muchlonger1",
        f".agent.conf.writing-{free_pid}x-aB3dE6gH",
        ".agent.conf.writing--aB3dE6gH",
        f".other.conf.writing-{free_pid}-aB3dE6gH",
        f"agent.conf.writing-{free_pid}-aB3dE6gH",
        ".agent.conf.aB3dE6gH",
        ".agent.conf.swp",
    ]
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o1700)
        (tmp_path / name / "agent.conf").write_text("mine")
    file = f".agent.conf.writing-{free_pid}-aFileXYZ"
    (tmp_path / file).write_text("mine")
    link = f".agent.conf.writing-{free_pid}-aLinkXYZ"
    (tmp_path / link).symlink_to(tmp_path / ".agent.conf.swp")
    assert not _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert sorted(os.listdir(tmp_path)) == sorted([*others, link, file, "agent.conf"])
    assert {(tmp_path / name / "agent.conf").read_text() for name in others} == {"mine"}


@pytest.mark.parametrize("failure", ["the marker can't be moved", "the file can't be moved"])
def test_a_failed_write_leaves_no_marker(tmp_path: Path, failure: str) -> None:
    path = tmp_path / "root" / "agent.conf"
    path.parent.mkdir()
    moved = "*restart-*" if "marker" in failure else "*/agent.conf*"
    tools = _stubs(tmp_path / "tools", mv=f'case "$*" in {moved}) exit 1;; esac; exec /bin/mv "$@"')
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False, restart=True)
    done = _sh(command, b"new", path=tools)
    assert (was_written(done.returncode, done.stdout.decode()), os.listdir(path.parent)) == (False, [])


def test_the_marker_is_there_before_the_file_is(tmp_path: Path) -> None:
    path, seen = tmp_path / "root" / "agent.conf", tmp_path / "seen"
    path.parent.mkdir()
    script = f'case "$*" in */agent.conf*) ls -A "{path.parent}" > "{seen}";; esac; exec /bin/mv "$@"'
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False, restart=True)
    done = _sh(command, b"new", path=_stubs(tmp_path / "tools", mv=script))
    (marker,) = markers_in(done.stdout.decode())
    assert f".agent.conf.restart-{marker}" in seen.read_text().split()
    assert "agent.conf" not in seen.read_text().split()


def test_only_markers_are_removed(tmp_path: Path) -> None:
    for name in ("", "0123ABCD", "0123abcd0", "../../etc", "*", "0123abcd\n"):
        with pytest.raises(InputError, match="restart_markers"):
            remove_command("/etc/agent.conf", [name])
    path, other = tmp_path / "agent.conf", tmp_path / ".agent.conf.restart-76543210"
    for file in (path, other, tmp_path / ".agent.conf.restart-0123abcd"):
        file.touch()
    assert was_written(_sh(remove_command(str(path), ["0123abcd"])).returncode, "monitor.cloud done")
    assert sorted(tmp_path.iterdir()) == [other, path]
    assert was_written(
        _sh(remove_command(f"{tmp_path}/none/agent.conf", ["0123abcd"])).returncode, "monitor.cloud done"
    )


@pytest.mark.parametrize("shell", _SHELLS.values(), ids=_SHELLS)
@pytest.mark.parametrize(
    ("systemctl", "state"),
    [('echo "$*"; exit 3', None), ("echo failed; exit 3", "failed"), ("echo active", "active"), ("exit 127", None)],
)
def test_the_state_of_a_service(tmp_path: Path, shell: list[str], systemctl: str, state: str | None) -> None:
    _installed(shell[0])
    tools, name = _stubs(tmp_path / "tools", systemctl=systemctl), "it's $1 *"
    command = facts_command(str(tmp_path / "agent.conf"), name)
    done = _sh(command.replace("/run/systemd/system", str(tmp_path)), shell=shell, path=tools)
    assert done.stderr == b""
    if systemctl.startswith('echo "$*"'):
        assert f"service|is-active -- {name}\n" in done.stdout.decode()
    found = parse_facts(done.stdout.decode())
    assert found == HostFile("missing", True, service=state)
    none = _sh(command.replace("/run/systemd/system", "/nowhere"), shell=shell, path=tools)
    assert "service|" not in none.stdout.decode()


def test_no_other_user_can_read_the_file_while_it_is_written(tmp_path: Path) -> None:
    """The writer stops for its input: what is there by then is for the owner alone."""
    path = tmp_path / "agent.conf"
    command = write_command(str(path), 3, owner=None, group=None, mode=0o644, backup=False)
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        while not (waiting := list(tmp_path.rglob("agent.conf"))):
            assert writer.poll() is None
        for file in (*waiting, waiting[0].parent):
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
        assert waiting[0].parent.parent == tmp_path
        writer.communicate(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def _stubs(base: Path, **scripts: str) -> Path:
    """A directory of tools that do this."""
    base.mkdir(exist_ok=True)
    for name, script in scripts.items():
        (base / name).write_text(f"#!/bin/sh\n{script}\n")
        (base / name).chmod(0o755)
    return base


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh", "mksh", "ksh93", "zsh"])
def test_a_signal_during_cleanup_removes_no_other_file(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"{shell} is not installed")
    path, begun = tmp_path / "root" / "agent.conf", tmp_path / "begun"
    path.parent.mkdir()
    others = {"agent.conf": "old", "agent.conf.local": "of the user", "agent.conf.2026-01-01@00:00:00~": "backup"}
    for name, text in others.items():
        (path.parent / name).write_text(text)
    tools = _stubs(tmp_path / "tools", rmdir=f'touch "{begun}"; sleep 1; exec /bin/rmdir "$@"')
    command = write_command(str(path), 9, owner=None, group=None, mode=0o600, backup=False)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([*shell.split(), "-c", command], stdin=subprocess.DEVNULL, env=environment) as writer:
        while not begun.exists():
            time.sleep(0.01)
        writer.send_signal(signal.SIGTERM)
    assert writer.returncode != 0
    assert {file.name: file.read_text() for file in path.parent.iterdir()} == others


def test_a_directory_that_no_writer_made_is_not_a_leftover(tmp_path: Path) -> None:
    path, other = tmp_path / "agent.conf", tmp_path / ".agent.conf.writing-999999-abcdefgh"
    other.mkdir(mode=0o700)
    (other / "agent.conf.bak").write_text("of the user")
    assert not _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert was_written(_sh(remove_command(str(path))).returncode, "monitor.cloud done")
    assert (other / "agent.conf.bak").read_text() == "of the user"


def test_a_link_of_roots_among_the_parents_counts() -> None:
    home = Path.home().resolve()
    if any(parent.stat().st_mode & 0o022 for parent in (home, *home.parents)):
        pytest.skip(f"others can change {home}")
    with tempfile.TemporaryDirectory(dir=home) as base:
        (Path(base) / "real" / "below").mkdir(parents=True)
        (Path(base) / "absolute").symlink_to(f"{base}/real")
        (Path(base) / "relative").symlink_to("real/../real/below")
        for parent in ("absolute/below", "relative", "absolute/../relative", "/./relative"):
            path = Path(f"{base}/{parent}/agent.conf")
            assert was_written(*_write(path, b"new")), parent
            assert (Path(base) / "real" / "below" / "agent.conf").read_text() == "new"
            assert was_written(_sh(remove_command(str(path))).returncode, "monitor.cloud done")
            assert os.listdir(f"{base}/real/below") == []
        assert was_written(*_write(Path(f"{base}/absolute/new/agent.conf"), b"new"))
        assert (Path(base) / "real" / "new" / "agent.conf").read_text() == "new"


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Path]:
    """A directory of another user, which that one can reach."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be attacked by another user")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        os.chmod(base, 0o755)
        home = Path(base) / "home"
        home.mkdir()
        os.chown(home, _OTHER, _OTHER)
        yield home


_OTHER = 4343


@pytest.mark.parametrize("made", ["link to a directory", "link to nowhere"])
def test_a_link_of_another_user_among_the_parents_is_refused(owned: Path, tmp_path: Path, made: str) -> None:
    target = tmp_path / "target"
    if made == "link to a directory":
        target.mkdir()
        (target / "agent.conf").write_text("victim")
    (owned / "conf").symlink_to(target)
    for command in (
        write_command(f"{owned}/conf/agent.conf", 3, owner=None, group=None, mode=0o600, backup=False),
        write_command(f"{owned}/conf/new/agent.conf", 3, owner=None, group=None, mode=0o600, backup=False),
        remove_command(f"{owned}/conf/agent.conf"),
    ):
        done = _sh(command, b"new")
        assert "symbolic link" in (problem(done.returncode) or "")
    assert [path.name for path in tmp_path.rglob("*")] == ["target", "agent.conf"][: 2 * target.exists()]


# What another user does when a name appears in his directory; $1 is the name's path, $2 his directory, $3 the victim's.
_ATTACKS = {
    "link to the victim's file": 'mv "$1" "$1.away" && ln -s "$3/secret" "$1"',
    "file of his own": 'mv "$1" "$1.away" && : > "$1" && chmod 666 "$1"',
    "link to the victim's directory": 'mv "$1" "$1.away" && ln -s "$3" "$1"',
    "directory of his own": 'mv "$1" "$1.away" && mkdir -m 777 "$1"',
    "directory of root's": 'mv "$1" "$1.away" && mv "$2/lent" "$1"',
    "link at the path": 'rm -rf "$2/agent.conf"; ln -s "$3/secret" "$2/agent.conf"',
    "link to a directory at the path": 'rm -rf "$2/agent.conf"; ln -s "$3" "$2/agent.conf"',
    "directory at the path": 'rm -rf "$2/agent.conf"; mkdir -m 777 "$2/agent.conf"',
    "FIFO at the path": 'rm -rf "$2/agent.conf"; mkfifo "$2/agent.conf"',
    "his directory is a link": 'mv "$2" "$2.away" && ln -s "$3" "$2"',
    "his directory is a link for a moment": 'mv "$2" "$2.away" && ln -s "$3" "$2"; rm "$2"; mv "$2.away" "$2"',
    "what was written": 'cat "$1"/* "$2"/* > "$2/loot-$$" 2>/dev/null; :',
}
_STEPS = ["lsattr", "mkdir", "/bin/pwd", "chmod", "dd", "chown", "ln", "date", "mv", "rm", "rmdir"]


@pytest.mark.parametrize(
    ("way", "shell"),
    [("input", "bash"), ("source", "dash"), ("backup", "dash"), ("remove", "bash"), ("restarted", "dash")],
)
@pytest.mark.parametrize("attack", _ATTACKS.values(), ids=_ATTACKS)
def test_no_step_can_be_redirected(owned: Path, tmp_path: Path, attack: str, way: str, shell: str) -> None:
    """After each step, another user, who owns the directory, attacks."""
    _installed(shell)
    home, victim, key = owned / "conf", owned.parent / "victim", b"api_key=SECRET"
    (tmp_path / "source").write_bytes(key)
    (script := owned.parent / "attack").write_text(attack)
    attacked = 0
    for number, step in enumerate(_STEPS):
        for directory in (home, victim):
            if directory.is_symlink():
                directory.unlink()
            shutil.rmtree(directory, ignore_errors=True)
        home.mkdir()
        (home / "agent.conf").write_text("old")
        (home / ".agent.conf.restart-0123abcd").touch()
        (home / "lent").mkdir()
        (home / "lent").chmod(0o777)
        (home / "lent" / "agent.conf").symlink_to(victim / "secret")
        os.chown(home, _OTHER, _OTHER)
        victim.mkdir(mode=0o755)
        (victim / "secret").write_text("root's")
        (victim / "secret").chmod(0o600)
        strike = (
            f'for f in "{home}"/.agent.conf.[rw]*-* "{home}/agent.conf"; do [ -e "$f" ] && '
            f"setpriv --reuid {_OTHER} --regid {_OTHER} --clear-groups "
            f'env PATH=/usr/bin:/bin sh "{script}" "$f" "{home}" "{victim}" 2>/dev/null && break; done'
        )
        # Its own tools come first: an observed one must not call itself.
        observed = f"""PATH=/usr/bin:/bin
{step} "$@"; r=$?
mkdir "{tmp_path}/once-{number}" 2>/dev/null && {{ {strike}; }} >/dev/null </dev/null && : > "{tmp_path}/done-{number}"
exit $r"""
        base = _stubs(tmp_path / f"tools-{number}", **{Path(step).name: observed})
        command = (
            remove_command(f"{home}/agent.conf", ["0123abcd"] if way == "restarted" else None)
            if way in ("remove", "restarted")
            else write_command(
                f"{home}/agent.conf",
                len(key),
                owner="daemon",
                group=None,
                mode=0o600,
                backup=way == "backup",
                restart=way != "backup",
                source=str(tmp_path / "source") if way == "source" else None,
            )
        )
        command = command.replace("/bin/pwd", str(base / "pwd")) if step == "/bin/pwd" else command
        done = _sh(command, key, shell=[shell], path=base)
        case = (step, done)
        found = {str(path.relative_to(victim)): path for path in victim.rglob("*")}
        assert (list(found), stat.S_IMODE(victim.stat().st_mode)) == (["secret"], 0o755), case
        facts = found["secret"].stat()
        assert (facts.st_uid, facts.st_mode & 0o777, found["secret"].read_text()) == (0, 0o600, "root's"), case
        for path in owned.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.lstat().st_uid == _OTHER:
                assert path.read_bytes() in (b"old", b""), (path, case)
            if path.is_file() and not path.is_symlink() and path.read_bytes() == key:
                assert path.stat().st_mode & 0o077 == 0, (path, case)
        shutil.rmtree(f"{home}.away", ignore_errors=True)
        attacked += (tmp_path / f"done-{number}").exists()
    assert attacked > 0


def test_a_directory_that_appears_at_the_path_receives_no_file(tmp_path: Path) -> None:
    path = tmp_path / "root" / "agent.conf"
    path.parent.mkdir()
    tools = _stubs(tmp_path / "tools", chown="exit 0", mv=f'/bin/mkdir "{path}" 2>/dev/null; exec /bin/mv "$@"')
    returncode, output = _write(path, b"new", tools=tools)
    assert not was_written(returncode, output)
    assert not got_no_input(returncode, output)
    assert list(path.parent.rglob("*")) == [path]


def test_a_directory_with_a_default_acl(owned: Path) -> None:
    """It applies to new files in it, whatever the umask."""
    _installed("setfacl")
    acl = ["setfacl", "-d", "-m", f"u:{_OTHER}:rwx", str(owned)]
    if subprocess.run(acl, check=False, capture_output=True).returncode != 0:
        pytest.skip("the file system has no ACLs")
    path = owned / "agent.conf"
    assert was_written(*_write(path, b"new"))
    reading = ["setpriv", f"--reuid={_OTHER}", f"--regid={_OTHER}", "--clear-groups", "cat", str(path)]
    assert subprocess.run(reading, check=False, capture_output=True).stdout == b""
    assert [file.name for file in owned.iterdir()] == ["agent.conf"]


def test_an_append_only_directory_is_refused_before_the_first_write(tmp_path: Path) -> None:
    path = tmp_path / "root" / "agent.conf"
    path.parent.mkdir()
    tools = _stubs(tmp_path / "tools", lsattr='echo "-----a--------e------- ."')
    returncode, output = _write(path, b"new", tools=tools)
    assert "append-only" in (problem(returncode) or "")
    assert (os.listdir(path.parent), was_written(returncode, output)) == ([], False)
    assert was_written(*_write(path, b"new", tools=_stubs(tools, lsattr='echo "-------A------eC------ ."')))


def test_without_hard_links_a_file_that_others_can_replace_is_not_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "root" / "agent.conf"
    path.parent.mkdir()
    path.write_text("old")
    tools = _stubs(tmp_path / "tools", ln="echo ln: not permitted >&2; exit 1")
    path.parent.chmod(0o777)
    returncode, _output = _write(path, b"new", tools=tools, backup=True)
    assert "can't be backed up" in (problem(returncode) or "")
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")
    path.write_text("x" * (LARGEST_FILE + 1))
    returncode, _output = _write(path, b"new", backup=True)
    assert "larger than 64 KiB" in (problem(returncode) or "")
    assert os.listdir(path.parent) == ["agent.conf"]


def test_the_backup_of_a_file_with_other_names_leaves_those_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "root" / "agent.conf", tmp_path / "other"
    path.parent.mkdir()
    other.write_text("old")
    other.chmod(0o644)
    path.hardlink_to(other)
    assert was_written(*_write(path, b"new", backup=True))
    assert (other.read_text(), stat.S_IMODE(other.stat().st_mode), other.stat().st_nlink) == ("old", 0o644, 1)


@pytest.mark.parametrize(
    ("tool", "options"), [("sha256sum", ""), ("shasum", "-a 256"), ("sha256", "-q")], ids=["GNU", "macOS", "BSD"]
)
def test_each_tool_for_digests_is_used(tmp_path: Path, tool: str, options: str) -> None:
    tools, path = tmp_path / "tools", tmp_path / "agent.conf"
    tools.mkdir()
    path.write_bytes(b"new")
    for name in set(_TOOLS) - {"sha256sum"}:
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / tool).write_text(f'#!/bin/sh\n[ "$*" = "{options}" ] && exec {shutil.which("sha256sum")}\n')
    (tools / tool).chmod(0o755)
    shell = ["/usr/bin/env", f"PATH={tools}", str(shutil.which("sh"))]
    assert _facts(path, shell).digest == hashlib.sha256(b"new").hexdigest()


@pytest.mark.parametrize("tool", ["mkdir", "dd", "chmod", "mv", "env"])
def test_a_missing_tool_is_named(tmp_path: Path, tool: str) -> None:
    tools, root = tmp_path / "tools", tmp_path / "root"
    tools.mkdir()
    root.mkdir()
    for name in set(_TOOLS) - {tool}:
        (tools / name).symlink_to(str(shutil.which(name)))
    command = write_command(str(root / "agent.conf"), 3, owner=None, group=None, mode=0o600, backup=False)
    shell = ["/usr/bin/env", f"PATH={tools}", str(shutil.which("sh"))]
    done = _sh(command, b"new", shell=shell)
    assert not was_written(done.returncode, done.stdout.decode())
    assert f"this host has no {tool}; install" in done.stderr.decode()
    assert problem(done.returncode) is None
    assert list(root.rglob("agent.conf")) == []


@pytest.mark.parametrize(("chcon", "restored"), [("exit 0", False), ("exit 1", True), (None, True)])
@pytest.mark.parametrize("before", ["old", None])
def test_selinux(tmp_path: Path, chcon: str | None, restored: bool, before: str | None) -> None:
    """A replacement takes the context of what it replaces, or else the policy's. Neither's failure ends the write."""
    root, log = tmp_path / "root", tmp_path / "log"
    root.mkdir()
    path = root / "agent.conf"
    if before is not None:
        path.write_text(before)
    note = f'echo "$0 $*" >> "{log}"'
    tools = _stubs(tmp_path / "tools", restorecon=f"{note}; exit 1", **({"chcon": f"{note}; {chcon}"} if chcon else {}))
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False)
    done = _sh(command.replace("/sys/fs/selinux/enforce", str(tmp_path)), b"new", path=tools)
    assert was_written(done.returncode, done.stdout.decode()), done
    assert (os.listdir(root), path.read_text()) == (["agent.conf"], "new")
    used = [Path(line.split()[0]).name for line in log.read_text().splitlines()] if log.exists() else []
    expected = ["chcon"] * (chcon is not None and before is not None)
    assert used == expected + ["restorecon"] * (restored or before is None)


def test_thousands_of_names_beside_the_file_cost_no_processes(tmp_path: Path) -> None:
    root, log = tmp_path / "root", tmp_path / "log"
    root.mkdir()
    for number in range(20000):
        # Of a process that lives, so that its age would count.
        (root / f".agent.conf.writing-1-{number:08}").mkdir()
        (root / f".agent.conf.writing-1-{number:08}").chmod(0o1700)
        (root / f".agent.conf.restart-{number + 2**24:08x}").touch()
    tools = _stubs(tmp_path / "tools", find=f'echo >> "{log}"; exec /usr/bin/find "$@"')
    found = _facts(root / "agent.conf", tools=tools)
    assert (found.leftovers, len(found.markers)) == (False, 20)
    assert was_written(*_write(root / "agent.conf", b"new", tools=tools))
    assert len(log.read_text().splitlines()) <= 40


@pytest.mark.parametrize("target", ["a FIFO", "a device", "nothing", "a directory"])
def test_only_files_are_opened(tmp_path: Path, target: str) -> None:
    path = tmp_path / "agent.conf"
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    targets = {"a FIFO": "fifo", "a device": "/dev/zero", "nothing": "nowhere", "a directory": "directory"}
    path.symlink_to(targets[target])
    assert _facts(path).kind == "link"
    done = _sh(read_command(str(path)))
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize("shell", _SHELLS.values(), ids=_SHELLS)
def test_a_fifo_that_appears_before_the_open_does_not_block(owned: Path, tmp_path: Path, shell: list[str]) -> None:
    _installed(shell[0])
    path = owned / "agent.conf"
    swap = f'rm -f "{path}"; mkfifo "{path}"'
    # The deadline comes at once.
    tools = _stubs(
        tmp_path / "tools", sleep="exit 0", stat=f'/usr/bin/stat "$@"; {swap}', dd=f'{swap}; exec /bin/dd "$@"'
    )
    path.write_text("old")
    done = _sh(facts_command(str(path)), shell=shell, path=tools)
    assert (done.returncode, done.stderr) == (0, b"")
    found = parse_facts(done.stdout.decode())
    assert found is not None
    assert found.digest in (None, hashlib.sha256(b"").hexdigest())
    path.unlink()
    path.write_text("old")
    done = _sh(read_command(str(path)), shell=shell, path=tools)
    assert (done.returncode != 0, done.stdout) == (True, b"")


def test_a_directory_of_another_user_has_a_digest_too(owned: Path) -> None:
    path = owned / "agent.conf"
    path.write_text("old")
    assert _facts(path).digest == hashlib.sha256(b"old").hexdigest()


def test_a_file_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)
    found = _facts(path)
    assert (found.kind, found.digest, found.size) == ("file", None, 2**40)


@pytest.mark.parametrize("mode", [0o4755, 0o2640, 0o1600, 0o0, 0o600, 0o44])
def test_modes_as_bsd_prints_them(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.conf"
    path.write_text("x")
    path.chmod(mode)
    real = 'stat -c "$(printf %s "$2" | sed \'s/%Mp%03Lp/0%a/; s/%z/%s/; s/%Su/%U/; s/%Sg/%G/\')" "$3" "$4"'
    tools = _stubs(tmp_path / "tools", stat=f'[ "$1" = -f ] || exit 1; PATH=/usr/bin:/bin {real}')
    assert _facts(path, tools=tools).mode == mode


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (LARGEST_FILE + 10))
    assert len(_sh(read_command(str(path))).stdout) == LARGEST_FILE


@pytest.mark.parametrize("path", ["", "agent.conf", "/", "//", "/etc/", "/etc/..", "~/agent.conf", "/etc/a\0b"])
def test_paths_that_are_refused(path: str) -> None:
    with pytest.raises(InputError, match="must be the absolute path of a file"):
        absolute(path)


@pytest.mark.parametrize("path", ["/a", "/etc/monitor/agent.conf", "/etc/with space"])
def test_paths_that_are_taken(path: str) -> None:
    assert absolute(path) == path


_DIGEST = "a" * 64
_FACTS = "monitor.cloud facts|file|y\nstat|5|0|root|0|wheel|600\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", None),
        ("sh: not found\n", None),
        ("Welcome!\nmonitor.cloud facts|missing|y\n", HostFile("missing", True)),
        ("monitor.cloud facts|no_parent|n\r\n", HostFile("no_parent", False)),
        ("monitor.cloud facts|missing|y|left\r\n", HostFile("missing", True, leftovers=True)),
        ("monitor.cloud facts|missing|y|0123abcd\r\n", HostFile("missing", True, markers=("0123abcd",))),
        (
            "monitor.cloud facts|missing|y|left|0123abcd|01234567\nservice|failed\n",
            HostFile("missing", True, leftovers=True, markers=("0123abcd", "01234567"), service="failed"),
        ),
        ("monitor.cloud facts|missing|y\nservice|\n", HostFile("missing", True)),
        ("monitor.cloud facts|file|y\n", HostFile("file", True)),
        (f"{_FACTS}{_DIGEST}  -\n", HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST, size=5)),
        (f"{_FACTS}{_DIGEST}\n", HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST, size=5)),
        (_FACTS, HostFile("file", True, "0", "root", "0", "wheel", 0o600, size=5)),
        (
            f"{_FACTS}{_DIGEST}  -\n".replace("\n", "\r\n"),
            HostFile("file", True, "0", "root", "0", "wheel", 384, _DIGEST, size=5),
        ),
        (f"{_DIGEST}\nstat|5|9|x|9|x|777\n{_FACTS}", HostFile("file", True, "0", "root", "0", "wheel", 0o600, size=5)),
    ],
)
def test_the_output_of_hosts_is_parsed(output: str, found: HostFile | None) -> None:
    """GNU, BSD and busybox differ; login shells add their own text, terminals carriage returns."""
    assert parse_facts(output) == found
