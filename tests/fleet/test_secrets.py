# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No token, key or code comes out, at any verbosity, on any way; and errors stay readable."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import certifi
import idna
import pytest
import requests
import urllib3

from ansible_collections.monitor.cloud.tests.fleet.hosts import USER, Host
from ansible_collections.monitor.cloud.tests.fleet.runs import Controller, Run
from ansible_collections.monitor.cloud.tests.fleet.secrets import found_in, secrets_of, watching

LOUD = ("-vvvvv", "--diff")
UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"
OPERATOR_ID = 4242


def loud(controller: Controller, **settings: str) -> dict[str, str]:
    """Settings for a run that logs too, and opens connections of its own: that says most of all."""
    sockets = controller.place / "cp"
    sockets.mkdir(mode=0o700, exist_ok=True)
    log = str(controller.place / "ansible.log")
    return {"ANSIBLE_LOG_PATH": log, "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets), **settings}


def log_of(controller: Controller) -> str:
    log = controller.place / "ansible.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


def assert_silent(controller: Controller, *runs: Run) -> None:
    """Nothing secret in what the runs printed and logged, nor in what the hosts' programs logged."""
    secrets = secrets_of(controller.service, UNKNOWN, UNKNOWN[::-1])
    assert len(secrets) > 8
    for run in runs:
        assert found_in(run.output, secrets) == []
        # What callbacks are given goes to logs and databases.
        assert found_in(json.dumps([dataclasses.asdict(event) for event in run.events]), secrets) == []
    assert found_in(log_of(controller), secrets) == []
    for host in controller.hosts.values():
        assert found_in("\n".join(host.messages), secrets) == []


@pytest.mark.parametrize("pipelining", ["False", "True"])
@pytest.mark.parametrize("user", ["root", USER])
def test_good_runs_over_ssh(controller: Controller, user: str, pipelining: str) -> None:
    controller.group_vars.update(
        ansible_user=user,
        ansible_become=user != "root",
        monitor_agent_install_command='test -n "$MONITOR_INSTALL_CODE" && sleep 0.2',
        monitor_agent_packages=["bash"],
    )
    controller.service.seed(labels=["elsewhere"])
    settings = loud(controller, ANSIBLE_PIPELINING=pipelining)
    places = [controller.place / "ansible"]
    with watching(controller.service, list(controller.hosts.values()), places, [OPERATOR_ID]) as watch:
        check = controller.run("monitor.cloud.rollout", "--check", *LOUD, **settings)
        first = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        text = controller.hosts["web-1"].read() or ""
        elsewhere = next(client for client in controller.service.clients() if client["label"] == "elsewhere")
        controller.hosts["web-2"].write(text)
        controller.hosts["db-1"].write(f"api_key={elsewhere['api_key']}\n", mode="0600")
        controller.hosts["db-2"].write(f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n")
        mended = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        removed = controller.run("monitor.cloud.retire", "-e", "target=web-1", *LOUD, **settings)
    assert [run.code for run in (check, first, mended, removed)] == [0, 0, 0, 0], mended.output[-3000:]
    assert_silent(controller, check, first, mended, removed)
    assert log_of(controller)
    assert any(host.messages for host in controller.hosts.values()), "something was logged on the hosts"
    assert watch.problems == set()
    assert watch.rounds > 20
    assert watch.keys_seen > 0


@pytest.mark.parametrize("pipelining", ["False", "True"])
def test_failing_runs_stay_readable(controller: Controller, pipelining: str) -> None:
    controller.run()
    settings = loud(controller, ANSIBLE_PIPELINING=pipelining)
    controller.hosts["web-1"].run("rm /etc/monitor/agent.conf; mkdir /etc/monitor/agent.conf")
    controller.hosts["web-2"].run("rm -rf /etc/monitor; mkdir /etc/monitor; mount -t tmpfs -o ro tmpfs /etc/monitor")
    controller.host_vars["db-1"] = {"monitor_agent_config_owner": "nobody-of-that-name"}
    controller.host_vars["db-2"] = {"monitor_agent_install_command": 'echo "$MONITOR_INSTALL_CODE" >&2; exit 1'}
    failed = controller.run("monitor.cloud.rollout", *LOUD, **settings)
    words = {
        "web-1": "is a directory",
        "web-2": "can't be written",
        "db-1": "nobody-of-that-name",
        "db-2": "<install_code>",
    }
    assert {name: word in failed.failures().get(name, "") for name, word in words.items()} == dict.fromkeys(words, True)
    rejected = controller.run("monitor.cloud.rollout", *LOUD, MONITOR_API_TOKEN="f" * 64, **settings)
    assert "401" in rejected.output
    controller.service.configure(mask_for="all")
    masked = controller.run("monitor.cloud.rollout", *LOUD, **settings)
    assert "read-write access" in masked.output
    assert "f" * 64 not in rejected.output
    assert_silent(controller, failed, rejected, masked)


COPY = """
- hosts: all
  gather_facts: false
  tasks:
    - monitor.cloud.monitor_clients: {{labels: [web-1], include_keys: true}}
      delegate_to: localhost
      vars: {{ansible_connection: local, ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"}}
      register: registered
      {no_log}
    - monitor.cloud.agent_config:
        path: /etc/monitor/agent.conf
        content: "key={{{{ client.api_key }}}} of {{{{ label }}}}\\n"
        registration: registered
      {no_log}
"""


@pytest.mark.parametrize("no_log", ["", "no_log: true", "no_log: false"])
def test_the_way_by_copy(controller: Controller, no_log: str) -> None:
    for name in list(controller.hosts)[1:]:
        del controller.hosts[name]
    host = controller.hosts["web-1"]
    path = "/etc/monitor/agent.conf"
    host.run(f"mkdir -p /etc/monitor; touch /tmp/inside {path}; chmod 644 {path}; mount --bind /tmp/inside {path}")
    settings = loud(controller)
    with watching(controller.service, [host], [controller.place / "ansible"], []) as watch:
        run = controller.run(controller.play(COPY.format(no_log=no_log)), *LOUD, **settings)
    assert run.code == 0, run.output[-3000:]
    assert "of web-1" in (host.read() or "")
    assert host.facts().startswith("regular file 600")
    assert_silent(controller, run)
    assert watch.problems == set()


MODULES = """
- hosts: all
  gather_facts: false
  environment: {{PYTHONPATH: /opt/agent/python}}
  module_defaults:
    group/monitor.cloud.api: {{base_url: "{{{{ url }}}}", api_token: "{{{{ token }}}}"}}
  tasks:
    - monitor.cloud.monitor_client: {{label: web-1, include_keys: {keys}}}
      register: one
      {no_log}
    - monitor.cloud.monitor_clients: {{labels: [web-1, web-2], include_keys: {keys}}}
      register: many
      {no_log}
    - monitor.cloud.monitor_client_info: {{include_keys: {keys}}}
      register: listed
      {no_log}
    - monitor.cloud.monitor_client: {{id: "99999", include_keys: {keys}}}
      register: failed
      ignore_errors: true
      {no_log}
    - ansible.builtin.assert:
        that:
          - ("api_key" in one.client) == {keys}
          - ("api_key" in many.clients["web-2"]) == {keys}
          - ("api_key" in listed.clients[0]) == {keys}
          - '"99999" in failed.msg'
"""
CONNECTIONS = {
    "ssh": {"ANSIBLE_PIPELINING": "False"},
    "ssh, pipelining": {"ANSIBLE_PIPELINING": "True"},
    "local": {"ANSIBLE_TRANSPORT": "local", "ANSIBLE_PIPELINING": "False"},
    "local, pipelining": {"ANSIBLE_TRANSPORT": "local", "ANSIBLE_PIPELINING": "True"},
}


def bring_requests(host: Host) -> None:
    """Put the library on a host that has no network to fetch it from."""
    host.run("mkdir -p /opt/agent/python")
    for module in (requests, urllib3, idna, certifi):
        package = Path(str(module.__file__)).parent
        pack = ["tar", "-C", str(package.parent), "-c", package.name]
        archive = subprocess.run(pack, capture_output=True, check=True).stdout
        subprocess.run([*host.enter, "tar", "-C", "/opt/agent/python", "-x"], input=archive, check=True)


@pytest.mark.parametrize("connection", CONNECTIONS.values(), ids=CONNECTIONS)
def test_modules_with_and_without_keys_and_no_log(controller: Controller, connection: dict[str, str]) -> None:
    for name in list(controller.hosts)[1:]:
        del controller.hosts[name]
    bring_requests(controller.hosts["web-1"])
    if "ANSIBLE_TRANSPORT" in connection:
        controller.host_vars["web-1"] = {"ansible_python_interpreter": sys.executable}
    variables = controller.place / "variables.yml"
    token = controller.service.tokens["read_write"]
    variables.write_text(f"url: {controller.service.base_url}\ntoken: {token}\n", encoding="utf-8")
    plays = [
        MODULES.format(keys=keys, no_log=no_log)
        for keys in ("true", "false")
        for no_log in ("", "no_log: true", "no_log: false")
    ]
    settings = loud(controller, **connection)
    run = controller.run(controller.play("".join(plays)), *LOUD, "-e", f"@{variables}", **settings)
    assert run.code == 0, run.output[-3000:]
    said = [event.result["msg"] for event in run.events if event.status == "ignored" and "msg" in event.result]
    assert len(said) == 4, "the failure is readable unless its task has no_log"
    assert all("99999" in message for message in said)
    assert_silent(controller, run)


@pytest.mark.parametrize("pipelining", ["False", "True"])
def test_local_connection(controller: Controller, pipelining: str) -> None:
    target = controller.place / "agent.conf"
    controller.hosts.clear()
    controller.host_vars = {"here": {"ansible_connection": "local", "monitor_agent_config_path": str(target)}}
    settings = loud(controller, ANSIBLE_PIPELINING=pipelining)
    with watching(controller.service, [], [controller.place / "ansible", target.parent], []) as watch:
        run = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        target.write_text(f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n", encoding="utf-8")
        again = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        target.unlink()
        target.mkdir()
        failed = controller.run("monitor.cloud.rollout", *LOUD, **settings)
    assert [run.code, again.code, failed.code] == [0, 0, 2], again.output[-3000:]
    assert "is a directory" in failed.failures()["here"]
    assert_silent(controller, run, again, failed)
    assert watch.problems == set()
