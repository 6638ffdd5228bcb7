# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs of ansible-runner in its three parts, as an automation mesh runs them: each part has files of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.monitor.cloud.tests.support.runs import kill_all
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings

BIN = Path(sys.executable).parent
RUNNER = str(BIN / "ansible-runner")


class Job:
    """A playbook that `transmit | worker | process` run. ``directory`` must be new."""

    def __init__(
        self,
        directory: Path,
        inventory: Path,
        playbook: str,
        environment: Mapping[str, str],
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        self.directory = directory
        self.artifacts = directory / "artifacts" / "run"
        self._worker = directory.with_name(f"{directory.name}-worker")
        self._playbook = playbook
        self._parts: list[subprocess.Popen[bytes]] = []
        self._logs: list[Path] = []
        for path in (directory / "inventory", directory / "env", directory / "project", self._worker):
            path.mkdir(parents=True)
        shutil.copy(inventory, directory / "inventory" / "hosts.yml")
        (directory / "env" / "envvars").write_text(yaml.safe_dump(dict(environment)), encoding="utf-8")
        # As an automation controller passes artifacts of other jobs.
        (directory / "env" / "extravars").write_text(json.dumps(dict(variables or {})), encoding="utf-8")

    def start(self) -> Job:
        """Start the three parts."""
        own = {"ANSIBLE_HOME": str(self.directory.with_name("home")), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        environment = {**own_settings(self.directory), **own}
        source: Any = subprocess.DEVNULL
        for command in (
            [RUNNER, "transmit", str(self.directory), "-p", self._playbook, "--ident", "run"],
            [RUNNER, "worker", "--private-data-dir", str(self._worker)],
            [RUNNER, "process", str(self.directory), "--ident", "run"],
        ):
            log = self.directory / f"{command[1]}.log"
            with log.open("wb") as errors, log.with_suffix(".out").open("wb") as output:
                # The other parts survive when the worker is killed.
                marked = environment if command[1] != "worker" else {**environment, "FLEET_RECORD": str(self.directory)}
                target = output if command[1] == "process" else subprocess.PIPE
                part = subprocess.Popen(command, env=marked, stdin=source, stdout=target, stderr=errors)
            if source is not subprocess.DEVNULL:
                source.close()
            source = part.stdout
            self._parts.append(part)
            self._logs += [log, log.with_suffix(".out")]
        return self

    def finish(self, seconds: float) -> Job:
        """Wait until all parts have succeeded."""
        codes = [part.wait(timeout=seconds) for part in self._parts]
        printed = "\n".join(log.read_text(encoding="utf-8", errors="replace")[-5000:] for log in self._logs)
        assert codes == [0, 0, 0], printed
        assert (self.artifacts / "status").read_text(encoding="utf-8") == "successful", printed
        return self

    def kill(self, events: int, seconds: float) -> None:
        """Kill the worker with all its processes, once so many events have come back."""
        deadline = time.monotonic() + seconds
        while sum(1 for _path in (self.artifacts / "job_events").glob("*.json")) < events:
            assert time.monotonic() < deadline and self._parts[1].poll() is None, "it ended before it could be killed"
            time.sleep(0.02)
        kill_all(self.directory)
        for part in self._parts:
            part.wait(timeout=seconds)

    @property
    def stats(self) -> dict[str, Any]:
        """The recap, with what set_stats passes on as artifact_data."""
        paths = (self.artifacts / "job_events").glob("*.json")
        events = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        (found,) = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
        assert not found["failures"] and not found["dark"]
        return dict(found)

    @property
    def kept(self) -> str:
        """All that an automation controller keeps of the job."""
        return "".join(path.read_text(encoding="utf-8") for path in self.artifacts.rglob("*") if path.is_file())
