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
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.leftovers import MOST_NAMES
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import LARGEST_FILE, Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.owners import (
    owner_command,
    permissions_command,
    permissions_in,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import (
    HostFile,
    enter_command,
    facts_command,
    failure,
    got_no_input,
    markers_in,
    parse_facts,
    read_command,
    remove_command,
    text_in,
    write_command,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import BEGUN, Completed, escape_dollars
from ansible_collections.monitor.cloud.tests.support.host_files import (
    NAME,
    SHELLS,
    TOOLS,
    facts_of,
    in_shell,
    old_file,
    skip_without,
    stub_tools,
    write_file,
)


def _live(root: Path, name: str, shell: Sequence[str] = ("/bin/sh",), tools: Path | None = None) -> None:
    """A file is made with its directories, replaced with a backup, read and removed."""

    def run(command: str, given: bytes = b"") -> Completed:
        return in_shell(command, given, shell, tools)

    path, source = root / "new" / f"sub {name}" / name, root / "source"
    assert facts_of(path, shell, tools) == HostFile("no_parent", True)
    for file in (path, root / name):
        assert (failure(run(enter_command(str(file)))), os.listdir(root)) == ("", [])
    contents = [b"key: 0A1B\x00\xff\n", b"second", b"third\n"]
    owned = Desired(str(path), None, str(os.geteuid()), str(os.getegid()), 0o640)

    done = run(write_command(owned._replace(data=contents[0], service="agent")), contents[0])
    assert (failure(done), done.stderr, path.read_bytes()) == ("", "", contents[0])
    markers = markers_in(done.stdout)
    assert (len(markers), facts_of(path, shell, tools).markers) == (1, markers)
    assert failure(run(remove_command(str(path), markers))) == ""
    assert os.listdir(path.parent) == [name]

    done = run(write_command(owned._replace(data=contents[1]), backup=True), contents[1])
    assert (failure(done), done.stderr, path.read_bytes()) == ("", "", contents[1])
    assert markers_in(done.stdout) == ()

    source.write_bytes(contents[2])
    # bash and mksh keep two slashes at the start.
    desired = owned._replace(path=f"/{path}", data=contents[2], service="agent")
    done = run(write_command(desired, source=str(source)))
    assert (failure(done), done.stderr, path.read_bytes()) == ("", "", contents[2])
    markers = markers_in(done.stdout)
    marker = f".{name}.restart-{markers[0]}"
    (kept,) = set(os.listdir(path.parent)) - {name, marker}
    assert (path.parent / kept).read_bytes() == contents[0]
    assert kept.startswith(f"{name}.")
    facts = {file: (path.parent / file).lstat() for file in (marker, kept, name)}
    assert [stat.S_IMODE(each.st_mode) for each in facts.values()] == [0o600, 0o600, 0o640]
    assert facts[marker].st_size == 0
    assert sorted(os.listdir(root)) == ["new", "source"]
    uid, gid = str(facts[name].st_uid), str(facts[name].st_gid)
    user, group = pwd.getpwuid(int(uid)).pw_name, grp.getgrgid(int(gid)).gr_name
    digest = hashlib.sha256(contents[2]).hexdigest()
    assert facts_of(path, shell, tools) == HostFile(
        "file", True, uid, user, gid, group, 0o640, digest, size=len(contents[2]), markers=markers
    )
    assert text_in(f"Welcome!{run(read_command(str(path))).stdout}").encode() == contents[2]
    for _time in range(2):
        assert failure(run(remove_command(str(path)))) == ""
        assert (facts_of(path, shell, tools), os.listdir(path.parent)) == (HostFile("missing", True), [kept])


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
        # Without the search for packages, which takes most of the time.
        f"#!{sys.executable} -IS\nimport os, shlex, sys\n"
        'inner = "/bin/sh -c " + shlex.quote("umask 022 ; " + sys.argv[2])\n'
        'command = "/bin/sh -c " + shlex.quote(inner + " && sleep 0")\n'
        f"os.execvp({login!r}, [{login!r}, '-c', command])\n"
    )
    between.chmod(0o755)
    root = tmp_path / "root"
    root.mkdir()
    _live(root, NAME, [str(between)])


def _commands(path: str, name: str) -> list[str]:
    """All commands about a file, each with all that it can have; users, groups and services have the name."""
    desired = Desired(path, b"new", name, name, service=name)
    return [
        facts_command(path, name),
        read_command(path),
        enter_command(path),
        permissions_command(path, {"user": name, "group": name}),
        owner_command(name, name),
        write_command(desired, backup=True, source=path),
        remove_command(path),
        remove_command(path, ["0123abcd"] * MOST_NAMES),
    ]


def test_commands_are_short_enough_for_all_ssh_servers() -> None:
    """dropbear ends a connection above 9,000 bytes; under `sudo -i` special characters take four times the space."""
    for command in _commands(f"/{'directory/' * 20}{'n' * 200}", "agent-of-the-monitoring-service"):
        assert len(escape_dollars(command)) < 8000
    # Login shells change some characters.
    for command in map(shlex.quote, _commands(f"/etc/{NAME}/{NAME}", NAME)):
        assert "\n" not in command
        assert command.replace("=$! ", "").count("!") == 0
        assert not any(pair in command for pair in ("\\\\", "\\'", '\\"'))


def test_modes(tmp_path: Path) -> None:
    """As GNU and BSD print them."""
    real = 'stat -c "$(printf %s "$2" | sed \'s/%Mp%03Lp/0%a/; s/%z/%s/; s/%Su/%U/; s/%Sg/%G/\')" "$3" "$4"'
    bsd = stub_tools(tmp_path / "tools", stat=f'[ "$1" = -f ] || exit 1; PATH=/usr/bin:/bin {real}')
    path = tmp_path / "agent.conf"
    for mode in (0o644, 0o4755, 0o2640, 0o1600, 0o44, 0o0):
        assert failure(write_file(path, mode=mode)) == ""
        assert stat.S_IMODE(path.stat().st_mode) == facts_of(path).mode == facts_of(path, tools=bsd).mode == mode


def test_truncated_input_changes_nothing(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    for given in (b"", b"only ha", b"more than was announced"):
        done = write_file(path, b"0123456789", given=given)
        assert "did not arrive completely" in failure(done) and got_no_input(done)
        assert (path.read_text(), os.listdir(path.parent)) == ("old", ["agent.conf"])


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_a_replacement_keeps_the_acl(tmp_path: Path, shell: list[str]) -> None:
    """stat shows its mask as the permissions of the group, which the desired mode does not mean."""
    skip_without(shell[0])
    path = old_file(tmp_path)
    path.chmod(0o600)
    if subprocess.run(["setfacl", "-m", "u:4343:r", path], check=False, capture_output=True).returncode:
        pytest.skip("there are no ACLs")
    for mode in (0o600, 0o640):
        found = facts_of(path, shell)
        done = in_shell(permissions_command(str(path), {}), shell=shell)
        assert (found.mode, permissions_in(done.stdout, {}, found.mode)) == (0o640, {"mode": 0o600})
        assert failure(write_file(path, mode=mode, shell=shell)) == ""
        entries = subprocess.run(["getfacl", "-cE", path], check=True, capture_output=True, text=True).stdout.split()
        group = "r--" if mode == 0o640 else "---"
        assert entries == ["user::rw-", "user:4343:r--", f"group::{group}", "mask::r--", "other::---"]
    tools = stub_tools(tmp_path / "tools", setfacl="exit 1")
    assert "getfacl and setfacl" in failure(write_file(path, b"newer", shell=shell, tools=tools))
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "new")
    # Another user could have set it: one who can change the directory.
    path.parent.chmod(0o777)
    assert failure(write_file(path, shell=shell)) == ""
    assert "4343" not in subprocess.run(["getfacl", "-c", path], check=True, capture_output=True, text=True).stdout


_LINK = 'ln -s /none/none ".agent.conf.restart-${PWD##*-}"'
# What fails: the tools, and the message.
_MODES = 'case "$*" in *./agent.conf) echo -rwxr-xr-x;; *) exec /bin/ls "$@";; esac'
_FAILURES: dict[str, tuple[dict[str, str], str]] = {
    # As on a file system without free inodes; a link to nowhere fails alike.
    "a marker that cannot be made": ({"dd": f'/bin/dd "$@"; r=$?; {_LINK}; exit $r'}, ".agent.conf.restart-"),
    "a marker that cannot be moved": ({"mv": 'case "$*" in *restart-*) exit 1;; esac; exec /bin/mv "$@"'}, ""),
    "a file that cannot be moved": ({"mv": 'case "$*" in */agent.conf*) exit 1;; esac; exec /bin/mv "$@"'}, ""),
    "a mode that cannot be set": (
        {"mkdir": '/bin/mkdir "$@"; case $1 in -m) echo "mkdir: no permissions" >&2; exit 1;; esac'},
        "mkdir: no permissions (exit code 1).",
    ),
    "a full file system": ({"dd": "exec /bin/dd of=/dev/full bs=1"}, "No space left on device (exit code 1)."),
    "no space for a backup": ({"cat": 'echo "cat: No space" >&2; exit 1'}, "cat: No space (exit code 1)."),
    "a file system that ignores modes": (
        {"mkdir": '[ "$1" = -m ] && shift 2; exec /bin/mkdir "$@"', "chmod": ":", "ls": _MODES},
        "ignores permissions",
    ),
}


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize("case", _FAILURES)
def test_a_write_that_fails_changes_nothing(tmp_path: Path, case: str, shell: list[str]) -> None:
    skip_without(shell[0])
    path, (scripts, message) = old_file(tmp_path), _FAILURES[case]
    tools = stub_tools(tmp_path / "tools", **scripts)
    done = write_file(path, backup="backup" in case, service="agent", shell=shell, tools=tools)
    assert failure(done) and message in failure(done)
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


@pytest.mark.parametrize(("removes", "tool"), [(False, "mv"), (True, "rm")], ids=["write", "removal"])
def test_a_mount_is_refused_and_check_mode_predicts_it(tmp_path: Path, removes: bool, tool: str) -> None:
    path, tools = old_file(tmp_path), stub_tools(tmp_path / "tools", grep="exit 0", **{tool: "exit 1"})
    run = in_shell(remove_command(str(path)), tools=tools) if removes else write_file(path, tools=tools)
    assert failure(in_shell(enter_command(str(path)), tools=tools)) == failure(run)
    assert "the path is a mount point" in failure(run)
    assert path.read_text() == "old"


def test_check_mode_predicts_that_no_program_can_be_run(tmp_path: Path) -> None:
    tools = stub_tools(tmp_path / "tools", ls="exit 126")
    assert "sudo has noexec" in failure(in_shell(enter_command(f"{tmp_path}/conf/agent.conf"), tools=tools))


def test_a_message_of_the_dynamic_linker_is_no_count_of_dd(tmp_path: Path) -> None:
    """It precedes the output of each program while a library of /etc/ld.so.preload is missing."""
    path, message = tmp_path / "root" / "agent.conf", "ERROR: ld.so: object '/lib/1.so' cannot be preloaded: ignored."
    tools = stub_tools(tmp_path / "tools", dd=f'echo "{message}" >&2; exec /bin/dd "$@"')
    for content in (b"old", b"new"):
        assert failure(write_file(path, content, backup=True, tools=tools)) == ""
    assert sorted(file.read_bytes() for file in path.parent.iterdir()) == [b"new", b"old"]
    for given in (b"n", b"newest, at 13"):
        assert "did not arrive completely" in failure(write_file(path, given=given, tools=tools))
    assert len(os.listdir(path.parent)) == 2


_SYSTEMD, _INIT = "/run/systemd/system", "/etc/init.d"


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_the_state_of_a_service(tmp_path: Path, shell: list[str]) -> None:
    skip_without(shell[0])
    name, tools = "it's $1 *", tmp_path / "tools"
    command = facts_command(str(tmp_path / "agent.conf"), name).replace(_INIT, str(tools))
    for systemctl, state, enabled in (
        ("exit 127", None, None),
        ("[ $1 = is-active ] && echo failed && exit 3; echo disabled; exit 1", "failed", "disabled"),
        ("[ $1 = is-active ] && echo active || echo static", "active", "static"),
        ('echo "$*"; exit 3', None, None),
    ):
        stub_tools(tools, systemctl=systemctl)
        done = in_shell(command.replace(_SYSTEMD, str(tmp_path)), b"", shell, tools)
        assert (parse_facts(done.stdout), done.stderr) == (
            HostFile("missing", True, service=state, service_enabled=enabled),
            "",
        )
    assert f"service|is-active -- {name}|is-enabled -- {name}\n" in done.stdout
    command = command.replace(_SYSTEMD, "/nowhere")
    assert "service|" not in in_shell(command, b"", shell, tools).stdout
    for code, state in ((0, "active"), (1, "inactive"), (3, "inactive"), (4, None)):
        # The directory of the file may be another user's.
        stub_tools(tools, **{name: f'echo "$*"; echo no >&2; [ "$*$PWD" = status/ ] && exit {code}'})
        done = in_shell(command, b"", shell)
        assert (parse_facts(done.stdout), done.stderr) == (HostFile("missing", True, service=state), "")


def test_backups_of_the_same_second_are_kept_and_other_names_of_the_file_left_alone(tmp_path: Path) -> None:
    path, other = old_file(tmp_path), tmp_path / "other"
    other.hardlink_to(path)
    other.chmod(0o644)
    tools = stub_tools(tmp_path / "tools", date="echo 2026-10-25@02:30:00")
    for content in (b"second", b"third"):
        assert failure(write_file(path, content, backup=True, tools=tools)) == ""
    assert sorted(file.read_bytes() for file in path.parent.iterdir()) == [b"old", b"second", b"third"]
    assert (other.read_text(), stat.S_IMODE(other.stat().st_mode), other.stat().st_nlink) == ("old", 0o644, 1)


def _only(base: Path, *names: str) -> list[str]:
    """A shell with no other tools."""
    base.mkdir()
    for name in names:
        (base / name).symlink_to(str(shutil.which(name)))
    return ["/usr/bin/env", f"PATH={base}", str(shutil.which("sh"))]


@pytest.mark.parametrize(
    ("tool", "options"), [("sha256sum", ""), ("shasum", "-a 256"), ("sha256", "-q")], ids=["GNU", "macOS", "BSD"]
)
def test_each_tool_for_digests_is_used(tmp_path: Path, tool: str, options: str) -> None:
    path = old_file(tmp_path)
    shell = _only(tmp_path / "tools", *set(TOOLS) - {"sha256sum"})
    stub_tools(tmp_path / "tools", **{tool: f'[ "$*" = "{options}" ] && exec {shutil.which("sha256sum")}'})
    assert facts_of(path, shell).digest == hashlib.sha256(b"old").hexdigest()


@pytest.mark.parametrize("tool", ["mkdir", "dd", "chmod", "mv", "env"])
def test_a_missing_tool_is_named(tmp_path: Path, tool: str) -> None:
    done = write_file(tmp_path / "root" / "agent.conf", shell=_only(tmp_path / "tools", *set(TOOLS) - {tool}))
    assert f"this host has no {tool}; install" in failure(done)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(("chcon", "restored"), [("exit 0", False), ("exit 1", True), (None, True)])
@pytest.mark.parametrize("before", [True, False])
def test_selinux(tmp_path: Path, chcon: str | None, restored: bool, before: bool) -> None:
    """A replacement takes the context of what it replaces, or else the policy's. Neither's failure ends the write."""
    path, log = old_file(tmp_path), tmp_path / "log"
    if not before:
        path.unlink()
    note = f'echo "$0 $*" >> "{log}"'
    tools = stub_tools(
        tmp_path / "tools", restorecon=f"{note}; exit 1", **({"chcon": f"{note}; {chcon}"} if chcon else {})
    )
    command = write_command(Desired(str(path), b"new")).replace("/sys/fs/selinux/enforce", str(tmp_path))
    assert failure(in_shell(command, b"new", tools=tools)) == ""
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "new")
    used = [Path(line.split()[0]).name for line in log.read_text().splitlines()] if log.exists() else []
    expected = ["chcon"] * (chcon is not None and before)
    assert used == expected + ["restorecon"] * (restored or not before)


_DIGEST = "a" * 64
_FACTS = "monitor.cloud facts|file|y\nstat|5|0|root|0|wheel|600\n"
_FILE = HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST, size=5)
_PENDING = HostFile("missing", True, leftovers=True, markers=("0123abcd", "01234567"), service="failed")


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", None),
        ("Welcome!\nmonitor.cloud facts|missing|y\n", HostFile("missing", True)),
        ("monitor.cloud facts|no_parent|n\r\n", HostFile("no_parent", False)),
        ("monitor.cloud facts|missing|y|left|0123abcd|01234567\nservice|failed|\n", _PENDING),
        ("monitor.cloud facts|missing|y\nservice||\n", HostFile("missing", True)),
        (f"{_FACTS}{_DIGEST}\n", _FILE),
        (_FACTS.replace("|0|root", "|4242|UNKNOWN"), _FILE._replace(uid="4242", user="4242", digest=None)),
        (f"{_FACTS}{_DIGEST}  -\n".replace("\n", "\r\n"), _FILE),
        (f"{_DIGEST}\nstat|5|9|x|9|x|777\n{_FACTS}", _FILE._replace(digest=None)),
        # What is too long, or has too many entries, counts as missing.
        *(
            (_FACTS.replace(was, now), HostFile("file", True))
            for was, now in (("stat|", f"stat|{'9' * 5000}"), ("|root|", f"|{'r' * 256}|"), ("|root|", "|ro\not|"))
        ),
        (f"monitor.cloud facts|missing|y\nservice|{'a' * 5_000_000}\n", HostFile("missing", True)),
        (f"monitor.cloud facts|missing|y{'|0123abcd' * 5000}\n", None),
        (f"{'x' * 2**20}\n{_FACTS}", None),
    ],
)
def test_the_output_of_hosts_is_parsed(output: str, found: HostFile | None) -> None:
    """GNU, BSD and busybox differ; login shells add their own text, terminals carriage returns."""
    assert parse_facts(output) == found


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (LARGEST_FILE + 10))
    assert len(text_in(in_shell(read_command(str(path))).stdout)) == LARGEST_FILE
    os.truncate(path, 2**40)
    found = facts_of(path)
    assert (found.kind, found.digest, found.size) == ("file", None, 2**40)
    # What a host prints without end is not kept.
    flood = "x y" * 5_000_000
    begun = time.process_time()
    for text in (flood, f"{BEGUN}\n{flood}"):
        assert (len(text_in(text)), markers_in(text)) in [(0, ()), (LARGEST_FILE, ())]
    assert time.process_time() - begun < 2
