# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that are forked, which most tests rely on, are those of a process of their own."""

import os
import re
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "parent {{ lookup('pipe', parent) }}."}
      vars: {parent: "cut -d' ' -f4 /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/stat"}
    - ansible.builtin.debug:
        msg: "{{ [lookup('env', 'MONITOR_BRAND'), lookup('pipe', 'pwd; cat; echo $FLEET_OF'), given, of_group]
          | join(' ') }}"
    - monitor.cloud.monitor_clients: {labels: ["{{ given }}"]}
      ignore_errors: true
    - ansible.builtin.fail: {msg: "in the end"}
"""


def test_a_forked_run_is_one_of_a_process_of_its_own(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator, "web-1", "web-2")
    seen, parents = [], []
    for brand in ("first", "second", "third"):
        emulator.reset()
        # The first run with settings that no other test has is not forked.
        settings = {"MONITOR_BRAND": brand, "FLEET_OF": brand, "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(tmp_path)}
        # A relative path: the working directory counts.
        (tmp_path / "given.yml").write_text(f"given: {brand}-1\n", encoding="utf-8")
        (tmp_path / "group_vars").mkdir(exist_ok=True)
        (tmp_path / "group_vars" / "all.yml").write_text(f"of_group: {brand}-2\n", encoding="utf-8")
        run = controller.run(controller.play(PLAY), "--diff", "-e", "@given.yml", **settings)
        assert f"{brand} {tmp_path}\\n{brand} {brand}-1 {brand}-2" in run.output, run.output
        assert run.code == 2, run.output
        parents.append({int(number) for number in re.findall(r"parent (\d+)\.", run.output)})
        output = re.sub(r"parent \d+", "", run.output).replace(brand, "BRAND")
        seen.append((sorted(output.splitlines()), [(event.task, event.status) for event in run.events]))
    assert parents[0] == {os.getpid()} and parents[1] == parents[2] != parents[0], parents
    assert seen[0][0] == seen[1][0] == seen[2][0]
    assert sorted(seen[0][1]) == sorted(seen[1][1]) == sorted(seen[2][1])
