# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run ansible-playbook for the hosts of a test, and return the results."""

import atexit
import collections
import contextlib
import dataclasses
import functools
import json
import operator
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from ansible.release import __version__

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import fork_server
from ansible_collections.monitor.cloud.tests.support.hosts import Host, until

CORE = tuple(int(number) for number in __version__.split(".")[:2])
# Host names that look like templates. Before ansible-core 2.19, core would render such names (SECURITY.md).
TEMPLATES = ("web{{ 7*7 }}", "web{% x %}") if CORE >= (2, 19) else ("web( 7*7 )", "web(% x %)")
ANSIBLE_PLAYBOOK = Path(sys.executable).parent / "ansible-playbook"
CALLBACKS = Path(__file__).parent / "callbacks"
# Two tasks have names with this end: "Write ..." and "Remove ...".
CONFIGURE = "the configuration of the agent"
INSPECT = "Inspect the host"
REGISTER = "Create the clients of hosts that have none"
ROLLOUT = "monitor.cloud.rollout"
# The verbose output contains this line for each module that core executes.
EXECUTED = "Using module file"
PRUNE = "monitor.cloud.prune"
# Variables of an unreachable host: no server listens on port 1.
UNREACHABLE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
# The playbook prune requires this setting.
WHOLE = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"}
_LONGEST = 300.0
_FACTS = operator.attrgetter("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns")
# Hosts with cached facts, by service manager.
_with_facts: dict[str, set[str]] = collections.defaultdict(set)


@functools.cache
def _home() -> Path:
    """Create ANSIBLE_HOME. All controllers share the directory, because a fork server cannot change ANSIBLE_HOME."""
    home = Path(tempfile.mkdtemp(prefix="ansible-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "ansible.cfg").touch()
    return home


@dataclasses.dataclass(frozen=True)
class Event:
    """The result of a task on a host. ``status``: ok, changed, failed, ignored, skipped or unreachable."""

    host: str
    task: str
    status: str
    result: dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Run:
    code: int
    output: str
    events: list[Event]
    requests: list[dict[str, t.Any]]

    def of(self, task: str) -> dict[str, Event]:
        """Return the result of each host for the task whose name ends with ``task``."""
        return {event.host: event for event in self.events if event.task.endswith(task) and event.status != "skipped"}

    def statuses(self, task: str = CONFIGURE) -> dict[str, str]:
        return {host: event.status for host, event in self.of(task).items()}

    def changed_hosts(self, task: str = CONFIGURE) -> set[str]:
        return {host for host, status in self.statuses(task).items() if status == "changed"}

    def failures(self) -> dict[str, str]:
        return {event.host: str(event.result.get("msg")) for event in self.events if event.status == "failed"}

    def calls(self) -> list[str]:
        return [str(request["operation"]) for request in self.requests]

    def writes(self) -> list[str]:
        return [f"{r['operation']} {r['label'] or ''}".strip() for r in self.requests if r["method"] != "GET"]


class Controller:
    def __init__(self, directory: Path, keys: Path, service: Emulator, hosts: Sequence[Host]) -> None:
        self.directory = directory
        self.service = service
        self.hosts = {host.name: host for host in hosts}
        self._keys = keys
        self.host_vars: dict[str, dict[str, t.Any]] = {}
        self.group_vars: dict[str, t.Any] = {"ansible_user": "root", "monitor_agent_service": ""}
        self._facts: dict[str, str] = {}
        # Tests share open SSH connections, which saves a third of the time.
        self._sockets = keys.parent / "cp"
        self._sockets.mkdir(mode=0o700, exist_ok=True)

    def inventory(self) -> Path:
        hosts = {
            name: {
                "ansible_host": host.address,
                "ansible_port": host.port,
                "ansible_python_interpreter": "/usr/bin/python3",
                **self.host_vars.get(name, {}),
            }
            for name, host in self.hosts.items()
        }
        for name, values in self.host_vars.items():
            hosts.setdefault(name, values)
        path = self.directory / "inventory.yml"
        content = {"all": {"hosts": hosts, "vars": self.group_vars}}
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return path

    def with_facts(self, service_manager: str) -> None:
        """Cache the facts that core needs for a restart. Gathering these facts takes 0.4 s for each host and run."""
        directory = _home() / f"facts-{service_manager}"
        self._facts = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(directory)}
        if unknown := sorted(self.hosts.keys() - _with_facts[service_manager]):
            command = [str(ANSIBLE_PLAYBOOK.with_name("ansible")), "-i", str(self.inventory()), ",".join(unknown)]
            facts = f"cacheable=true ansible_pkg_mgr=apt ansible_service_mgr={service_manager}"
            done = self._run([*command, "-m", "set_fact", "-a", facts], {})
            assert done.code == 0, done.output
            _with_facts[service_manager].update(unknown)

    def play(self, text: str) -> str:
        path = self.directory / "play.yml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def tasks(self, text: str, *, play: str = "") -> str:
        """Write a playbook with these tasks, and return its path. ``play`` contains more keywords of the play."""
        head = f"- hosts: all\n  gather_facts: false\n  {play}\n  tasks:\n"
        return self.play(head + textwrap.indent(textwrap.dedent(text), "    "))

    def start(
        self, playbook: str, *options: str, errors: int = subprocess.STDOUT, **environment: str
    ) -> tuple[subprocess.Popen[str], Path]:
        """Start a run in a new process, which a test can kill. Return the process and the path of its results."""
        record = self._next_record()
        none = subprocess.DEVNULL
        pipe = subprocess.PIPE
        settings = {**self.environment(record), **environment}
        command = self._command(playbook, options)
        return subprocess.Popen(
            command, cwd=self.directory, env=settings, stdin=none, stdout=pipe, stderr=errors, text=True
        ), record

    def _command(self, playbook: str, options: Sequence[str]) -> list[str]:
        return [str(ANSIBLE_PLAYBOOK), "-i", str(self.inventory()), playbook, *options]

    def finish(self, process: subprocess.Popen[str], record: Path) -> Run:
        try:
            output = process.communicate(timeout=_LONGEST)[0]
        except subprocess.TimeoutExpired:
            kill_all(record)
            raise AssertionError(f"the run did not end within {_LONGEST} s: {process.communicate()[0]}") from None
        return self._ended(process.returncode, output, record)

    def _ended(self, code: int, output: str, record: Path) -> Run:
        lines = record.read_text(encoding="utf-8").splitlines()
        return Run(code, output, [Event(**json.loads(line)) for line in lines], self.service.requests())

    def run(self, playbook: str = ROLLOUT, *options: str, **environment: str) -> Run:
        """Run a playbook, and return its results and the requests of this run."""
        return self._run(self._command(playbook, options), environment)

    def succeed(self, playbook: str = ROLLOUT, *options: str, **environment: str) -> Run:
        run = self.run(playbook, *options, **environment)
        assert run.code == 0, run.output
        return run

    def shell(self, command: str, **environment: str) -> Run:
        """Run a command line as a user types it. A shell splits the line into words."""
        path = {"PATH": os.environ["PATH"]}
        split = ["sh", "-c", f"printf '%s\\0' {command}"]
        words = subprocess.check_output(split, cwd=self.directory, env=path, stdin=subprocess.DEVNULL, timeout=60)
        program, *arguments = os.fsdecode(words).split("\0")[:-1]
        if "=" in program:
            name, _sign, value = program.partition("=")
            environment = {**environment, name: value}
            program, *arguments = arguments
        return self._run([str(ANSIBLE_PLAYBOOK.with_name(program)), *arguments], environment)

    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> Run:
        self.service.clear_log()
        record = self._next_record()
        settings = {**self.environment(record), **environment}
        return self._ended(*fork_server.run(command, self.directory, settings, _LONGEST), record)

    def _next_record(self) -> Path:
        record = self.directory / f"record-{len(list(self.directory.glob('record-*')))}.jsonl"
        record.touch()
        return record

    def environment(self, record: Path) -> Mapping[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MONITOR_"))}
        shared = _home()
        config = self.directory / "ansible.cfg"
        # A worker writes coverage data after its last result, so core must wait before it kills the worker.
        waits = {"ANSIBLE_WORKER_SHUTDOWN_POLL_COUNT": "600"} if "COVERAGE_RUN" in os.environ else {}
        ssh = "-o ControlMaster=auto -o ControlPersist=120s -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no"
        return {
            **inherited,
            **self.service.environment(),
            **self._facts,
            **waits,
            "ANSIBLE_CONFIG": str(config if config.exists() else shared / "ansible.cfg"),
            "ANSIBLE_HOME": str(shared),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PRIVATE_KEY_FILE": str(self._keys / "client"),
            "ANSIBLE_SSH_ARGS": ssh,
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._sockets),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "record",
            "FLEET_RECORD": str(record),
        }


class Local(Controller):
    """A controller without SSH: each host is a directory of this machine."""

    def __init__(self, directory: Path, service: Emulator, *names: str) -> None:
        super().__init__(directory, _home() / "keys", service, [])
        self.add(*names)

    def add(self, *names: str) -> None:
        for name in names:
            path = str(self.directory / f"host-{len(self.host_vars)}" / "agent.conf")
            self.host_vars[name] = {"ansible_connection": "local", "monitor_agent_config_path": path}

    def executing(self) -> dict[str, t.Any]:
        """Return variables with become, so that core executes modules on the host. The user stays the same."""
        program = self.directory / "become"
        program.write_text('#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return {"ansible_become": True, "ansible_become_exe": str(program)}

    def label(self, host: str) -> str:
        return self.host_vars[host].get("monitor_agent_label") or client_label(host)

    def path(self, host: str) -> Path:
        return Path(self.host_vars[host]["monitor_agent_config_path"])

    def read(self, host: str) -> str | None:
        return self.path(host).read_text(encoding="utf-8") if self.path(host).exists() else None

    def write(self, host: str, text: str | None, mode: int = 0o600) -> None:
        if text is None:
            self.path(host).unlink(missing_ok=True)
            return
        self.path(host).parent.mkdir(parents=True, exist_ok=True)
        self.path(host).write_text(text, encoding="utf-8")
        self.path(host).chmod(mode)

    def monitor(self) -> None:
        """Create clients and configurations of all hosts, as a rollout does."""
        self.service.seed(labels=[self.label(host) for host in self.host_vars])
        for host in self.host_vars:
            self.write(host, self.expected(host))

    def snapshot(self, host: str) -> dict[str, object]:
        return {str(path): _FACTS(path.lstat()) for path in self.path(host).parent.rglob("*")}

    def files(self) -> dict[str, str | None]:
        return {host: self.read(host) for host in self.host_vars}

    def expected(self, host: str) -> str | None:
        """Return the expected file content of a host, or None if the host has no client."""
        return texts(self.service.clients()).get(self.label(host))


def texts(clients: Iterable[Mapping[str, t.Any]]) -> dict[str, str]:
    """Return the default file content of each client, by label."""
    form = "install_code={install_code}\napi_key={api_key}\n"
    return {client["label"]: form.format(**client) for client in clients}


def kill_all(record: Path) -> None:
    """Kill all processes whose environment contains the path of the record."""
    variable = f"FLEET_RECORD={record}\0".encode()

    def killed() -> bool:
        running = [int(path.name) for path in Path("/proc").glob("[0-9]*") if variable in _environment(path)]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not running

    until(killed, "processes of a run cannot be killed", pause=0.005)


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() + b"\0"
    except OSError:
        return b""
