# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to hosts and clients: each row of the table of decisions, and what users lost with earlier rules."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, UNREACHABLE, WHOLE, Local, texts
from ansible_collections.monitor.cloud.tests.support.steps import labels, role_play

_STRANGE = "install_code=0123456789ABCDEF\napi_key=00112233-4455-6677-8899AABBCCDDEEFF\n"
_AUDIT = "monitor.cloud.audit"
_RETIRE = "monitor.cloud.retire"


@dataclasses.dataclass
class Case:
    """A host before a run, and what the run does.

    ``carries``: the label whose key the host has; ``?`` is a key of no client. ``error``: a part of the message if the
    host fails. ``client``: whether the account has a client with the host's label after the run. ``key``: the label
    whose key the host has after the run.
    """

    carries: str = ""
    registered: bool = False
    vars: dict[str, Any] = dataclasses.field(default_factory=dict)
    state: str = "ok"
    error: str = ""
    client: bool = True
    key: str = "own"


_ABSENT = {"monitor_agent_state": "absent"}
_REPLACE = {"monitor_agent_replace_key": True}
_SERVICE = {"monitor_agent_service": "no-such-service"}
_BRAND = {"monitor_agent_brand": "other"}
_TWIN = {"monitor_agent_config_path": "twin"}
# A line for each row of the table of decisions. The name of a case is the name of its host.
CASES = {
    "exists-own": Case("exists-own", registered=True, state="shared_key"),
    "exists-none": Case("", registered=True, state="not_configured"),
    "exists-unknown": Case("?", registered=True, state="unknown_key"),
    "exists-other": Case("exists-own", registered=True, state="foreign_key"),
    "missing-none": Case("", state="not_registered"),
    "missing-unknown": Case("?", state="unknown_key"),
    "missing-clone": Case("exists-own", state="foreign_key"),
    "missing-renamed": Case("old-1", state="other_label", error="If the host was renamed", client=False, key="old-1"),
    "missing-replaced": Case("old-2", vars=_REPLACE, state="other_label"),
    "absent-own": Case("absent-own", True, _ABSENT, state="outdated", client=False, key=""),
    "absent-other": Case("old-3", True, _ABSENT, state="foreign_key", client=False, key=""),
    "absent-none": Case("", False, _ABSENT, client=False, key=""),
    "absent-service": Case("", False, {**_ABSENT, "monitor_agent_service": "no-such-service"}, client=False, key=""),
    "label-1": Case("", vars={"monitor_agent_label": "twice"}, error="have the same label 'twice'", key=""),
    "label-2": Case("", vars={"monitor_agent_label": "twice"}, error="have the same label 'twice'", key=""),
    "case-1": Case("", vars={"monitor_agent_label": "Case-A"}, state="not_registered"),
    "case-2": Case("", vars={"monitor_agent_label": "case-a"}, state="not_registered"),
    "twin-1": Case("", vars=_TWIN, state="not_registered"),
    "twin-2": Case("", vars=_TWIN, state="not_registered", error="are the same machine", client=False, key="twin-1"),
    "no-service": Case("", vars=_SERVICE, state="not_registered", error="has no service", client=False, key=""),
    "other-account": Case("", vars=_BRAND, error="uses another account", client=False, key=""),
}


def _controller(emulator: Emulator, directory: Path) -> Local:
    controller = Local(directory, emulator, *CASES)
    for host, case in CASES.items():
        path = controller.path(host)
        controller.host_vars[host] |= case.vars
        if "monitor_agent_config_path" in case.vars:
            controller.host_vars[host]["monitor_agent_config_path"] = str(path.parents[1] / "twin" / path.name)
    registered = [host for host, case in CASES.items() if case.registered]
    controller.service.seed(labels=[*registered, "old-1", "old-2", "old-3"])
    known = {**texts(controller.service.clients()), "?": _STRANGE}
    for host, case in CASES.items():
        if case.carries:
            controller.write(host, known[case.carries])
    return controller


def _owners(controller: Local) -> dict[str, str]:
    """Return the label whose key each host has: ``own``, the label of another client, or an empty text."""
    known = {text: label for label, text in texts(controller.service.clients()).items()}
    owners = {}
    for host in controller.host_vars:
        owner = known.get(controller.read(host) or "", "")
        owners[host] = "own" if owner == controller.label(host) else owner
    return owners


def test_each_row_of_the_table_of_decisions(emulator: Emulator, tmp_path: Path) -> None:
    controller = _controller(emulator, tmp_path)
    audit = controller.succeed(_AUDIT, "-e", "monitor_agent_audit_json=audit.json")
    report = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    states = {entry["host"]: entry["state"] for entry in report["hosts"]}
    expected = {host: case.state for host, case in CASES.items() if not host.startswith(("label", "other"))}
    assert {host: states[host] for host in expected} == expected, audit.output

    before = controller.files(), controller.service.clients()
    check = controller.run(ROLLOUT, "--check")
    assert (controller.files(), controller.service.clients(), check.writes()) == (*before, []), check.output
    run = controller.run(ROLLOUT)
    errors = {host: case.error for host, case in CASES.items() if case.error}
    for outcome in (check, run):
        failures = outcome.failures()
        assert failures.keys() == errors.keys(), outcome.output
        assert {host: text for host, text in errors.items() if text not in failures[host]} == {}
    assert check.changed_hosts() == run.changed_hosts(), check.output

    assert {host: owner for host, owner in _owners(controller).items() if owner != CASES[host].key} == {}
    own = {controller.label(host) for host, case in CASES.items() if case.client and not case.error}
    assert set(labels(controller)) == {*own, "old-1", "old-2", "old-3"}
    again = controller.run(ROLLOUT)
    assert (again.writes(), again.changed_hosts(), again.failures().keys()) == ([], set(), errors.keys()), again.output


def test_a_masked_key_is_kept(monitored: Local) -> None:
    files = monitored.files()
    run = monitored.succeed(MONITOR_API_TOKEN=monitored.service.tokens["read_only"])
    assert (run.changed_hosts(), run.writes(), monitored.files()) == (set(), [], files), run.output


def test_prune_keeps_the_clients_of_hosts_whose_labels_a_play_sets(pair: Local) -> None:
    """The inventory has no labels. The rollout of the users sets the labels in a play."""
    play = role_play(pair, before="set_fact: {monitor_agent_label: '{{ inventory_hostname }}-prod'}")
    pair.succeed(play)
    assert labels(pair) == ["web-1-prod", "web-2-prod"]
    pair.service.seed(labels=["gone-1"])
    prune = (PRUNE, "-e", "prune_confirm=true", "-e", "prune_pattern=.*")
    pair.host_vars["web-2"] |= UNREACHABLE
    run = pair.run(*prune, **WHOLE)
    [message] = {message for message in run.failures().values() if "Nothing was deleted" in message}
    assert "another label: web-1." in message and "were not inspected: web-2" in message and run.writes() == []
    pair.host_vars["web-2"]["ansible_connection"] = "local"
    run = pair.succeed(*prune, **WHOLE)
    assert (labels(pair), run.writes()) == (["web-1-prod", "web-2-prod"], ["delete_client gone-1"])
    audit = pair.succeed(_AUDIT)
    assert "a role or set_fact" in audit.output and "ansible-playbook" not in audit.output, audit.output


def test_labels_that_differ_by_case_are_different_clients(pair: Local) -> None:
    for host, label in (("web-1", "Web-1"), ("web-2", "web-1")):
        pair.host_vars[host]["monitor_agent_label"] = label
    pair.succeed()
    assert labels(pair) == ["Web-1", "web-1"]
    pair.succeed(_RETIRE, "--limit", "web-2")
    assert (labels(pair), bool(pair.read("web-1")), pair.read("web-2")) == (["Web-1"], True, None)


def test_a_fact_does_not_choose_the_hosts_to_retire(pair: Local) -> None:
    pair.monitor()
    pair.service.seed(labels=["old-1"])
    facts = "set_fact: {ansible_limit: all, cacheable: true}"
    import_retire = f"- {{import_playbook: {_RETIRE}}}"
    playbook = pair.play(f"- hosts: web-1\n  gather_facts: false\n  tasks:\n    - {facts}\n{import_retire}\n")
    run = pair.run(playbook, "-e", "labels=old-1")
    assert (run.code, run.writes()) == (2, []), run.output
    assert "that would set variables of the role" in str(run.failures())


def test_a_task_of_the_user_reads_no_variable_of_the_role(pair: Local) -> None:
    """The inventory has variables of the role for one account. A task of the user registers hosts in the other."""
    pair.group_vars |= {"monitor_agent_api_token": "not-the-token-of-the-task", "monitor_agent_label": "of-the-role"}
    tasks = """
    - monitor.cloud.monitor_clients: {labels: [web-1, web-2], seal_keys: true}
      run_once: true
      register: registered
    - monitor.cloud.agent_config:
        path: "{{ monitor_agent_config_path }}"
        content: key=@api_key@
        registration: registered
    """
    pair.succeed(pair.tasks(tasks))
    assert all(text and text.startswith("key=") for text in pair.files().values()), pair.files()


def test_a_label_by_hostvars_gives_no_warning(pair: Local) -> None:
    pair.group_vars["monitor_agent_label"] = "{{ hostvars[inventory_hostname].inventory_hostname }}-x"
    run = pair.succeed(role_play(pair))
    assert labels(pair) == ["web-1-x", "web-2-x"] and "differs from the label" not in run.output, run.output
