# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Four job slices at once by the parts of ansible-runner, two of them killed and run again: rollout, audit, report.

120 hosts; 2,000 with SOAK=1. Each job has an inventory with its own hosts only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, kill_all, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
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
        """Kill the worker with all its processes, once this number of events has come back."""
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


SLICES = 4
KILLED = (1, 3)
# The events of a job that have come back when it is killed; each host has two for each of its tasks.
EVENTS = 20
SECONDS = short_or_long(300, 3600)
# As the role's own, but the last host of a job never gets its file.
HELD = """install_code={{ client.install_code }}
api_key={{ client.api_key }}
{% if inventory_hostname == ansible_play_hosts_all[-1] %}{{ lookup('ansible.builtin.pipe', 'sleep 3600') }}{% endif %}
"""


@pytest.fixture
def fleet(tmp_path: Path, emulator: Emulator) -> Local:
    """The token is in a file outside of the directories of the jobs, as the guide advises."""
    controller = Local(tmp_path, emulator, *(f"host-{number:04}" for number in range(short_or_long(120, 2000))))
    token = tmp_path / "monitor-token"
    token.write_text(emulator.tokens["read_write"], encoding="utf-8")
    controller.group_vars["monitor_agent_api_token"] = f"{{{{ lookup('ansible.builtin.file', '{token}') }}}}"
    return controller


def address(fleet: Local) -> dict[str, str]:
    return {"MONITOR_BASE_URL": fleet.service.base_url}


def inventories(fleet: Local) -> list[Path]:
    """The inventory of each slice."""
    everything, paths = dict(fleet.host_vars), []
    hosts = list(everything)
    for number in range(SLICES):
        fleet.host_vars = {host: everything[host] for host in hosts[number::SLICES]}
        paths.append(fleet.inventory().rename(fleet.directory / f"slice-{number}.yml"))
    fleet.host_vars = everything
    return paths


def run_slices(
    fleet: Local, name: str, playbook: str, variables: Callable[[int], Mapping[str, Any]] = lambda number: {}
) -> list[Job]:
    """Run a playbook on all slices at once; two jobs are killed before their last host is done, and then run again."""
    sources = inventories(fleet)
    template = fleet.directory / "held.j2"
    template.write_text(HELD, encoding="utf-8")
    held = {"monitor_agent_config_template": str(template)}

    def job(number: int, attempt: str, more: Mapping[str, Any]) -> Job:
        directory, given = fleet.directory / f"{name}-{number}{attempt}", {**variables(number), **more}
        return Job(directory, sources[number], playbook, address(fleet), given).start()

    jobs = [job(number, "", held if number in KILLED else {}) for number in range(SLICES)]
    for number in KILLED:
        jobs[number].kill(EVENTS, SECONDS)
        jobs[number] = job(number, "-again", {})
    return [one.finish(SECONDS) for one in jobs]


def join(fleet: Local, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The joined report, by a job that has the whole inventory."""
    written = fleet.directory / f"{name}.json"
    given = {**variables, "monitor_agent_audit_json": str(written), "monitor_agent_audit_fail_on_drift": True}
    job = Job(fleet.directory / name, fleet.inventory(), "monitor.cloud.report", address(fleet), given)
    fleet.service.clear_log()
    ended = job.start().finish(SECONDS)
    assert len(ended.stats["ok"]) == 1, "a task was run for other hosts than the first"
    calls = [request["operation"] for request in fleet.service.requests()]
    assert [call for call in calls if call != "list_clients"] == ["get_plan", "list_subscriptions"]
    return dict(json.loads(written.read_text(encoding="utf-8")))


def test_rollout_audit_and_report_by_job_slices(fleet: Local) -> None:
    rollouts = run_slices(fleet, "rollout", ROLLOUT)
    hosts = list(fleet.host_vars)
    # No host has two clients, and each has the values of its own.
    assert sorted(client["label"] for client in fleet.service.clients()) == hosts
    assert fleet.files() == texts(fleet.service.clients())

    audits = run_slices(
        fleet,
        "audit",
        "monitor.cloud.audit",
        lambda number: {
            "monitor_agent_audit_json": str(fleet.directory / "audits" / f"{number}.json"),
            "monitor_agent_audit_artifact": f"monitor_audit_{number}",
        },
    )
    artifacts = {name: report for job in audits for name, report in job.stats["artifact_data"].items()}
    assert sorted(artifacts) == [f"monitor_audit_{number}" for number in range(SLICES)]

    of_files = join(fleet, "files", {"audits": [str(fleet.directory / "audits" / "*.json")]})
    of_artifacts = join(fleet, "artifacts", {**artifacts, "audits_variables": "monitor_audit_[0-9]+"})
    assert [host["host"] for host in of_files["hosts"]] == hosts
    assert {host["state"] for host in of_files["hosts"]} == {"ok"}
    assert (of_files["orphans"], of_files["notes"]) == ([], [])
    members = ("schema_version", "hosts", "orphans", "account", "notes")
    assert {name: of_artifacts[name] for name in members} == {name: of_files[name] for name in members}
    assert [one["hosts"] for one in of_files["audits"]] == [len(hosts) // SLICES] * SLICES

    # What is kept of the jobs, artifacts included, holds neither keys nor the token.
    for job in (*rollouts, *audits):
        assert found_in(job.kept, plain_secrets(fleet.service)) == []
        assert f'"MONITOR_BASE_URL": "{fleet.service.base_url}"' in (job.artifacts / "command").read_text(
            encoding="utf-8"
        )
