# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian machines for tests, with systemd, sshd on loopback, and an agent that reports to the emulator.

A machine is a systemd-nspawn container. Its root directory is an overlay over an image that all machines share.
"""

import contextlib
import fcntl
import functools
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import hosts
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, Host, until
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# If CI=true, a skipped test is a failure, except with this reason, because CI cannot install another kernel.
NO_CONTAINERS = "this machine boots no container"
SERVICE = "monitor-agent"
UNIT = f"/etc/systemd/system/{SERVICE}.service"
# Path of a copy of the unit, because tests remove or mask the unit.
_SAVED = f"/usr/share/{SERVICE}.service"
_IMAGE = CHECKOUT / ".cache" / "machine"
# Modules of Ansible need parts of Python that python3-minimal does not contain.
_PACKAGES = "systemd,systemd-sysv,dbus,openssh-server,python3,python3-apt,python3-debian,sudo"
# The build in memory (/run) takes half the time. The build uses the apt settings of this machine, without hooks.
_BUILD = f"""set -e
rm -rf {{root}}
mount -t tmpfs tmpfs /run
apt-config dump Acquire > /run/apt.conf
mmdebstrap --quiet --mode=root --variant=minbase --include={_PACKAGES} --aptopt=/run/apt.conf \\
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \\
  {{release}} /run/root {{sources}}
rm /run/root/etc/apt/apt.conf.d/99mmdebstrap
cp -a /run/root {{root}}
"""
_LONGEST_BUILD = 500.0
_CONTAINED = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# The agent reads its configuration only at its start, as real agents do.
AGENT = f"""#!/usr/bin/python3
import json, socket, sys, time, urllib.request
with open("{CONFIG}") as file:
    report = dict(line.strip().split("=", 1) for line in file) | {{"host": socket.gethostname()}}
request = urllib.request.Request(sys.argv[1], json.dumps(report).encode(), {{"Content-Type": "application/json"}})
while True:
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except OSError as error:
        print(error, flush=True)
    time.sleep(0.5)
"""
# By default, systemd permits five starts in ten seconds. Tests need more starts, so the unit has no limit.
_UNIT = f"""[Unit]
StartLimitIntervalSec=0
ConditionPathExists={CONFIG}
[Service]
ExecStart=/usr/local/bin/{SERVICE} {{url}}
[Install]
WantedBy=multi-user.target
"""
_SSHD = """Port {port}
ListenAddress {address}
MaxSessions 100
"""
# /run and /tmp are private file systems, because a killed systemd-nspawn leaves files in both directories.
_START = """set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
for group in {groups}; do mkdir -p $group; echo 0 > $group/cgroup.procs; done
mkdir /run/work /run/root /run/upper
mount -t proc proc /proc
mount -t overlay -o lowerdir={image},upperdir=/run/upper,workdir=/run/work overlay /run/root
cd /run/root
{prepare}
cd /
mount -t tmpfs tmpfs /tmp
systemd-nspawn --quiet --register=no --keep-unit --boot --directory=/run/root --machine={name} --console=pipe \\
  --resolv-conf=off --timezone=off --link-journal=no {options}
"""
_PREPARE = f"""cp -a {{files}}/. .
{hosts.USERS}
ln -sf {UNIT} etc/systemd/system/multi-user.target.wants/{SERVICE}.service
"""


class Machine(Host):
    @property
    def enter(self) -> list[str]:
        return ["nsenter", f"--target={self.first_process}", "--mount", "--uts", "--pid", "--root", "--wd=/"]

    @property
    def first_process(self) -> int:
        # systemd is the child of systemd-nspawn.
        return hosts.only_child(hosts.only_child(super().first_process))

    def reset(self) -> None:
        super().reset()
        self.run(
            f"systemctl stop {SERVICE}; rm -rf {UNIT} {UNIT}.d; cp {_SAVED} {UNIT}; systemctl daemon-reload; "
            f"systemctl enable -q {SERVICE}; systemctl reset-failed"
        )

    def state(self) -> str:
        """Return the state of systemd, or an empty string if systemd does not run yet."""
        with contextlib.suppress(IndexError, OSError, subprocess.TimeoutExpired):
            command = [*self.enter, "systemctl", "is-system-running"]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
        return ""

    def wait(self) -> None:
        hosts.wait(self)
        state = self.run("timeout 60 systemctl is-system-running --wait; systemctl --failed --no-legend", check=False)
        assert state == "running\n", f"{self.name}: {state}"

    def stop(self) -> None:
        super().stop()
        for group in _groups(self.address):
            until(functools.partial(_removed, group), f"{group} is busy")


def missing() -> str | None:
    absent = [tool for tool in ("mmdebstrap", "systemd-nspawn") if shutil.which(tool) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


def image() -> Path:
    """Return the root directory of the image. If packages or sources are new, first build the image (1-2 minutes)."""
    # The mode 0700 keeps other users away from the setuid programs of the image.
    _IMAGE.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = _IMAGE / "root"
    made_of = _IMAGE / "made-of"
    with (_IMAGE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [*Path("/etc/apt").glob("sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.*"))]
        sources = [path for path in sources if path.suffix in (".list", ".sources")]
        release = platform.freedesktop_os_release()["VERSION_CODENAME"]
        build = _BUILD.format(root=shlex.quote(str(root)), release=release, sources=shlex.join(map(str, sources)))
        recipe = "\n".join([build, *(path.read_text(encoding="utf-8") for path in sources)])
        if not made_of.exists() or made_of.read_text(encoding="utf-8") != recipe:
            made_of.unlink(missing_ok=True)
            command = [*hosts.KILLED_WITH_TESTS, *_CONTAINED, "--mount-proc", "sh", "-c", build]
            subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=_LONGEST_BUILD)
            made_of.write_text(recipe, encoding="utf-8")
    return root


def cannot_boot(directory: Path) -> str | None:
    """Return the reason why this machine cannot boot a container of the unchanged image, or None."""
    try:
        image()
    except subprocess.SubprocessError as error:
        return f"mmdebstrap cannot build the image: {error}"
    address = hosts.next_address()
    probe = Machine("probe", address, 0, _launch("probe", address, directory, options="--private-network"))
    try:
        until(lambda: probe.process.poll() is not None or probe.state() in ("running", "degraded"), "it does not boot")
        log = (directory / f"machine-{address}.log").read_text(errors="replace").strip().splitlines()
        return None if probe.process.poll() is None else f"{NO_CONTAINERS}: {'; '.join(log[-3:])}"
    except AssertionError as error:
        return f"{NO_CONTAINERS}: {error}"
    finally:
        probe.stop()


@contextlib.contextmanager
def running(names: Sequence[str], directory: Path, keys: Path, service: Emulator) -> Iterator[list[Machine]]:
    """Boot machines in parallel, and stop the machines at the end of the ``with`` statement."""
    machines: list[Machine] = []
    try:
        machines += [_start(name, hosts.next_address(), directory, keys, service) for name in names]
        for machine in machines:
            machine.wait()
        yield machines
    finally:
        for machine in machines:
            machine.stop()


def _start(name: str, address: str, directory: Path, keys: Path, service: Emulator) -> Machine:
    port = hosts.free_port(address)
    files = directory / f"files-{address}"
    _write(files / "etc/ssh/sshd_config.d/tests.conf", _SSHD.format(port=port, address=address))
    _write(files / f"usr/local/bin/{SERVICE}", AGENT, 0o755)
    _write(files / "etc/hostname", f"{name}\n")
    root = service.base_url.rpartition("/")[0]
    for unit in (UNIT, _SAVED):
        _write(files / unit[1:], _UNIT.format(url=f"{root}/_emulator/reports"))
    prepare = _PREPARE.format(files=files, keys=keys)
    return Machine(name, address, port, _launch(name, address, directory, prepare))


def reporting(controller: Controller) -> dict[str, str | None]:
    """Wait for a new report of each machine. Return the client of each report, or None if the key is unknown."""
    controller.service.clear_reports()
    expected = {host.name for host in controller.hosts.values()}
    until(lambda: expected <= controller.service.reports().keys(), f"not all of {expected} report")
    reports = controller.service.reports()
    return {name: reports[name] for name in expected}


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _launch(name: str, address: str, directory: Path, prepare: str = "", options: str = "") -> subprocess.Popen[bytes]:
    groups = " ".join(map(str, _groups(address)))
    script = _START.format(groups=groups, image=image(), prepare=prepare, name=name, options=options)
    return hosts.in_namespaces([*_CONTAINED, "sh", "-c", script], directory / f"machine-{address}.log")


def _groups(address: str) -> list[Path]:
    """Return the control groups of a machine. Remove the control groups of tests that were killed."""
    hierarchies = [Path("/sys/fs/cgroup", name) for name in ("", "unified", "systemd")]
    writable = [path for path in hierarchies if (path / "cgroup.procs").exists()]
    for path in writable:
        for group in path.glob("fleet-*-*"):
            if not Path("/proc", group.name.split("-")[1]).exists():
                _removed(group)
    return [path / f"fleet-{os.getpid()}-{address}" for path in writable]


def _removed(group: Path) -> bool:
    """Try to remove a control group. The removal fails until the processes of the group have ended."""
    command = ["find", str(group), "-depth", "-type", "d", "-delete"]
    return not group.exists() or not subprocess.call(command, stderr=subprocess.DEVNULL, timeout=10)
