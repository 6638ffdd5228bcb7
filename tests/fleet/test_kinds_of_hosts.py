# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All kinds of hosts in the same plays: check mode, run, second run, drift, removal. docs/hosts.md shows it."""

import dataclasses
import os
import re
import shutil
import subprocess
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.hosts import USER, WITHOUT_PYTHON
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import role_play
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

Variables = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of host.

    ``prepare``: shell commands in its root directory, before it starts. ``ways``: variables of Ansible for each way to
    connect to it. ``error``: part of the error message, if the kind is not supported.
    """

    prepare: str = WITHOUT_PYTHON
    ways: tuple[Variables, ...] = ({},)
    error: str = ""


ROOT = "opt/agent"
CONFIG = "a b!c'd\"e\\f\\\\g !h$i*~/agent !!.conf"
INSTALLED = "installed x y!z"
_OWN = f"/{ROOT}/{{{{ inventory_hostname }}}}/"
VARIABLES: Variables = {
    "monitor_agent_config_path": _OWN + CONFIG,
    "monitor_agent_config_owner": "root",
    "monitor_agent_install_command": f'mkdir -p "{_OWN}"; printf %s "$MONITOR_INSTALL_CODE" > "{_OWN}{INSTALLED}"',
    "monitor_agent_install_creates": _OWN + INSTALLED,
}

LOGIN_SHELLS = ("bash", "zsh", "fish", "bsd-csh", "tcsh")
SHELLS = ("dash", "bash", "mksh", "ksh93", "zsh", "yash")
NEEDED = (*LOGIN_SHELLS, *SHELLS, "busybox", "toybox", "doas", "su", "shasum", "mmdebstrap")
_PASSWORD = "the password of the tests"
# What a login shell does first, by the number of its user.
GREETINGS = dict(enumerate(("echo Welcome", "printf Welcome", "set -x", "set -x; printf Welcome"), 4320))


def _user(number: int, name: str, shell: str = "sh", sudo: str = "NOPASSWD: ALL") -> str:
    """Commands that add a user, who may become root, and a second root with the same shell."""
    return f"""
echo '{name}:x:{number}:{number}::/home/{name}:/bin/{shell}' >> etc/passwd
echo 'root-{name}:x:0:0::/root:/bin/{shell}' >> etc/passwd
echo '{name}:*:19000:0:99999:7:::' >> etc/shadow
echo 'root-{name}:*:19000:0:99999:7:::' >> etc/shadow
echo '{name}:x:{number}:' >> etc/group
echo '{name} ALL=(ALL) {sudo}' >> etc/sudoers.d/{USER}
mkdir -p home/{name}; cp -r home/{USER}/.ssh home/{name}; chown -R {number}:{number} home/{name}"""


_USERS = "\n".join(
    [
        WITHOUT_PYTHON,
        *(_user(number, f"in-{shell}", shell) for number, shell in enumerate(LOGIN_SHELLS, 4300)),
        _user(4310, "password", sudo="ALL"),
        _user(4311, "terminal"),
        f"echo 'Defaults:terminal requiretty' >> etc/sudoers.d/{USER}",
        _user(4312, "doas", sudo="/bin/false"),
        _user(4313, "logged"),
        *(_user(number, f"greets-{number}", "bash") for number in GREETINGS),
        f"echo 'Defaults:logged log_subcmds' >> etc/sudoers.d/{USER}",
        "echo 'permit nopass doas' > etc/doas.conf",
        *(f"echo '{greeting}' > home/greets-{number}/.bashrc" for number, greeting in GREETINGS.items()),
        f"printf '%s\\n' 'root:{_PASSWORD}' 'password:{_PASSWORD}' | chroot . chpasswd",
    ]
)


def _become(user: str = USER, **more: t.Any) -> Variables:
    return {"ansible_user": user, "ansible_become": True, **more}


_TERMINAL = _become("terminal")
_SU = _become(ansible_become_method="su", ansible_become_password=_PASSWORD)


def _sent_as_file(method: str, **more: t.Any) -> Kind:
    """A host to which scripts go in a file, because a command with a terminal gets no standard input."""
    # Without an SFTP server, as with Dropbear, an accidental transfer by SFTP fails.
    server = "" if method == "sftp" else "\nsftp=/bin/false"
    return Kind(
        _USERS + server, ({**_TERMINAL, "ansible_pipelining": False, "ansible_ssh_transfer_method": method, **more},)
    )


def _only(program: str, names: str, more: str = "") -> str:
    """Commands that replace all tools by links to one program, and by the files ``more`` of this machine."""
    return f"""
mount -t tmpfs -o mode=755 tmpfs usr/bin; mount -t tmpfs -o mode=755 tmpfs usr/sbin; mount -t tmpfs tmpfs usr/local
cp /usr/sbin/sshd usr/sbin; cp $(command -v {program}) {more} usr/bin
for tool in $({names}); do [ -e usr/bin/$tool ] || ln -s {program} usr/bin/$tool; done
sed -i 's,/bin/bash$,/bin/sh,' etc/passwd"""


# timeout of toybox 0.8.9 returns 127 in 1 of 250 runs.
_TOYBOX = _only("toybox", "toybox", "/usr/bin/dash") + "\nln -s dash usr/bin/sh; rm usr/bin/timeout"

# uutils 0.0.30 and sudo-rs 0.2.5, with the libraries that they need: those of Debian 12 are older.
_RUST = CHECKOUT / ".cache" / "debian-13-rust"
_UBUNTU = f"""{_USERS}
cp -a {_RUST}/usr/lib usr; cp {_RUST}/usr/bin/coreutils usr/bin
for tool in {_RUST}/usr/lib/cargo/bin/coreutils/*; do ln -sf coreutils usr/bin/${{tool##*/}}; done
cp usr/lib/cargo/bin/sudo usr/bin/sudo; chmod 4755 usr/bin/sudo
"""


def unpack_rust() -> None:
    """Download and unpack the packages of Debian 13, once. Raises CalledProcessError."""
    if not _RUST.exists():
        made = _RUST.with_suffix(".new")
        options = f"--quiet --mode=root --variant=extract --aptopt={made}.apt --include=rust-coreutils,sudo-rs"
        build = f"""set -e
            rm -rf {made}; mkdir -m 700 -p {made.parent}
            apt-config dump Acquire > {made}.apt
            mmdebstrap {options} trixie {made}
            rm {made}.apt; mv {made} {_RUST}"""
        subprocess.run(["sh", "-c", build], stdin=subprocess.DEVNULL, check=True)


# The directory of this machine's tools on hosts that have stubs of the same names.
_REAL = "/usr/lib/real-tools"
# https://pubs.opengroup.org/onlinepubs/9699919799/basedefs/V1_chap12.html: options precede operands, none is long.
_POSIX_TOOLS = "chgrp chmod chown cp date dd env find id ln ls mkdir mktemp mv readlink rm rmdir sleep stat wc"
_POSIX = f"""#!/bin/sh
for word; do case "${{0##*/}} $word" in
    *" --") break;;
    *" --"*|"date -d"*|"readlink -f"*|"cp -"*T*|"ln -"*T*|"mv -"*T*) echo "$0: illegal option $word" >&2; exit 64;;
esac; done
POSIXLY_CORRECT=1 exec {_REAL}/"${{0##*/}}" "$@"
"""
# stat(1) of FreeBSD 13.2 and of macOS 14, -f: of its formats those that are used, of which one pads the mode.
_STAT = f"""#!/bin/sh
[ "$1" = -f ] || {{ echo "stat: illegal option" >&2; exit 1; }}
format=$(printf %s "$2" | {_REAL}/sed 's/%Mp%03Lp/%04a/; s/%z/%s/; s/%Su/%U/; s/%Sg/%G/; s/%m/%Y/'); shift 2
exec {_REAL}/stat -c "$format" "$@"
"""
# wc(1) of FreeBSD 13.2 and of macOS 14: numbers are preceded by spaces.
_WC = f"""#!/bin/sh
{_REAL}/wc "$@" | {_REAL}/sed 's/^/       /'
"""
# sha256(1) of FreeBSD 13.2, -q: only the digest.
_SHA256 = f"""#!/bin/sh
[ "$1" = -q ] || {{ echo "usage: sha256 -q file" >&2; exit 1; }}
{_REAL}/sha256sum <"$2" | {_REAL}/cut -c1-64
"""
_STUBS = {"stat": _STAT, "wc": _WC}


def _bsd(digests: str, more: dict[str, str] | None = None) -> str:
    """Commands that replace tools by stubs with the options of BSD, remove the tools ``digests``, and unmount /proc."""
    stubs = {**dict.fromkeys(_POSIX_TOOLS.split(), _POSIX), **_STUBS, **(more or {})}
    return "\n".join(
        [
            f"umount proc; mkdir .{_REAL}",
            f"for tool in {_POSIX_TOOLS} sha256sum cut sed; do cp usr/bin/$tool .{_REAL}; done",
            f"rm -f usr/bin/lsattr usr/bin/chcon {digests}; {WITHOUT_PYTHON}",
            *(f"cat > usr/bin/{name} <<'END'\n{text}END\nchmod 755 usr/bin/{name}" for name, text in stubs.items()),
        ]
    )


# As community.general.sudosu, whose shell becomes an argument of the command for the login shell.
SUDOSU = """
from ansible.plugins.become import BecomeBase
DOCUMENTATION = '{options: {become_user: {vars: [{name: ansible_become_user}]}, become_pass: {}, become_flags: {}}}'
class BecomeModule(BecomeBase):
    name = "community.general.sudosu"
    def build_become_command(self, cmd, shell):
        super().build_become_command(cmd, shell)
        return cmd and f"sudo su -l {self.get_option('become_user')} {self._build_success_command(cmd, shell)}"
"""

KINDS = {
    "Alpine, OpenWrt: only busybox": Kind(_only("busybox", "busybox --list")),
    "Ubuntu since 25.10: uutils, sudo-rs": Kind(_UBUNTU, (_become(), _become(ansible_become_flags="-H -S -n -i"))),
    "only toybox and a shell": Kind(_TOYBOX),
    "macOS: `stat -f`, `shasum`, `sh` is bash, no option of GNU": Kind(
        _bsd("usr/bin/sha256sum") + "\nln -sf bash usr/bin/sh", ({}, {"monitor_agent_config_mode": "4640"})
    ),
    "FreeBSD: `stat -f`, `sha256 -q`, no option of GNU": Kind(
        _bsd("usr/bin/sha256sum usr/bin/shasum", {"sha256": _SHA256}), ({"monitor_agent_config_mode": "2440"},)
    ),
    "no tool for digests": Kind(f"{WITHOUT_PYTHON}; rm -f usr/bin/sha256sum usr/bin/shasum usr/bin/openssl"),
    **{f"`/bin/sh` is {shell}": Kind(f"{WITHOUT_PYTHON}; ln -sf {shell} usr/bin/sh") for shell in SHELLS},
    **{
        f"`ansible_shell_executable: {shell}`": Kind(_USERS, (_become(ansible_shell_executable=shell),))
        for shell in ("/bin/bash", "/bin/ksh", "/bin/mksh", "/bin/yash", "/bin/zsh", "/bin/tcsh", "/bin/fish")
    },
    **{f"login shell {shell}": Kind(_USERS, (_become(f"in-{shell}"),)) for shell in LOGIN_SHELLS},
    "login shell that prints a text first": Kind(_USERS, tuple(_become(f"greets-{number}") for number in GREETINGS)),
    "sudo with password": Kind(_USERS, (_become("password", ansible_become_password=_PASSWORD),)),
    "sudo with `log_subcmds`": Kind(_USERS, (_become("logged"),)),
    "sudo with a shell, `-i` or `-s`": Kind(
        _USERS,
        (
            *(_become(ansible_become_user=f"root-in-{shell}", ansible_become_flags="-HiSn") for shell in LOGIN_SHELLS),
            _become(ansible_become_flags="-H -S -n -s"),
            _become(ansible_become_exe="sudo -i"),
        ),
    ),
    "sudo with `requiretty`": Kind(_USERS, ({**_TERMINAL, "ansible_pipelining": True},)),
    "sudo with su, `community.general.sudosu`": Kind(
        _USERS,
        tuple(
            _become(ansible_become_method="sudosu", ansible_become_user=f"root-in-{shell}")
            for shell in LOGIN_SHELLS[1:]
        ),
    ),
    "su": Kind(_USERS, (_SU,)),
    # The plugin for doas is not in core; sudo with these settings makes the same command.
    "doas": Kind(_USERS, (_become("doas", ansible_become_exe="doas", ansible_become_flags="-n"),)),
    "transfer by scp": _sent_as_file("scp", ansible_scp_extra_args="-O"),
    "transfer by sftp": _sent_as_file("sftp"),
    "transfer piped": _sent_as_file("piped"),
    "no ControlPersist": Kind(
        ways=({"ansible_ssh_args": "-o ControlMaster=no -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no"},)
    ),
    "no `mktemp`": Kind(f"{WITHOUT_PYTHON}; rm usr/bin/mktemp", error="mktemp: not found"),
}


# By step: the expected status, calls of the service, and whether the configuration is there afterwards.
STEPS: dict[str, tuple[str, list[str], bool]] = {
    "check": ("changed", [], False),
    "run": ("changed", ["create_client"], True),
    "again": ("ok", [], True),
    "drift": ("changed", [], True),
    "undo": ("changed", ["delete_client"], False),
}
OPTIONS = {"check": ("--check", "--diff"), "undo": ("-e", "monitor_agent_state=absent")}
WRITING = ("run", "again", "drift")
COLUMNS = {"check": "predicted", "run": "written", "again": "unchanged", "undo": "removed"}
# What a user left at the path: its key shows that the file was read.
DRIFT = "api_key=AAAABBBB-1111-2222-3333444455556666\n"
# By host of the inventory and step: status, message of a failure, calls of the service that write, files.
Results = dict[str, dict[str, tuple[str, str, list[str], dict[str, t.Any]]]]


def ways_of(kind: str) -> dict[str, Variables]:
    """Variables of Ansible by name of the host in the inventory."""
    return {f"host-{list(KINDS).index(kind)}-{way}": variables for way, variables in enumerate(KINDS[kind].ways)}


def files(machine: Path, name: str, expected: dict[str, str]) -> dict[str, t.Any]:
    """All files and temporary directories of a host of the inventory; of the expected ones no content."""
    own = machine / ROOT / name
    found: dict[str, t.Any] = {}
    paths = [Path(top, entry) for top, directories, names in os.walk(own) for entry in (*names, *directories)]
    for path in paths:
        if path.is_dir() and not path.name.startswith("."):
            continue
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        relative, facts = str(path.relative_to(own)), path.lstat()
        content = "as expected" if text == expected.get(relative) else text
        found[relative] = [content, f"{facts.st_mode & 0o7777:04o}", facts.st_uid]
    for path in (*machine.glob("root/.ansible/tmp/*"), *machine.glob("home/*/.ansible/tmp/*")):
        found[str(path.relative_to(machine))] = "transferred"
    return found


def run_all(controller: Controller, machines: Callable[..., list[fleet.Host]]) -> Results:
    """Run all steps on the hosts of all kinds at once."""
    unpack_rust()
    plugin = controller.directory / "become_plugins" / "sudosu.py"
    plugin.parent.mkdir()
    plugin.write_text(SUDOSU, encoding="utf-8")
    controller.group_vars.update(VARIABLES)
    seen: dict[str, Path] = {}
    for kind, properties in KINDS.items():
        (host,) = machines("kind", prepare=properties.prepare)
        for name, variables in ways_of(kind).items():
            seen[name] = Path(f"/proc/{host.first_process}/root")
            controller.host_vars[name] = {"ansible_host": host.address, "ansible_port": host.port, **variables}
    results: Results = {name: {} for name in seen}
    expected: dict[str, dict[str, str]] = {}
    for step in STEPS:
        there = {name: path for name, machine in seen.items() if (path := machine / ROOT / name / CONFIG).exists()}
        for path in there.values() if step == "drift" else ():
            path.write_text(DRIFT, encoding="utf-8")
            path.chmod(0o644)
        run = controller.run(role_play(controller), *OPTIONS.get(step, ()), ANSIBLE_FORKS="10", ANSIBLE_TIMEOUT="60")
        # A host that needs nothing is only inspected.
        statuses, configured = {**run.statuses("Inspect the host"), **run.statuses()}, run.of(CONFIGURE)
        if step == "drift":
            assert {configured[name].result["key_owner"] for name in there} == {"unknown"}
        clients = {client["label"]: client for client in controller.service.clients()}
        for label, text in texts(clients.values()).items():
            expected[label] = {CONFIG: text, INSTALLED: clients[label]["install_code"]}
        assert not found_in(run.output, plain_secrets(controller.service)), step
        failures = run.failures()
        for name, machine in seen.items():
            calls = [call["operation"] for call in run.requests if call["method"] != "GET" and call["label"] == name]
            left = files(machine, name, expected.get(name, {}))
            status = "failed" if name in failures else statuses.get(name, "no status")
            results[name][step] = status, failures.get(name, ""), calls, left
    return results


def assert_expected(results: Results, kind: str) -> None:
    """The results of all steps on the hosts of a kind."""
    for name, own in ways_of(kind).items():
        variables = {**VARIABLES, **own}
        mode = variables.get("monitor_agent_config_mode", "0600")
        for step, (status, written, is_there) in STEPS.items():
            found, message, calls, all_files = results[name][step]
            about = f"{kind}, {step}, {own}: {message}"
            installed = all_files.get(INSTALLED, [""])[0] == "as expected"
            there = {file: facts for file, facts in all_files.items() if file != INSTALLED}
            if KINDS[kind].error:
                assert (found == "failed") == (KINDS[kind].error in message) == (step in WRITING), about
                assert not there, about
                continue
            expected = {CONFIG: ["as expected", mode, 0]} if is_there else {}
            assert (found, calls, there) == (status, written, expected), about
            assert installed == (step != "check"), about


def tables(results: Results) -> str:
    """The steps by kind, and the messages of the kinds that are not supported, in Markdown."""
    steps = [["Host", *(step.capitalize() for step in COLUMNS)], ["---"] * (len(COLUMNS) + 1)]
    errors = [["Host", "Message"], ["---"] * 2]
    for kind, properties in KINDS.items():
        cells = []
        for step, word in COLUMNS.items():
            statuses = {results[name][step][0] for name in ways_of(kind)}
            words = {STEPS[step][0]: word, "failed": "error", "ok": "unchanged"}
            cells.append(", ".join(sorted(words.get(status, status) for status in statuses)))
        steps.append([kind, *cells])
        for name in ways_of(kind) if properties.error else ():
            path = f"/{ROOT}/{name}/{CONFIG}"
            message = results[name]["run"][1].replace(path, "/etc/monitor/agent.conf").replace(name, "web-1")
            # The number of the line in the script.
            errors.append([kind, re.sub(r"sh: \d+: ", "sh: ", message)])
    return "\n".join("".join(f"| {' | '.join(line)} |\n" for line in lines) for lines in (steps, errors))


def test_each_kind_of_host_has_the_expected_results_and_the_page_shows_them(
    controllers: Callable[..., Controller], machines: Callable[..., list[fleet.Host]]
) -> None:
    if absent := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.skip(f"{' and '.join(absent)} not installed")
    results = run_all(controllers(), machines)
    for kind in KINDS:
        assert_expected(results, kind)
    (CHECKOUT / "build").mkdir(exist_ok=True)
    (CHECKOUT / "build" / "hosts.md").write_text(tables(results), encoding="utf-8")
    page = (CHECKOUT / "docs" / "hosts.md").read_text(encoding="utf-8")
    missing = [table for table in tables(results).split("\n\n") if table not in page]
    assert not missing, "copy the tables of build/hosts.md into docs/hosts.md"
