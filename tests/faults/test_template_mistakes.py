# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Templates and options that fail, warn or change with a client's secrets: no part of one is shown anywhere."""

import json
import sys
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local

# KEY stands for the key.
MISTAKES = {
    "no such member": "{{ {}[KEY] }}",
    "no such member, part of the key": "{{ {}[KEY[:12]] }}",
    "no such member, key in base64": "{{ {}[KEY | b64encode] }}",
    "no such member, key of another client": "{{ {}[registered.clients['web-2'].api_key] }}",
    "a command fails": "{{ lookup('pipe', 'exit 3 ' ~ KEY) }}",
    "a command fails, as a warning": "{{ KEY }} {{ lookup('pipe', 'exit 3 ' ~ KEY, errors='warn') }}",
    "no such file": "{{ lookup('file', KEY) }}",
    "no such file, as a warning": "{{ KEY }} {{ lookup('file', KEY, errors='warn') }}",
    "no such template": "{{ lookup('template', KEY) }}",
    "no such template to include": "{% include KEY %}",
    "no such lookup": "{{ lookup(KEY) }}",
    "no such test": "{{ ['x'] | select(KEY) | list }}",
    "not JSON": "{{ ('x' ~ KEY) | from_json }}",
    "not a regular expression": "{{ 'x' | regex_search('(' ~ KEY) }}",
    "mandatory": "{{ nothing | mandatory('no value for ' ~ KEY) }}",
    "undefined with a hint": "{{ undef('no value for ' ~ KEY) }}",
    "key in base64": "{{ KEY | b64encode }}",
    "a character of the key": "{{ KEY[-1] }}",
    "sorted key": "{{ KEY | sort | join }}",
    "seeded with the key": "{{ 1000000 | random(seed=KEY) }}",
    "time": "{{ KEY }} {{ now().microsecond }}",
    "random": "{{ KEY }} {{ 1000000000 | random }}",
}
OPTIONS = {
    "path": {"path": "/nowhere/{{ secret }}/agent.conf"},
    "owner": {"owner": "{{ secret }}"},
    "mode": {"mode": "{{ secret }}"},
    "label, key of another client": {"label": "{{ registered.clients['web-2'].api_key }}"},
    "name of the registration": {"registration": "{{ secret }}"},
    "mode, code of another client": {"mode": "{{ registered.clients['web-2'].install_code | b64encode }}"},
    "the placeholder": {"label": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"},
    "the client itself": {"registration": "{{ omit }}", "client": "{{ registered.clients['web-1'] }}", "mode": "rw"},
}
# What a message still says.
REASONS = {
    "no such member": "<api_key>",
    "mandatory": "no value for <api_key>",
    "key in base64": "transforms the api_key or the install_code",
    "a character of the key": "transforms the api_key or the install_code",
    "time": "the text differs each time",
    "random": "the text differs each time",
    **{name: f"{name} holds the api_key of the client" for name in ("path", "owner")},
    "label, key of another client": "The label '<api_key of web-2>' was not registered",
    "the placeholder": "VALUE_SPECIFIED",
}
SOURCES: dict[str, dict[str, dict[str, str]]] = {
    "template": {name: {"template": f"{name}.j2"} for name in MISTAKES},
    "options": {name: {"content": "@api_key@", **options} for name, options in OPTIONS.items()},
}


def _play(controller: Controller, tasks: dict[str, dict[str, str]]) -> str:
    register = {"labels": ["web-1", "web-2"], "include_keys": True}
    play: list[dict[str, object]] = [{"monitor.cloud.monitor_clients": register, "register": "registered"}]
    for name, options in tasks.items():
        given = {"path": str(controller.directory / "agent.conf"), "registration": "registered", **options}
        own = {} if "client" in given else {"label": "web-1"}
        task = {"name": name, "monitor.cloud.agent_config": {**own, **given}, "ignore_errors": True}
        play.append({**task, "vars": {"secret": "{{ registered.clients['web-1'].api_key }}"}})
    return controller.tasks(json.dumps(play))


@pytest.mark.parametrize(("source", "form"), [("template", ["--diff"]), ("options", ["--check", "--diff"])])
def test_no_part_of_a_secret_is_shown(emulator: Emulator, tmp_path: Path, source: str, form: list[str]) -> None:
    """Nor logged, nor given to callbacks."""
    controller, tasks = Local(tmp_path, emulator, "web-1"), SOURCES[source]
    emulator.seed(labels=["web-1", "web-2"])
    controller.host_vars["web-1"]["ansible_python_interpreter"] = sys.executable
    seen, log, tree = tmp_path / "seen", tmp_path / "log", tmp_path / "tree"
    for name, text in MISTAKES.items():
        (tmp_path / f"{name}.j2").write_text(f"# {{{{ label }}}}\n{text}\n".replace("KEY", "client.api_key"))
    run = controller.run(
        _play(controller, tasks),
        "-vvvvv",
        *form,
        FLEET_SEEN=str(seen),
        ANSIBLE_LOG_PATH=str(log),
        ANSIBLE_DISPLAY_TRACEBACK="always",
        ANSIBLE_CALLBACKS_ENABLED="record,ansible.builtin.tree",
        ANSIBLE_CALLBACK_TREE_DIR=str(tree),
    )
    assert run.code == 0, run.output[-3000:]
    events = {event.task: event for event in run.events if event.task in tasks}
    warned = {name for name in tasks if "as a warning" in name}
    assert {name for name, event in events.items() if event.status == "ignored"} == set(tasks) - warned
    assert warned <= set(events)
    outputs = [run.output, json.dumps([event.result for event in run.events])]
    outputs += [path.read_text(encoding="utf-8") for path in (seen, log, *tree.iterdir())]
    secrets = [client[field].lower() for client in emulator.clients() for field in ("api_key", "install_code")]
    parts = {secret[start : start + 8] for secret in secrets for start in range(len(secret) - 7)}
    leaking = {part for part in parts for text in outputs if part in text.lower()}
    assert not leaking, [line for line in run.output.splitlines() if any(part in line.lower() for part in leaking)]
    assert_sound(emulator, faults=len(tasks))
    for name in REASONS.keys() & events.keys():
        result = events[name].result
        assert REASONS[name] in f"{result.get('msg')} {result.get('warnings')}", name
