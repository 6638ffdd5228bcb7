# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What other users do to a host's file while it is inspected and written, and files that never end.

Names that others swap at each step of a write: tests/faults/test_hostile_directories.py.
"""

import hashlib
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import LARGEST_FILE, Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.owners import permissions_command
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    failure,
    got_no_input,
    read_command,
    text_in,
    write_command,
)
from ansible_collections.monitor.cloud.tests.support.host_files import (
    SHELLS,
    TOOLS,
    facts_of,
    in_shell,
    old_file,
    remove_file,
    skip_without,
    stub_tools,
    write_file,
)


def test_no_other_user_can_read_the_file_while_it_is_written(tmp_path: Path) -> None:
    """The writer stops for its input: what is there by then is for the owner alone."""
    path = tmp_path / "agent.conf"
    command = write_command(Desired(str(path), b"new", mode=0o644))
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
            assert failure(write_file(path)) == "", parent
            assert (Path(base) / "real" / "below" / "agent.conf").read_text() == "new"
            assert failure(remove_file(path)) == ""
            assert os.listdir(f"{base}/real/below") == []
        assert failure(write_file(Path(f"{base}/absolute/new/agent.conf"))) == ""
        assert (Path(base) / "real" / "new" / "agent.conf").read_text() == "new"


_OTHER = 4343
_AS_OTHER = ["setpriv", f"--reuid={_OTHER}", f"--regid={_OTHER}", "--clear-groups"]


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


@pytest.mark.parametrize("names", [[], ["target", "agent.conf"]], ids=["link to nowhere", "link to a directory"])
def test_a_link_of_another_user_among_the_parents_is_refused(owned: Path, tmp_path: Path, names: list[str]) -> None:
    if names:
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "agent.conf").write_text("victim")
    (owned / "conf").symlink_to(tmp_path / "target")
    path = owned / "conf" / "agent.conf"
    for done in (write_file(path), write_file(owned / "conf" / "new" / "agent.conf"), remove_file(path)):
        assert f"a parent directory is a symbolic link, {owned}/conf of user root, and another user" in failure(done)
    assert [path.name for path in tmp_path.rglob("*")] == names


def test_a_directory_that_appears_at_the_path_receives_no_file(tmp_path: Path) -> None:
    path = tmp_path / "root" / "agent.conf"
    tools = stub_tools(tmp_path / "tools", chown="exit 0", mv=f'/bin/mkdir "{path}" 2>/dev/null; exec /bin/mv "$@"')
    done = write_file(path, tools=tools)
    assert failure(done)
    assert not got_no_input(done)
    assert list(path.parent.rglob("*")) == [path]


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_a_failed_write_leaves_nothing_in_a_directory_that_was_moved(tmp_path: Path, shell: list[str]) -> None:
    """ksh93 takes `..` for a part of the path that the working directory had."""
    skip_without(shell[0])
    path, moved = tmp_path / "root" / "agent.conf", tmp_path / "moved"
    path.parent.mkdir()
    tools = stub_tools(tmp_path / "tools", dd=f'mv "{path.parent}" "{moved}"; mkdir "{path.parent}"; exit 1')
    done = write_file(path, shell=shell, tools=tools)
    assert (done.returncode, os.listdir(moved), os.listdir(path.parent)) == (1, [], []), done


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize("entry", ["", ".", " bin", '"q"', "é"])
def test_no_program_or_library_is_taken_from_the_directory(
    owned: Path, tmp_path: Path, entry: str, shell: list[str]
) -> None:
    """Even if PATH and LD_LIBRARY_PATH of the user have an entry that is relative to it."""
    skip_without(shell[0])
    path, ran = owned / "agent.conf", tmp_path / "ran"
    for directory in (owned, owned / entry):
        stub_tools(directory, **dict.fromkeys([*TOOLS, "getfacl"], f'echo "$0" >> "{ran}"'))
    libraries = stub_tools(tmp_path / "tools", stat=f'echo "$LD_LIBRARY_PATH" > "{ran}"; exec /usr/bin/stat "$@"')
    for variable in (f"PATH={entry}:{os.environ['PATH']}", f"PATH={os.environ['PATH']}:{entry}"):
        relative = ["env", variable, *shell]
        assert failure(write_file(path, shell=relative)) == ""
        assert facts_of(path, relative).digest == hashlib.sha256(b"new").hexdigest()
        in_shell(permissions_command(str(path), {"user": "root"}), shell=relative)
        assert failure(remove_file(path)) == "" and not ran.exists()
    assert failure(write_file(path)) == ""
    unsafe = f"{entry}:/opt/lib", f"/opt/lib:{entry}", f"/opt/lib;{entry}"
    for value, seen in (*((one, "") for one in unsafe), ("/opt/lib:/lib", "/opt/lib:/lib")):
        facts_of(path, ["env", f"LD_LIBRARY_PATH={value}", *shell], libraries)
        assert ran.read_text() == f"{seen}\n"


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_no_backup_is_made_of_a_file_that_has_grown(tmp_path: Path, shell: list[str]) -> None:
    skip_without(shell[0])
    path = old_file(tmp_path)
    path.write_bytes(b"x" * 4 * LARGEST_FILE + b"x")
    assert failure(write_file(path, backup=True, shell=shell))
    assert (os.listdir(path.parent), path.stat().st_size) == (["agent.conf"], 4 * LARGEST_FILE + 1)
    path.write_bytes(b"x" * LARGEST_FILE)
    assert failure(write_file(path, backup=True, shell=shell)) == ""


def _set_default_acl(directory: Path, entry: str) -> None:
    skip_without("setfacl")
    if subprocess.run(["setfacl", "-d", "-m", entry, directory], check=False, capture_output=True).returncode != 0:
        pytest.skip("the file system has no ACLs")


def test_a_directory_with_a_default_acl(owned: Path, tmp_path: Path) -> None:
    """It applies to new files in it, whatever the umask; only that of root's directory applies to the file."""
    _set_default_acl(owned, f"u:{_OTHER}:rwx")
    path = owned / "agent.conf"

    def read(name: str) -> str:
        return in_shell(f"cd {owned} && cat {name}", shell=[*_AS_OTHER, "sh"]).stdout

    assert failure(write_file(path, b"old", mode=0o640)) == ""
    assert failure(write_file(path, mode=0o640, backup=True)) == ""
    assert sorted(file.name[:11] for file in owned.iterdir()) == ["agent.conf", "agent.conf."]
    assert read("agent.conf*") == ""
    tools = stub_tools(tmp_path / "tools", setfacl="exit 127")
    assert "may have prepared it" in failure(write_file(path, tools=tools))
    os.chown(owned, 0, 0)
    owned.chmod(0o755)
    path.unlink()
    assert failure(write_file(path, mode=0o640, tools=tools)) == ""
    assert failure(write_file(path, mode=0o640, backup=True)) == ""
    assert (read("agent.conf"), read("agent.conf.*~")) == ("new", "")


@pytest.mark.parametrize("planted", ["agent.conf", "agent.conf-", ".agent.conf.restart-${d##*-}"])
def test_a_default_acl_lets_no_other_user_plant_a_link_in_the_private_directory(
    owned: Path, tmp_path: Path, planted: str
) -> None:
    """Until the directory is made private, such an ACL lets others in."""
    _set_default_acl(owned, "o::rwx")
    (victim := tmp_path / "victim").write_text("root's")
    plant = f'{" ".join(_AS_OTHER)} ln -s "{victim}" "$d/{planted}"'
    attack = f'[ "$1" = 1700 ] && for d in "{owned}"/.*.writing-*; do {plant}; done'
    tools = stub_tools(tmp_path / "tools", chmod=f'{attack}; exec /bin/chmod "$@"')
    done = write_file(owned / "agent.conf", service="agent", tools=tools)
    assert victim.read_text() == "root's"
    assert "may have prepared it" in failure(done)


def test_without_hard_links_a_file_that_others_can_replace_is_not_backed_up(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    path.parent.chmod(0o777)
    tools = stub_tools(tmp_path / "tools", ln="echo ln: not permitted >&2; exit 1")
    assert "can't be backed up" in failure(write_file(path, tools=tools, backup=True))
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


def test_only_root_knows_that_the_target_of_a_link_is_missing(owned: Path, tmp_path: Path) -> None:
    """The target of another user's link is unreadable, which is not the same as missing."""
    path, target = owned / "agent.conf", tmp_path / "closed" / "agent.conf"
    path.symlink_to(target)
    as_other = (*_AS_OTHER, "/bin/sh")
    assert (facts_of(path).kind, facts_of(path, as_other).kind) == ("dangling", "link")
    target.parent.mkdir(mode=0o700)
    target.touch()
    assert (facts_of(path).kind, facts_of(path, as_other).kind) == ("link", "link")


def test_only_files_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "agent.conf"
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    for target in ("fifo", "/dev/zero", "nowhere", "directory"):
        path.symlink_to(target)
        assert facts_of(path).kind in ("link", "dangling")
        done = in_shell(read_command(str(path), link=True))
        assert (done.returncode, done.stdout) == (1, "")
        path.unlink()


# With the flags of GNU dd, and in all shells as without them.
@pytest.mark.parametrize(
    ("shell", "swap", "flags"),
    [
        # No stub replaces the builtin sleep of ksh93.
        *((shell, "mkfifo", False) for name, shell in SHELLS.items() if name != "ksh93"),
        (SHELLS["dash"], "mkfifo", True),
        *((SHELLS["dash"], "ln -s /dev/zero", flags) for flags in (True, False)),
    ],
)
def test_what_appears_before_the_open_does_not_block(
    owned: Path, tmp_path: Path, shell: list[str], swap: str, flags: bool
) -> None:
    skip_without(shell[0])
    path = owned / "agent.conf"
    swapped = f'rm -f "{path}"; {swap} "{path}"'
    refused = "" if flags else 'case "$*" in *iflag=*) exit 1;; esac; '
    # Without the flags the deadline comes at once. The swap comes directly before the open.
    tools = stub_tools(
        tmp_path / "tools",
        **({} if flags else {"sleep": "exit 0"}),
        stat=f'/usr/bin/stat "$@"; {swapped}',
        dd=f'{refused}case "$*" in *bs=*) {swapped};; esac; exec /bin/dd "$@"',
    )
    path.write_text("old")
    begun = time.monotonic()
    found = facts_of(path, shell, tools)
    assert found.digest in (None, hashlib.sha256(b"").hexdigest()) or not flags
    # The deadline may come before the swap is done.
    path.unlink(missing_ok=True)
    path.write_text("old")
    text = text_in(in_shell(read_command(str(path)), b"", shell, tools).stdout)
    assert text == "" or ("zero" in swap and not flags)
    assert time.monotonic() - begun < 5 or not flags


@pytest.mark.parametrize(
    ("directory", "mode", "file", "user", "writable"),
    [
        (0, 0o1777, 0, _OTHER, False),
        (0, 0o0777, 0, _OTHER, True),
        (0, 0o1777, _OTHER, _OTHER, True),
        (_OTHER, 0o1755, 0, _OTHER, True),
        (_OTHER, 0o1777, _OTHER, 0, True),
        (0, 0o1777, None, _OTHER, True),
    ],
)
def test_who_can_replace_a_file_in_a_sticky_directory(
    owned: Path, directory: int, mode: int, file: int | None, user: int, writable: bool
) -> None:
    path = owned / "agent.conf"
    if file is not None:
        path.write_text("old")
        os.chown(path, file, file)
    os.chown(owned, directory, directory)
    owned.chmod(mode)
    as_user = [*(_AS_OTHER if user else ()), "sh"]
    found, digest = facts_of(path, as_user), hashlib.sha256(b"old").hexdigest()
    assert (found.writable, found.digest) == (writable, None if file is None else digest)
    assert (failure(write_file(path, shell=as_user)) == "") is writable
