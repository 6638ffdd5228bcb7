# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import json
import sys
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import EXECUTED, REGISTER, Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of

# The name of each task that fails is a part of the expected error.
TASKS = """
- {name: create, monitor.cloud.monitor_clients: {labels: [web-1, "{{ 'web' }}-9", "{{ item | default('12345') }}"]}}
- {name: template in a label, monitor.cloud.monitor_clients: {labels: ["{{ hostile }}"]}}
- {name: one, monitor.cloud.monitor_client: {label: web-1}}
- {name: predicted client without an id, monitor.cloud.monitor_client: {id: "", label: web-9}}
- {name: warning, monitor.cloud.monitor_clients: {labels: [web-8], api_token: "{{ no_plan }}"}}
- {name: Unsupported parameters, monitor.cloud.monitor_clients: {labels: [], nonsense: 1}}
- {name: base_url, monitor.cloud.monitor_client_info: {base_url: nowhere}}
- name: "401"
  monitor.cloud.monitor_client_info:
  environment: {MONITOR_API_TOKEN: "{{ no_token }}"}
  register: tried
  until: tried is success
  retries: 1  # The retry uses the same environment.
  delay: 0
- {name: expanded path, monitor.cloud.monitor_client_info: {ca_path: $BASE/ca}, environment: {BASE: /nowhere}}
- name: "value of state must be one of: present, absent, got: gone"
  monitor.cloud.monitor_clients: {labels: [], state: gone}
- {name: "missing required arguments: labels", monitor.cloud.monitor_clients: {}}
- {name: "(monitor.cloud.monitor_client) module: token.", monitor.cloud.monitor_client: {id: 1, token: "{{ token }}"}}
"""
# These plugins are only actions, so core executes no module.
ACTIONS = """
- {name: "(monitor.cloud.agent_config) module: token.", monitor.cloud.agent_config: {label: x, token: "{{ token }}"}}
- name: "(monitor.cloud.audit_report) module: label, token."
  monitor.cloud.audit_report: {label: x, token: "{{ token }}"}
"""
TOKEN = "5d1f0c7a9b3e" * 4
REGISTERED = """
    - ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}
    - ansible.builtin.debug: {var: hostvars}
      run_once: true
    - monitor.cloud.monitor_client_info: {seal_keys: true}
      register: mine
    - ansible.builtin.copy:
        content: "{{ {'kept': mine, 'account': __monitor_agent_account} | to_json }}"
        dest: "{{ playbook_dir }}/kept.json"
        mode: "0600"
      vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
      run_once: true
"""


def results(single: Local) -> tuple[Run, dict[str, Any]]:
    """Return the run, and the status and result of each task, without members that differ in each run."""
    single.group_vars.update(no_plan=single.service.tokens["no_plan"], no_token="0" * 64, token=TOKEN)
    play = "ignore_errors: true\n  vars: {hostile: !unsafe '{{ 7 * 7 }}'}"
    run = single.succeed(single.tasks(TASKS + ACTIONS, play=play), "--check", "--diff", "-vvv")
    ignored = ("deprecations", "exception", "warnings", "failed_when_result", "invocation")
    return run, {
        event.task: (event.status, {name: value for name, value in event.result.items() if name not in ignored})
        for event in run.events
    }


def test_the_results_are_those_of_an_executed_module(single: Local) -> None:
    single.service.seed(labels=["web-1", "web-2", "{{ 7 * 7 }}"])
    single.host_vars["web-1"]["ansible_python_interpreter"] = sys.executable
    here, results_here = results(single)
    single.host_vars["web-1"] |= single.executing()
    elsewhere, results_elsewhere = results(single)
    assert EXECUTED not in here.output
    assert elsewhere.output.count(EXECUTED) == TASKS.count("name: ") + TASKS.count("retries: ")
    assert len(results_here) == TASKS.count("name: ") + ACTIONS.count("name: ")
    differing = {name for name, result in results_here.items() if result != results_elsewhere[name]}
    assert differing == set(), [(results_here[name], results_elsewhere[name]) for name in differing]
    failed = {name: result["msg"] for name, (status, result) in results_here.items() if status == "ignored"}
    assert len(failed) == 8
    assert [name for name, message in failed.items() if name not in message] == []
    assert "49" not in results_here["template in a label"][1]["clients"]
    assert here.output.count("Could not check") == elsewhere.output.count("Could not check") > 0
    assert found_in(here.output + str(here.events), secrets_of(single.service, TOKEN)) == []
    # Core prints the arguments of a module that it executes, so the output contains TOKEN from a misspelt option.
    assert found_in(elsewhere.output + str(elsewhere.events), secrets_of(single.service)) == []


def test_unreadable_output_with_keys_is_not_shown(single: Local) -> None:
    single.service.seed(labels=["web-1", "web-2", "web-3"])
    broken = single.directory / "python"
    broken.write_text('#!/bin/sh\npython3 "$@" | head -c 900\nexit 1\n', encoding="utf-8")
    broken.chmod(0o755)
    single.host_vars["web-1"] |= {**single.executing(), "ansible_python_interpreter": str(broken)}
    run = single.run(single.tasks("- monitor.cloud.monitor_client_info: {include_keys: true}"), "-vvv")
    assert "web-1" in run.failures()
    assert found_in(run.output + str(run.events), secrets_of(single.service)) == []


_OTHERS = "ansible_connection=ssh ansible_become=true ansible_python_interpreter=/nowhere/python"
# Columns by extra variables: label, host and keywords of a task, whether core executes the module.
WHERE: dict[str, dict[str, tuple[str, dict[str, Any], bool]]] = {
    "": {
        "local": ("web-1", {}, False),
        "delegated": ("web-2", {"delegate_to": "localhost"}, False),
        "become": ("web-2", {}, True),
        "become: false": ("web-2", {"become": False, "vars": {"ansible_become": False}}, False),
        "background": ("web-1", {"async": 20, "poll": 1}, True),
    },
    _OTHERS: {
        "delegated": ("web-1", {"delegate_to": "localhost"}, False),
        "address": ("web-1", {"delegate_to": "127.0.0.1"}, False),
    },
}


@pytest.mark.parametrize("extra", WHERE)
def test_where_a_module_runs(pair: Local, extra: str) -> None:
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    pair.host_vars["web-2"] |= pair.executing()
    plays = []
    for label, (host, keywords, _executed) in WHERE[extra].items():
        task = {"name": label, "monitor.cloud.monitor_clients": {"labels": [label]}, **keywords}
        plays.append({"hosts": host, "gather_facts": False, "tasks": [task]})
    run = pair.succeed(pair.play(json.dumps(plays)), "-vvv", "-e", f"x=x {extra}")
    assert run.writes() == [f"create_client {label}" for label in WHERE[extra]]
    shown = dict(part.split("]", 1) for part in run.output.split("\nTASK [")[1:])
    executed = {label: EXECUTED in shown[label] for label in WHERE[extra]}
    assert executed == {label: expected for label, (_host, _keywords, expected) in WHERE[extra].items()}


def test_no_key_is_in_variables_caches_and_callbacks(pair: Local) -> None:
    pair.group_vars.update(monitor_agent_install_command="true")
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(pair.directory / "cache")}
    log = str(pair.directory / "log")
    run = pair.succeed(pair.tasks(REGISTERED), "-vvvvv", "--diff", ANSIBLE_LOG_PATH=log, **cache)
    secrets = secrets_of(pair.service)
    assert found_in(run.output, secrets) == []
    assert found_in(json.dumps([dataclasses.asdict(event) for event in run.events]), secrets) == []
    configured = [pair.path(host) for host in pair.host_vars]
    files = [path for path in pair.directory.rglob("*") if path.is_file() and path not in configured]
    assert {"log", "kept.json"} <= {path.name for path in files}
    found = {path: found_in(path.read_text("utf-8", "replace"), secrets) for path in files}
    assert found == {path: [] for path in files}
    result = run.of(REGISTER)["web-1"].result
    assert result["diff"]["after"] == {"web-1": "new", "web-2": "new"}
    assert result["clients"]["web-1"]["key_fingerprint"] in run.output
    for client in pair.service.clients():
        assert client["api_key"] in (pair.read(client["label"]) or "")


def test_the_timeout_of_a_task_ends_its_requests(single: Local) -> None:
    single.service.configure(rate_limit=10, rate_window=25)
    labels = "{{ range(100) | map('regex_replace', '^', 'label-') | list }}"
    run = single.run(single.tasks(f'- monitor.cloud.monitor_clients: {{labels: "{labels}"}}\n  timeout: 3\n'))
    assert (run.code, len(single.service.clients())) == (2, 10)
