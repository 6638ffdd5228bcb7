# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role, its playbooks and the service refuse. The hosts are directories."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, WHOLE, Local
from ansible_collections.monitor.cloud.tests.support.steps import labels, role_play, text_of

_ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
_SAME = {"web-1": {"label": "the-same"}, "web-3": {"label": "the-same"}}
_BOTH = "The hosts web-1 and web-3 have the same label 'the-same'"
_TAKEN = {"web-2": {"label": "web-3"}}
_TAKEN_BY = "The hosts web-2 and web-3 have the same label 'web-3'"
_SHORT = {"web-3": {"label": "ab"}}
_LENGTH = "monitor_agent_label of host web-3: The label 'ab' has 2 characters;"
_FAILING = {"web-3": {"label": "{{ nowhere_set }}"}}
_UNDEFINED = "monitor_agent_label of host web-3: .*nowhere_set.* (is undefined|fails)"
_NO_TEXT = r"The label {} of host web-1 is not text\. Put it in quotes\."
_NO_ACCOUNT = "There is no variable 'monitor_agent_account'"
_ABSENT = "vars: {monitor_agent_state: absent}"
_NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"
# A part of the message, variables of the role that the inventory sets by host, a playbook with options, and for a play
# of the role its keywords. Other invalid labels: tests/unit/plugins/module_utils/_clients/test_fields.py.
REFUSED: list[tuple[str, dict[str, dict[str, Any]], str, dict[str, Any]]] = [
    (_BOTH, _SAME, "play --limit web-1", {}),
    (_TAKEN_BY, _TAKEN, "play --limit web-1,web-2", {"use": "include_role", "role": _NOT_THE_FIRST}),
    (_TAKEN_BY, _TAKEN, "play --limit web-2", {"role": f"ignore_errors: true\n  {_ABSENT}"}),
    (_NO_ACCOUNT, {}, f"play --limit web-2 --start-at-task '*{CONFIGURE}'", {"role": _ABSENT}),
    (_LENGTH, _SHORT, "retire --limit web-3", {}),
    (f".*{_UNDEFINED}", _FAILING, "retire -e labels=web-9", {}),
    # As YAML reads 0123; and a false value.
    (_NO_TEXT.format(83), {"web-1": {"label": 83}}, "rollout --limit web-2", {}),
    (_NO_TEXT.format(False), {"web-1": {"label": False}}, "adopt", {}),
    *(
        (message, {}, command, {})
        for message, command in (
            (
                "4 hosts and labels are more than retire_limit",
                "retire --limit all -e '{labels: [web-9], retire_limit: 3}'",
            ),
            ("Choose hosts by --limit", "retire -e labels="),
            ("^These labels are of hosts in the inventory: web-1, web-2[.] Retire", "retire -e labels=web-2,web-1"),
            ("no --limit", "prune -e prune_pattern=old.* --limit web-1"),
        )
    ),
]


@pytest.mark.parametrize(("message", "variables", "command", "use"), REFUSED, ids=str)
def test_what_is_refused_before_any_call(
    monitored: Local, message: str, variables: dict[str, dict[str, Any]], command: str, use: dict[str, Any]
) -> None:
    for host, own in variables.items():
        monitored.host_vars[host] |= {f"monitor_agent_{name}": value for name, value in own.items()}
    monitored.service.seed(labels=["old-1", "web-9"])
    before = monitored.files()
    name, *options = shlex.split(command)
    playbook = role_play(monitored, **use) if name == "play" else f"monitor.cloud.{name}"
    run = monitored.run(playbook, *options, **WHOLE)
    assert (run.code, run.calls(), len(run.failures()), monitored.files()) == (2, [], 1, before), run.output
    assert re.search(message, run.failures().popitem()[1], re.DOTALL), run.output


_ALL = {"web-1", "web-2", "web-3"}


def test_a_label_that_is_not_the_inventorys_is_refused_by_its_host(three: Local) -> None:
    """A label of the role that is right for one host; and one that is made of variables of another host."""
    of_another = "{{ hostvars['web-1'].inventory_hostname | default('of-web-3') }}"
    for role, of_inventory, failing in (
        ("vars: {monitor_agent_label: web-1}", "", {"web-2", "web-3"}),
        ("", of_another, {"web-3"}),
    ):
        three.host_vars["web-3"]["monitor_agent_label"] = of_inventory
        run = three.run(role_play(three, role=role))
        assert set(run.failures()) == failing, run.output
        assert all("Set monitor_agent_label in the inventory." in reason for reason in run.failures().values())
        assert {*labels(three)} == _ALL - failing == {host for host, text in three.files().items() if text}


def test_a_role_may_run_once_for_a_single_host_only(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    run = monitored.run(role_play(monitored, role=f"run_once: true\n  {_ABSENT}"))
    [message] = run.failures().values()
    assert "can't have run_once, which would leave out all hosts but web-1." in message
    assert (labels(monitored), monitored.files()) == before
    monitored.succeed(role_play(monitored, role="run_once: true"), "--limit", "web-1")


def test_playbooks_run_what_is_once_for_all_hosts_once_with_any_configured_strategy(three: Local) -> None:
    run = three.succeed(ROLLOUT, ANSIBLE_STRATEGY="free")
    assert (run.changed_hosts(), len(run.statuses("Read the account"))) == (_ALL, 1)
    three.succeed("monitor.cloud.retire", "--limit", "all", ANSIBLE_STRATEGY="free")
    assert labels(three) == []


def test_a_label_whose_template_fails_stops_the_run(monitored: Local) -> None:
    """It could be that of another host. The check of the role's variables fails its host before."""
    monitored.host_vars["web-3"]["monitor_agent_label"] = "{{ nowhere_set }}"
    run = monitored.run(role_play(monitored))
    assert (set(run.failures()), run.calls()) == ({"web-1", "web-3"}, []), run.output
    assert re.search(_UNDEFINED, run.failures()["web-1"], re.DOTALL), run.failures()
    # It is no host of this run, which shows that the label is unknown.
    run = monitored.succeed(role_play(monitored), "--limit", "web-1")
    assert "Labels are unknown, because variables of these hosts cannot be read: web-3." in " ".join(run.output.split())


# A device runs commands of its own only.
_DEVICE = """
DOCUMENTATION = "name: {name}\\nshort_description: A device\\noptions: {{}}"
from ansible.plugins.connection.local import Connection as Local
class Connection(Local):
    transport = "{name}"
    def exec_command(self, cmd, in_data=None, sudoable=True):
        return 0, b"Invalid input", b""
"""
_WINDOWS = "this is a Windows host"
# By host: its variables, and the reason.
WITHOUT_SHELL: dict[str, tuple[dict[str, str], str]] = {
    "win-1": ({"ansible_connection": "ansible.builtin.winrm"}, _WINDOWS),
    "win-2": ({"ansible_connection": "ssh", "ansible_shell_type": "powershell"}, _WINDOWS),
    "win-3": ({"ansible_connection": "local", "ansible_shell_type": "{{ 'cmd' }}"}, _WINDOWS),
    **{
        name.replace("_", "-"): ({"ansible_connection": name}, f"this is a network device ({name})")
        for name in ("network_cli", "netconf", "httpapi")
    },
}


def test_hosts_without_a_posix_shell_get_no_client_and_lose_one(emulator: Emulator, tmp_path: Path) -> None:
    """The first host of the inventory is one of them."""
    controller = Local(tmp_path, emulator, *WITHOUT_SHELL, "web-1")
    plugins = controller.directory / "connection_plugins"
    plugins.mkdir()
    for name, (variables, _reason) in WITHOUT_SHELL.items():
        controller.host_vars[name] = {**variables, "monitor_agent_config_path": "C:/agent.conf"}
        kind = variables["ansible_connection"]
        if not name.startswith("win"):
            (plugins / f"{kind}.py").write_text(_DEVICE.format(name=kind), encoding="utf-8")
    play = role_play(controller)
    for options in (["--check"], []):
        run = controller.run(play, *options)
        failures = run.failures()
        assert failures.keys() == WITHOUT_SHELL.keys(), run.output
        assert all(reason in failures[name] for name, (_variables, reason) in WITHOUT_SHELL.items()), failures
        assert run.changed_hosts() == {"web-1"}
    assert labels(controller) == ["web-1"]
    emulator.seed(labels=list(WITHOUT_SHELL))
    run = controller.succeed(role_play(controller, role=_ABSENT))
    assert {run.statuses()[name] for name in WITHOUT_SHELL} == {"ok"} and labels(controller) == []


_DELEGATED = {
    "agent_config": {"registration": "registered", "path": "{{ playbook_dir }}/written", "content": "x"},
    "agent_install": {"registration": "registered", "command": "echo once >> {{ playbook_dir }}/installed"},
}


def test_delegation_is_refused(pair: Local) -> None:
    register: dict[str, Any] = {"monitor.cloud.monitor_clients": {"labels": ["web-1"], "include_keys": True}}
    tasks = [{**register, "register": "registered", "delegate_to": "localhost"}]
    for action, options in _DELEGATED.items():
        for host in ("web-2", "localhost", "web-1"):
            task = {f"monitor.cloud.{action}": options, "delegate_to": host, "ignore_errors": True}
            tasks.append({"name": f"{action} on {host}", **task})
    run = pair.run(pair.tasks(json.dumps(tasks), hosts="web-1"))
    for action in _DELEGATED:
        for host in ("web-2", "localhost"):
            message = run.of(f"{action} on {host}")["web-1"].result["msg"]
            assert f"monitor.cloud.{action} can't be delegated: {host} would get the client of web-1." in message
        assert run.statuses(f"{action} on web-1") == {"web-1": "changed"}
    assert (pair.directory / "installed").read_text(encoding="utf-8") == "once\n"


_ROLE_DELEGATED = """
- delegate_to: web-1
  block: [{ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}}]
"""


def test_delegation_of_the_role_is_refused_before_a_client_is_created(pair: Local) -> None:
    run = pair.run(pair.tasks(_ROLE_DELEGATED))
    assert "web-1 would get the client of web-2" in run.failures()["web-2"]
    assert run.changed_hosts() == {"web-1"}
    assert labels(pair) == ["web-1"] and pair.read("web-2") is None


def test_the_label_of_localhost_is_refused(pair: Local) -> None:
    pair.add("localhost.localdomain")
    pair.host_vars["web-2"]["monitor_agent_label"] = "localhost"
    failures = pair.run().failures()
    assert failures.keys() == {"web-2", "localhost.localdomain"}
    for message in failures.values():
        assert "every machine with this label would share one key. Set monitor_agent_label" in message
    assert labels(pair) == ["web-1"]


_PRUNE = "prune -e prune_pattern=web.* -e prune_confirm=true"
# Options of the inventory, a playbook, settings and the reason.
UNKNOWN_HOSTS = [
    ("-i web-1,", "adopt", {}, "would be taken for clients without a host"),
    # It is refused for the setting, whether or not there are sources that cannot be read.
    ("-i inventory.yml -i broken.yml", _PRUNE, {}, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true"),
    ("-i inventory.yml -i web-1,", _PRUNE, WHOLE, "Use files as inventory, and no --limit"),
]


@pytest.mark.parametrize(("source", "playbook", "settings", "reason"), UNKNOWN_HOSTS)
def test_nothing_is_pruned_nor_adopted_if_clients_of_hosts_may_be_unknown(
    single: Local, source: str, playbook: str, settings: dict[str, str], reason: str
) -> None:
    single.inventory()
    (single.directory / "broken.yml").write_text("all: {hosts: {web-2: ", encoding="utf-8")
    single.service.seed(labels=["web-1", "web-2"])
    single.write("web-1", text_of(single, "web-2"))
    run = single.shell(f"ansible-playbook {source} -c local monitor.cloud.{playbook}", **settings)
    assert reason in run.failures()["web-1"], run.output
    assert run.writes() == []
