# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fork each run of Ansible from a server process that has imported ansible-core. A run then takes half the time.

Each set of settings has its own server. A server does not import this collection, and reads no playbook or inventory.
"""

import atexit
import contextlib
import functools
import gc
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Names of programs, and their modules in ansible.cli.
PROGRAMS = {"ansible": "adhoc", "ansible-inventory": "inventory", "ansible-playbook": "playbook"}
# Plugins and modules that each run needs. An import before the fork saves a quarter of the time.
_ALL_OF = ("become", "connection", "inventory", "shell")
_PLUGINS = {"cache": ["memory"], "callback": ["default", "junit", "minimal", "oneline", "tree"], "strategy": ["linear"]}
_MODULES = (
    "ansible_collections.ansible.builtin",
    "ansible.plugins.action.normal",
    "ansible.plugins.filter.core",
    "ansible.plugins.test.core",
    "cryptography.hazmat.primitives.ciphers.aead",
    "requests",
)
# Number of servers that stay alive. Each server uses about 80 MB.
_KEPT = 4
_LONGEST_START = 120.0
# Prefixes of variables that Ansible reads during a run, not during the import.
_OF_A_RUN = ("MONITOR_", "FLEET_", "PYTEST_")

Settings = tuple[str, ...]


class ForkServer:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            # With -P or -I, Python ignores modules beside this file. With -I, coverage does not measure the forks.
            [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._requests = self._process.stdin
        self._replies = self._process.stdout
        assert self._reply(_LONGEST_START) == "ready\n", "ansible-core cannot be imported with these settings"

    def run(self, request: Sequence[object], seconds: float) -> int:
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        return int(self._reply(seconds))

    def _reply(self, seconds: float) -> str:
        if not select.select([self._replies], [], [], seconds)[0]:
            self.stop()
            raise AssertionError(f"no reply within {seconds} s")
        return self._replies.readline()

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)
        self._requests.close()
        self._replies.close()


_servers: dict[Settings, ForkServer] = {}


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str], seconds: float) -> tuple[int, str]:
    config = Path(environment["ANSIBLE_CONFIG"]).read_text(encoding="utf-8")
    lasting = {name: value for name, value in environment.items() if not name.startswith(_OF_A_RUN)}
    settings = (config, *(f"{name}={value}" for name, value in sorted(lasting.items())))
    # Move the server to the end of the dictionary. Stop the servers that no run has used for the longest time.
    server = _servers.pop(settings, None) or ForkServer(lasting)
    _servers[settings] = server
    for old in list(_servers)[:-_KEPT]:
        _servers.pop(old).stop()
    output = directory / "output"
    output.write_bytes(b"")
    try:
        code = server.run([command, str(directory), dict(environment), str(output)], seconds)
    except BaseException:
        _servers.pop(settings).stop()
        raise
    return code, output.read_text(encoding="utf-8")


def serve() -> None:
    """Fork a process for each line of standard input, and print the exit code of the process."""
    cli = importlib.import_module("ansible.cli")
    programs = {name: importlib.import_module(f"ansible.cli.{module}") for name, module in PROGRAMS.items()}
    loaders = importlib.import_module("ansible.plugins.loader")
    loaders.init_plugin_loader()
    # Each program calls init_plugin_loader again. A second call would print a warning.
    cli.init_plugin_loader = lambda *_paths: None  # type: ignore[attr-defined]
    for name in _MODULES:
        importlib.import_module(name)
    for kind in _ALL_OF:
        list(getattr(loaders, f"{kind}_loader").all(class_only=True))
    for kind, names in _PLUGINS.items():
        for name in names:
            getattr(loaders, f"{kind}_loader").get(name, class_only=True)
    _compile_collection()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(*json.loads(line))
            programs[os.path.basename(sys.argv[0])].main()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _compile_collection() -> None:
    """Compile the collection before the fork, because the compilation takes a tenth of the time of a run."""
    finder = importlib.import_module("ansible.utils.collection_loader._collection_finder")
    finder.compile = functools.cache(compile)  # type: ignore[attr-defined]
    plugins = Path(__file__).parents[2] / "plugins"
    for path in plugins.rglob("*.py"):
        name = ".".join(("ansible_collections.monitor.cloud.plugins", *path.relative_to(plugins).with_suffix("").parts))
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            spec.loader.get_code(name)  # type: ignore[attr-defined]


def _become(arguments: list[str], directory: str, environment: dict[str, str], output: str) -> None:
    sys.argv = arguments
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    with open(os.devnull, "rb") as nothing, open(output, "ab") as written:
        os.dup2(nothing.fileno(), 0)
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    # All forks share the module archives in a temporary directory. Only the server removes the directory.
    atexit._clear()
    constants = importlib.import_module("ansible.constants")
    packed = os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache")
    os.makedirs(packed, exist_ok=True)
    own = constants.config.get_config_value("DEFAULT_LOCAL_TMP")
    os.symlink(packed, os.path.join(own, "ansiballz_cache"))
    constants.DEFAULT_LOCAL_TMP = own  # type: ignore[attr-defined]


if __name__ == "__main__":
    serve()
