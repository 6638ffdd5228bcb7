# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shell commands that inspect and write a host's file, run by local shells: its life, its kinds, the tools."""

import grp
import hashlib
import os
import pwd
import shlex
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.owners import (
    owner_command,
    same_owner,
    same_owner_command,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    LARGEST_FILE,
    HostFile,
    create_command,
    enter_command,
    facts_command,
    got_no_input,
    markers_in,
    parse_facts,
    problem,
    read_command,
    remove_command,
    text_in,
    was_written,
    write_command,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import BEGUN
from ansible_collections.monitor.cloud.tests.support.host_files import (
    NAME,
    SHELLS,
    TOOLS,
    facts_of,
    in_shell,
    skip_without,
    stub_tools,
    write_file,
)


def _live(root: Path, name: str, shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None) -> None:
    """A file is made with its directories, replaced with a backup, read and removed."""
    path = root / "new" / f"sub {name}" / name
    assert facts_of(path, shell, tools) == HostFile("no_parent", True)
    for file in (path, root / name):
        done = in_shell(enter_command(str(file)), shell=shell, path=tools)
        assert (was_written(done.returncode, done.stdout.decode()), os.listdir(root)) == (True, []), done
    contents, source = [b"key: 0A1B\x00\xff\n", b"second", b"third\n"], root / "source"
    markers: tuple[str, ...] = ()
    for number, content in enumerate(contents):
        source.write_bytes(content)
        command = write_command(
            # bash and mksh keep two slashes at the start.
            f"/{path}" if number == 2 else str(path),
            len(content),
            owner=str(os.geteuid()),
            group=str(os.getegid()),
            mode=0o640,
            backup=number == 1,
            restart=number != 1,
            source=str(source) if number == 2 else None,
        )
        if number == 0:
            command = create_command(str(path), command, create_directory=True)
        done = in_shell(command, b"" if number == 2 else content, shell, tools)
        assert was_written(done.returncode, done.stdout.decode()), done
        assert done.stderr == b""
        assert path.read_bytes() == content
        markers = markers_in(done.stdout.decode())
        assert len(markers) == (number != 1)
        if number == 0:
            assert parse_facts(done.stdout.decode()) == HostFile("no_parent", True)
            assert facts_of(path, shell, tools).markers == markers
            done = in_shell(remove_command(str(path), markers), shell=shell, path=tools)
            assert was_written(done.returncode, done.stdout.decode()), done
            assert os.listdir(path.parent) == [name]
    marker = f".{name}.restart-{markers[0]}"
    assert (path.parent / marker).lstat().st_size == 0
    assert stat.S_IMODE((path.parent / marker).lstat().st_mode) == 0o600
    (kept,) = set(os.listdir(path.parent)) - {name, marker}
    assert (path.parent / kept).read_bytes() == contents[0]
    assert stat.S_IMODE((path.parent / kept).stat().st_mode) == 0o600
    assert kept.startswith(f"{name}.")
    assert sorted(os.listdir(root)) == ["new", "source"]
    me = path.stat()
    assert facts_of(path, shell, tools) == HostFile(
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
    read = in_shell(read_command(str(path)), shell=shell, path=tools).stdout.decode()
    assert text_in(f"Welcome!{read}").encode() == contents[2]
    done = in_shell(remove_command(str(path)), shell=shell, path=tools)
    assert was_written(done.returncode, done.stdout.decode()), done
    assert facts_of(path, shell, tools) == HostFile("missing", True)
    assert os.listdir(path.parent) == [kept]
    assert was_written(in_shell(remove_command(str(path))).returncode, "monitor.cloud done")
    user, gid = pwd.getpwuid(me.st_uid).pw_name, str(me.st_gid)
    names = {"user": user, "group": name}
    for file, same in ((path, {}), (source, {"user": user})):
        done = in_shell(same_owner_command(str(file), names), shell=shell, path=tools)
        assert (done.returncode, same_owner(done.stdout.decode(), names), done.stderr) == (0, same, b"")
    for owner, group, code in ((user, gid, 0), (str(me.st_uid), None, 0), (user, name, 1), (name, gid, 1)):
        assert in_shell(owner_command(owner, group), shell=shell, path=tools).returncode == code


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_the_life_of_a_file_in_each_shell(tmp_path: Path, shell: list[str]) -> None:
    skip_without(shell[0])
    _live(tmp_path, NAME, shell)


@pytest.mark.parametrize("box", ["busybox", "toybox"])
def test_the_life_of_a_file_with_the_tools_of(tmp_path: Path, box: str) -> None:
    skip_without(box)
    tools, root = tmp_path / "tools", tmp_path / "root"
    tools.mkdir()
    root.mkdir()
    applets = subprocess.run([box, *(["--list"] * (box == "busybox"))], capture_output=True, check=True).stdout.split()
    for tool in set(TOOLS).intersection(applet.decode() for applet in applets):
        (tools / tool).symlink_to(str(shutil.which(box)))
    _live(root, "-dash", tools=tools)


@pytest.mark.parametrize("login", ["bsd-csh", "tcsh", "fish", "zsh"])
def test_the_life_of_a_file_under_a_login_shell(tmp_path: Path, login: str) -> None:
    """As sshd starts a command that core has given to sudo: a shell in a shell in the login shell."""
    skip_without(login)
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
    _live(root, NAME, [str(between)])


def test_commands_hold_no_character_that_login_shells_change() -> None:
    path = f"/etc/{NAME}/{NAME}"
    commands = [facts_command(path, NAME), read_command(path), remove_command(path), remove_command(path, ["0123abcd"])]
    commands += [enter_command(path), same_owner_command(path, {"user": NAME, "group": NAME})]
    commands.append(owner_command(NAME, NAME))
    write = write_command(path, 3, owner="o", group="g", mode=0o600, backup=True, restart=True, source=path)
    commands += [write, create_command(path, write, create_directory=True)]
    for command in map(shlex.quote, commands):
        assert "\n" not in command
        assert command.replace("=$! ", "").count("!") == 0
        assert not any(pair in command for pair in ("\\\\", "\\'", '\\"'))


def _tree(root: Path) -> dict[Path, tuple[int, int, int]]:
    found = {each: each.lstat() for each in root.rglob("*")}
    return {each: (facts.st_ino, facts.st_mode, facts.st_mtime_ns) for each, facts in found.items()}


_SITUATIONS = {
    "a file": "echo old > agent.conf",
    "a link": "ln -s nowhere agent.conf",
    "a directory": "mkdir agent.conf",
    "a FIFO": "mkfifo agent.conf",
    "leftovers": "mkdir -m 1700 .agent.conf.writing-999999-0123abcd",
    "a pending restart": "touch .agent.conf.restart-0123abcd",
    "no directory": "rmdir ../conf",
}


@pytest.mark.parametrize("situation", _SITUATIONS.values(), ids=_SITUATIONS)
def test_a_file_is_created_only_where_nothing_is(tmp_path: Path, situation: str) -> None:
    """Anything else is for the decision about the facts, which are those of an inspection."""
    path = tmp_path / "conf" / "agent.conf"
    path.parent.mkdir()
    assert in_shell(f"cd {path.parent} && {situation}").returncode == 0
    before = _tree(tmp_path)
    expected = facts_of(path)
    # More than a pipe holds: to write unread input would fail.
    content = b"x" * 100_000
    write = write_command(str(path), len(content), owner=None, group=None, mode=0o600, backup=False)
    command = create_command(str(path), write, create_directory=False)
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(content)
        process.stdin.close()
        output = process.stdout.read().decode()
    assert parse_facts(output) == expected
    assert (BEGUN in output, process.returncode) == (False, 0)
    assert _tree(tmp_path) == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400, 0o4755, 0o0])
def test_modes(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.conf"
    assert was_written(*write_file(path, b"x", mode=mode))
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert facts_of(path).mode == mode


def test_kinds(tmp_path: Path) -> None:
    file, link, fifo = tmp_path / "file", tmp_path / "link", tmp_path / "fifo"
    file.write_text("x")
    link.symlink_to(file)
    os.mkfifo(fifo)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert facts_of(file).kind == "file"
    assert facts_of(link).kind == "link"
    assert facts_of(tmp_path / "dangling").kind == "link"
    assert facts_of(fifo).kind == "other"
    assert facts_of(tmp_path).kind == "directory"
    assert facts_of(tmp_path / "none").kind == "missing"
    assert facts_of(file / "below").kind == "no_parent"
    assert facts_of(file / "below").writable is False


@pytest.mark.parametrize("given", [b"", b"only ha", b"more than was announced"])
def test_truncated_input_changes_nothing(tmp_path: Path, given: bytes) -> None:
    path = tmp_path / "agent.conf"
    path.write_text("old")
    returncode, output = write_file(path, given, size=10)
    assert not was_written(returncode, output)
    assert got_no_input(returncode, output)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["agent.conf"]


def test_backups_of_the_same_second_are_kept(tmp_path: Path) -> None:
    path, tools = tmp_path / "root" / "agent.conf", stub_tools(tmp_path / "tools", date="echo 2026-10-25@02:30:00")
    contents = [b"first", b"second", b"third"]
    for content in contents:
        assert was_written(*write_file(path, content, backup=True, tools=tools))
    assert sorted(file.read_bytes() for file in path.parent.iterdir()) == contents


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_a_marker_that_cannot_be_made_leaves_nothing(tmp_path: Path, shell: list[str]) -> None:
    """As on a file system without free inodes; a link to nowhere fails alike."""
    skip_without(shell[0])
    path = tmp_path / "root" / "agent.conf"
    path.parent.mkdir()
    path.write_text("old")
    link = 'ln -s /none/none ".agent.conf.restart-${PWD##*-}"'
    tools = stub_tools(tmp_path / "tools", dd=f'/bin/dd "$@"; r=$?; {link}; exit $r')
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False, restart=True)
    done = in_shell(command, b"new", shell, tools)
    assert not was_written(done.returncode, done.stdout.decode())
    assert b".agent.conf.restart-" in done.stderr
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


def test_a_private_directory_whose_mode_cannot_be_set_is_removed(tmp_path: Path) -> None:
    """As on a file system without permissions."""
    path, message = tmp_path / "root" / "agent.conf", "mkdir: cannot change permissions"
    path.parent.mkdir()
    tools = stub_tools(tmp_path / "tools", mkdir=f'/bin/mkdir "$@"; case $1 in -m) echo "{message}" >&2; exit 1;; esac')
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False)
    done = in_shell(command, b"new", path=tools)
    assert (done.returncode, done.stderr.decode(), os.listdir(path.parent)) == (1, f"{message}\n", [])


def test_a_backup_for_which_there_is_no_space_is_reported_as_that(tmp_path: Path) -> None:
    path, message = tmp_path / "root" / "agent.conf", "dd: No space left on device"
    path.parent.mkdir()
    path.write_text("old")
    tools = stub_tools(
        tmp_path / "tools", dd=f'case "$*" in if=*) echo "{message}" >&2; exit 1;; esac; exec /bin/dd "$@"'
    )
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=True)
    done = in_shell(command, b"new", path=tools)
    assert (problem(done.returncode), done.stderr.decode()) == (None, f"{message}\n")
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


def test_a_message_of_the_dynamic_linker_is_no_count_of_dd(tmp_path: Path) -> None:
    """It precedes the output of each program while a library of /etc/ld.so.preload is missing."""
    path, message = tmp_path / "root" / "agent.conf", "ERROR: ld.so: object '/lib/1.so' cannot be preloaded: ignored."
    tools = stub_tools(tmp_path / "tools", dd=f'echo "{message}" >&2; exec /bin/dd "$@"')
    for content in (b"old", b"new"):
        assert was_written(*write_file(path, content, backup=True, tools=tools))
    assert sorted(file.read_bytes() for file in path.parent.iterdir()) == [b"new", b"old"]
    for given in (b"n", b"newest, at 13"):
        returncode, _output = write_file(path, given, size=3, tools=tools)
        assert "did not arrive completely" in (problem(returncode) or "")
    path.write_text("x" * (LARGEST_FILE + 1))
    assert "larger than 64 KiB" in (problem(write_file(path, b"new", backup=True, tools=tools)[0]) or "")


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize(
    ("systemctl", "state"),
    [('echo "$*"; exit 3', None), ("echo failed; exit 3", "failed"), ("echo active", "active"), ("exit 127", None)],
)
def test_the_state_of_a_service(tmp_path: Path, shell: list[str], systemctl: str, state: str | None) -> None:
    skip_without(shell[0])
    tools, name = stub_tools(tmp_path / "tools", systemctl=systemctl), "it's $1 *"
    command = facts_command(str(tmp_path / "agent.conf"), name)
    done = in_shell(command.replace("/run/systemd/system", str(tmp_path)), shell=shell, path=tools)
    assert done.stderr == b""
    if systemctl.startswith('echo "$*"'):
        assert f"service|is-active -- {name}\n" in done.stdout.decode()
    found = parse_facts(done.stdout.decode())
    assert found == HostFile("missing", True, service=state)
    none = in_shell(command.replace("/run/systemd/system", "/nowhere"), shell=shell, path=tools)
    assert "service|" not in none.stdout.decode()


def test_the_backup_of_a_file_with_other_names_leaves_those_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "root" / "agent.conf", tmp_path / "other"
    path.parent.mkdir()
    other.write_text("old")
    other.chmod(0o644)
    path.hardlink_to(other)
    assert was_written(*write_file(path, b"new", backup=True))
    assert (other.read_text(), stat.S_IMODE(other.stat().st_mode), other.stat().st_nlink) == ("old", 0o644, 1)


@pytest.mark.parametrize(
    ("tool", "options"), [("sha256sum", ""), ("shasum", "-a 256"), ("sha256", "-q")], ids=["GNU", "macOS", "BSD"]
)
def test_each_tool_for_digests_is_used(tmp_path: Path, tool: str, options: str) -> None:
    tools, path = tmp_path / "tools", tmp_path / "agent.conf"
    tools.mkdir()
    path.write_bytes(b"new")
    for name in set(TOOLS) - {"sha256sum"}:
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / tool).write_text(f'#!/bin/sh\n[ "$*" = "{options}" ] && exec {shutil.which("sha256sum")}\n')
    (tools / tool).chmod(0o755)
    shell = ["/usr/bin/env", f"PATH={tools}", str(shutil.which("sh"))]
    assert facts_of(path, shell).digest == hashlib.sha256(b"new").hexdigest()


@pytest.mark.parametrize("tool", ["mkdir", "dd", "chmod", "mv", "env"])
def test_a_missing_tool_is_named(tmp_path: Path, tool: str) -> None:
    tools, root = tmp_path / "tools", tmp_path / "root"
    tools.mkdir()
    root.mkdir()
    for name in set(TOOLS) - {tool}:
        (tools / name).symlink_to(str(shutil.which(name)))
    command = write_command(str(root / "agent.conf"), 3, owner=None, group=None, mode=0o600, backup=False)
    shell = ["/usr/bin/env", f"PATH={tools}", str(shutil.which("sh"))]
    done = in_shell(command, b"new", shell=shell)
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
    tools = stub_tools(
        tmp_path / "tools", restorecon=f"{note}; exit 1", **({"chcon": f"{note}; {chcon}"} if chcon else {})
    )
    command = write_command(str(path), 3, owner=None, group=None, mode=0o600, backup=False)
    done = in_shell(command.replace("/sys/fs/selinux/enforce", str(tmp_path)), b"new", path=tools)
    assert was_written(done.returncode, done.stdout.decode()), done
    assert (os.listdir(root), path.read_text()) == (["agent.conf"], "new")
    used = [Path(line.split()[0]).name for line in log.read_text().splitlines()] if log.exists() else []
    expected = ["chcon"] * (chcon is not None and before is not None)
    assert used == expected + ["restorecon"] * (restored or before is None)


@pytest.mark.parametrize("mode", [0o4755, 0o2640, 0o1600, 0o0, 0o600, 0o44])
def test_modes_as_bsd_prints_them(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.conf"
    path.write_text("x")
    path.chmod(mode)
    real = 'stat -c "$(printf %s "$2" | sed \'s/%Mp%03Lp/0%a/; s/%z/%s/; s/%Su/%U/; s/%Sg/%G/\')" "$3" "$4"'
    tools = stub_tools(tmp_path / "tools", stat=f'[ "$1" = -f ] || exit 1; PATH=/usr/bin:/bin {real}')
    assert facts_of(path, tools=tools).mode == mode


_DIGEST = "a" * 64
_FACTS = "monitor.cloud facts|file|y\nstat|5|0|root|0|wheel|600\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", None),
        ("sh: not found\n", None),
        ("Welcome!\nmonitor.cloud facts|missing|y\n", HostFile("missing", True)),
        ("Welcome! monitor.cloud facts|missing|y\n", HostFile("missing", True)),
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
