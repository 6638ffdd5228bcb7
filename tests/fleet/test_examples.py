# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import re
import shutil
import subprocess
import sys

import pexpect
import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.documents import blocks
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


def test_an_image_gets_an_agent_and_no_key(single: Local, emulator: Emulator) -> None:
    command = "ansible-playbook -i inventory.json bake_image.yml -e @here.json"
    agent = single.directory / "agent"
    install = {"monitor_agent_install_command": f"touch {agent}", "monitor_agent_install_creates": str(agent)}
    (single.directory / "here.json").write_text(json.dumps({**HERE, **install}), encoding="utf-8")
    (single.directory / "inventory.json").write_text(json.dumps({"all": {"hosts": single.host_vars}}), encoding="utf-8")
    shutil.copy(EXAMPLES / "bake_image.yml", single.directory)
    run = single.shell(command)
    assert run.code == 0, run.output
    assert agent.exists() and emulator.clients() == []
    assert [request["operation"] for request in emulator.requests() if request["method"] != "GET"] == [
        "create_client",
        "delete_client",
    ]
    assert not list(single.directory.rglob("agent.conf"))


def test_two_environments(single: Local, emulator: Emulator) -> None:
    shutil.copytree(EXAMPLES / "environments", single.directory, dirs_exist_ok=True)
    here = {**HERE, "monitor_agent_config_path": f"{single.directory}/{{{{ inventory_hostname }}}}.conf"}
    (single.directory / "here.json").write_text(json.dumps(here), encoding="utf-8")
    with Emulator() as other:
        services = {"production": emulator, "staging": other}
        tokens = {f"{name.upper()}_TOKEN": service.tokens["read_write"] for name, service in services.items()}
        for name, service in services.items():
            variables = single.directory / name / "group_vars" / f"{name}.yml"
            text, times = re.subn(r"https://\S+", service.base_url, variables.read_text(encoding="utf-8"))
            assert times == 2  # The first address is in the licence header.
            variables.write_text(text, encoding="utf-8")
        rollout = "ansible-playbook monitor.cloud.rollout -e @here.json"
        both = single.shell(f"{rollout} -i production/inventory -i staging/inventory", **tokens)
        assert both.code != 0 and "uses another account than the first host" in both.output, both.output
        assert other.clients() == []
        for name, service in services.items():
            run = single.shell(f"{rollout} -i {name}/inventory", **tokens)
            assert run.code == 0, run.output
            labels = {client["label"] for client in service.clients()}
            assert labels == {f"{name}-web-1", f"{name}-db-1"}


def test_prometheus_accepts_the_examples() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    command = ["promtool", "check", "config", str(EXAMPLES / "prometheus" / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and "5 rules found" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("page", "sample", "path"),
    [
        ("guide_audit", "prometheus/monitoring-audit.yml", "prometheus/monitoring-audit.yml"),
        ("guide_tasks", "bake_image.yml", "bake_image.yml"),
    ],
)
def test_a_page_shows_its_example(page: str, sample: str, path: str) -> None:
    shown = [block for block in blocks(CHECKOUT / f"docs/docsite/rst/{page}.rst") if block.file == sample]
    example = (EXAMPLES / path).read_text(encoding="utf-8").partition("---\n")[2]
    assert [block.text.partition("\n")[2] for block in shown] == [example]


def test_the_commands_of_the_demo_work_and_the_picture_in_readme_shows_its_page() -> None:
    shown = pexpect.spawn(
        sys.executable, [demo.__file__], encoding="utf-8", timeout=300, cwd=str(CHECKOUT), dimensions=(50, 400)
    )
    shown.expect("press Enter")
    printed = str(shown.before)
    [rollout] = re.findall(r"^ *(ansible-playbook -i \S+ monitor.cloud.rollout --limit \S+)\r?$", printed, re.M)
    audit = "ansible-playbook -i build/demo/inventory.yml monitor.cloud.audit"
    pasted = [". .venv/bin/activate", rollout, audit]
    assert pasted[0] in printed
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MONITOR_"))}
    command = ["sh", "-c", " && ".join(pasted)]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    shown.sendline()
    shown.expect(pexpect.EOF)
    shown.close()
    assert shown.exitstatus == 0, shown.before
    assert done.returncode == 0 and "Hosts: 6 (6 ok)." in done.stdout, done.stdout + done.stderr
    assert picture.digest() in demo.PICTURE.read_bytes(), "The page has changed: run make picture, and look at it"
