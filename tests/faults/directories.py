# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that are a directory each, and runs of ansible-playbook against them: real ones, at a small price."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.monitor.cloud.plugins.module_utils._labels import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.interruption import texts
from ansible_collections.monitor.cloud.tests.fleet.runs import ANSIBLE_PLAYBOOK, CALLBACKS, Event, Run
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings

ROLLOUT = "monitor.cloud.rollout"
_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Recap:
    """What the last lines of a run say of a host."""

    ok: int
    changed: int
    unreachable: int
    failed: int


def recap_of(run: Run) -> dict[str, Recap]:
    """The last lines of a run, by host."""
    return {host: Recap(*map(int, numbers)) for host, *numbers in _RECAP.findall(run.output)}


class Directories:
    """The hosts, as they are and as the inventory has them. ``labels`` has those that the inventory sets."""

    def __init__(self, place: Path, service: Emulator, names: Sequence[str]) -> None:
        self.place = place
        self.service = service
        self.names = list(names)
        self.labels: dict[str, str] = {}
        self._runs = 0

    def label(self, host: str) -> str:
        """The label that a host has by the inventory."""
        return self.labels.get(host) or client_label(host)

    def path(self, host: str) -> Path:
        """Its configuration."""
        return self.place / "hosts" / host / "agent.conf"

    def read(self, host: str) -> str | None:
        """What it carries, None for nothing."""
        path = self.path(host)
        return path.read_text(encoding="utf-8") if path.exists() else None

    def write(self, host: str, text: str | None) -> None:
        """Put something there, or nothing."""
        path = self.path(host)
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)

    def files(self) -> dict[str, str | None]:
        """What all carry."""
        return {host: self.read(host) for host in self.names}

    def right(self, host: str) -> str | None:
        """What the host has to carry: None as long as it has no client."""
        return texts(self.service.clients()).get(self.label(host))

    def run(self, *arguments: str, base_url: str | None = None, **environment: str) -> Run:
        """Run playbooks with these options, one after the other in one process; the log holds the calls of it alone."""
        self._runs += 1
        record = self.place / f"record-{self._runs}.jsonl"
        record.touch()
        self.service.clear_log()
        done = subprocess.run(
            [str(ANSIBLE_PLAYBOOK), "-i", str(self._inventory()), *arguments],
            cwd=self.place,
            env={**self._environment(record), **({"MONITOR_BASE_URL": base_url} if base_url else {}), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        events = [Event(**json.loads(line)) for line in record.read_text(encoding="utf-8").splitlines()]
        record.unlink()
        return Run(done.returncode, done.stdout, events, self.service.requests())

    def _inventory(self) -> Path:
        hosts: dict[str, dict[str, Any]] = {
            host: {"monitor_agent_config_path": str(self.path(host))} for host in self.names
        }
        for host, label in self.labels.items():
            if host in hosts:
                hosts[host]["monitor_agent_label"] = label
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "monitor_agent_service": "",
        }
        path = self.place / "inventory.yml"
        path.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")
        return path

    def _environment(self, record: Path) -> dict[str, str]:
        return {
            **own_settings(self.place),
            **self.service.environment(),
            "ANSIBLE_HOME": str(self.place / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "record",
            "FLEET_RECORD": str(record),
            "PATH": f"{ANSIBLE_PLAYBOOK.parent}{os.pathsep}{os.environ['PATH']}",
        }
