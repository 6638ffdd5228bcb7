# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import INSPECT, ROLLOUT, Local


def test_no_control_character_of_a_label_reaches_a_terminal(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, "web-1")
    for playbook, label in ((ROLLOUT, "web\u202e1\u200b"), ("monitor.cloud.adopt", "www\u202e1\u200b")):
        controller.host_vars["web-1"]["monitor_agent_label"] = label
        for options in (["--check"], []):
            run = controller.succeed(playbook, "--diff", *options, ANSIBLE_CALLBACK_RESULT_FORMAT="yaml")
            assert not set(run.output) & {"\u202e", "\u200b"} and r"\u202e1" in run.output, run.output
        assert [client["label"] for client in emulator.clients()] == [label]


# A label of a host must not contain a C1 control character, because templates use the label.
_LABELS = ("mine\u202e1", "old\u202e\x9b1")


def test_no_control_character_of_a_label_reaches_a_terminal_after_an_error(emulator: Emulator, tmp_path: Path) -> None:
    """The host carries the key of another client. At -v, core prints the results of all tasks."""
    controller = Local(tmp_path, emulator, "web-1")
    controller.host_vars["web-1"]["monitor_agent_label"] = _LABELS[1]
    controller.monitor()
    controller.host_vars["web-1"]["monitor_agent_label"] = _LABELS[0]
    runs = [controller.run(ROLLOUT, *options) for options in ([], ["-v"], ["-v", "--check"])]
    assert all(run.code == 2 and r"carries the key of client 'old\\u202e\\x9b1'" in run.output for run in runs)
    runs.append(controller.succeed("monitor.cloud.audit", "-vvv"))
    runs.append(controller.succeed("monitor.cloud.adopt", "-v", "--diff"))
    assert [client["label"] for client in emulator.clients()] == [_LABELS[0]]
    runs.append(controller.succeed(ROLLOUT, "-vvv"))
    emulator.fault(kind="status", status=400, operation="create_client", times=-1)
    labels = json.dumps([_LABELS[1]])
    create = controller.tasks(f"- monitor.cloud.monitor_clients: {{labels: {labels}}}")
    runs.append(controller.run(create))
    assert runs[-1].code == 2
    assert [number for number, run in enumerate(runs) if set(run.output) & {"\u202e", "\x9b"}] == []


@pytest.mark.parametrize(
    ("keys", "failure"),
    [
        # The service shows keys only in the response to a create request.
        ({"api_key": None, "install_code": None}, ""),
        ({"api_key": f"{'0A1B2C3D' * 4}\n"}, "the api_key contains U+000A"),
    ],
)
def test_keys_as_a_service_shows_them(emulator: Emulator, tmp_path: Path, keys: dict[str, Any], failure: str) -> None:
    # The order of the hosts is the order of the inventory.
    known = ["web-1"] if failure else ["web-1", "web-2"]
    controller = Local(tmp_path, emulator, *known)
    controller.monitor()
    before = controller.files()
    for operation, prefix in (("list_clients", "data."), ("get_client", "")):
        shown = {f"{prefix}{name}": key for name, key in keys.items()}
        emulator.fault(kind="edit", operation=operation, add=shown, times=-1)
    controller.add("web-3")
    run = controller.run()
    assert all(failure in message for message in run.failures().values())
    assert list(run.failures()) == (known if failure else [])
    assert controller.files() == {**before, "web-3": controller.expected("web-3")}
    if not failure:
        assert {event.result["key_owner"] for event in run.of(INSPECT).values()} == {"unverifiable", "no_file"}
        assert (
            run.output.count("The keys of these hosts can't be compared, so their files were kept: web-1, web-2.") == 1
        )
