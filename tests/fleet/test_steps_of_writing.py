# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At each step of the writing of a file: nobody but its owner could read a key.

The tools of the host that the steps are made of look before and after each of their uses what is in /etc/monitor, so
that no step is missed, however short it is.
"""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.tests.fleet.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.fleet.runs import Controller
from ansible_collections.monitor.cloud.tests.fleet.steps import role_play, text_of

# What sshd and sudo put into PATH before the true ones.
PLACE = "/usr/local/sbin"
TOOLS = ("mktemp", "cat", "wc", "chown", "chmod", "mv", "cp", "mkdir", "rm", "python3")
SEEN = "/opt/agent-seen"
OBSERVER = f"""#!/bin/sh
tool=${{0##*/}}
look() {{
  for file in /etc/monitor/* /etc/monitor/.[!.]*; do
    [ -f "$file" ] || continue
    keys=$(/usr/bin/grep -c '^{{key}}' "$file" 2>/dev/null)
    echo "$1 $tool $(/usr/bin/stat -c %a "$file") ${{keys:-0}} $file"
  done >> {SEEN}
}}
look before; /usr/bin/$tool "$@"; code=$?; look after; exit $code
"""
# Files hold keys where they begin so; what is on the way may hold nothing yet.
KEY = "api_key="


def observe(host: Host) -> None:
    """Put the observers in place; the end of the test takes them away."""
    host.run(f"touch {SEEN}; chmod 666 {SEEN}; mkdir -p {PLACE}")
    for tool in TOOLS:
        path = f"{PLACE}/{tool}"
        host.write(OBSERVER.replace("{key}", KEY), path, mode="755")


def seen(host: Host) -> list[tuple[str, str, bool]]:
    """Step, permissions and whether there was a key, of each file at each look."""
    lines = [line.split() for line in (host.read(SEEN) or "").splitlines()]
    return [(f"{when} {tool}", mode, found != "0") for when, tool, mode, found, _path in lines]


@pytest.fixture
def one(controller: Controller) -> Controller:
    """A controller for web-1, which is observed."""
    for name in list(controller.hosts)[1:]:
        del controller.hosts[name]
    observe(controller.hosts["web-1"])
    return controller


@pytest.mark.parametrize("user", ["root", USER])
def test_no_step_of_the_writer_leaves_a_key_to_others(one: Controller, user: str) -> None:
    host = one.hosts["web-1"]
    host.write("nothing\n", mode="0644")
    one.group_vars.update(ansible_user=user, ansible_become=user != "root", monitor_agent_config_owner="daemon")
    run = one.run()
    assert run.code == 0, run.output
    looks = seen(host)
    assert {mode for _step, mode, key in looks if key} == {"600"}, looks
    # Else it was not the steps that were looked at.
    assert {"after cat", "before chmod", "before mv", "after mv"} <= {step for step, _mode, key in looks if key}, looks
    assert host.facts() == "regular file 600 daemon root"


def test_no_step_of_the_copy_leaves_a_key_to_others(one: Controller) -> None:
    host = one.hosts["web-1"]
    host.run(f"mkdir -p /etc/monitor; touch /tmp/inside {CONFIG}; chmod 644 {CONFIG} /tmp/inside")
    host.run(f"mount --bind /tmp/inside {CONFIG}")
    one.host_vars["web-1"] = {"ansible_python_interpreter": f"{PLACE}/python3"}
    run = one.run(role_play(one))
    assert run.code == 0, run.output
    assert host.read() == text_of(one, "web-1")
    modes = [(step, mode) for step, mode, _key in seen(host)]
    assert ("before python3", "600") in modes, modes
    assert {mode for step, mode in modes if step.endswith("python3")} == {"600"}, "narrowed before Python writes"
