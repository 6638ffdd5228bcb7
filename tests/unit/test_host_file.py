# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shell commands that look at and write a host's file, run by a local /bin/sh."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
import subprocess
import time
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host_file import (
    LARGEST_FILE,
    HostFile,
    absolute,
    facts_command,
    narrow_command,
    needs_other_way,
    parse_facts,
    read_command,
    remove_command,
    was_written,
    write_command,
)

_NAMES = ["agent.conf", "with space", "it's", "-dash", "$HOME", "a;b", 'quo"te', "ümlaut", "*", "new\nline"]


def _sh(command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", command], input=given, capture_output=True, check=False)


def _facts(path: Path) -> HostFile:
    done = _sh(facts_command(str(path)))
    assert (done.returncode, done.stderr) == (0, b"")
    found = parse_facts(done.stdout.decode())
    assert found is not None
    return found


def _write(
    path: Path, content: bytes, *, mode: int = 0o600, backup: bool = False, size: int | None = None
) -> tuple[int, str]:
    size = len(content) if size is None else size
    command = write_command(str(path), size, owner=None, group=None, mode=mode, backup=backup)
    done = _sh(command, content)
    return done.returncode, done.stdout.decode()


@pytest.mark.parametrize("name", _NAMES)
def test_the_life_of_a_file(tmp_path: Path, name: str) -> None:
    path, content = tmp_path / "new" / "sub" / name, b"key: 0A1B\x00\xff\n"
    assert _facts(path).kind == "homeless"
    assert was_written(*_write(path, content, mode=0o640))
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [name]
    me = path.stat()
    assert _facts(path) == HostFile(
        "file",
        True,
        str(me.st_uid),
        pwd.getpwuid(me.st_uid).pw_name,
        str(me.st_gid),
        grp.getgrgid(me.st_gid).gr_name,
        0o640,
        hashlib.sha256(content).hexdigest(),
    )
    assert _sh(read_command(str(path))).stdout == content
    done = _sh(remove_command(str(path)))
    assert was_written(done.returncode, done.stdout.decode())
    assert _facts(path).kind == "missing"
    assert was_written(_sh(remove_command(str(path))).returncode, "monitor.cloud done")


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
    assert _facts(file / "below").kind == "homeless"
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
def test_input_that_does_not_arrive_whole_changes_nothing(tmp_path: Path, given: bytes) -> None:
    path = tmp_path / "agent.conf"
    path.write_text("old")
    returncode, output = _write(path, given, size=10)
    assert not was_written(returncode, output)
    assert needs_other_way(returncode, output)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["agent.conf"]


def test_a_directory_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "file" / "agent.conf"
    (tmp_path / "file").write_text("x")
    returncode, output = _write(path, b"new")
    assert not was_written(returncode, output)
    assert not needs_other_way(returncode, output)


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
def nobody() -> int:
    """The process id of something that has ended."""
    with subprocess.Popen(["/bin/true"]) as ended:
        return ended.pid


@pytest.mark.parametrize("name", _NAMES)
def test_what_a_killed_writer_left_is_found_and_removed(tmp_path: Path, nobody: int, name: str) -> None:
    path = tmp_path / name
    left = tmp_path / f".{name}.writing-{nobody}-aB3dE6gH"
    left.write_text("half a ke")
    assert _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert os.listdir(tmp_path) == [name]
    assert not _facts(path).leftovers
    left.write_text("half a ke")
    assert _sh(narrow_command(str(path))).returncode == 0
    assert os.listdir(tmp_path) == [name]
    left.write_text("half a ke")
    assert _sh(remove_command(str(path))).returncode == 0
    assert os.listdir(tmp_path) == []


def test_what_is_left_of_a_killed_writer_has_the_name_that_is_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False)
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        while not os.listdir(tmp_path):
            assert writer.poll() is None
        # The writer lives: its file is no leftover, and another writer leaves it alone.
        (mine,) = os.listdir(tmp_path)
        assert not _facts(path).leftovers
        assert was_written(*_write(path, b"other"))
        assert sorted(os.listdir(tmp_path)) == sorted([mine, "agent.conf"])
        writer.kill()
    assert _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert os.listdir(tmp_path) == ["agent.conf"]


@pytest.mark.parametrize("age", [0, 3600, 86400 + 60])
def test_a_process_that_got_the_number_of_a_writer_keeps_its_file_for_a_day(tmp_path: Path, age: int) -> None:
    path, left = tmp_path / "agent.conf", tmp_path / f".agent.conf.writing-{os.getpid()}-aB3dE6gH"
    left.write_text("half a ke")
    then = time.time() - age
    os.utime(left, (then, then))
    assert _facts(path).leftovers is (age > 86400)
    assert was_written(*_write(path, b"new"))
    assert left.exists() is (age <= 86400)


def test_files_with_other_names_are_no_leftovers(tmp_path: Path, nobody: int) -> None:
    path = tmp_path / "agent.conf"
    others = [
        f".agent.conf.writing-{nobody}-short",
        f".agent.conf.writing-{nobody}-muchlonger1",
        f".agent.conf.writing-{nobody}x-aB3dE6gH",
        ".agent.conf.writing--aB3dE6gH",
        f".other.conf.writing-{nobody}-aB3dE6gH",
        f"agent.conf.writing-{nobody}-aB3dE6gH",
        ".agent.conf.aB3dE6gH",
        ".agent.conf.swp",
    ]
    for name in others:
        (tmp_path / name).write_text("mine")
    link = f".agent.conf.writing-{nobody}-aLinkXYZ"
    (tmp_path / link).symlink_to(tmp_path / ".agent.conf.swp")
    directory = f".agent.conf.writing-{nobody}-aDirXYZZ"
    (tmp_path / directory).mkdir()
    assert not _facts(path).leftovers
    assert was_written(*_write(path, b"new"))
    assert sorted(os.listdir(tmp_path)) == sorted([*others, link, directory, "agent.conf"])


def test_nobody_can_read_the_file_while_it_is_written(tmp_path: Path) -> None:
    """The writer stops for its input: what is there by then is for the owner alone."""
    path = tmp_path / "agent.conf"
    command = write_command(str(path), 3, owner=None, group=None, mode=0o644, backup=False)
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        while not (waiting := list(tmp_path.iterdir())):
            assert writer.poll() is None
        assert [stat.S_IMODE(file.stat().st_mode) & 0o077 for file in waiting] == [0]
        writer.communicate(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_the_file_for_other_means_is_narrow(tmp_path: Path) -> None:
    new, old = tmp_path / "new" / "file", tmp_path / "old"
    old.write_text("old")
    old.chmod(0o666)
    for path in (new, old):
        assert _sh(narrow_command(str(path))).returncode == 0
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert old.read_text() == "old"


def test_a_link_becomes_a_narrow_file_for_other_means(tmp_path: Path) -> None:
    target, directory, place = tmp_path / "target", tmp_path / "directory", tmp_path / "place"
    target.write_text("old")
    target.chmod(0o644)
    directory.mkdir()
    place.mkdir()
    for number, (to, text) in enumerate(((target, "old"), (directory, ""), (tmp_path / "nowhere", ""))):
        link = place / f"link-{number}"
        link.symlink_to(to)
        assert _sh(narrow_command(str(link))).returncode == 0
        assert not link.is_symlink()
        assert link.read_text() == text
        assert stat.S_IMODE(link.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert (list(directory.iterdir()), len(list(place.iterdir())), (tmp_path / "nowhere").exists()) == ([], 3, False)


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
_FACTS = "monitor.cloud facts|file|y\nstat|0|root|0|wheel|600\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", None),
        ("sh: not found\n", None),
        ("Welcome!\nmonitor.cloud facts|missing|y\n", HostFile("missing", True)),
        ("monitor.cloud facts|homeless|n\r\n", HostFile("homeless", False)),
        ("monitor.cloud facts|missing|y|left\r\n", HostFile("missing", True, leftovers=True)),
        ("monitor.cloud facts|file|y\n", HostFile("file", True)),
        (f"{_FACTS}{_DIGEST}  -\n", HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST)),
        (f"{_FACTS}{_DIGEST}\n", HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST)),
        (_FACTS, HostFile("file", True, "0", "root", "0", "wheel", 0o600)),
        (
            f"{_FACTS}{_DIGEST}  -\n".replace("\n", "\r\n"),
            HostFile("file", True, "0", "root", "0", "wheel", 384, _DIGEST),
        ),
        (f"{_DIGEST}\nstat|9|x|9|x|777\n{_FACTS}", HostFile("file", True, "0", "root", "0", "wheel", 0o600)),
    ],
)
def test_what_hosts_print(output: str, found: HostFile | None) -> None:
    """GNU, BSD and busybox differ; login shells add words of their own, terminals carriage returns."""
    assert parse_facts(output) == found
