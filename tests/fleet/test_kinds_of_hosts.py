# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import shutil
import subprocess
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.hosts import USER, WITHOUT_PYTHON
from ansible_collections.monitor.cloud.tests.support.runs import INSPECT, ROLLOUT, Controller, Local, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import labels, role_play
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

Variables = dict[str, t.Any]

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
NEEDED = (*LOGIN_SHELLS, "busybox", "doas", "su", "mmdebstrap")
_PASSWORD = "the password of the tests"
# User ids, and the command that the login shell of each user runs first.
GREETINGS = dict(enumerate(("echo Welcome", "set -x; printf Welcome"), 4320))


def _user(number: int, name: str, shell: str = "sh", sudo: str = "NOPASSWD: ALL") -> str:
    """Return commands that add a user who can use sudo, and a second root user with the same login shell."""
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
        *(_user(number, f"greets-{number}", "bash") for number in GREETINGS),
        "echo 'permit nopass doas' > etc/doas.conf",
        *(f"echo '{greeting}' > home/greets-{number}/.bashrc" for number, greeting in GREETINGS.items()),
        f"printf '%s\\n' 'root:{_PASSWORD}' 'password:{_PASSWORD}' | chroot . chpasswd",
    ]
)


def _become(user: str = USER, **more: t.Any) -> Variables:
    return {"ansible_user": user, "ansible_become": True, **more}


_SU = _become(ansible_become_method="su", ansible_become_password=_PASSWORD)
# Sudo needs a terminal here. Core sends no standard input to a terminal, so core copies scripts as files.
_TERMINAL = _become("terminal", ansible_pipelining=False)
# These hosts have no SFTP server, like hosts with Dropbear.
_NO_SFTP = f"{_USERS}\nsftp=/bin/false"
_BUSYBOX = """
mount -t tmpfs -o mode=755 tmpfs usr/bin; mount -t tmpfs -o mode=755 tmpfs usr/sbin; mount -t tmpfs tmpfs usr/local
cp /usr/sbin/sshd usr/sbin; cp $(command -v busybox) usr/bin
for tool in $(busybox --list); do [ -e usr/bin/$tool ] || ln -s busybox usr/bin/$tool; done
sed -i 's,/bin/bash$,/bin/sh,' etc/passwd"""

# Debian 13 has uutils 0.0.30 and sudo-rs 0.2.5. These programs need newer libraries than Debian 12 has.
_RUST = CHECKOUT / ".cache" / "debian-13-rust"
_UBUNTU = f"""{_USERS}
cp -a {_RUST}/usr/lib usr; cp {_RUST}/usr/bin/coreutils usr/bin
for tool in {_RUST}/usr/lib/cargo/bin/coreutils/*; do ln -sf coreutils usr/bin/${{tool##*/}}; done
cp usr/lib/cargo/bin/sudo usr/bin/sudo; chmod 4755 usr/bin/sudo
"""


def unpack_rust() -> None:
    """Unpack the packages of Debian 13 into the cache, if the cache is empty."""
    if not _RUST.exists():
        made = _RUST.with_suffix(".new")
        options = f"--quiet --mode=root --variant=extract --aptopt={made}.apt --include=rust-coreutils,sudo-rs"
        build = f"""set -e
            rm -rf {made}; mkdir -m 700 -p {made.parent}
            apt-config dump Acquire > {made}.apt
            mmdebstrap {options} trixie {made}
            rm {made}.apt; mv {made} {_RUST}"""
        subprocess.run(["sh", "-c", build], stdin=subprocess.DEVNULL, check=True)


# Columns by kind: commands that prepare the root directory of the host, variables of each connection.
KINDS: dict[str, tuple[str, list[Variables]]] = {
    "Alpine, OpenWrt: only busybox": (_BUSYBOX, [{}]),
    "Ubuntu since 25.10: uutils, sudo-rs": (_UBUNTU, [_become(), _become(ansible_become_flags="-H -S -n -i")]),
    "`ansible_shell_executable`": (
        _USERS, [_become(ansible_shell_executable=f"/bin/{shell}") for shell in ("zsh", "tcsh", "fish")]
    ),
    "login shell": (_USERS, [_become(f"in-{shell}") for shell in LOGIN_SHELLS]),
    "login shell that prints a text first": (_USERS, [_become(f"greets-{number}") for number in GREETINGS]),
    "sudo with password": (_USERS, [_become("password", ansible_become_password=_PASSWORD)]),
    "sudo with a shell": (
        _USERS,
        [
            *(_become(ansible_become_user=f"root-in-{shell}", ansible_become_flags="-HiSn") for shell in LOGIN_SHELLS),
            _become(ansible_become_flags="-H -S -n -s"),
            _become(ansible_become_exe="sudo -i"),
        ],
    ),
    "sudo with `requiretty`": (_USERS, [{**_TERMINAL, "ansible_pipelining": True}]),
    "su": (_USERS, [_SU]),
    # Core has no become plugin for doas. With these settings, the become plugin sudo runs doas.
    "doas": (_USERS, [_become("doas", ansible_become_exe="doas", ansible_become_flags="-n")]),
    "transfer without SFTP": (
        _NO_SFTP,
        [
            {**_TERMINAL, "ansible_ssh_transfer_method": "scp", "ansible_scp_extra_args": "-O"},
            {**_TERMINAL, "ansible_ssh_transfer_method": "piped"},
        ],
    ),
    "transfer by SFTP": (_USERS, [{**_TERMINAL, "ansible_ssh_transfer_method": "sftp"}]),
    # The option -tt forces a terminal, like RequestTTY. Standard input from a terminal has no end.
    "forced terminal": (WITHOUT_PYTHON, [{"ansible_ssh_extra_args": "-tt"}]),
    "no ControlPersist": (
        WITHOUT_PYTHON,
        [{"ansible_ssh_args": "-o ControlMaster=no -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no"}],
    ),
}  # fmt: skip

# The role reports the owner of this key as "unknown", which proves that the role has read the old file.
OLD = "api_key=AAAABBBB-1111-2222-3333444455556666\n"
# Columns: options of the run, status of each host, write requests for each host.
STEPS: list[tuple[list[str], str, list[str]]] = [
    (["--check", "--diff"], "changed", []),
    ([], "changed", ["create_client"]),
    ([], "ok", []),
    (["-e", "monitor_agent_state=absent"], "changed", ["delete_client"]),
]


def files(machine: Path, name: str) -> dict[str, tuple[str, str]]:
    """Return content and mode of all files of a host. Include temporary files of core, without content."""
    own = machine / ROOT / name
    paths = [Path(top, entry) for top, _directories, names in os.walk(own) for entry in names]
    left = {str(path): ("", "") for home in ("root", "home/*") for path in machine.glob(f"{home}/.ansible/tmp/*")}
    facts = {str(path.relative_to(own)): (path.read_text("utf-8"), f"{path.stat().st_mode:o}") for path in paths}
    return {**left, **facts}


def test_each_kind_of_host(controllers: Callable[..., Controller], machines: Callable[..., list[fleet.Host]]) -> None:
    if absent := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.skip(f"{' and '.join(absent)} not installed")
    unpack_rust()
    controller = controllers()
    roots = dict[str, Path]()
    kinds = dict[str, str]()
    controller.group_vars.update(VARIABLES)
    for number, (kind, (prepare, ways)) in enumerate(KINDS.items()):
        (host,) = machines("kind", prepare=prepare)
        for way, variables in enumerate(ways):
            name = f"host-{number}-{way}"
            kinds[name] = f"{kind} {variables}"
            roots[name] = Path(f"/proc/{host.first_process}/root")
            controller.host_vars[name] = {"ansible_host": host.address, "ansible_port": host.port, **variables}
            path = roots[name] / ROOT / name / CONFIG
            path.parent.mkdir(parents=True)
            path.write_text(OLD, encoding="utf-8")
    expected = {name: files(root, name) for name, root in roots.items()}
    codes = dict[str, str]()
    for options, status, calls in STEPS:
        run = controller.run(role_play(controller), *options, ANSIBLE_FORKS="10", ANSIBLE_TIMEOUT="60")
        assert not found_in(run.output, plain_secrets(controller.service))
        statuses = {**run.statuses(INSPECT), **run.statuses()}
        if "create_client" in calls:
            clients = {client["label"]: client for client in controller.service.clients()}
            codes = {label: client["install_code"] for label, client in clients.items()}
            expected = {label: {CONFIG: (text, "100600")} for label, text in texts(clients.values()).items()}
            assert {event.result["key_owner"] for event in run.of(INSPECT).values()} == {"unknown"}
        elif "delete_client" in calls:
            expected = {name: {} for name in roots}
        failures = run.failures()
        for name, root in roots.items():
            done = [call["operation"] for call in run.requests if call["method"] != "GET" and call["label"] == name]
            about = kinds[name], options, failures.get(name)
            assert (statuses.get(name), done) == (status, calls), about
            after = files(root, name)
            assert after.pop(INSTALLED, ("",))[0] == codes.get(name, ""), about
            assert after == expected[name], about


# A connection to a network device, such as ansible.netcommon.network_cli. Core runs its commands on the controller.
_DEVICE = (
    """
from ansible.plugins.connection import NetworkConnectionBase
DOCUMENTATION = """
    + "'''"
    + """
name: device
short_description: A connection without a shell
description: A connection without a shell.
options:
  persistent_command_timeout: {type: int, default: 30, description: Seconds.}
  persistent_connect_timeout: {type: int, default: 30, description: Seconds.}
  persistent_log_messages: {type: boolean, default: false, description: Log.}
"""
    + "'''"
    + """
class Connection(NetworkConnectionBase):
    transport = "device"
    def _connect(self):
        self._connected = True
        return self
"""
)


def test_a_connection_without_a_shell_is_refused_before_a_client_is_made(pair: Local) -> None:
    plugins = pair.directory / "connections"
    plugins.mkdir()
    (plugins / "device.py").write_text(_DEVICE, encoding="utf-8")
    pair.host_vars["web-2"]["ansible_connection"] = "device"
    for options, created in ((["--check"], []), ([], ["web-1"])):
        run = pair.run(ROLLOUT, *options, ANSIBLE_CONNECTION_PLUGINS=str(plugins))
        assert set(run.failures()) == {"web-2"}, run.output
        assert "connection device has no shell" in run.failures()["web-2"]
        assert labels(pair) == created and pair.read("web-2") is None
