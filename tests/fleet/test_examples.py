# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples of all modules and filters, run as they stand but for a directory."""

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

from ansible_collections.monitor.cloud.tests.support.runs import ANSIBLE_PLAYBOOK, Local

# What the examples of one register, those of another use.
FIRST = dict.fromkeys(("monitor.cloud.audit_report", "monitor.cloud.adoptions"), "")
PLAY = """
- hosts: all
  gather_facts: false
  handlers: [{{name: Restart the agent, ansible.builtin.debug: }}]
  tasks:
{tasks}
"""
# In place of the download of an agent: prints an installer that checks its code.
CURL = """#!/bin/sh
echo 'case "$MONITOR_INSTALL_CODE" in ????????-????-????-????????????????) echo ok > installed;; *) exit 9;; esac'
"""


def documented(kind: str, *arguments: str) -> dict[str, Any]:
    command = [str(ANSIBLE_PLAYBOOK.with_name("ansible-doc")), "--json", "--type", kind, *arguments]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def test_the_examples_have_the_described_effect_without_a_warning(single: Local) -> None:
    directory, service = single.directory, single.service
    examples: dict[str, str] = dict(FIRST)
    for kind in ("module", "filter"):
        for name, plugin in documented(kind, *documented(kind, "--list", "monitor.cloud")).items():
            examples[name] = plugin["examples"].replace("/etc/monitor/", f"{directory}/etc/")
    assert len(examples) >= 11 and all(examples.values())
    for path, text in {"bin/curl": CURL, "templates/agent.conf.j2": "{{ client.api_key }}\n"}.items():
        (directory / path).parent.mkdir()
        (directory / path).write_text(text, encoding="utf-8")
    (directory / "bin" / "curl").chmod(0o755)
    single.host_vars = {"web1": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
    single.group_vars = {"monitor_base_url": service.base_url, "monitor_api_token": service.tokens["read_write"]}
    play = "".join(PLAY.format(tasks=textwrap.indent(text, "    ")) for text in examples.values())
    # Nothing here belongs to another user.
    path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    run = single.run(single.play(play), "-e", "ansible_become=false", PATH=path)
    assert run.code == 0 and "WARNING" not in run.output, run.output
    assert (directory / "installed").read_text(encoding="utf-8") == "ok\n"
    assert service.clients() == []
    # agent_config's last example removes what the one before wrote.
    assert list((directory / "etc").iterdir()) == []
