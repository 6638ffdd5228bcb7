# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels, keys and host names are text, even if they look like commands, templates or markup."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import derived_name, is_plain_name
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, TEMPLATES, Local, Run

# Labels in these tests contain a command that creates this file. The path is short, because labels are short.
CANARY = f"/tmp/mc{secrets.token_hex(3)}"
TEXTS = tuple(
    text.replace("C", CANARY)
    for text in (
        "{{ lookup('pipe', 'touch C') }}", "{{lookup('ansible.builtin.pipe','touch C')}}", "{{ 7 * 7 }}",
        "{%if lookup('pipe','touch C')%}x{%endif%}", "{# #}{{ query('pipe', 'touch C') }}",
        "$(touch C)", "`touch C`", "'; touch C #", '"; touch C; "', "| touch C", "x\ntouch C\n",
        "x\r\nok: [web-1] => changed\n", "\x1b[2J\x1b]0;title\x07", "\x9b31m",
        "!!python/object/apply:os.system ['touch C']", "!unsafe {{ 1 }}", "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>', "]]></failure><failure>", "&lt;&#x41;&undefined;", '=cmd|" /C touch C"!A0',
        "%(touch C)s", "${IFS}touch${IFS}C", "a: {b: [c", "\u202eevil", "-e@C", "~", "all:!web-1", "*", "NULL", "0",
    )
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_canary() -> Iterator[None]:
    yield
    assert not Path(CANARY).exists()


def assert_quiet(service: Emulator, *runs: Run, faults: int = len(TEXTS)) -> None:
    for run in runs:
        assert_sound(service, run.output, faults=faults)
        assert "\x1b" not in run.output
        assert "\nok: [web-1] => changed" not in run.output


_INVENTORY = """
plugin: monitor.cloud.clients
strict: false
compose:
  again: monitor_label ~ '!'
groups:
  special: "'(' in monitor_label"
keyed_groups:
  - {key: monitor_label, prefix: label}
  - {key: monitor_apps.keys() | list, prefix: app}
"""
_LOCAL = """connection: local
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}"""
_USES = """
    - set_fact: {kept: "{{ monitor_label }}", kept_apps: "{{ monitor_apps }}"}
    - name: Show
      debug: {msg: "{{ kept }}|{{ kept_apps.keys() | list | first }}|{{ monitor_created }}|{{ again }}"}
    - monitor.cloud.monitor_client_info: {include_keys: "{{ ansible_loop_var is defined }}"}
      register: read
      run_once: true
      delegate_to: localhost
    - name: Loop
      debug: {msg: "{{ item.label }}|{{ item.more.keys() | first }}"}
      loop: "{{ read.clients }}"
      loop_control: {label: "{{ item.id }}"}
      when: item.label != '' and item.apps is mapping
      run_once: true
"""


def test_responses_stay_text_in_the_inventory_and_in_registered_variables(emulator: Emulator, tmp_path: Path) -> None:
    emulator.configure(validate_responses=False)
    emulator.seed(labels=TEXTS)
    clients = [
        {**client, "apps": {text: text, "mysql": True}, "created": text, "more": {text: [text]}}
        for client, text in zip(emulator.clients(), TEXTS, strict=True)
    ]
    response = {"data": clients, "page": 1, "pages": 1, "results": len(clients)}
    emulator.fault(kind="status", status=200, body=response, operation="list_clients", times=-1)
    controller = Local(tmp_path, emulator, "unused")
    source = controller.directory / "account.monitor_clients.yml"
    source.write_text(_INVENTORY, encoding="utf-8")
    run = controller.run(controller.tasks(_USES, play=_LOCAL), "-i", str(source), "--limit", "all:!unused")
    assert_quiet(emulator, run)
    names = {text if is_plain_name(text) else derived_name(text): text for text in TEXTS}
    shown = {event.host: event.result["msg"] for event in run.events if event.task == "Show"}
    assert shown == {name: f"{text}|{text}|{text}|{text}!" for name, text in names.items()}
    [looped] = [event for event in run.events if event.task == "Loop"]
    assert [entry["msg"] for entry in looped.result["results"]] == [f"{text}|{text}" for text in TEXTS]


# These values contain characters that no mask contains, so the collection does not treat the values as masked.
KEY = f"{{{{lookup('pipe','touch${{IFS}}{CANARY}')}}}}{{%set(x)%}}"
CODE = f"';touch${{IFS}}{CANARY};$(touch${{IFS}}{CANARY})`touch${{IFS}}{CANARY}`\"{{{{7|int}}}}\\n"
_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "web-1": ({"api_key": KEY}, "the api_key contains U+007B LEFT CURLY BRACKET"),
    "web-2": ({"install_code": CODE}, "the install_code contains U+0027 APOSTROPHE"),
    "web-3": ({"api_key": "A1B2C3D4E5F6A7B8\ufeff"}, "the api_key contains U+FEFF ZERO WIDTH NO-BREAK SPACE"),
    "web-4": ({"created": f"2026\nrun={CANARY}"}, "cannot use fields with control characters: 'created'"),
}
# The template of db-1 does not use these fields.
_UNUSED = {"created": f"2026\nrun={CANARY}", "notes": "rack 4\ncall Bob"}


def test_clients_that_could_be_syntax_are_refused_before_their_hosts_are_touched(
    emulator: Emulator, tmp_path: Path
) -> None:
    controller = Local(tmp_path, emulator, *_REFUSED, "db-1")
    emulator.configure(validate_responses=False)
    emulator.seed(labels=[*_REFUSED, "db-1"])
    template = tmp_path / "created.j2"
    template.write_text("{{ client.api_key }} {{ client.created }}\n", encoding="utf-8")
    controller.host_vars["web-4"]["monitor_agent_config_template"] = str(template)
    clients = [{**client, **_REFUSED.get(client["label"], (_UNUSED, ""))[0]} for client in emulator.clients()]
    response = {"data": clients, "page": 1, "pages": 1, "results": len(clients)}
    emulator.fault(kind="status", status=200, body=response, operation="list_clients", times=-1)
    runs = [controller.run("monitor.cloud.rollout", "-vvv", "--diff", *more) for more in (["--check"], [])]
    audit = controller.run("monitor.cloud.audit", "-vvv", "--diff")
    assert_quiet(emulator, *runs, audit, faults=1)
    printed = "".join(run.output for run in (*runs, audit))
    texts = [client[name] for client in clients for name in ("api_key", "install_code")]
    assert not [text for text in texts if text in printed or json.dumps(text)[1:-1] in printed]
    for run in runs:
        assert (set(run.failures()), run.changed_hosts()) == (set(_REFUSED), {"db-1"})
        assert all(reason in run.failures()[host] for host, (_fields, reason) in _REFUSED.items()), run.failures()
    assert [host for host in (*_REFUSED, "db-1") if controller.read(host) is not None] == ["db-1"]
    assert "4 unverifiable" in audit.output and "1 ok" in audit.output


_NAMES = (
    "web 1", "web$(touch C)", "web`touch C`", "web'; touch C #", 'web"x', *TEMPLATES, "web\\n", "wéb",
    "-x",
)  # fmt: skip
_LABELS = tuple(text for text in TEXTS if 3 <= len(text) <= 32 and "{" not in text and text.isprintable())


def test_names_and_labels_are_text(emulator: Emulator, tmp_path: Path) -> None:
    emulator.configure(validate_responses=False)
    names = [name.replace("C", CANARY) for name in _NAMES]
    controller = Local(tmp_path, emulator, *names)
    for name, label in zip(names[:-2], _LABELS, strict=False):
        controller.host_vars[name]["monitor_agent_label"] = label
    first = controller.run("monitor.cloud.rollout", "--diff")
    again = controller.run("monitor.cloud.rollout", "monitor.cloud.audit")
    retired = controller.run("monitor.cloud.retire", "--limit", "all", "-e", "retire_limit=20")
    assert_quiet(emulator, first, again, retired)
    assert [run.code for run in (first, again, retired)] == [0, 0, 0], first.output[-3000:]
    assert first.changed_hosts() == set(names)
    assert again.changed_hosts() == set()
    assert f"{len(names)} ok" in again.output
    assert set(retired.statuses(CONFIGURE).values()) == {"changed"}
    assert emulator.clients() == []
    assert set(controller.files().values()) == {None}
    tally(converged=1)
