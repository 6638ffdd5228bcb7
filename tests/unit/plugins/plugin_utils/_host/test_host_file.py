# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import shlex
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host import host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.host_file import BEGUN, HostFile
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import LARGEST_FILE, Desired
from ansible_collections.monitor.cloud.tests.support.host_files import (
    DASH,
    NAME,
    SHELLS,
    change,
    inspect,
    old_file,
    run_script,
    skip_without,
    stub_tools,
)

_USER: dict[str, Any] = {"owner": str(os.geteuid()), "group": str(os.getegid())}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

_TOOLS = ["cat", "chmod", "chown", "cut", "env", "find", "grep", "head", "id", "ls", "mkdir", "mktemp", "mv"]
_TOOLS += ["pwd", "readlink", "rm", "rmdir", "sed", "stat", "wc"]
# BSD tools reject options of GNU tools, and BSD wc prints spaces before a number.
_BSD = {
    "stat": '[ "$1" = -f ] || exit 1; f=$(printf %s "$2" | sed \'s/%Mp%03Lp/0%a/; s/%z/%s/; s/%Su/%U/; s/%Sg/%G/; '
    's/%m/%Y/; s/%l/%h/\'); shift 2; [ $# -gt 0 ] || set -- -L -- -; exec /usr/bin/stat -c "$f" "$@"',
    "wc": "printf '     '; exec /usr/bin/wc \"$@\"",
    "find": 'POSIXLY_CORRECT=1 exec /usr/bin/find "$@"',
}
# For each system: the tools that differ from the GNU tools. tests/fleet/test_kinds_of_hosts.py tests busybox.
SYSTEMS: dict[str, dict[str, str]] = {
    "macOS": {**_BSD, "shasum": '[ "$1 $2" = "-a 256" ] && shift 2 && exec /usr/bin/sha256sum "$@"'},
    "FreeBSD": {**_BSD, "sha256": '[ "$1" = -q ] && shift && /usr/bin/sha256sum "$@" | cut -c1-64'},
    "no tool for digests, no timeout": {},
}


@pytest.mark.parametrize("kind", [*SHELLS, *SYSTEMS])
def test_the_life_of_a_file(tmp_path: Path, kind: str) -> None:
    """Create a file with its directories, read the file, replace it, and remove it."""
    shell = SHELLS.get(kind, [])
    name = NAME
    tools = tmp_path / "tools"
    root = tmp_path / "root"
    skip_without(*shell[:1])
    if kind in SYSTEMS:
        stub_tools(tools, **SYSTEMS[kind])
        for tool in {*_TOOLS} - SYSTEMS[kind].keys():
            (tools / tool).symlink_to(str(shutil.which(tool)))
        name = "-dash"
        shell = ["env", f"PATH={tools}", str(shutil.which("dash"))]
    root.mkdir()
    path = root / "new" / f"sub {name}" / name
    text = "key=\"$(x)\" `y` \\n\\c %s !! 'z'\n\n  \t#\n"
    new = inspect(path, shell=shell, **_USER)
    assert (new.kind, new.problem, os.listdir(root)) == ("missing", "", [])
    assert inspect(path, shell=shell, create_directory=False).problem.startswith("there is no directory")

    assert change(path, text.encode(), shell, mode=0o640, **_USER) == ""
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (text, 0o640)
    file = inspect(path, b"other", shell, **_USER)
    assert (file.kind, file.text, file.mode) == ("file", text, 0o640)
    assert (_USER["owner"] in file.user, _USER["group"] in file.group) == (True, True)
    assert (file.machine, int(file.changed)) == (new.machine, int(path.stat().st_mtime))
    # A missing final newline is not a difference. Without a tool for digests, the script prints the content.
    for data in (text, text[:-1]):
        file = inspect(path, data.encode(), shell)
        assert file.same is ("no tool" not in kind) and file.text == (None if file.same else text)

    assert change(path, b"second", shell) == ""
    assert ([*path.parent.iterdir()], path.read_text()) == ([path], "second")
    for mode in (0o4755, 0o44):
        assert change(path, shell=shell, mode=mode) == ""
        assert stat.S_IMODE(path.stat().st_mode) == inspect(path, shell=shell, mode=mode).mode == mode
    for _time in range(2):
        assert change(path, None, shell) == ""
        assert (inspect(path, shell=shell).kind, [*path.parent.iterdir()]) == ("missing", [])


def test_a_replacement_keeps_acl_and_selinux_label(tmp_path: Path) -> None:
    """If a file has an ACL, stat prints the mask of the ACL in place of the permissions of the group."""
    path = old_file(tmp_path)
    log = tmp_path / "log"
    tools = stub_tools(tmp_path / "tools", chcon=f'echo "$*" >> {log}; exit 1')
    script = host_file.change_script(Desired(str(path), b"new")).replace("/sys/fs/selinux/enforce", str(tmp_path))
    assert host_file.problem_of(run_script(script, tools=tools)) == ""
    assert (path.read_text(), log.read_text()) == ("new", "--reference=../agent.conf ./agent.conf\n")
    skip_without("setfacl")
    if subprocess.run(["setfacl", "-m", "u:4343:r", path], check=False, capture_output=True).returncode:
        pytest.skip("there are no ACLs")
    for mode, group in ((0o640, "r--"), (0o600, "---")):
        assert (change(path, mode=mode), inspect(path, mode=mode).mode) == ("", mode)
        entries = subprocess.run(["getfacl", "-cE", path], check=True, capture_output=True, text=True).stdout.split()
        assert entries == ["user::rw-", "user:4343:r--", f"group::{group}", "mask::r--", "other::---"]
        assert inspect(path, mode=mode).others == ()


# Columns: mode and owner of the directory, owner of the old file, desired owner. Another user could have set the ACL.
ACLS = [
    (0o755, 0, 4242, None),
    (0o755, 0, 4242, "4242"),
    (0o1777, 0, 4242, None),
    (0o777, 0, 0, None),
    (0o755, 4242, 0, None),
]


@as_root
@pytest.mark.parametrize(("mode", "directory", "file", "desired"), ACLS)
def test_an_acl_that_another_user_could_set_is_a_difference(
    tmp_path: Path, mode: int, directory: int, file: int, desired: str | None
) -> None:
    skip_without("setfacl")
    path = old_file(tmp_path)
    options: dict[str, Any] = {"owner": desired, "mode": 0o640}
    if subprocess.run(["setfacl", "-m", "u:4343:rw,g:4344:r", path], check=False, capture_output=True).returncode:
        pytest.skip("there are no ACLs")
    if directory:
        # A new file gets the default ACL of its directory.
        subprocess.run(["setfacl", "-d", "-m", "u:4343:rw", path.parent], check=True)
    os.chown(path, file, file)
    os.chown(path.parent, directory, directory)
    path.parent.chmod(mode)
    assert inspect(path, **options).others == ("user:4343:rw-", "group:4344:r--")
    assert change(path, **options) == ""
    assert (inspect(path, **options).others, inspect(path, **options).mode) == ((), 0o640)
    assert "+" not in subprocess.check_output(["ls", "-l", path], text=True).split()[0]
    log = tmp_path / "log"
    tools = stub_tools(tmp_path / "tools", chcon=f'echo "$*" >> {log}')
    os.chown(path, file, file)
    script = host_file.change_script(Desired(str(path), b"new")).replace("/sys/fs/selinux/enforce", str(tmp_path))
    assert host_file.problem_of(run_script(script, tools=tools)) == "" and log.exists() is (file == 0)


# Columns: the tool that fails, the command that replaces the tool, the message.
FAILURES = [
    ("mktemp", 'echo "mktemp: read-only" >&2; exit 1', "mktemp: read-only (exit code 1)."),
    ("chown", 'echo "chown: unknown user" >&2; exit 1', "chown: unknown user (exit code 1)."),
    ("chmod", "exit 1", "exit code 1"),
    ("mv", "exit 1", "exit code 1"),
    ("wc", "echo 1", "the file is incomplete: check the free space"),
]
if os.geteuid() == 0:
    # With the option root_squash of NFS, a new directory of root belongs to another user.
    _SQUASH = 'd=$(/usr/bin/mktemp "$@"); chown 4242 "$d"; echo "$d"'
    FAILURES.append(
        ("mktemp", _SQUASH, "new files in {}/ belong to another user, as on NFS with root_squash: choose another path")
    )


@pytest.mark.parametrize(("tool", "stub", "message"), FAILURES)
def test_a_change_that_fails_changes_nothing(tmp_path: Path, tool: str, stub: str, message: str) -> None:
    path = old_file(tmp_path)
    tools = stub_tools(tmp_path / "tools", **{tool: stub})
    assert message.format(path.parent) in change(path, tools=tools, owner="0")
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_does_not_replace_the_file_of_another_run(tmp_path: Path, links: bool) -> None:
    path = old_file(tmp_path)
    tools = stub_tools(tmp_path / "tools", **({} if links else {"ln": "exit 1"}))
    script = host_file.change_script(Desired(str(path), b"new"), new=True)
    assert "another run created the file in the meantime" in host_file.problem_of(run_script(script, tools=tools))
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")
    path.unlink()
    assert host_file.problem_of(run_script(script, tools=tools)) == "" and path.read_text() == "new"


def test_a_script_that_is_cut_off_does_nothing(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    script = host_file.change_script(Desired(str(path), None))
    for length in range(0, script.rindex("main <"), 97):
        assert host_file.problem_of(run_script(script[:length])) and path.read_text() == "old"


@pytest.mark.parametrize("shell", [["dash"], ["mksh"]])
def test_content_is_no_argument_of_a_program(tmp_path: Path, shell: list[str]) -> None:
    """Other users can see the arguments of processes. In mksh, printf is a separate program."""
    skip_without(*shell)
    path = old_file(tmp_path)
    log = tmp_path / "log"
    note = f'echo "$0 $*" >> {log}; exec /usr/bin/"${{0##*/}}" "$@"'
    names = ("cat", "chmod", "chown", "env", "find", "grep", "head", "ls", "mktemp", "mv", "printf", "wc", "echo")
    tools = stub_tools(tmp_path / "tools", **dict.fromkeys(names, note))
    assert change(path, b"api_key=SECRET", shell, tools) == ""
    assert path.read_text() == "api_key=SECRET" and "mktemp -d" in log.read_text() and "SECRET" not in log.read_text()


_AT = "InactiveExitTimestamp=Fri 2026-11-27 18:57:00"
_LOOP = ["ActiveState=activating", "UnitFileState=disabled", "NRestarts=5"]
_LOOP_STATE: dict[str, Any] = {"service": "activating", "service_enabled": "disabled", "restarts": 5}
# Columns: output of systemctl, exit code of the init script, HostFile. None: no systemd, or no init script.
SERVICES: list[tuple[list[str] | None, int | None, dict[str, Any]]] = [
    ([], None, {}),
    (["LoadState=not-found", "ActiveState=inactive"], None, {"service": "inactive", "service_missing": True}),
    ([*_LOOP, f"{_AT}.250000 UTC"], None, {**_LOOP_STATE, "started": 1795805820.25}),
    ([*_LOOP, f"{_AT} UTC"], None, {**_LOOP_STATE, "started": 1795805820.999999}),
    (None, 0, {"service": "active"}),
    (None, 3, {"service": "inactive"}),
    (None, 4, {}),
    (None, None, {"service_missing": True}),
]


@pytest.mark.parametrize(("printed", "code", "expected"), SERVICES)
def test_the_state_of_a_service(
    tmp_path: Path, printed: list[str] | None, code: int | None, expected: dict[str, Any]
) -> None:
    name = "it's $1 *"
    init = tmp_path / "init.d"
    # The init script runs in the root directory, because another user can own the directory of the file.
    status = {name: f'echo no >&2; [ "$*$PWD" = status/ ] && exit {code}'} if code is not None else {}
    stub_tools(init, **status)
    accepted = "--timestamp=us+utc*" if "." in "".join(printed or ()) else "show*"
    lines = shlex.join(printed or ["unknown unit"])
    shown = f'case "$*" in {accepted}" -- "{shlex.quote(name)}) printf "%s\\n" {lines};; *) exit 1;; esac'
    script = host_file.inspect_script(Desired(str(tmp_path / "agent.conf"), None, service=name))
    manager = "/nowhere" if printed is None else str(tmp_path)
    for directory, stub in {"/etc/init.d": init, "/etc/rc.d": "/nowhere", "/run/systemd/system": manager}.items():
        script = script.replace(directory, str(stub))
    done = run_script(script, tools=stub_tools(tmp_path / "tools", systemctl=shown))
    file = host_file.parse(done.stdout)
    assert file is not None and done.stderr == ""
    assert file._replace(machine=None, now=0) == HostFile("missing")._replace(**expected)


def test_the_identity_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "real" / "new" / "agent.conf"
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to("real")
    first = inspect(path).machine
    assert first and first == inspect(link / "new" / "agent.conf").machine != inspect(path.with_name("other")).machine
    script = host_file.inspect_script(Desired(str(path), None)).replace("/proc/sys/kernel", "/nowhere")
    for stub, known in (("echo '{ sec = 1, usec = 2 }'", True), ("exit 1", False)):
        file = host_file.parse(run_script(script, tools=stub_tools(tmp_path / "tools", sysctl=stub)).stdout)
        assert file and (file.machine is not None) is known


@as_root
def test_owners(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    os.chown(path, 1, 4)
    file = inspect(path, owner="4343", group="adm")
    assert (file.unknown_owner, set(file.user), set(file.group)) == ("", {"daemon", "1"}, {"adm", "4"})
    assert inspect(path, group="no-group").unknown_owner == "the group no-group"
    assert inspect(path, owner="no", group="root").unknown_owner == "the user no or the group root"
    for directory in (path.parent, tmp_path, *tmp_path.parents[:-2]):
        directory.chmod(directory.stat().st_mode | (0o777 if directory == path.parent else 0o011))
    user = ["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "dash"]
    assert inspect(path, shell=user, owner="daemon", group="1").problem == ""
    assert inspect(path, shell=user, owner="root").problem == "only root can give files to root"
    assert inspect(path, shell=user, group="adm").problem == "only root can give files to adm"


@as_root
def test_directories_that_other_users_can_change_are_refused(tmp_path: Path) -> None:
    """The directory of the file may belong to another user, but must belong to root inside a sticky directory."""
    base = tmp_path / "base"
    directory = base / "agent"
    path = base / "agent" / "agent.conf"
    directory.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(base)
    owner = "run chown root {} on the host, or use become_user: daemon"
    others = "run chmod go-w {} on the host"
    for prepare, refused, cure in (
        ("chown 1:1 agent", None, ""),
        ("chmod 777 agent", None, ""),
        ("chmod 1777 .", directory, owner),
        ("chown 4242 agent", directory, "run chown root {} on the host"),
        ("chown 0 agent", directory, others),
        ("chmod 755 agent", None, ""),
        ("chmod 777 .", base, others),
        ("chmod 775 .", base, others),
        ("chmod 755 .; chown 1:1 .", base, owner),
    ):
        subprocess.run(["sh", "-c", prepare], cwd=base, check=True)
        expected = f"users other than root can change {refused}/: {cure.format(f'{refused}/')}" if refused else ""
        for each in (path, link / "agent" / "agent.conf"):
            assert inspect(each).problem.replace(str(link), str(base)) == expected
            for data in (b"new", None):
                before = sorted(directory.iterdir())
                assert change(each, data).partition(" (exit")[0].replace(str(link), str(base)) == expected
                assert not refused or sorted(directory.iterdir()) == before
    assert "can change" in change(base / "new" / "agent.conf") and not (base / "new").exists()


# For each command that makes the path {}: the directory or link that is refused, or None. Links lead to the directory
# "safe". The directory "sticky" is like /tmp. The directory "home" and everything of the user 4242 is unsafe.
LINKS: dict[str, str | None] = {
    "ln -s safe agent": None,
    "ln -s $PWD/sticky/../safe agent": None,
    "ln -s ../safe sticky/agent; ln -s sticky/agent agent": None,
    "ln -s ../safe sticky/agent; chown -h 4242 sticky/agent; ln -s $PWD/sticky/agent agent": "sticky/agent",
    "ln -s ../safe sticky/agent; chown -h 4242 sticky/agent; ln -s sticky agent; n=agent/agent": "sticky/agent",
    "ln -s ../safe sticky/a; chown -h 4242 sticky/a; ln -s sticky/b agent; ln -s a/../safe sticky/b": "sticky/a",
    "mkdir sticky/agent; chown 4242 sticky/agent; ln -s sticky/agent agent": "sticky/agent/",
    "ln -s ../safe home/link; ln -s home/link agent": "home/",
    "ln -s home/../safe agent": "home/",
    # In a directory of root that is not sticky, the owner of a link cannot replace the link.
    "ln -s safe agent; chown -h 4242 agent": None,
}


@as_root
@pytest.mark.parametrize("number", range(len(LINKS)), ids=LINKS)
def test_links_that_other_users_can_change_are_refused(tmp_path: Path, number: int) -> None:
    """Each case uses dash and one other shell."""
    prepare, refused = list(LINKS.items())[number]
    base = tmp_path / "base"
    for name, mode, owner in (("safe", 0o755, 0), ("sticky", 0o1777, 0), ("home", 0o755, 4242)):
        (base / name).mkdir(parents=True)
        (base / name).chmod(mode)
        os.chown(base / name, owner, owner)
    done = subprocess.run(["sh", "-c", f'n=agent; {prepare}; echo "$n"'], cwd=base, check=True, capture_output=True)
    path = base / done.stdout.decode().strip() / "agent.conf"
    expected = f"users other than root can change {base}/{refused}" if refused else ""
    for shell in (DASH, list(SHELLS.values())[number % len(SHELLS)]):
        if shutil.which(shell[0]):
            assert inspect(path, shell=shell).problem.partition(": run ch")[0] == expected
            for data in (b"new", None):
                assert change(path, data, shell).partition(" (exit")[0].partition(": run ch")[0] == expected
                assert (base / "safe" / "agent.conf").exists() is (data is not None and not refused)


# Columns: owner of the directory of the file, a command that makes the file, the text that is read, whether there is a
# link that is not read. Another user could make a link to any file of root.
TEXTS: dict[str, tuple[int, str, str | None, bool]] = {
    "a file": (0, "echo x > agent.conf", "x\n", False),
    "a hard link": (0, "ln ../root agent.conf", "x\n", False),
    "a link": (0, "ln -s ../root agent.conf", "x\n", False),
    "a file in a directory of another user": (4242, "echo x > agent.conf", "x\n", False),
    "a hard link in a directory of another user": (4242, "ln ../root agent.conf", None, False),
    "a link in a directory of another user": (4242, "ln -s ../root agent.conf", None, True),
    "a dangling link in a directory of another user": (4242, "ln -s ../nowhere agent.conf", None, False),
}


@as_root
@pytest.mark.parametrize("shell", SHELLS)
def test_other_files_of_root_are_not_read(tmp_path: Path, shell: str) -> None:
    skip_without(*SHELLS[shell][:1])
    for number, (case, (owner, command, text, unread)) in enumerate(TEXTS.items()):
        base = tmp_path / f"{number}"
        (base / "conf").mkdir(parents=True)
        (base / "root").write_text("x\n")
        subprocess.run(["sh", "-c", command], cwd=base / "conf", check=True)
        os.chown(base / "conf", owner, owner)
        file = inspect(base / "conf" / "agent.conf", b"new", SHELLS[shell])
        assert (file.text, file.unread) == (text, unread), case
        # The digest of another file is not compared either.
        assert inspect(base / "conf" / "agent.conf", b"x\n", SHELLS[shell]).same is (
            text is not None and file.kind == "file"
        )
    # If users can change a parent directory, the directory itself can be a link to a directory of root.
    base.chmod(0o777)
    assert inspect(tmp_path / "0" / "conf" / "agent.conf", b"new", SHELLS[shell]).text == "x\n"
    (tmp_path / "0").chmod(0o777)
    assert inspect(tmp_path / "0" / "conf" / "agent.conf", b"new", SHELLS[shell]).text is None
    assert inspect(tmp_path / "0" / "conf" / "agent.conf", b"x\n", SHELLS[shell]).same


NEITHER = "the path is neither a file nor a symbolic link"
# For each command that creates the path {}: the expected kind, problem and text.
KINDS: dict[str, tuple[str, str, str | None]] = {
    "mkdir {}": ("missing", NEITHER, None),
    "mkfifo {}": ("missing", NEITHER, None),
    "ln -s /dev/zero {}": ("link", "", None),
    "echo old > {}2; ln -s agent.conf2 {}": ("link", "", "old\n"),
    "truncate -s 1T {}": ("file", "", None),
    f"truncate -s {LARGEST_FILE} {{}}": ("file", "", "\0" * LARGEST_FILE),
    'd=$(dirname {}); rmdir "$d"; touch "$d"': ("missing", "is not a directory", None),
}


@pytest.mark.parametrize(("prepare", "expected"), KINDS.items(), ids=KINDS)
def test_what_is_not_a_file(tmp_path: Path, prepare: str, expected: tuple[str, str, str | None]) -> None:
    path = old_file(tmp_path)
    path.unlink()
    subprocess.run(["sh", "-c", prepare.replace("{}", str(path))], check=True)
    file = inspect(path, b"new")
    assert (file.kind, expected[1] in file.problem, file.text) == (expected[0], True, expected[2])
    if not expected[1]:
        assert file.problem == ""
        assert (change(path), path.read_text(), change(path, None)) == ("", "new", "")


@pytest.mark.parametrize("name", ["agent.conf", "a*b", "a\\b", "[a]?", NAME])
def test_directories_of_killed_runs_are_removed_when_they_are_old(tmp_path: Path, name: str) -> None:
    path = old_file(tmp_path).with_name(name)
    old, young, other, similar = (
        path.parent / each for each in (f".{name}.aB3dE6", f".{name}.gH1jK2", f".{name}.d", ".aXb.aB3dE6")
    )
    for directory, age in ((old, 200_000), (young, 10), (other, 200_000), (similar, 200_000)):
        directory.mkdir()
        (directory / name).write_text("key")
        os.utime(directory, (time.time() - age,) * 2)
    assert change(path) == ""
    assert {*path.parent.iterdir()} == {path, path.with_name("agent.conf"), young, other, similar}


@pytest.mark.parametrize("shell", SHELLS)
def test_no_directory_is_left_after_the_limit_for_the_size_of_files(tmp_path: Path, shell: str) -> None:
    """The signal XFSZ would end the shell before the shell removes its directory."""
    skip_without(*SHELLS[shell][:1])
    path = old_file(tmp_path)
    limited = ["sh", "-c", 'ulimit -f 0; exec "$0" "$@"', *SHELLS[shell]]
    message = change(path, shell=limited)
    # ksh93 writes the output of commands into files, so ksh93 ends earlier.
    assert "Exceeded file size" in message if shell == "ksh93" else "the file is incomplete: check the free" in message
    assert (os.listdir(path.parent), path.read_text()) == (["agent.conf"], "old")


@as_root
@pytest.mark.parametrize("shell", [name for name in SHELLS if name != "busybox"])  # In busybox, root can always write.
def test_check_mode_predicts_a_directory_that_root_can_not_change(tmp_path: Path, shell: str) -> None:
    """With the option root_squash of NFS, root has no more rights than other users."""
    skip_without(*SHELLS[shell][:1])
    path = old_file(tmp_path)
    os.chown(path.parent, 1, 1)
    for directory in (path.parent, *path.parents[1:-2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    path.parent.chmod(0o755)
    squashed = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-chown,-fowner", *SHELLS[shell]]
    problem = f"this user can't write in {path.parent}/: use become_user: daemon"
    assert inspect(path, shell=squashed).problem == problem
    assert change(path, shell=squashed) != "" and os.listdir(path.parent) == ["agent.conf"]


_FILE = (
    f"{BEGUN}\nkind|file\nboot|b\npath|/a\nstat|1:2|0|root|0|wheel|755|1|9|4096\nstat|1:9|0|root|0|wheel|600|77|1|5\n"
)
_PARSED = HostFile("file", changed=77, user=("root", "0"), group=("wheel", "0"), mode=0o600)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", None),
        (f"Welcome!\n{BEGUN}\nkind|missing\n", HostFile("missing")),
        (f"{BEGUN}\r\nkind|missing\r\nproblem|x\x1b[2J y\r\nunknown|y\r\n",
         HostFile("missing", unknown_owner="y", problem="x [2J y")),
        (_FILE, _PARSED),
        (f"{_FILE}others|user:a\x1bb:r--\nothers|group:4:r--\ntext|\nothers|x\n",
         _PARSED._replace(others=("user:a b:r--", "group:4:r--"), text="others|x\n")),
        (f"kind|link\nstat|1:9|9|x|9|x|777|1|1|1\n{_FILE}acl|rw-\nsame|y\n", _PARSED._replace(mode=0o660, same=True)),
        (f"{BEGUN}\nkind|link\nunread|y\n", HostFile("link", unread=True)),
        (f"{_FILE}text|\nkey\n\n", _PARSED._replace(text="key\n\n")),
        # Only a terminal adds carriage returns. The text of a file keeps its own.
        (f"{_FILE}text|\nkey\r\n", _PARSED._replace(text="key\r\n")),
        (f"{_FILE}text|\nkey\r\n\n".replace("\n", "\r\n"), _PARSED._replace(text="key\r\n\n")),
        (f"{_FILE}text|\n{'x' * (LARGEST_FILE + 1)}", _PARSED),
        # Invalid facts are ignored.
        (_FILE.replace("|77|", "|x|"), HostFile("file")),
        (f"{_FILE}NRestarts=many\nInactiveExitTimestamp=n/a\n", _PARSED),
    ],
)  # fmt: skip
def test_the_output_of_hosts_is_parsed(output: str, expected: HostFile | None) -> None:
    """Login shells can print a greeting, and terminals add carriage returns."""
    file = host_file.parse(output)
    assert (file and file._replace(machine=None)) == expected


@pytest.mark.parametrize(
    "date", ["2026-02-30 18:57:00", "2026-13-01 18:57:00", "0000-01-01 00:00:00", "2026-01-01 24:00:00"]
)
def test_an_impossible_time_of_a_host_is_named(date: str) -> None:
    with pytest.raises(
        InputError, match=f"The host reports that the service started at {date} UTC, which is not a valid"
    ):
        host_file.parse(f"{_FILE}InactiveExitTimestamp=Fri {date} UTC\n")
