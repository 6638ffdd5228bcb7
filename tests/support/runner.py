# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs of ansible-runner in its three parts, as an automation mesh runs them: each part has files of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.monitor.cloud.tests.support.runs import kill_all
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings
from ansible_collections.monitor.cloud.tests.tools.tree import PATH

# The other parts survive when the worker is killed, which alone has the mark.
PARTS = """ansible-runner transmit "$FLEET_JOB" -p "$0" --ident run \\
  | FLEET_RECORD="$FLEET_JOB" ansible-runner worker --private-data-dir "$FLEET_JOB-worker" \\
  | ansible-runner process "$FLEET_JOB" --ident run"""


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
        self._playbook = playbook
        self._log = directory / "log"
        for path in (directory / "inventory", directory / "env", directory / "project"):
            path.mkdir(parents=True)
        shutil.copy(inventory, directory / "inventory" / "hosts.yml")
        (directory / "env" / "envvars").write_text(yaml.safe_dump(dict(environment)), encoding="utf-8")
        # As an automation controller passes artifacts of other jobs.
        (directory / "env" / "extravars").write_text(json.dumps(dict(variables or {})), encoding="utf-8")

    def start(self) -> Job:
        """Start the three parts."""
        own = {"ANSIBLE_HOME": str(self.directory.with_name("home")), "PATH": PATH, "FLEET_JOB": str(self.directory)}
        with self._log.open("wb") as log:
            self._parts = subprocess.Popen(
                ["bash", "-o", "pipefail", "-c", PARTS, self._playbook],
                env={**own_settings(self.directory), **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def finish(self, seconds: float) -> Job:
        """Wait until all parts have succeeded."""
        code = self._parts.wait(timeout=seconds)
        printed = self._log.read_text(encoding="utf-8", errors="replace")[-9000:]
        assert code == 0 and (self.artifacts / "status").read_text(encoding="utf-8") == "successful", printed
        return self

    def kill(self, events: int, seconds: float) -> None:
        """Kill the worker with all its processes, once so many events have come back."""
        deadline = time.monotonic() + seconds
        while sum(1 for _path in (self.artifacts / "job_events").glob("*.json")) < events:
            assert time.monotonic() < deadline and self._parts.poll() is None, "it ended before it could be killed"
            time.sleep(0.02)
        kill_all(self.directory)
        self._parts.wait(timeout=seconds)

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
