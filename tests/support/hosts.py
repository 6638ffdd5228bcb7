# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Test hosts: each host has an `sshd` on loopback, and namespaces for mounts and processes. Test hosts need root.

The root directory of a host is an overlay in memory, so tests can write /etc/monitor/agent.conf.
"""

import contextlib
import dataclasses
import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SSHD = "/usr/sbin/sshd"
USER = "operator"
CONFIG = "/etc/monitor/agent.conf"
HOST_FILE = ".host-of-the-tests"

# Root and the operator can log in. The operator can use sudo.
USERS = f"""mkdir -p root/.ssh home/{USER}/.ssh etc/sudoers.d
cp {{keys}}/client.pub root/.ssh/authorized_keys; cp {{keys}}/client.pub home/{USER}/.ssh/authorized_keys
grep -q '^{USER}:' etc/passwd || echo '{USER}:x:4242:4242::/home/{USER}:/bin/sh' >> etc/passwd
grep -q '^{USER}:' etc/shadow || echo '{USER}:*:19000:0:99999:7:::' >> etc/shadow
grep -q '^{USER}:' etc/group || echo '{USER}:x:4242:' >> etc/group
chown -R 4242:4242 home/{USER}
echo '{USER} ALL=(ALL) NOPASSWD: ALL' > etc/sudoers.d/{USER}; chmod 440 etc/sudoers.d/{USER}
touch {HOST_FILE}"""
# The script removes package lists, because tasks need seconds to read the lists.
_START = """set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs {fs}
mkdir {fs}/upper {fs}/work {fs}/root
mount -t overlay -o lowerdir=/,upperdir={fs}/upper,workdir={fs}/work overlay {fs}/root
cd {fs}/root
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/pts; mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts; ln -s pts/ptmx dev/ptmx
touch dev/log; mount --bind {syslog} dev/log
mount -t tmpfs -o mode=1777 tmpfs tmp; mount -t tmpfs -o mode=1777 tmpfs var/tmp
mount -t tmpfs -o mode=755 tmpfs run; mkdir -p run/sshd; cp {keys}/host run/host_key
mount -t tmpfs -o mode=700 tmpfs root
mount -t tmpfs -o mode=755 tmpfs home
{users}
rm -rf etc/monitor var/lib/apt/lists/*
{prepare}
exec chroot . {sshd} -D -e -f /dev/null -h /run/host_key -p {port} -o ListenAddress={address} -o PidFile=none \\
  -o UsePAM=no -o PasswordAuthentication=no -o StrictModes=no -o PermitRootLogin=yes -o MaxSessions=100 \\
  -o Subsystem="sftp ${{sftp:-internal-sftp}}"
"""
_numbers = itertools.count(1)
KILLED_WITH_TESTS = ("setpriv", "--pdeathsig", "KILL")
WITHOUT_PYTHON = "rm -f usr/bin/python* usr/local/bin/python*"


@dataclasses.dataclass
class Host:
    """A running host. ``log`` is the syslog socket of its programs."""

    name: str
    address: str
    port: int
    process: subprocess.Popen[bytes]
    log: socket.socket | None = None
    messages: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        # A program on the host blocks until the test reads its syslog message.
        if self.log:
            threading.Thread(target=self._listen, args=[self.log], daemon=True).start()

    def _listen(self, log: socket.socket) -> None:
        while True:
            try:
                self.messages.append(log.recv(65536).decode(errors="replace"))
            except OSError:
                return

    def run(self, command: str, *, check: bool = True, data: str = "") -> str:
        """Run a shell command on the host without ssh, and return its output."""
        # If the host did not start, the command would change files of this machine, so check for HOST_FILE.
        guarded = f"[ -e /{HOST_FILE} ] || exit 97\n{command}"
        enter = [*self.enter, "sh", "-c", guarded]
        done = subprocess.run(enter, input=data, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode != 97, f"{self.name} is not up"
        assert done.returncode == 0 or not check, f"{self.name}: {command}: {done.stderr}"
        return done.stdout

    @property
    def enter(self) -> list[str]:
        return ["nsenter", f"--target={self.first_process}", "--mount", "--pid", "--root", "--wd=/"]

    @property
    def first_process(self) -> int:
        """Return the process id, on this machine, of the first process of the host."""
        return only_child(self.process.pid)

    def read(self, path: str = CONFIG) -> str | None:
        return self.run(f"[ ! -e '{path}' ] || {{ echo; cat '{path}'; }}")[1:] or None

    def write(self, text: str, path: str = CONFIG, mode: str = "0600") -> None:
        # Other users can see command lines, so the text, which can contain a key, is standard input.
        self.run(f"mkdir -p $(dirname '{path}'); (umask 077; cat > '{path}'); chmod {mode} '{path}'", data=text)

    def facts(self, path: str = CONFIG) -> str:
        return self.run(f"stat -c '%F %a %U %G' '{path}'", check=False).strip()

    def reset(self) -> None:
        self.run(
            "umount /etc/monitor/agent.conf /etc/monitor 2>/dev/null; "
            "rm -rf /etc/monitor /opt/agent* /tmp/* /etc/init.d/monitor-agent /usr/local/sbin/* "
            "/root/.ansible /home/*/.ansible"
        )
        self.messages.clear()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=60)
        if self.log:
            self.log.close()


def only_child(process: int) -> int:
    return int(Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()[0])


def in_namespaces(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program that stops when the tests stop, even if the tests are killed."""
    with log.open("wb") as output:
        return subprocess.Popen([*KILLED_WITH_TESTS, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def missing() -> str | None:
    if os.geteuid() != 0:
        return "hosts with file systems of their own need root"
    absent = [tool for tool in (SSHD, "ssh", "sudo", "unshare", "nsenter") if shutil.which(tool) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


def make_keys(directory: Path) -> Path:
    keys = directory / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "client"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=60)
    return keys


def next_address() -> str:
    """Return a loopback address that no other test process uses, even a process in another container."""
    process = os.getpid()
    return f"127.{128 + process // 256 % 128}.{process % 256}.{next(_numbers)}"


def start(names: Sequence[str], directory: Path, keys: Path, prepare: str = "") -> list[Host]:
    """Start hosts in parallel, and wait until all hosts accept connections."""
    hosts = [_start(name, next_address(), directory, keys, prepare) for name in names]
    for host in hosts:
        wait(host)
    return hosts


def _start(name: str, address: str, directory: Path, keys: Path, prepare: str) -> Host:
    own = directory / f"host-{address}"
    port = free_port(address)
    fs = own / "fs"
    syslog = own / "log"
    users = USERS.format(keys=keys)
    fs.mkdir(parents=True)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(str(syslog))
    syslog.chmod(0o666)
    script = _START.format(
        fs=fs, syslog=syslog, keys=keys, users=users, prepare=prepare, sshd=SSHD, port=port, address=address
    )
    contained = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    return Host(name, address, port, in_namespaces(contained, own / "sshd.log"), log)


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], object], problem: str, seconds: float = 120.0, pause: float = 0.05) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"after {seconds} s: {problem}"
        time.sleep(pause)


def wait(host: Host) -> None:
    def connects() -> bool:
        assert host.process.poll() is None, f"{host.name} ended: see its log"
        with contextlib.suppress(OSError), socket.create_connection((host.address, host.port), timeout=1):
            return True
        return False

    until(connects, f"{host.name} does not accept connections at {host.address}:{host.port}")
