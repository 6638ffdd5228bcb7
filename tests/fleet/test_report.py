# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits of four slices of a fleet with every state in it, joined: the report of one run over all of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import STATES
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import EXPECTED, HOSTS, STRANGE, break_all
from ansible_collections.monitor.cloud.tests.support.runs import Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import snapshots
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

SLICES = [HOSTS[first::4] for first in range(4)]
KINDS = ("json", "junit", "html")


def files(name: str) -> list[str]:
    return [part for kind in KINDS for part in ("-e", f"monitor_agent_audit_{kind}={name}.{kind}")]


def audit_slices(fleet: Local, name: str, *, own_hosts_only: bool, **environment: str) -> list[str]:
    """Audit the four slices, each by a controller, which may know no other hosts; the paths of their reports."""
    for number, hosts in enumerate(SLICES):
        directory = fleet.directory / f"slice-{number}"
        directory.mkdir(exist_ok=True)
        one = Local(directory, fleet.service)
        one.host_vars = {host: fleet.host_vars[host] for host in (hosts if own_hosts_only else HOSTS)}
        one.succeed("monitor.cloud.audit", "--limit", ",".join(hosts), *files(name), **environment)
    return [f"slice-{number}/{name}.json" for number in range(len(SLICES))]


def read(fleet: Local, name: str) -> dict[str, Any]:
    return dict(json.loads((fleet.directory / f"{name}.json").read_text(encoding="utf-8")))


def states(fleet: Local, name: str) -> dict[str, list[str]]:
    return {host["host"]: host["states"] for host in read(fleet, name)["hosts"]}


def report(fleet: Local, audits: Any, *options: str, **environment: str) -> Run:
    """Join audits into files of the name joined."""
    given = [] if audits is None else ["-e", json.dumps({"audits": audits})]
    return fleet.run("monitor.cloud.report", *given, *files("joined"), *options, **environment)


def without_times(document: Mapping[str, Any]) -> dict[str, Any]:
    """A report without its time, and without what is in joined ones only."""
    return {name: value for name, value in document.items() if name not in ("generated_at", "audits", "notes")}


@pytest.fixture(scope="module")
def fleet(emulator_process: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Local:
    """The broken fleet, audited by slices, by job slices, and by one run."""
    emulator_process.reset()
    made = Local(tmp_path_factory.mktemp("report"), emulator_process, *HOSTS)
    break_all(made)
    audit_slices(made, "part", own_hosts_only=False)
    audit_slices(made, "job", own_hosts_only=True)
    made.succeed("monitor.cloud.audit", *files("single"))
    assert states(made, "single") == EXPECTED
    return made


@pytest.mark.parametrize(("name", "options"), [("part", ["--check", "--diff"]), ("job", ["-vvv"])])
def test_the_joined_report_is_that_of_one_run(fleet: Local, name: str, options: list[str]) -> None:
    before, single = snapshots(fleet), fleet.run("monitor.cloud.audit", *files("single"))
    run = report(fleet, [f"slice-*/{name}.json"], *options)
    assert run.code == 0, run.output
    # No host is contacted, nothing is changed, and the account is read once.
    assert {event.host for event in run.events} == {run.events[0].host}
    assert not [event for event in run.events if event.status != "ok"]
    assert "ESTABLISH" not in run.output.replace("ESTABLISH LOCAL CONNECTION", "")
    assert run.calls() == ["list_clients", "get_plan", "list_subscriptions"]
    proposed, expected = (each.output.partition("What to do:")[2].partition("\nWritten:")[0] for each in (run, single))
    assert proposed and proposed.replace("joined.", "single.") == expected
    document = read(fleet, "joined")
    assert without_times(document) == without_times(read(fleet, "single"))
    assert document["notes"] == []
    assert [(Path(one["name"]).parts[-2:], one["hosts"]) for one in document["audits"]] == [
        ((f"slice-{number}", f"{name}.json"), 4) for number in range(4)
    ]
    page = (fleet.directory / "joined.html").read_text(encoding="utf-8")
    assert "Joined from 4 audits, made " in page and "Joined from 4 audits, made " in run.output
    everything = run.output + str(run.events) + page + json.dumps(document)
    assert found_in(everything, [*plain_secrets(fleet.service), STRANGE, STRANGE[::-1]]) == []
    assert snapshots(fleet) == before


def test_every_state_is_in_the_fleet() -> None:
    # A service is needed for the others.
    others = {"agent_stopped", "agent_disabled"}
    assert {state for states in EXPECTED.values() for state in states} == set(STATES) - others


def test_a_token_that_may_only_read(fleet: Local) -> None:
    token = fleet.service.tokens["read_only"]
    audits = audit_slices(fleet, "masked", own_hosts_only=True, MONITOR_API_TOKEN=token)
    single = fleet.run("monitor.cloud.audit", "--check", *files("single-masked"), MONITOR_API_TOKEN=token)
    assert (single.code, single.writes()) == (0, []), single.output
    assert "what check mode predicts" not in " ".join(single.output.split())
    assert report(fleet, audits, MONITOR_API_TOKEN=token).code == 0
    assert without_times(read(fleet, "joined")) == without_times(read(fleet, "single-masked"))
    masked = {
        **dict.fromkeys(["clone-1", "clone-2", "web-1"], ["shared_key", "unverifiable"]),
        "strange-1": ["shared_key", "not_registered", "unverifiable"],
        "edited": ["unverifiable"],
        "open": ["unverifiable", "wrong_permissions"],
        "fine": ["unverifiable"],
        "fresh": EXPECTED["fresh"],
    }
    assert masked.items() <= states(fleet, "joined").items()
    # With it, what other audits have found about keys stays.
    assert report(fleet, ["slice-*/part.json"], MONITOR_API_TOKEN=token).code == 0
    assert states(fleet, "joined")["clone-1"] == EXPECTED["clone-1"]


def test_some_hosts_only(fleet: Local) -> None:
    assert report(fleet, ["slice-*/part.json"], "--limit", "web-1,clone-1").code == 0
    assert states(fleet, "joined") == {host: EXPECTED[host] for host in ("clone-1", "web-1")}
    assert read(fleet, "joined")["orphans"] == read(fleet, "single")["orphans"]
    assert read(fleet, "joined")["notes"] == []


def test_reports_in_variables(fleet: Local) -> None:
    """As artifacts of other jobs arrive: in a file of extra variables."""
    documents = [read(fleet, f"slice-{number}/job") for number in range(4)]
    poisoned = fleet.directory / "poisoned"
    for host in documents[0]["hosts"]:
        host["detail"] = host["label"] = f"{{{{ lookup('pipe', 'touch {poisoned}') }}}}"
    given = fleet.directory / "artifacts.json"
    variables = {f"from_{number}": document for number, document in enumerate(documents[:2])}
    paths = {"audits": ["slice-2/job.json", "{{ where }}/job.json"], "where": "slice-3"}
    given.write_text(json.dumps({**variables, **paths}), encoding="utf-8")
    run = report(fleet, None, "-e", f"@{given}", "-e", "audits_variables=from_[0-9]+")
    assert run.code == 0, run.output
    assert without_times(read(fleet, "joined")) == without_times(read(fleet, "single"))
    assert not poisoned.exists()
    names = [one["name"] for one in read(fleet, "joined")["audits"]]
    assert names[:2] == ["The variable from_0", "The variable from_1"] and len(names) == 4


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("report", {"audits": ["slice-0/part.json", "nowhere.json"]}, "/nowhere.json could not be read: No such file or"),
    ("report", {"audits": 7}, "/7 could not be read: No such file or"),
    ("report", {"audits": ""}, "There are no audits to join"),
    ("report", {"audits": ["single.json"], "audits_max_age": "nan"}, "max_age nan is not a number of hours"),
    ("audit", {"artifact": "x", "fail_on_drift": True}, "so artifact cannot be used with fail_on_drift"),
    ("audit", {"artifact": "audit-7"}, "artifact 'audit-7' is not the name of a variable"),
    ("audit", {"html": "{{ inventory_dir }}/never.json"}, "/never.json. Choose a path for each."),
]


@pytest.mark.parametrize(("playbook", "given", "message"), REFUSED)
def test_what_cannot_be_joined_or_written_is_named(
    fleet: Local, playbook: str, given: dict[str, Any], message: str
) -> None:
    """Other audits that cannot be joined are unit tests."""
    prefix = "monitor_agent_audit_" if playbook == "audit" else ""
    variables = {"monitor_agent_audit_json": "never.json", **{prefix + name: value for name, value in given.items()}}
    run = fleet.run(f"monitor.cloud.{playbook}", "-e", json.dumps(variables))
    assert run.code == 2 and message in "".join(run.failures().values()), run.output
    assert "Traceback" not in run.output
    assert not (fleet.directory / "never.json").exists()


def test_the_reports_of_audit_and_report_are_the_same() -> None:
    """The role makes them by two tasks, whose options must not differ but for where findings come from."""
    options = []
    for name in ("audit", "report"):
        tasks = yaml.safe_load((CHECKOUT / "roles/monitor_agent/tasks" / f"{name}.yml").read_text(encoding="utf-8"))
        options.append(set(tasks[-1]["monitor.cloud.audit_report"]))
    assert options[0] - options[1] == {"config"}
    assert options[1] - options[0] == {"audits", "audits_variables", "max_age"}
