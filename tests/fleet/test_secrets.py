# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import json
from collections.abc import Callable

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import CORE, EXECUTED, WHOLE, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of, watching

LOUD = ("-vvvvv", "--diff")
UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"
OPERATOR_ID = 4242


def loud(controller: Controller, **settings: str) -> dict[str, str]:
    """Return environment variables for a run with a log file, new SSH connections and a new ANSIBLE_HOME."""
    sockets = controller.directory / "cp"
    sockets.mkdir(mode=0o700, exist_ok=True)
    controller.group_vars["ansible_control_path_dir"] = str(sockets)
    own = {"ANSIBLE_LOG_PATH": controller.directory / "log", "ANSIBLE_HOME": controller.directory / "home"}
    return {**{name: str(path) for name, path in own.items()}, **settings}


def assert_silent(controller: Controller, *runs: Run) -> None:
    """Assert that the output, results and log of each run, and the log of each host, contain no secret."""
    secrets = secrets_of(controller.service, UNKNOWN, UNKNOWN[::-1])
    for run in runs:
        assert found_in(run.output, secrets) == []
        assert found_in(json.dumps([dataclasses.asdict(event) for event in run.events]), secrets) == []
    log = controller.directory / "log"
    assert found_in(log.read_text(encoding="utf-8") if log.exists() else "", secrets) == []
    for host in controller.hosts.values():
        assert found_in("\n".join(host.messages), secrets) == []


# Keys reach a host in four ways: with and without pipelining, with and without sudo.
BY_SUDO = {"ansible_user": USER, "ansible_become": True}
WAYS: dict[str, dict[str, object]] = {
    # Packages take longer than all other steps, so only one host has packages.
    "web-1": {"ansible_pipelining": False, **BY_SUDO, "monitor_agent_packages": ["bash"]},
    "web-2": {"ansible_pipelining": False},
    "db-1": {"ansible_pipelining": True, **BY_SUDO},
    "db-2": {"ansible_pipelining": True},
}


def test_good_runs_over_ssh(controller: Controller) -> None:
    controller.group_vars["monitor_agent_install_command"] = 'test -n "$MONITOR_INSTALL_CODE" && sleep 0.2'
    controller.host_vars = WAYS
    controller.service.seed(labels=["elsewhere"])
    settings = loud(controller)
    home = controller.directory / "home"
    hosts = list(controller.hosts.values())
    with watching(controller.service, hosts, [home], [OPERATOR_ID]) as watch:
        check = controller.run("monitor.cloud.rollout", "--check", *LOUD, **settings)
        first = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        text = controller.hosts["web-1"].read() or ""
        elsewhere = next(client for client in controller.service.clients() if client["label"] == "elsewhere")
        controller.hosts["web-2"].write(text)
        controller.hosts["db-1"].write(f"api_key={elsewhere['api_key']}\n", mode="0600")
        controller.hosts["db-2"].write(f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n")
        repaired = controller.run("monitor.cloud.rollout", *LOUD, **settings)
        removed = controller.run("monitor.cloud.retire", "--limit", "web-1", *LOUD, **settings)
    assert [run.code for run in (check, first, repaired, removed)] == [0, 0, 0, 0], repaired.output[-3000:]
    assert_silent(controller, check, first, repaired, removed)
    assert (controller.directory / "log").stat().st_size > 0
    assert any(host.messages for host in controller.hosts.values()), "no host logged a message"
    assert watch.problems == set() and watch.rounds > 20 and watch.keys_seen > 0


def test_a_setting_for_readable_temporary_files_does_not_count(
    controllers: Callable[..., Controller], machines: Callable[..., list[Host]]
) -> None:
    """Core uses ALLOW_WORLD_READABLE_TEMP if the become user is not root and the host has no setfacl."""
    terminal = f"echo 'Defaults:{USER} requiretty' >> etc/sudoers.d/{USER}; rm -f usr/bin/setfacl"
    (host,) = machines("terminal", prepare=terminal)
    controller = controllers(host)
    host.run("mkdir /etc/monitor; chown daemon /etc/monitor")
    controller.group_vars.update(ansible_user=USER, ansible_become=True, ansible_become_user="daemon")
    run = controller.run(ANSIBLE_SHELL_ALLOW_WORLD_READABLE_TEMP="true", ANSIBLE_PIPELINING="false")
    assert "Failed to set permissions" in run.failures()["terminal"], run.output
    assert "Using world-readable permissions" not in run.output
    assert host.run("ls -A /etc/monitor; find /tmp /var/tmp -name 'ansible-tmp-*'") == ""


# Invalid templates (KEY stands for the key), and a part of the expected error.
MISTAKES = {
    "{{ {}[KEY] }}": "<api_key>",
    "{{ lookup(KEY) }}": "<api_key>",
    "{{ ('x' ~ KEY) | from_json }}": "",
    "{{ nothing | mandatory('no value for ' ~ KEY) }}": "no value for <api_key>",
}
MISTAKEN = """
- {monitor.cloud.monitor_clients: {labels: [web-1], seal_keys: true}, register: registered}
- monitor.cloud.agent_config: {path: "{{ playbook_dir }}/x", registration: registered, template: "{{ item }}.j2"}
  loop: [0, 1, 2, 3]
  ignore_errors: true
"""


def test_a_template_that_fails_with_a_key_does_not_show_it(single: Local) -> None:
    for number, text in enumerate(MISTAKES):
        template = f"# {{{{ label }}}}\n{text}\n".replace("KEY", "client.api_key")
        (single.directory / f"{number}.j2").write_text(template, encoding="utf-8")
    settings = loud(single, FLEET_SEEN=str(single.directory / "seen"), ANSIBLE_DISPLAY_TRACEBACK="always")
    run = single.succeed(single.tasks(MISTAKEN), *LOUD, **settings)
    assert_silent(single, run)
    assert found_in((single.directory / "seen").read_text(encoding="utf-8"), secrets_of(single.service)) == []
    results = run.events[-1].result["results"]
    assert all(shown in result["msg"] for shown, result in zip(MISTAKES.values(), results, strict=True))


TOKEN_OF_MINE = """module_defaults: {group/monitor.cloud.api: {api_token: "{{ token_of_mine }}"}}
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}"""
TASKS = """
    - monitor.cloud.monitor_clients: {labels: [web-1], seal_keys: true, api_token: "{{ token_of_mine }}"}
      register: tried
      until: tried.attempts | default(0) > 1
      retries: 2
      delay: 0
    - monitor.cloud.monitor_clients: {labels: [web-1], seal_keys: true, api_token: "{{ token_of_mine }}"}
      vars: BECOMING
      register: tried
      until: tried.attempts | default(0) > 1
      retries: 2
      delay: 0
    - monitor.cloud.monitor_plan: {subscription: none-such}
      ignore_errors: true
    - monitor.cloud.monitor_subscription_info:
      when: token_of_mine == ''
    - monitor.cloud.monitor_client_info: {api_token: "{{ token_of_mine }}", label: "{{ item }}"}
      loop: [web-1, web-2]
    - monitor.cloud.monitor_client_info: {label: "{{ none_such }}"}
      ignore_errors: true
    - monitor.cloud.monitor_client: {label: web-9}
      vars: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}
      ignore_unreachable: true
    - monitor.cloud.monitor_clients: {labels: [web-9], base_url: "{{ lookup('env', 'MONITOR_BASE_URL') }}/nowhere"}
      ignore_errors: true
    - monitor.cloud.agent_config: {path: /nowhere/agent.conf, registration: tried, api_token: "{{ token_of_mine }}"}
      ignore_errors: true
    - monitor.cloud.agent_install: {command: "true", registration: tried, api_token: "{{ token_of_mine }}"}
      ignore_errors: true
    - monitor.cloud.audit_report: {account: tried, config: tried, api_token: "{{ token_of_mine }}"}
      ignore_errors: true
"""


def test_callbacks_see_no_token(single: Local) -> None:
    token = single.service.tokens["read_write"]
    seen = single.directory / "seen"
    single.group_vars.update(monitor_agent_api_token=token, token_of_mine=token)
    tasks = TASKS.replace("BECOMING", json.dumps(single.executing()))
    play = TOKEN_OF_MINE
    environment = ""
    if CORE < (2, 19):
        # Before ansible-core 2.19, callbacks see module_defaults with the token (SECURITY.md).
        play = TOKEN_OF_MINE.partition("\n  ")[2]
        environment = token
    runs = [
        single.succeed(*arguments, *LOUD, MONITOR_API_TOKEN=environment, FLEET_SEEN=str(seen), **WHOLE)
        for arguments in (
            [*(f"monitor.cloud.{name}" for name in ("rollout", "audit", "adopt", "prune")), "-e", "prune_pattern=x.*"],
            ["monitor.cloud.retire", "--limit", "web-1", "-e", "{labels: [web-8]}"],
            [single.tasks(tasks, play=play)],
        )
    ]
    assert {event.status for event in runs[-1].events} >= {"ok", "ignored", "skipped", "unreachable"}
    assert runs[-1].output.count(EXECUTED) == 2
    mistaken = [str(event.result["msg"]) for event in runs[-1].events[-3:]]
    assert all("Unsupported parameters" in text and "api_token" in text for text in mistaken), mistaken
    text = seen.read_text(encoding="utf-8")
    assert "__monitor_agent_account" in text and "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in text and token not in text
    assert_silent(single, *runs)


LOCAL_TASKS = """
- monitor.cloud.monitor_clients: {labels: [web-1], seal_keys: true}
  register: registered
  vars: {ansible_become: false}
- monitor.cloud.agent_config: {path: "{{ monitor_agent_config_path }}", registration: registered, content: "@api_key@"}
- monitor.cloud.agent_install: {command: "true", registration: registered}
"""


@pytest.mark.parametrize("pipelining", ["true", "false"])
def test_programs_of_a_local_connection_do_not_inherit_the_token(single: Local, pipelining: str) -> None:
    """The programs su and sudo -E pass the environment of the controller to the user of become."""
    inherited = single.directory / "inherited"
    program = single.directory / "become"
    single.group_vars.update(single.executing())
    program.write_text(program.read_text().replace("while", f"env >> {inherited}\nwhile"), encoding="utf-8")
    play = single.tasks(LOCAL_TASKS)
    single.succeed(play, ANSIBLE_PIPELINING=pipelining, ANSIBLE_BECOME_ALLOW_SAME_USER="true")
    text = inherited.read_text(encoding="utf-8")
    assert "MONITOR_BASE_URL=" in text and "MONITOR_API_TOKEN" not in text


TASKS_WITH_KEYS = """
    - monitor.cloud.monitor_client: {label: "{{ item }}", include_keys: true}
      loop: [web-8, x]
      register: made
      ignore_errors: true
    - monitor.cloud.monitor_clients: {labels: [web-8, web-9], include_keys: true}
      with_items: [1, 2]
      register: many
    - monitor.cloud.monitor_clients: {labels: [web-8, web-9], include_keys: true}
      register: many
    - monitor.cloud.monitor_client: {label: web-7, include_keys: true}
      no_log: true
    - ansible.builtin.assert: {that: "made.results[0].client.api_key is defined"}
    - {monitor.cloud.monitor_clients: {labels: "{{ many.clients }}"}, ignore_errors: true}
    - {monitor.cloud.monitor_clients: {labels: "{{ many.clients.values() | list }}"}, ignore_errors: true}
    - {monitor.cloud.monitor_client: {label: "{{ many.clients['web-8'] }}"}, ignore_errors: true}
"""


def test_callbacks_see_no_keys(single: Local) -> None:
    """The last tasks pass keys as arguments. Before ansible-core 2.19, a loop with keys is an error."""
    if CORE < (2, 19):
        tasks = TASKS_WITH_KEYS.partition("    - monitor.cloud.monitor_clients")[0].replace("ignore_errors: true", "")
        run = single.run(single.tasks(tasks), *LOUD)
        assert run.code != 0 and "cannot be used in a loop without no_log (before ansible-core 2.19)" in run.output
        assert single.service.requests() == []
        return
    seen = single.directory / "seen"
    run = single.succeed(single.tasks(TASKS_WITH_KEYS), *LOUD, FLEET_SEEN=str(seen))
    assert "The label 'x' has 1 character" in run.output
    assert [event.status for event in run.events[-3:]] == ["ignored"] * 3
    assert '"new"' not in run.output, "core showed the diff of a task with no_log"
    assert found_in(run.output + seen.read_text(encoding="utf-8"), secrets_of(single.service)) == []
