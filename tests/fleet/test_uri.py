# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guide "Why not a loop over uri?": the loop does what the guide says. The role: other tests."""

import json
import sys
from collections import Counter

import yaml

from ansible_collections.monitor.cloud.tests.support.documents import blocks
from ansible_collections.monitor.cloud.tests.support.runs import Local, Run
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

TODAY = CHECKOUT / "tests" / "benchmark" / "today.yml"
GUIDE = CHECKOUT / "docs" / "docsite" / "rst" / "guide_uri.rst"


def run_loop(pair: Local, *options: str, token: str = "read_write") -> Run:
    """Run the loop of the guide on two hosts."""
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    for name, values in pair.host_vars.items():
        values["monitor_agent_config_path"] = str(pair.directory / f"{name}.conf")
    variables = {"base_url": pair.service.base_url, "token": pair.service.tokens[token], "dir": str(pair.directory)}
    return pair.run(str(TODAY), "-e", json.dumps(variables), *options)


def test_the_loop_reads_the_list_for_each_host_and_writes_a_masked_key(pair: Local) -> None:
    shown = {block.file: block.text for block in blocks(GUIDE)}
    assert yaml.safe_load(shown["today.yml"]) == yaml.safe_load(TODAY.read_text(encoding="utf-8"))
    check = run_loop(pair, "--check", "--diff")
    assert check.failures().keys() == pair.host_vars.keys() and check.writes() == []
    for option in ("--diff", "-v"):
        run = run_loop(pair, option)
        assert Counter(run.calls()) == {"list_clients": 2, **({"create_client": 2} if option == "--diff" else {})}
        assert all(client["api_key"] in run.output for client in pair.service.clients()), option
    good = pair.files()
    pair.write("web-2", good["web-1"])
    assert run_loop(pair).code == 0 and pair.files() == good
    assert run_loop(pair, token="read_only").failures() == {}
    assert all("api_key=[REDACTED]" in str(text) for text in pair.files().values())
