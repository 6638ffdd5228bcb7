# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What writers leave beside a host's file: private directories of killed ones, and markers of pending restarts."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    failure,
    markers_in,
    remove_command,
    write_command,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed
from ansible_collections.monitor.cloud.tests.support.host_files import (
    NAME,
    SHELLS,
    facts_of,
    old_file,
    remove_file,
    skip_without,
    stub_tools,
    write_file,
)

# No process has the number.
_WRITING = "writing-99999999"


def _leave(left: Path, name: str) -> None:
    left.mkdir()
    left.chmod(0o1700)
    for suffix in ("", "-", ".2026-11-21@10:00:00~"):
        (left / f"{name}{suffix}").write_text("half a ke")


@pytest.mark.parametrize("name", ["-dash", NAME])
def test_leftovers_of_a_killed_writer_are_found_and_removed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for remove, expected in ((write_file, [name]), (remove_file, [])):
        _leave(tmp_path / f".{name}.{_WRITING}-aB3dE6gH", name)
        assert facts_of(path).leftovers
        assert failure(remove(path)) == ""
        assert (os.listdir(tmp_path), facts_of(path).leftovers) == (expected, False)


@pytest.mark.parametrize("change", [write_file, remove_file])
def test_leftovers_that_cannot_be_removed_are_an_error(tmp_path: Path, change: Callable[[Path], Completed]) -> None:
    path, left = old_file(tmp_path), tmp_path / "root" / f".agent.conf.{_WRITING}-aB3dE6gH"
    _leave(left, "other")
    assert facts_of(path).leftovers
    assert "which a killed run left, can't be removed" in failure(change(path))
    assert path.exists() is (change is write_file) and facts_of(path).leftovers


def test_leftovers_of_a_killed_writer_have_the_expected_name(tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    command = write_command(Desired(str(path), b"new"))
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        while not os.listdir(tmp_path):
            assert writer.poll() is None
        # The writer lives: its file is not a leftover, and another writer leaves it alone.
        (mine,) = os.listdir(tmp_path)
        assert not facts_of(path).leftovers
        assert failure(write_file(path)) == ""
        assert sorted(os.listdir(tmp_path)) == sorted([mine, "agent.conf"])
        writer.kill()
    assert facts_of(path).leftovers
    assert failure(write_file(path)) == ""
    assert os.listdir(tmp_path) == ["agent.conf"]


@pytest.mark.parametrize("tools", ["GNU", "busybox", "toybox"])
@pytest.mark.parametrize("age", [0, 86400 - 60, 2 * 86400 + 60])
def test_a_process_that_got_the_number_of_a_writer_keeps_its_directory_for_a_day(
    tmp_path: Path, age: int, tools: str
) -> None:
    """Some round the age up to days, some down: on either, no directory of a day goes, and one of two days goes."""
    base, root = tmp_path / "tools", tmp_path / "root"
    base.mkdir()
    root.mkdir()
    if tools != "GNU":
        skip_without(tools)
        (base / "find").symlink_to(str(shutil.which(tools)))
    path, left = root / "agent.conf", root / f".agent.conf.writing-{os.getpid()}-aB3dE6gH"
    _leave(left, "agent.conf")
    then = time.time() - age
    os.utime(left, (then, then))
    assert facts_of(path, tools=base).leftovers is (age > 2 * 86400)
    assert failure(write_file(path, tools=base)) == ""
    assert left.exists() is (age <= 2 * 86400)


def test_files_with_other_names_are_not_leftovers(tmp_path: Path) -> None:
    path, writer = tmp_path / "agent.conf", f".agent.conf.{_WRITING}"
    directories = [f"{writer}-short", f"{writer}-muchlonger1", f"{writer}x-aB3dE6gH", ".agent.conf.writing--aB3dE6gH"]
    directories += [f".other.conf.{_WRITING}-aB3dE6gH", writer[1:] + "-aB3dE6gH", ".agent.conf.aB3dE6gH"]
    # Without the mode that a writer sets.
    other_mode = f"{writer}-oThErMod"
    for name in (*directories, other_mode):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o700 if name == other_mode else 0o1700)
        (tmp_path / name / "agent.conf").write_text("mine")
    (tmp_path / f"{writer}-aFileXYZ").write_text("mine")
    (tmp_path / f"{writer}-aFileXYZ").chmod(0o1600)
    (tmp_path / f"{writer}-aLinkXYZ").symlink_to(tmp_path / directories[0])
    before = sorted(tmp_path.rglob("*"))
    assert not facts_of(path).leftovers
    assert failure(write_file(path)) == ""
    assert sorted(tmp_path.rglob("*")) == sorted([*before, path])
    assert failure(remove_file(path)) == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_the_marker_is_there_before_the_file_is(tmp_path: Path) -> None:
    path, seen = tmp_path / "root" / "agent.conf", tmp_path / "seen"
    script = f'case "$*" in */agent.conf*) ls -A "{path.parent}" > "{seen}";; esac; exec /bin/mv "$@"'
    done = write_file(path, service="agent", tools=stub_tools(tmp_path / "tools", mv=script))
    (marker,) = markers_in(done.stdout)
    names = seen.read_text().split()
    assert (f".agent.conf.restart-{marker}" in names, "agent.conf" in names) == (True, False)


def test_only_markers_are_removed(tmp_path: Path) -> None:
    for name in ("", "0123ABCD", "0123abcd0", "../../etc", "*", "0123abcd\n"):
        with pytest.raises(InputError, match="restart_markers"):
            remove_command("/etc/agent.conf", [name])
    path, other = tmp_path / "agent.conf", tmp_path / ".agent.conf.restart-76543210"
    for file in (path, other, tmp_path / ".agent.conf.restart-0123abcd"):
        file.touch()
    for given in (path, tmp_path / "none" / "agent.conf"):
        assert failure(remove_file(given, ["0123abcd"])) == ""
    assert sorted(tmp_path.iterdir()) == [other, path]


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "yash"])
def test_a_signal_during_cleanup_removes_no_other_file(tmp_path: Path, shell: str) -> None:
    skip_without(SHELLS[shell][0])
    path, begun = old_file(tmp_path), tmp_path / "begun"
    others = {"agent.conf": "old", "agent.conf.local": "of the user", "agent.conf.2026-01-01@00:00:00~": "backup"}
    for name, text in others.items():
        (path.parent / name).write_text(text)
    tools = stub_tools(tmp_path / "tools", rmdir=f'touch "{begun}"; sleep 0.3; exec /bin/rmdir "$@"')
    command = write_command(Desired(str(path), b"truncated"))
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([*SHELLS[shell], "-c", command], stdin=subprocess.DEVNULL, env=environment) as writer:
        while not begun.exists():
            time.sleep(0.01)
        writer.send_signal(signal.SIGTERM)
    assert writer.returncode != 0
    assert {file.name: file.read_text() for file in path.parent.iterdir()} == others


def test_thousands_of_names_beside_the_file_cost_no_processes(tmp_path: Path) -> None:
    root, log = tmp_path / "root", tmp_path / "log"
    root.mkdir()
    for number in range(2000):
        # Of a process that lives, so that its age would count.
        (root / f".agent.conf.writing-1-{number:08}").mkdir()
        (root / f".agent.conf.writing-1-{number:08}").chmod(0o1700)
        (root / f".agent.conf.restart-{number + 2**24:08x}").touch()
    tools = stub_tools(tmp_path / "tools", find=f'echo >> "{log}"; exec /usr/bin/find "$@"')
    found = facts_of(root / "agent.conf", tools=tools)
    assert (found.leftovers, len(found.markers)) == (False, 20)
    assert failure(write_file(root / "agent.conf", tools=tools)) == ""
    assert len(log.read_text().splitlines()) <= 40
