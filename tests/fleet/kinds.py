# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kinds of hosts, for the table in docs/hosts.md: what prepares each, and how the inventory connects to it."""

import dataclasses
import subprocess
import typing as t

from ansible_collections.monitor.cloud.tests.support.hosts import USER, WITHOUT_PYTHON
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
CONFIG = "a b!c'd\"e\\f\\\\g\n!h$i*~/agent !!.conf"
INSTALLED = "installed x y!z"
_OWN = f"/{ROOT}/{{{{ inventory_hostname }}}}/"
VARIABLES: Variables = {
    "monitor_agent_config_path": _OWN + CONFIG,
    "monitor_agent_config_owner": "root",
    "monitor_agent_install_command": f'printf %s "$MONITOR_INSTALL_CODE" > "{_OWN}{INSTALLED}"',
    "monitor_agent_install_creates": _OWN + INSTALLED,
}
# The installer gets its code through standard input, which a terminal replaces.
_NO_INSTALLER = {"monitor_agent_install_command": ""}

LOGIN_SHELLS = ("bash", "zsh", "fish", "bsd-csh", "tcsh")
SHELLS = ("dash", "bash", "mksh", "ksh93", "zsh", "yash")
NEEDED = (*LOGIN_SHELLS, *SHELLS, "busybox", "toybox", "doas", "su", "shasum", "mmdebstrap")
_PASSWORD = "the password of the tests"


def _user(number: int, name: str, shell: str = "sh", sudo: str = "NOPASSWD: ALL") -> str:
    """Commands that add a user, who may become root, and a second root with the same shell."""
    return f"""
echo '{name}:x:{number}:{number}::/home/{name}:/bin/{shell}' >> etc/passwd
echo 'root-{name}:x:0:0::/root:/bin/{shell}' >> etc/passwd
echo '{name}:*:19000:0:99999:7:::' >> etc/shadow
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
        f"echo 'Defaults:logged log_subcmds' >> etc/sudoers.d/{USER}",
        "echo 'permit nopass doas' > etc/doas.conf",
        f"printf '%s\\n' 'root:{_PASSWORD}' 'password:{_PASSWORD}' | chroot . chpasswd",
    ]
)


def _become(user: str = USER, **more: t.Any) -> Variables:
    return {"ansible_user": user, "ansible_become": True, **more}


_TERMINAL = _become("terminal", **_NO_INSTALLER)
_SU = _become(ansible_become_method="su", ansible_become_password=_PASSWORD)


def _sent_as_file(method: str, **more: t.Any) -> Kind:
    """A host to which content goes in a file, because a command with a terminal gets no standard input."""
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


_TOYBOX = _only("toybox", "toybox", "/usr/bin/dash") + "\nln -s dash usr/bin/sh"

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
# find(1) of FreeBSD 13.2, -mtime: an age in days is rounded up.
_FIND = f"""#!{_REAL}/python3 -IS
import os, subprocess, sys, time
given, days = sys.argv[1:], None
if "-mtime" in given:
    at = given.index("-mtime")
    days = given[at + 1]
    del given[at:at + 2]
done = subprocess.run(["{_REAL}/find", *given], stdout=subprocess.PIPE, text=True)
for name in done.stdout.splitlines():
    age = -(-(time.time() - os.lstat(name).st_mtime) // 86400)
    if days is None or (age > int(days[1:]) if days[0] == "+" else age == int(days)):
        print(name)
sys.exit(done.returncode)
"""
# stat(1) of FreeBSD 13.2 and of macOS 14, -f: digits of modes are not padded.
_STAT = f"""#!{_REAL}/python3 -IS
import grp, os, pwd, re, sys
given = sys.argv[1:]
if not given or given[0] not in ("-f", "-Lf"):
    sys.exit("stat: illegal option\\nusage: stat [-FLnq] [-f format | -l | -r | -s | -x] [-t timefmt] [file ...]")
for path in given[2:]:
    try:
        facts = os.stat(path) if given[0] == "-Lf" else os.lstat(path)
    except OSError as error:
        sys.exit(f"stat: {{path}}: stat: {{error.strerror}}")
    values = {{
        "u": str(facts.st_uid), "g": str(facts.st_gid), "z": str(facts.st_size), "N": path, "i": str(facts.st_ino),
        "Su": pwd.getpwuid(facts.st_uid).pw_name, "Sg": grp.getgrgid(facts.st_gid).gr_name,
        "Mp": f"{{facts.st_mode >> 9 & 7:o}}", "Lp": f"{{facts.st_mode & 0o777:o}}", "p": f"{{facts.st_mode:o}}",
        "OLp": f"{{facts.st_mode & 0o777:o}}", "OMp": f"{{facts.st_mode >> 9 & 7:o}}", "Op": f"{{facts.st_mode:o}}",
    }}
    print(re.sub(r"%(0?)(\\d*)([A-Z]*[a-zN])",
                 lambda m: values[m[3]].rjust(int(m[2] or 0), "0" if m[1] else " "), given[1]))
"""
# mktemp(1) of FreeBSD 13.2: a template or -t is required, and -t takes a prefix without X.
_MKTEMP = f"""#!/bin/sh
[ "$1" = -d ] && d=-d && shift
case $1 in -t) exec {_REAL}/mktemp $d "${{TMPDIR:-/tmp}}/$2.XXXXXXXX";; ""|-*) echo "usage: mktemp" >&2; exit 1;; esac
exec {_REAL}/mktemp $d "$@"
"""
# wc(1) of FreeBSD 13.2 and of macOS 14: numbers are preceded by spaces.
_WC = f"""#!/bin/sh
{_REAL}/wc "$@" | {_REAL}/sed 's/^/       /'
"""
# sha256(1) of FreeBSD 13.2, -q: only the digest.
_SHA256 = f"""#!/bin/sh
[ "$*" = -q ] || {{ echo "usage: sha256 -q" >&2; exit 1; }}
{_REAL}/sha256sum | {_REAL}/cut -c1-64
"""
_STUBS = {"find": _FIND, "stat": _STAT, "mktemp": _MKTEMP, "wc": _WC}


def _bsd(digests: str, more: dict[str, str] | None = None) -> str:
    """Commands that replace tools by stubs with the options of BSD, remove the tools ``digests``, and unmount /proc."""
    stubs = {**dict.fromkeys(_POSIX_TOOLS.split(), _POSIX), **_STUBS, **(more or {})}
    return "\n".join(
        [
            f"umount proc; mkdir .{_REAL}; cp usr/bin/python3 .{_REAL}",
            f"for tool in {_POSIX_TOOLS} sha256sum cut sed; do cp usr/bin/$tool .{_REAL}; done",
            f"rm -f usr/bin/lsattr usr/bin/chcon {digests}; {WITHOUT_PYTHON}",
            *(f"cat > usr/bin/{name} <<'END'\n{text}END\nchmod 755 usr/bin/{name}" for name, text in stubs.items()),
        ]
    )


_MODES = tuple({"monitor_agent_config_mode": mode} for mode in ("0600", "4640", "2040"))

KINDS = {
    "Alpine, OpenWrt: only busybox": Kind(_only("busybox", "busybox --list")),
    "Ubuntu since 25.10: uutils, sudo-rs": Kind(_UBUNTU, ({}, _become(), _become(ansible_become_flags="-H -S -n -i"))),
    "only toybox, `dd` and a shell": Kind(_TOYBOX + "; cp /usr/bin/dd usr/bin"),
    "macOS: `stat -f`, `shasum`, `sh` is bash, no option of GNU": Kind(
        _bsd("usr/bin/sha256sum") + "\nln -sf bash usr/bin/sh", _MODES
    ),
    "FreeBSD: `stat -f`, `sha256 -q`, no option of GNU": Kind(
        _bsd("usr/bin/sha256sum usr/bin/shasum", {"sha256": _SHA256}), _MODES
    ),
    "no tool for digests": Kind(f"{WITHOUT_PYTHON}; rm -f usr/bin/sha256sum usr/bin/shasum usr/bin/openssl"),
    "no `mktemp`": Kind(f"{WITHOUT_PYTHON}; rm usr/bin/mktemp"),
    **{f"`/bin/sh` is {shell}": Kind(f"{WITHOUT_PYTHON}; ln -sf {shell} usr/bin/sh") for shell in SHELLS},
    **{
        f"`ansible_shell_executable: {shell}`": Kind(
            _USERS, tuple({"ansible_shell_executable": shell, **way} for way in ({}, _become()))
        )
        for shell in ("/bin/bash", "/bin/ksh", "/bin/mksh", "/bin/yash", "/bin/zsh", "/bin/tcsh", "/bin/fish")
    },
    **{
        f"login shell {shell}": Kind(_USERS, ({"ansible_user": f"root-in-{shell}"}, _become(f"in-{shell}")))
        for shell in LOGIN_SHELLS
    },
    "sudo with password": Kind(_USERS, (_become("password", ansible_become_password=_PASSWORD),)),
    "sudo with `log_subcmds`": Kind(_USERS, (_become("logged"),)),
    "sudo with a shell, `-i` or `-s`": Kind(
        _USERS,
        (
            *(_become(ansible_become_user=f"root-in-{shell}", ansible_become_flags="-HiSn") for shell in LOGIN_SHELLS),
            _become(ansible_become_flags="-H -S -n -s"),
        ),
    ),
    "sudo with `requiretty`": Kind(
        _USERS, tuple({**_TERMINAL, "ansible_pipelining": pipelining} for pipelining in (True, False))
    ),
    "su": Kind(_USERS, ({**_SU, **_NO_INSTALLER},)),
    # The plugin for doas is not in core; sudo with these settings makes the same command.
    "doas": Kind(_USERS, (_become("doas", ansible_become_exe="doas", ansible_become_flags="-n"),)),
    "transfer by scp": _sent_as_file("scp", ansible_scp_extra_args="-O"),
    "transfer by sftp": _sent_as_file("sftp"),
    "transfer piped": _sent_as_file("piped"),
    "no ControlPersist": Kind(
        ways=({"ansible_ssh_args": "-o ControlMaster=no -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no"},)
    ),
    "only toybox and a shell, no `dd`": Kind(_TOYBOX, error="this host has no dd; install"),
    "installer, sudo with `requiretty`": Kind(_USERS, (_become("terminal"),), error="you must have a tty"),
    "installer, su": Kind(_USERS, (_SU,), error="'su' passes no standard input"),
    "Windows": Kind(ways=({"ansible_shell_type": "powershell"},), error="this is a Windows host"),
}
