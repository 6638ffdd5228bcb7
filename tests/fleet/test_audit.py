# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import collections
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import STATES
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import EXPECTED, HOSTS, ORPHANS, STRANGE, break_all
from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import snapshots

ROLE = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent, tasks_from: audit, rolespec_validate: false}"
# Other tests have these states: two states need systemd (test_machines.py), one state needs masked keys.
_NOT_HERE = {"restart_pending", "agent_disabled", "unverifiable"}
FORMS = ("json", "junit", "html", "metrics")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Hosts that no test changes. The plan of the account is too small."""
    with Emulator() as service:
        made = Local(tmp_path_factory.mktemp("fleet"), service, *HOSTS)
        break_all(made)
        service.set_plan("monitor-10")
        yield made


def audit(
    controller: Local, *options: str, playbook: str = "monitor.cloud.audit", name: str = "audit", **environment: str
) -> tuple[Run, dict[str, list[str]]]:
    """Run the playbook audit or report. Return the run, and the states by host. ``name``: name of the report files."""
    files = [part for form in FORMS for part in ("-e", f"monitor_agent_audit_{form}={name}.{form}")]
    written = controller.directory / f"{name}.json"
    written.unlink(missing_ok=True)
    run = controller.run(playbook, *files, *options, **environment)
    hosts = read(controller, name)["hosts"] if written.exists() else []
    return run, {host["host"]: host["states"] for host in hosts}


def read(controller: Local, name: str) -> dict[str, Any]:
    return dict(json.loads((controller.directory / f"{name}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def whole(fleet: Local) -> Run:
    before = snapshots(fleet)
    run, states = audit(fleet, "-vvv", name="whole")
    assert (run.code, states, snapshots(fleet)) == (0, EXPECTED, before), run.output
    return run


@pytest.fixture(scope="module")
def slices(fleet: Local) -> list[list[str]]:
    """Audit two slices, and return their hosts. The inventory of the second slice contains no other hosts."""
    made = [list(HOSTS[::2]), list(HOSTS[1::2])]
    for number, hosts in enumerate(made):
        directory = fleet.directory / f"slice-{number}"
        directory.mkdir()
        controller = Local(directory, fleet.service)
        controller.host_vars = {host: fleet.host_vars[host] for host in (hosts if number else HOSTS)}
        # Until ansible-core 2.18, the message about an unreachable host depends on the verbosity, so use -vvv.
        run, states = audit(controller, "-vvv", "-e", "monitor_agent_audit_artifact=slice", "--limit", ",".join(hosts))
        assert states.keys() == {*hosts}
        artifacts = [event.result["ansible_stats"]["data"] for event in run.events if "ansible_stats" in event.result]
        assert artifacts == [{"slice": read(controller, "audit")}]
    return made


def test_every_state_at_once(fleet: Local, whole: Run) -> None:
    # A host runs one task: the role inspects the host. The first host runs more.
    assert whole.calls() == ["list_clients", "get_plan", "list_subscriptions"]
    assert not any(event.status == "changed" for event in whole.events)
    tasks = collections.Counter(event.host for event in whole.events)
    assert len([name for name in EXPECTED if tasks[name] != 1]) == 1
    assert {state for states in EXPECTED.values() for state in states} == {*STATES} - _NOT_HERE

    document = read(fleet, "whole")
    hosts = {host["host"]: host for host in document["hosts"]}
    assert document["orphans"] == [label for label in ORPHANS if label != "old-name"]
    owners = {"clone-1": "web-1", "clone-2": "web-1", "renamed": "old-name", "strange-1": None, "fine": "fine"}
    assert {name: hosts[name]["owner_label"] for name in owners} == owners
    assert (hosts["clone-1"]["shared_with"], hosts["clone-1"]["shared_count"]) == (["clone-2", "web-1"], 2)
    assert hosts["web-1"]["detail"].endswith("so the rollout of clone-1, clone-2 repairs this.")
    assert document["account"]["next_tier"]["id"] == "monitor-40"

    forms = {form: (fleet.directory / f"whole.{form}").read_text(encoding="utf-8") for form in FORMS}
    assert f"for the account at <bdi>{fleet.service.base_url}</bdi>" in forms["html"]
    assert not [host for host in EXPECTED if f'"{host}"' in forms["metrics"]]
    everything = whole.output + str(whole.events) + "".join(forms.values())
    assert found_in(everything, [*plain_secrets(fleet.service), STRANGE, STRANGE[::-1]]) == []


def test_the_joined_report_is_that_of_one_run(fleet: Local, whole: Run, slices: list[list[str]]) -> None:
    """One audit comes from a file, the other from a variable. The variable contains templates, which must not run."""
    before = snapshots(fleet)
    poisoned = fleet.directory / "poisoned"
    given = fleet.directory / "given.json"
    document = read(fleet, "slice-0/audit")
    for host in document["hosts"]:
        host["detail"] = host["label"] = f"{{{{ lookup('pipe', 'touch {poisoned}') }}}}"
    variables = {"of_0": document, "audits_variables": "of_[0-9]", "audits": ["{{ d }}/audit.json"], "d": "slice-1"}
    given.write_text(json.dumps(variables), encoding="utf-8")
    run, _states = audit(fleet, "-e", f"@{given}", "-vvv", playbook="monitor.cloud.report", name="joined")
    assert run.code == 0 and not poisoned.exists(), run.output
    assert {(event.host, event.status) for event in run.events} == {(run.events[0].host, "ok")}
    assert "ESTABLISH" not in run.output.replace("ESTABLISH LOCAL CONNECTION", "")
    assert run.calls() == ["list_clients", "get_plan", "list_subscriptions"]
    proposed, expected = (each.output.partition("What to do:")[2].partition("\nWritten:")[0] for each in (run, whole))
    assert proposed and proposed.replace("joined.", "whole.") == expected
    joined = read(fleet, "joined")
    single = read(fleet, "whole")
    assert {name for name in joined if joined[name] != single.get(name)} == {"generated_at", "audits", "notes"}
    assert joined["notes"] == []
    names = "The variable of_0", f"{fleet.directory}/slice-1/audit.json"
    assert [(part["name"], part["hosts"]) for part in joined["audits"]] == [*zip(names, map(len, slices), strict=True)]
    everything = run.output + str(run.events) + json.dumps(joined)
    assert found_in(everything, [*plain_secrets(fleet.service), STRANGE, STRANGE[::-1]]) == []
    assert snapshots(fleet) == before


def test_hosts_do_not_choose_the_audits_of_a_report(four: Local) -> None:
    """The inventory and a fact cache name an audit. Only extra variables can name an audit."""
    audit(four, name="forged")
    forged = {"audits": ["forged.json"], "audits_variables": "forged_.*", "forged_1": read(four, "forged")}
    four.host_vars["web-1"] |= {**forged, "audits_max_age": 0}
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(four.directory / "cache")}
    facts = json.dumps([{"ansible.builtin.set_fact": {**forged, "cacheable": True}}])
    four.succeed(four.tasks(facts), **cache)
    run = four.run("monitor.cloud.report", **cache)
    assert "There are no audits to join" in str(run.failures()), run.output
    run = four.run("monitor.cloud.report", "-e", "audits_variables=forged_.*", **cache)
    assert "forged_1, which matches audits_variables, is a fact of a host" in str(run.failures()), run.output


def test_with_a_token_that_only_reads(fleet: Local) -> None:
    token = fleet.service.tokens["read_only"]
    run, states = audit(fleet, "--check", MONITOR_API_TOKEN=token)
    assert (run.code, run.writes()) == (0, []), run.output
    masked = {
        **{host: ["shared_key", "unverifiable"] for host in ["clone-1", "clone-2", "web-1"]},
        "strange-1": ["shared_key", "not_registered", "unverifiable"],
        "edited": ["unverifiable"],
        "open": ["unverifiable", "wrong_permissions"],
        "fine": ["unverifiable"],
        "fresh": EXPECTED["fresh"],
    }
    assert masked.items() <= states.items()
    ours = ("-e", "monitor_agent_audit_fail_on_drift=true monitor_agent_audit_orphan_pattern=web.*", "--limit")
    for limit, code in (("fine,edited", 0), ("fine,open", 2)):
        run, _states = audit(fleet, *ours, limit, MONITOR_API_TOKEN=token)
        assert (run.code, run.output.count("Hosts whose keys this token cannot compare: ")) == (code, 1), run.output


def test_some_hosts_only_and_drift_is_a_failure(fleet: Local) -> None:
    drift = "-e", "monitor_agent_audit_fail_on_drift=true"
    run, states = audit(fleet, "--limit", "fine,clone-1", "--check", *drift)
    assert run.code == 2
    assert states == {"clone-1": ["foreign_key"], "fine": ["ok"]}
    assert read(fleet, "audit")["orphans"] == ORPHANS
    assert "1 foreign_key, 4 clients without a host" in "".join(run.failures().values())
    assert "Undecided without the other hosts: 1." in run.output
    assert not re.search(r"monitor.cloud.(rollout|adopt|prune|retire)", run.output.partition("What to do:")[2])

    mine = "-e", "monitor_agent_audit_orphan_pattern=web.*"
    run, states = audit(fleet, "--limit", "fine", *drift, *mine)
    assert (run.code, states) == (0, {"fine": ["ok"]}), run.output


def test_in_batches(fleet: Local) -> None:
    run, states = audit(
        fleet, "-e", "monitor_agent_audit_fail_on_drift=true", playbook=fleet.tasks(ROLE, play="serial: 5")
    )
    assert (run.code, states) == (2, EXPECTED)
    assert run.output.count("\nHOST ") == 1
    assert 'state="ok"} 3\n' in (fleet.directory / "audit.metrics").read_text(encoding="utf-8")


def test_hosts_with_an_invalid_or_undefined_label_are_reported(four: Local) -> None:
    for host, label in {"web-1": "ab", "web-2": 1234, "db-1": "{{ nowhere_set }}"}.items():
        four.host_vars[host]["monitor_agent_label"] = label
    run, found = audit(four)
    assert found == {
        "web-1": ["not_registered", "unverifiable"],
        # These labels are unknown, so the audit does not know whether the account has clients with these labels.
        "web-2": ["unverifiable"],
        "db-1": ["unverifiable"],
        "db-2": ["not_registered", "not_configured"],
    }
    details = {host["host"]: host["detail"] for host in read(four, "audit")["hosts"]}
    assert "has 2 characters" in details["web-1"] and "'nowhere_set' is undefined" in details["db-1"]
    assert run.code == 0, run.output


def test_check_mode_shows_the_cost_of_new_clients(four: Local) -> None:
    four.service.set_plan("monitor-10")
    four.service.seed(labels=["other-1", "other-2"])
    line = "Clients: 2 of 10 that monitor-10 includes, 20 a month; 4 more to register."
    check = four.succeed("monitor.cloud.rollout", "--check")
    assert any(line in text for text in check.output.splitlines()), check.output


def test_a_host_whose_sudo_refuses_the_user_is_reported(one: Controller) -> None:
    """If sudo refuses the user, core raises an exception, and removes the host from the play."""
    one.group_vars.update(ansible_user=USER, ansible_become=True, ansible_become_exe="/opt/agent-sudo")
    one.hosts["web-1"].write(
        "#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n", "/opt/agent-sudo", mode="755"
    )
    run = one.succeed("monitor.cloud.audit")
    assert "Hosts: 1 (1 not_registered)." in run.output
    assert "Could not be inspected: Missing sudo password." in " ".join(run.output.split())


def test_labels_that_a_play_sets(four: Local) -> None:
    """The packaged playbook audit does not know variables of plays. An audit in the same play knows these variables."""
    label = "- ansible.builtin.set_fact: {monitor_agent_label: '{{ inventory_hostname }}-prod'}\n"
    role = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
    four.succeed(four.tasks(label + role))
    _run, states = audit(four, playbook=four.tasks(label + ROLE))
    assert states == {host: ["ok"] for host in four.host_vars}
    run, states = audit(four)
    assert states == {host: ["other_label"] for host in four.host_vars}
    assert read(four, "audit")["orphans"] == []
    above, steps = " ".join(run.output.split()).split("What to do:")
    assert above.count("If a play, a role or set_fact sets monitor_agent_label") == 1
    assert "ansible-playbook" not in steps
