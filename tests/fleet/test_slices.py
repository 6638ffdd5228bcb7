# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Job slices at once by the parts of ansible-runner: rollout, audit and report.

Two slices of 12 hosts; four of 500 with SOAK=1. Each job has an inventory with its own hosts only.
Jobs that are killed: tests/faults/test_interruption.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.tools.demo import own_settings
from ansible_collections.monitor.cloud.tests.tools.tree import PATH

PARTS = """ansible-runner transmit "$0" -p "$1" --ident run \\
  | ansible-runner worker --private-data-dir "$0-worker" \\
  | ansible-runner process "$0" --ident run"""
SLICES = short_or_long(2, 4)
SECONDS = short_or_long(300, 3600)


class Job:
    """A playbook that `transmit | worker | process` run, and that is started at once. ``directory`` must be new."""

    def __init__(self, fleet: Local, directory: Path, playbook: str, variables: Mapping[str, Any]) -> None:
        self.artifacts = directory / "artifacts" / "run"
        for path in (directory / "inventory", directory / "env", directory / "project"):
            path.mkdir(parents=True)
        shutil.copy(fleet.inventory(), directory / "inventory" / "hosts.yml")
        address = {"MONITOR_BASE_URL": fleet.service.base_url}
        (directory / "env" / "envvars").write_text(yaml.safe_dump(address), encoding="utf-8")
        # As an automation controller passes artifacts of other jobs.
        (directory / "env" / "extravars").write_text(json.dumps(dict(variables)), encoding="utf-8")
        own = {"ANSIBLE_HOME": str(directory.with_name("home")), "PATH": PATH}
        self._parts = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", PARTS, str(directory), playbook],
            env={**own_settings(directory), **own},
            stdin=subprocess.DEVNULL,
        )

    def finish(self) -> dict[str, Any]:
        """Wait until all parts have succeeded; returns the recap, with what set_stats passes on as artifact_data."""
        assert self._parts.wait(timeout=SECONDS) == 0
        assert (self.artifacts / "status").read_text(encoding="utf-8") == "successful"
        paths = (self.artifacts / "job_events").glob("*.json")
        events = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        (found,) = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
        assert not found["failures"] and not found["dark"]
        return dict(found)


@pytest.fixture
def fleet(tmp_path: Path, emulator: Emulator) -> Local:
    """The token is in a file outside of the directories of the jobs, as the guide advises."""
    controller = Local(tmp_path, emulator, *(f"host-{number:04}" for number in range(short_or_long(24, 2000))))
    token = tmp_path / "monitor-token"
    token.write_text(emulator.tokens["read_write"], encoding="utf-8")
    controller.group_vars["monitor_agent_api_token"] = f"{{{{ lookup('ansible.builtin.file', '{token}') }}}}"
    return controller


def run_slices(
    fleet: Local, name: str, playbook: str, variables: Mapping[int, Mapping[str, Any]]
) -> tuple[list[Job], list[dict[str, Any]]]:
    """Run a playbook on all slices at once; the jobs and their recaps."""
    everything, jobs = fleet.host_vars, []
    for number in range(SLICES):
        fleet.host_vars = {host: everything[host] for host in list(everything)[number::SLICES]}
        jobs.append(Job(fleet, fleet.directory / f"{name}-{number}", playbook, variables.get(number, {})))
    fleet.host_vars = everything
    return jobs, [job.finish() for job in jobs]


def test_rollout_audit_and_report_by_job_slices(fleet: Local) -> None:
    """The first audit is passed on as a file, the others as artifacts."""
    rollouts, _stats = run_slices(fleet, "rollout", ROLLOUT, {})
    hosts = list(fleet.host_vars)
    # No host has two clients, and each has the values of its own.
    assert sorted(client["label"] for client in fleet.service.clients()) == hosts
    assert fleet.files() == texts(fleet.service.clients())

    first = fleet.directory / "first.json"
    names = {number: f"monitor_audit_{number}" for number in range(1, SLICES)}
    given: dict[int, dict[str, str]] = {
        0: {"monitor_agent_audit_json": str(first)},
        **{number: {"monitor_agent_audit_artifact": name} for number, name in names.items()},
    }
    audits, stats = run_slices(fleet, "audit", "monitor.cloud.audit", given)
    artifacts = {name: report for each in stats for name, report in each["artifact_data"].items()}
    assert sorted(artifacts) == sorted(names.values())

    written = fleet.directory / "joined.json"
    joined = {"audits": [str(first)], **artifacts, "audits_variables": "monitor_audit_[0-9]+"}
    joined |= {"monitor_agent_audit_json": str(written), "monitor_agent_audit_fail_on_drift": True}
    ended = Job(fleet, fleet.directory / "joined", "monitor.cloud.report", joined).finish()
    assert len(ended["ok"]) == 1, "a task was run for other hosts than the first"
    report = json.loads(written.read_text(encoding="utf-8"))
    assert [(host["host"], host["state"]) for host in report["hosts"]] == [(host, "ok") for host in hosts]
    assert (report["orphans"], report["notes"]) == ([], [])
    assert [one["hosts"] for one in report["audits"]] == [len(hosts) // SLICES] * SLICES

    # What an automation controller keeps of the jobs, artifacts included, holds neither keys nor the token.
    for job in (*rollouts, *audits):
        kept = "".join(path.read_text(encoding="utf-8") for path in job.artifacts.rglob("*") if path.is_file())
        assert found_in(kept, plain_secrets(fleet.service)) == []
        assert fleet.service.base_url in kept
