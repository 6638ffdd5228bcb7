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

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, WHOLE, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels, refuse, role_play, text_of
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

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
_LEFT_OUT = "a condition left out the first host. Use the condition on ansible.builtin.include_role"
_ABSENT = "vars: {monitor_agent_state: absent}"
_NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"
_CHOOSE, _LATE = "Choose what to retire", "retire_check"
_GONE = "retire -e 'target=web-2 labels=web-9 retire_limit=1' --start-at-task"
_LIMIT = "Choose hosts by --limit instead of -e target"
_USE = {"play": "", "role": "", "use": "import_role"}
# A part of the message, variables of the role that the inventory sets by host, and what is run: a playbook, or a
# play of the role with these keywords.
REFUSED: list[tuple[str, dict[str, dict[str, Any]], dict[str, Any]]] = [
    (_BOTH, _SAME, {}),
    (_BOTH, _SAME, {"play": "serial: 1"}),
    (_BOTH, _SAME, {"options": "--limit web-1"}),
    (_TAKEN_BY, _TAKEN, {"use": "include_role", "role": _NOT_THE_FIRST, "options": "--limit web-1,web-2"}),
    (_TAKEN_BY, _TAKEN, {"role": _ABSENT, "options": "--limit web-2"}),
    (_TAKEN_BY, _TAKEN, {"role": f"ignore_errors: true\n  {_ABSENT}", "options": "--limit web-2"}),
    (_NO_ACCOUNT, {}, {"role": _ABSENT, "options": f"--limit web-2 --start-at-task '*{CONFIGURE}'"}),
    (_LEFT_OUT, {}, {"role": _NOT_THE_FIRST, "options": "--limit web-1,web-2"}),
    (_LEFT_OUT, {}, {"role": f"{_NOT_THE_FIRST}\n  {_ABSENT}", "failing": 2}),
    (_TAKEN_BY, _TAKEN, {"playbook": "retire -e target=web-2"}),
    (_LENGTH, _SHORT, {"playbook": "rollout"}),
    (_LENGTH, _SHORT, {"playbook": "audit"}),
    (_LENGTH, _SHORT, {"playbook": "retire -e target=web-3"}),
    (_LENGTH, _SHORT, {"play": "serial: 2"}),
    (_UNDEFINED, _FAILING, {"playbook": "audit"}),
    (f".*{_UNDEFINED}", _FAILING, {"playbook": "prune -e prune_pattern=.*"}),
    (f".*{_UNDEFINED}", _FAILING, {"playbook": "retire -e labels=web-9"}),
    (f".*{_BOTH}", _SAME, {"playbook": "prune -e prune_pattern=.*"}),
    (_NO_TEXT.format(r"\['web-1'\]"), {"web-1": {"label": "{{ ['web-1'] }}"}}, {}),
    *(
        (_NO_TEXT.format(label), {"web-1": {"label": label}}, {"playbook": playbook})
        for label, playbook in (
            (1.1, "rollout --limit web-2"),
            # As YAML reads 0123 and 12:30:45.
            (83, "rollout --limit web-2"),
            (45045, "audit"),
            (True, "audit"),
            (False, "adopt"),
            (1.1, "retire -e target=all"),
        )
    ),
    (".*The label 1.1 of host web-1 is not text", {"web-1": {"label": 1.1}}, {"playbook": "prune -e prune_pattern=.*"}),
    ("timeout must be more than 0 seconds", {}, {"playbook": "retire -e target=all -e monitor_agent_timeout=0"}),
    *(
        (f".*{message}", {}, {"playbook": playbook})
        for message, playbook in (
            (r"more than retire_limit \(1\)", "retire -e 'target=all retire_limit=1'"),
            ("retire 4 clients", "retire -e 'target=all retire_limit=3' -e '{labels: [web-9]}'"),
            ("This would retire 2 clients", "retire -e 'labels=old-1,web-9 retire_limit=1'"),
            (_CHOOSE, "retire -e target="),
            (_CHOOSE, "retire -e labels="),
            ("The label 'x' has 1 character", "retire -e 'target=web-1 labels=web-9,x'"),
            ("The labels include those of web-2, whose", "retire -e 'target=web-1 labels=old-1,web-2'"),
            ("those of web-1, web-2, whose .* Retire hosts by -e target=PATTERN", "retire -e labels=web-2,web-1"),
            ("monitor_agent_state is not absent", "retire -e 'target=web-1 monitor_agent_state=present'"),
            (_LATE, f"{_GONE} '{CONFIGURE}'"),
            (_LATE, f"{_GONE} 'Remove the clients of hosts that are gone'"),
            *((_LIMIT, f"{playbook} -e target=web-1") for playbook in ("rollout", "audit", "adopt")),
            ("Run prune without --limit", "prune -e prune_pattern=old.* --limit web-1"),
            ("-e prune_pattern=", "prune"),
            ("-e prune_pattern=", "prune -e prune_pattern="),
        )
    ),
]


@pytest.mark.parametrize(("message", "variables", "run"), REFUSED, ids=str)
def test_what_is_refused_before_any_call(
    monitored: Local, message: str, variables: dict[str, dict[str, Any]], run: dict[str, Any]
) -> None:
    for host, own in variables.items():
        monitored.host_vars[host] |= {f"monitor_agent_{name}": value for name, value in own.items()}
    monitored.service.seed(labels=["old-1", "web-9"])
    play = role_play(monitored, **{name: run.get(name, default) for name, default in _USE.items()})
    command = f"monitor.cloud.{run['playbook']}" if "playbook" in run else f"{play} {run.get('options', '')}"
    found = refuse(monitored, *shlex.split(command), failing=run.get("failing", 1), environment=WHOLE)
    assert re.search(message, found, re.DOTALL), found


# Keywords of the play, or of the role; labels of the inventory; the hosts that fail.
_OWN_LABEL = "vars: {monitor_agent_label: '{{ inventory_hostname }}-x'}"
_ALL = {"web-1", "web-2", "web-3"}
LABELS: dict[str, tuple[dict[str, str], dict[str, str], set[str]]] = {
    "play": ({"play": _OWN_LABEL}, {}, _ALL),
    "role": ({"role": _OWN_LABEL}, {}, _ALL),
    "role, a host of others": ({"role": "vars: {monitor_agent_label: web-1}"}, {}, {"web-2", "web-3"}),
    "for some": (
        {"role": "vars: {monitor_agent_label: \"{{ inventory_hostname == 'web-3' and 'x-1' or '' }}\"}"}, {}, {"web-3"}
    ),
    "another than the inventory's": ({"play": "vars: {monitor_agent_label: ''}"}, {"web-2": "database"}, {"web-2"}),
    "of hostvars": ({}, {"web-3": "{{ hostvars['web-1'].inventory_hostname | default('of-web-3') }}"}, {"web-3"}),
}  # fmt: skip


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_is_not_the_inventorys_is_refused_by_its_host(three: Local, label: str, state: str) -> None:
    use, of_inventory, failing = LABELS[label]
    for host, own in of_inventory.items():
        three.host_vars[host]["monitor_agent_label"] = own
    three.service.seed(labels=sorted(_ALL) if state == "absent" else [])
    for host in _ALL:
        three.write(host, "api_key=1\n" if state == "absent" else None)
    files = three.files()
    play = role_play(three, play=use.get("play", ""), role=use.get("role", ""))
    for options in (["--check"], []):
        run = three.run(play, "-e", f"monitor_agent_state={state}", *options)
        assert set(run.failures()) == failing, run.output
        assert all("Set monitor_agent_label in the inventory." in reason for reason in run.failures().values())
    assert set(labels(three)) & _ALL == (failing if state == "absent" else _ALL - failing)
    assert {host: three.read(host) for host in failing} == {host: files[host] for host in failing}


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_role_that_runs_once_for_several_hosts_changes_nothing(monitored: Local, state: str) -> None:
    before = labels(monitored), monitored.files()
    run = monitored.run(role_play(monitored, role="run_once: true"), "-e", f"monitor_agent_state={state}")
    [message] = run.failures().values()
    assert "can't have run_once, which would leave out all hosts but web-1." in message
    assert (labels(monitored), monitored.files()) == before


@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_a_strategy_for_which_nothing_runs_once_is_not_refused(three: Local, strategy: str) -> None:
    play = role_play(three, play=f"strategy: {strategy}")
    for options, changed in ((["--check"], _ALL), ([], _ALL), ([], set[str]())):
        assert three.succeed(play, *options).changed_hosts() == changed
    assert configured(three) == set(labels(three)) == _ALL
    three.succeed(role_play(three, play=f"strategy: {strategy}", role=_ABSENT))
    assert labels(three) == []


def test_a_label_whose_template_fails_stops_the_run(monitored: Local) -> None:
    """It could be that of another host. The check of the role's variables fails its host before."""
    monitored.host_vars["web-3"]["monitor_agent_label"] = "{{ nowhere_set }}"
    run = monitored.run(role_play(monitored))
    assert (set(run.failures()), run.calls()) == ({"web-1", "web-3"}, []), run.output
    assert re.search(_UNDEFINED, run.failures()["web-1"], re.DOTALL), run.failures()
    # It is no host of this run, which shows that the label is unknown.
    run = monitored.succeed(role_play(monitored), "--limit", "web-1")
    assert "The label of web-3 is unknown, because variables of that host cannot be read." in run.output


def test_an_invalid_label_of_a_host_outside_the_play_prevents_nothing(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_label"] = "ab"
    pair.succeed(role_play(pair), "--limit", "web-1")
    assert labels(pair) == ["web-1"]


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
WINDOWS = {
    "winrm": {"ansible_connection": "ansible.builtin.winrm"},
    "ssh": {"ansible_connection": "ssh", "ansible_shell_type": "powershell"},
    "cmd": {"ansible_connection": "local", "ansible_shell_type": "cmd"},
    "template": {"ansible_connection": "local", "ansible_shell_type": "{{ 'powershell' }}"},
}


@pytest.mark.parametrize("name", ["network_cli", "netconf", "httpapi"])
def test_network_devices_get_no_client_and_lose_one(pair: Local, name: str) -> None:
    plugin = pair.directory / "connection_plugins" / f"{name}.py"
    plugin.parent.mkdir()
    plugin.write_text(_DEVICE.format(name=name), encoding="utf-8")
    pair.host_vars["web-2"]["ansible_connection"] = name
    for options in (["--check"], []):
        run = pair.run(role_play(pair), *options)
        assert set(run.failures()) == {"web-2"}, run.output
        assert f"this is a network device ({name})" in run.failures()["web-2"]
    assert labels(pair) == ["web-1"]
    pair.service.seed(labels=["web-2"])
    pair.succeed(role_play(pair, role=_ABSENT))
    assert labels(pair) == []


@pytest.mark.parametrize("first", [True, False])
def test_windows_hosts_get_no_client_and_lose_one(emulator: Emulator, tmp_path: Path, first: bool) -> None:
    windows = {f"win-{kind}": variables for kind, variables in WINDOWS.items()}
    controller = Local(tmp_path, emulator, *([*windows, "web-1"] if first else ["web-1", *windows]))
    for name, variables in windows.items():
        controller.host_vars[name] = {**variables, "monitor_agent_config_path": "C:/agent.conf"}
    for options in (["--check"], [], []):
        run = controller.run("monitor.cloud.rollout", *options)
        assert set(run.failures()) == set(windows), run.output
        assert all("this is a Windows host" in message for message in run.failures().values())
        assert run.statuses()["web-1"] in ("changed", "ok")
        assert labels(controller) == ([] if options else ["web-1"])
    emulator.seed(labels=list(windows))
    for options, left in ((["--check"], ["web-1", *sorted(windows)]), ([], []), ([], [])):
        run = controller.succeed("monitor.cloud.retire", "-e", "target=all", *options)
        assert {run.statuses()[name] for name in windows} == {"ok"}
        assert labels(controller) == left


def test_hosts_without_the_first_are_refused_alone(three: Local) -> None:
    three.add("win-1")
    three.host_vars["win-1"] = WINDOWS["cmd"]
    three.host_vars["web-2"]["monitor_agent_packages"] = {"curl": "8.5"}
    failures = three.run(role_play(three, role=_NOT_THE_FIRST, use="include_role")).failures()
    assert "this is a Windows host" in failures.pop("win-1")
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


_ROLE_DELEGATED = {
    "apply": """
    - ansible.builtin.include_role: {name: monitor.cloud.monitor_agent, apply: {delegate_to: "{{ item }}"}}
      loop: [web-1]
""",
    "block": """
    - delegate_to: web-1
      block: [{ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}}]
""",
}


@pytest.mark.parametrize("form", _ROLE_DELEGATED)
def test_delegation_of_the_role_is_refused_before_a_client_is_created(pair: Local, form: str) -> None:
    assert refuse(pair, pair.tasks(_ROLE_DELEGATED[form], hosts="web-2")) == (
        "The role can't be delegated: web-1 would get the clients of other hosts. Use the role in a play that has "
        "web-1 among its hosts."
    )
    for options in (["--check"], []):
        run = pair.run(pair.tasks(_ROLE_DELEGATED[form]), *options)
        assert "web-1 would get the client of web-2" in run.failures()["web-2"]
        assert run.changed_hosts() == {"web-1"}
    assert labels(pair) == ["web-1"] and pair.read("web-2") is None


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain"])
@pytest.mark.parametrize("own", [True, False])
def test_the_label_of_localhost_is_refused(pair: Local, name: str, own: bool) -> None:
    pair.add(name)
    if own:
        pair.host_vars["web-3"] = {**pair.host_vars.pop(name), "monitor_agent_label": name}
    for options in (["--check"], []):
        run = pair.run("monitor.cloud.rollout", *options)
        [(host, message)] = run.failures().items()
        assert (run.code, host) == (2, "web-3" if own else name), run.output
        assert "every machine with this label would share one key. Set monitor_agent_label" in message
    assert labels(pair) == ["web-1", "web-2"]


def test_two_machines_that_pull_get_clients_of_their_own(emulator: Emulator, tmp_path: Path) -> None:
    """By the recipe of the guide, without an inventory."""
    guide = (CHECKOUT / "docs" / "docsite" / "rst" / "guide_rollout.rst").read_text(encoding="utf-8")
    [recipe] = re.findall(r"# host_vars/localhost\.yml\n   (monitor_agent_label: .*)\n", guide)
    for name in ("web-1", "db.example.com"):
        machine = tmp_path / name
        machine.mkdir()
        controller = Local(machine, emulator)
        (machine / "hostname").write_text(f"{name}\n", encoding="utf-8")
        (machine / "host_vars").mkdir()
        own = recipe.replace("/etc/hostname", str(machine / "hostname"))
        text = f"{own}\nmonitor_agent_config_path: {machine}/agent.conf\nmonitor_agent_service: ''\n"
        (machine / "host_vars" / "localhost.yml").write_text(text, encoding="utf-8")
        play = controller.tasks(f"- {_ROLE}", hosts="localhost")
        for changed in ({"localhost"}, set[str]()):
            run = controller.run(play)
            assert (run.code, run.changed_hosts()) == (0, changed), run.output
    assert labels(controller) == [client_label("db.example.com"), "web-1"]
    texts = {path.read_text(encoding="utf-8") for path in tmp_path.glob("*/agent.conf")}
    assert len(texts) == len(list(tmp_path.glob("*/agent.conf"))) == 2


def test_a_template_in_another_encoding_is_named(single: Local) -> None:
    path = single.directory / "latin.j2"
    path.write_bytes("# café\n{{ client.api_key }}\n".encode("latin-1"))
    single.group_vars["monitor_agent_config_template"] = str(path)
    message = single.run().failures()["web-1"]
    assert message.startswith("Could not render") and "UTF-8" in message, message
    assert single.read("web-1") is None and labels(single) == []


def test_keys_of_other_clients_are_reported(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, *(f"web-{number}" for number in range(1, 4)))
    emulator.seed(labels=["elsewhere"])
    for host in controller.host_vars:
        controller.write(host, text_of(controller, "elsewhere"))
    for playbook in ("audit", "audit --check", "adopt --check"):
        assert "carried the key" not in controller.run(*f"monitor.cloud.{playbook}".split()).output
    runs = [controller.run("monitor.cloud.rollout", *options) for options in (["--check"], [], [])]
    check, run, again = (" ".join(each.output.split()) for each in runs)
    text = r"(web-\d+) carried the key of client 'elsewhere', so it .*? that client\. The host {} the key of '\1'\."
    adopt = r" If the host was renamed, run monitor\.cloud\.adopt first: the host then keeps its client\."
    assert len(re.findall(text.format("would get") + adopt, check)) == 3
    assert len(re.findall(text.format("now has"), run)) == 3
    assert "carried the key" not in again and len(runs[1].changed_hosts()) == 3


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


def test_one_label_that_the_service_refuses(three: Local) -> None:
    three.service.configure(strict_labels=True)
    three.host_vars["web-3"]["monitor_agent_label"] = "not so good"
    # What the service is going to refuse is its own matter: check mode can't know.
    assert three.run("monitor.cloud.rollout", "--check").code == 0
    for changed in ({"web-1", "web-2"}, set[str]()):
        run = three.run()
        [(failing, message)] = run.failures().items()
        assert (run.code, run.changed_hosts(), failing) == (2, changed, "web-3")
        assert "Could not create client 'not so good': the service returned 400" in message
        assert configured(three) == {"web-1", "web-2"}
