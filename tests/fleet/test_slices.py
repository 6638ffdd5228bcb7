# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Four job slices at once by the parts of ansible-runner, two of them killed and run again: rollout, audit, report.

120 hosts; 2,000 with SOAK=1. Each job has an inventory with its own hosts only.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long
from ansible_collections.monitor.cloud.tests.support.runner import Job
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets

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
    return Local(tmp_path, emulator, *(f"host-{number:04}" for number in range(short_or_long(120, 2000))))


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
        return Job(directory, sources[number], playbook, fleet.service.environment(), given).start()

    jobs = [job(number, "", held if number in KILLED else {}) for number in range(SLICES)]
    for number in KILLED:
        jobs[number].kill(EVENTS, SECONDS)
        jobs[number] = job(number, "-again", {})
    return [one.finish(SECONDS) for one in jobs]


def join(fleet: Local, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The joined report, by a job that has the whole inventory."""
    written = fleet.directory / f"{name}.json"
    given = {**variables, "monitor_agent_audit_json": str(written), "monitor_agent_audit_fail_on_drift": True}
    job = Job(fleet.directory / name, fleet.inventory(), "monitor.cloud.report", fleet.service.environment(), given)
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

    # What is kept of the jobs, artifacts included, holds no key.
    keys = sorted(set(plain_secrets(fleet.service)) - set(fleet.service.tokens.values()))
    for job in (*rollouts, *audits):
        assert found_in(job.kept, keys) == []
