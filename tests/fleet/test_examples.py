# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import re
import shutil

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CORE, Local, texts
from ansible_collections.monitor.cloud.tests.tools import demo, picture
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

EXAMPLES = CHECKOUT / "examples"
HERE = {"ansible_connection": "local", "ansible_become": False, "monitor_agent_service": ""}


def test_the_hook_of_an_autoscaler(single: Local, emulator: Emulator) -> None:
    emulator.seed(labels=["web-6", "web-7"])
    hook = EXAMPLES / "retire_hook.yml"
    command = f"ansible-playbook {hook}"
    unset = single.shell(command)
    # Before ansible-core 2.19, the lookup fails first, so the output does not contain the message of the playbook.
    message = "Set INSTANCE to the machine." if CORE >= (2, 19) else "found an undefined variable: INSTANCE"
    assert unset.code != 0 and message in unset.output
    # The second run finds no client. The third name is a template, which must not run.
    for name, changed in (("web-7", 1), ("web-7", 0), ("{{ 'web-' ~ 6 }}", 0)):
        run = single.shell(command, INSTANCE=name)
        assert run.code == 0 and f"changed={changed}" in run.output, run.output
    assert [client["label"] for client in emulator.clients()] == ["web-6"]


def test_ansible_pull(single: Local, emulator: Emulator) -> None:
    directory = single.directory
    shutil.copytree(EXAMPLES / "pull", directory, dirs_exist_ok=True)
    variables = directory / "group_vars" / "all.yml"
    text = variables.read_text(encoding="utf-8")
    for shown, here in {
        "/etc/hostname": f"{directory}/hostname",
        "/root/.monitor-token": f"{directory}/token",
        "https://api.example.com/v4": emulator.base_url,
    }.items():
        assert shown in text
        text = text.replace(shown, here)
    variables.write_text(text, encoding="utf-8")
    (directory / "hostname").write_text("db.example.com\n", encoding="utf-8")
    (directory / "token").write_text(f"{emulator.tokens['read_write']}\n", encoding="utf-8")
    (directory / "here.json").write_text(json.dumps({**HERE, "monitor_agent_config_path": f"{directory}/agent.conf"}))
    # ansible-pull fetches the files, then runs this command.
    command = "ansible-playbook -c local -i localhost, -l localhost local.yml -e @here.json"
    for changed in (True, False):
        run = single.shell(command, MONITOR_BASE_URL="", MONITOR_API_TOKEN="")
        assert run.code == 0 and ("changed=0" not in run.output) is changed, run.output
    [client] = emulator.clients()
    assert re.fullmatch(r"db-example-com-[0-9a-f]{8}", client["label"])
    assert texts([client]) == {client["label"]: (directory / "agent.conf").read_text(encoding="utf-8")}


def test_the_picture_in_readme_shows_the_page_of_the_demo() -> None:
    assert demo.main() == 0
    assert picture.digest() in demo.PICTURE.read_bytes(), "The page has changed: run make picture, and look at it"
