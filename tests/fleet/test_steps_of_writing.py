# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At each step of the writing of a file, only its owner could read a key.

The tools of the host that the steps use list /etc/monitor before and after each of their uses, so
that no step is missed, however short it is.
"""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.support.steps import role_play, text_of

# The directory that sshd and sudo put first into PATH.
TOOL_DIRECTORY = "/usr/local/sbin"
TOOLS = ("chown", "chmod", "mv", "mkdir", "ln", "dd", "rm", "rmdir")
SEEN = "/opt/agent-seen"
OBSERVER = f"""#!/bin/sh
tool=${{0##*/}}
observe() {{
  for file in /etc/monitor/* /etc/monitor/.[!.]* /etc/monitor/.[!.]*/* /root/.ansible/tmp/*/*; do
    [ -f "$file" ] || continue
    keys=$(/usr/bin/grep -c '^{{key}}' "$file" 2>/dev/null)
    echo "$1 $tool $(/usr/bin/stat -c %a "$file") ${{keys:-0}} $file"
  done >> {SEEN}
}}
observe before; /usr/bin/$tool "$@"; code=$?; observe after; exit $code
"""
# Files that begin with this hold keys; a file that is being written may still be empty.
KEY = "api_key="


def observe(host: Host) -> None:
    """Install the observers; the end of the test removes them."""
    host.run(f"touch {SEEN}; chmod 666 {SEEN}; mkdir -p {TOOL_DIRECTORY}")
    for tool in TOOLS:
        path = f"{TOOL_DIRECTORY}/{tool}"
        host.write(OBSERVER.replace("{key}", KEY), path, mode="755")


def seen(host: Host) -> list[tuple[str, str, bool]]:
    """Step, permissions and whether there was a key, of each file at each observation."""
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
    observations = seen(host)
    assert {mode for _step, mode, key in observations if key} == {"600"}, observations
    # Otherwise the steps were not observed.
    assert {"after dd", "before chmod", "before mv", "after mv"} <= {
        step for step, _mode, key in observations if key
    }, observations
    assert host.facts() == "regular file 600 daemon root"


def test_no_step_of_writing_in_place_leaves_a_key_to_others(one: Controller) -> None:
    """A file that is a mount can't be replaced."""
    host = one.hosts["web-1"]
    host.run(f"mkdir -p /etc/monitor; touch /tmp/inside {CONFIG}; chmod 644 {CONFIG} /tmp/inside")
    host.run(f"mount --bind /tmp/inside {CONFIG}")
    run = one.run(role_play(one))
    assert run.code == 0, run.output
    assert host.read() == text_of(one, "web-1")
    observations = seen(host)
    assert {mode for _step, mode, key in observations if key} == {"600"}, observations
    assert "before mv" in {step for step, _mode, key in observations if key}


def test_no_step_of_the_way_without_input_leaves_a_key_to_others(one: Controller) -> None:
    host = one.hosts["web-1"]
    host.write("nothing\n", mode="0644")
    one.group_vars.update(ansible_become=True, ansible_become_method="su")
    run = one.run()
    assert run.code == 0, run.output
    observations = seen(host)
    # Core makes what it transfers executable, for its owner.
    assert {mode for _step, mode, key in observations if key} == {"600", "700"}, observations
    assert "/.ansible/tmp/" in (host.read(SEEN) or ""), "the file that carried the content was seen"
    assert host.facts() == "regular file 600 root root"
    assert host.run("find /root/.ansible /etc/monitor -type f") == f"{CONFIG}\n"
