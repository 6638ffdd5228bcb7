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
from ansible_collections.monitor.cloud.tests.support.steps import labels, refuse, role_play, text_of

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
_LATE = "retire_check"
_GONE = "retire -e 'target=web-2 labels=web-9 retire_limit=1' --start-at-task"
_LIMIT = "Choose hosts by --limit instead of -e target"
# A part of the message, variables of the role that the inventory sets by host, a playbook with options, and for a play
# of the role its keywords. Other invalid labels: tests/unit/plugins/module_utils/_clients/test_fields.py.
REFUSED: list[tuple[str, dict[str, dict[str, Any]], str, dict[str, Any]]] = [
    (_BOTH, _SAME, "play", {}),
    (_BOTH, _SAME, "play --limit web-1", {}),
    (_TAKEN_BY, _TAKEN, "play --limit web-1,web-2", {"use": "include_role", "role": _NOT_THE_FIRST}),
    (_TAKEN_BY, _TAKEN, "play --limit web-2", {"role": f"ignore_errors: true\n  {_ABSENT}"}),
    (_NO_ACCOUNT, {}, f"play --limit web-2 --start-at-task '*{CONFIGURE}'", {"role": _ABSENT}),
    (_LENGTH, _SHORT, "retire -e target=web-3", {}),
    (f".*{_UNDEFINED}", _FAILING, "prune -e prune_pattern=.*", {}),
    (f".*{_UNDEFINED}", _FAILING, "retire -e labels=web-9", {}),
    # As YAML reads 0123; and a false value.
    (_NO_TEXT.format(83), {"web-1": {"label": 83}}, "rollout --limit web-2", {}),
    (_NO_TEXT.format(False), {"web-1": {"label": False}}, "adopt", {}),
    *(
        (f".*{message}", {}, command, {})
        for message, command in (
            ("retire 4 clients", "retire -e 'target=all retire_limit=3' -e '{labels: [web-9]}'"),
            ("Choose what to retire", "retire -e target= -e labels="),
            ("The label 'x' has 1 character", "retire -e 'target=web-1 labels=web-9,x'"),
            ("those of web-1, web-2, whose .* Retire hosts by -e target=PATTERN", "retire -e labels=web-2,web-1"),
            ("monitor_agent_state is not absent", "retire -e 'target=web-1 monitor_agent_state=present'"),
            (_LATE, f"{_GONE} '{CONFIGURE}'"),
            (_LATE, f"{_GONE} 'Remove the clients of hosts that are gone'"),
            *((_LIMIT, f"{playbook} -e target=web-1") for playbook in ("rollout", "audit", "adopt")),
            ("Run prune without --limit", "prune -e prune_pattern=old.* --limit web-1"),
            ("-e prune_pattern=", "prune -e prune_pattern="),
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
    name, *options = shlex.split(command)
    playbook = role_play(monitored, **use) if name == "play" else f"monitor.cloud.{name}"
    found = refuse(monitored, playbook, *options, environment=WHOLE)
    assert re.search(message, found, re.DOTALL), found


# Keywords of the play, or of the role; labels of the inventory; the hosts that fail.
_OWN_LABEL = "vars: {monitor_agent_label: '{{ inventory_hostname }}-x'}"
_ALL = {"web-1", "web-2", "web-3"}
LABELS: dict[str, tuple[dict[str, Any], dict[str, str], set[str]]] = {
    "role": ({"role": _OWN_LABEL}, {}, _ALL),
    "role, a host of others": ({"role": "vars: {monitor_agent_label: web-1}"}, {}, {"web-2", "web-3"}),
    "another than the inventory's": ({"play": "vars: {monitor_agent_label: ''}"}, {"web-2": "database"}, {"web-2"}),
    "of hostvars": ({}, {"web-3": "{{ hostvars['web-1'].inventory_hostname | default('of-web-3') }}"}, {"web-3"}),
}


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_is_not_the_inventorys_is_refused_by_its_host(three: Local, label: str) -> None:
    use, of_inventory, failing = LABELS[label]
    for host, own in of_inventory.items():
        three.host_vars[host]["monitor_agent_label"] = own
    play = role_play(three, **use)
    for options in (["--check"], []):
        run = three.run(play, *options)
        assert set(run.failures()) == failing, run.output
        assert all("Set monitor_agent_label in the inventory." in reason for reason in run.failures().values())
    assert {*labels(three)} == _ALL - failing == {host for host, text in three.files().items() if text}


def test_a_role_that_runs_once_for_several_hosts_changes_nothing(monitored: Local) -> None:
    before = labels(monitored), monitored.files()
    run = monitored.run(role_play(monitored, role=f"run_once: true\n  {_ABSENT}"))
    [message] = run.failures().values()
    assert "can't have run_once, which would leave out all hosts but web-1." in message
    assert (labels(monitored), monitored.files()) == before


def test_playbooks_run_what_is_once_for_all_hosts_once_with_any_configured_strategy(three: Local) -> None:
    for options, changed in ((["--check"], _ALL), ([], _ALL), ([], set[str]())):
        run = three.succeed(ROLLOUT, *options, ANSIBLE_STRATEGY="free")
        assert (run.changed_hosts(), len(run.statuses("Read the account"))) == (changed, 1)
    three.succeed("monitor.cloud.retire", "-e", "target=all", ANSIBLE_STRATEGY="free")
    assert labels(three) == []


def test_a_label_whose_template_fails_stops_the_run(monitored: Local) -> None:
    """It could be that of another host. The check of the role's variables fails its host before."""
    monitored.host_vars["web-3"]["monitor_agent_label"] = "{{ nowhere_set }}"
    run = monitored.run(role_play(monitored))
    assert (set(run.failures()), run.calls()) == ({"web-1", "web-3"}, []), run.output
    assert re.search(_UNDEFINED, run.failures()["web-1"], re.DOTALL), run.failures()
    # It is no host of this run, which shows that the label is unknown.
    run = monitored.succeed(role_play(monitored), "--limit", "web-1")
    assert "The label of web-3 is unknown, because variables of that host cannot be read." in " ".join(
        run.output.split()
    )


def test_a_state_of_the_play_takes_precedence_over_one_of_the_inventory(three: Local) -> None:
    three.host_vars["web-3"]["monitor_agent_state"] = "absent"
    run = three.run(role_play(three, play="vars: {monitor_agent_state: present}"))
    assert run.code == 0 and labels(three) == ["web-1", "web-2", "web-3"], run.output


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
    "win-3": ({"ansible_connection": "local", "ansible_shell_type": "cmd"}, _WINDOWS),
    "win-4": ({"ansible_connection": "local", "ansible_shell_type": "{{ 'powershell' }}"}, _WINDOWS),
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
        assert labels(controller) == ([] if options else ["web-1"])
    emulator.seed(labels=list(WITHOUT_SHELL))
    play = role_play(controller, role=_ABSENT)
    for options, left in ((["--check"], sorted(["web-1", *WITHOUT_SHELL])), ([], []), ([], [])):
        run = controller.succeed(play, *options)
        assert {run.statuses()[name] for name in WITHOUT_SHELL} == {"ok"}
        assert labels(controller) == left


def test_hosts_without_the_first_are_refused_alone(three: Local) -> None:
    three.add("win-1")
    three.host_vars["win-1"] = WITHOUT_SHELL["win-3"][0]
    three.host_vars["web-2"]["monitor_agent_packages"] = {"curl": "8.5"}
    failures = three.run(role_play(three, role=_NOT_THE_FIRST, use="include_role")).failures()
    assert _WINDOWS in failures.pop("win-1")
    assert failures.pop("web-2").startswith("Validation of arguments failed") and not failures
    assert labels(three) == ["web-3"]


def test_path_of_variables_that_the_inventory_does_not_know(pair: Local) -> None:
    pair.group_vars["monitor_agent_config_path"] = "{{ of_the_play }}/{{ inventory_hostname }}"
    for values in pair.host_vars.values():
        del values["monitor_agent_config_path"]
    run = pair.succeed(role_play(pair, play=f"vars: {{of_the_play: {pair.directory}/agents}}"))
    assert run.changed_hosts() == {"web-1", "web-2"}


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
    assert refuse(pair, pair.tasks(_ROLE_DELEGATED, hosts="web-2")) == (
        "The role can't be delegated: web-1 would get the clients of other hosts. Use the role in a play that "
        "has web-1 among its hosts."
    )
    for options in (["--check"], []):
        run = pair.run(pair.tasks(_ROLE_DELEGATED), *options)
        assert "web-1 would get the client of web-2" in run.failures()["web-2"]
        assert run.changed_hosts() == {"web-1"}
    assert labels(pair) == ["web-1"] and pair.read("web-2") is None


def test_the_label_of_localhost_is_refused(three: Local) -> None:
    three.add("localhost.localdomain")
    three.host_vars["web-3"]["monitor_agent_label"] = "localhost"
    for options in (["--check"], []):
        failures = three.run("monitor.cloud.rollout", *options).failures()
        assert failures.keys() == {"web-3", "localhost.localdomain"}
        for message in failures.values():
            assert "every machine with this label would share one key. Set monitor_agent_label" in message
    assert labels(three) == ["web-1", "web-2"]


_PART = "would be taken for clients without a host"
_PRUNE = "prune -e prune_pattern=web.* -e prune_confirm=any"
# Options of the inventory, a playbook, settings and the reason.
UNKNOWN_HOSTS = [
    ("-i web-1,", "adopt", {}, _PART),
    (
        "-i inventory.yml -e monitor_agent_label='{{ ansible_facts.machine }}'",
        "adopt",
        {},
        "would decide: ansible_facts",
    ),
    # It is refused for the setting, whether or not there are sources that cannot be read.
    ("-i inventory.yml -i broken.yml", _PRUNE, {}, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true"),
    ("-i inventory.yml -i web-1,", _PRUNE, WHOLE, f"{_PART}. Run prune without --limit, with files as inventory"),
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
