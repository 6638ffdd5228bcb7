# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Templates that fail or warn with a client's secrets, which are shown nowhere."""

import json
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound
from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets

# KEY stands for the key, and the text behind a mistake for what a message still tells.
MISTAKES = {
    "no such member": ("{{ {}[KEY] }}", "<api_key>"),
    "no such lookup": ("{{ lookup(KEY) }}", "<api_key>"),
    "not JSON": ("{{ ('x' ~ KEY) | from_json }}", ""),
    "mandatory": ("{{ nothing | mandatory('no value for ' ~ KEY) }}", "no value for <api_key>"),
}


def _play(controller: Controller) -> str:
    register = {"labels": ["web-1", "web-2"], "seal_keys": True}
    play: list[dict[str, object]] = [{"monitor.cloud.monitor_clients": register, "register": "registered"}]
    for name in MISTAKES:
        options = {
            "path": str(controller.directory / "agent.conf"),
            "registration": "registered",
            "template": f"{name}.j2",
        }
        play.append({"name": name, "monitor.cloud.agent_config": options, "ignore_errors": True})
    return controller.tasks(json.dumps(play))


def test_no_secret_is_shown(emulator: Emulator, tmp_path: Path) -> None:
    """Nor logged, nor given to callbacks. Lookups can show a key (SECURITY.md)."""
    controller = Local(tmp_path, emulator, "web-1")
    emulator.seed(labels=["web-1", "web-2"])
    seen, log = tmp_path / "seen", tmp_path / "log"
    for name, (text, _told) in MISTAKES.items():
        (tmp_path / f"{name}.j2").write_text(f"# {{{{ label }}}}\n{text}\n".replace("KEY", "client.api_key"))
    run = controller.succeed(
        _play(controller),
        "-vvvvv",
        "--diff",
        FLEET_SEEN=str(seen),
        ANSIBLE_LOG_PATH=str(log),
        ANSIBLE_DISPLAY_TRACEBACK="always",
    )
    events = {event.task: event for event in run.events if event.task in MISTAKES}
    assert {name for name, event in events.items() if event.status == "ignored"} == set(MISTAKES)
    outputs = [run.output, json.dumps([event.result for event in run.events])]
    outputs += [path.read_text(encoding="utf-8") for path in (seen, log)]
    shown = {line for text in outputs for line in text.splitlines() if found_in(line, plain_secrets(emulator))}
    assert not shown, shown
    assert_sound(emulator, faults=len(MISTAKES))
    for name, event in events.items():
        assert MISTAKES[name][1] in str(event.result.get("msg")), name
