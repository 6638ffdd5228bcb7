# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At each step of the writing of a file, only its owner could read a key.

The tools of the host that the steps use list /etc/monitor before and after each of their uses, so
that no step is missed, however short it is.
"""

from __future__ import annotations

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.support.steps import text_of

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


# By host, the steps at which a key has to be seen: otherwise the steps were not observed.
_WRITER = {"after dd", "before chmod", "before mv", "after mv"}
STEPS: dict[str, set[str]] = {"web-1": _WRITER, "web-2": _WRITER, "db-1": {"before mv"}, "db-2": set()}


def test_no_step_of_writing_leaves_a_key_to_others(controller: Controller) -> None:
    """By the writer as root and by sudo, of a file that is a mount and can't be replaced, and without input."""
    hosts = controller.hosts
    for host in hosts.values():
        observe(host)
        host.write("nothing\n", mode="0644")
    hosts["db-1"].run(f"touch /tmp/inside; chmod 644 /tmp/inside; mount --bind /tmp/inside {CONFIG}")
    controller.host_vars = {
        "web-1": {"monitor_agent_config_owner": "daemon"},
        "web-2": {"monitor_agent_config_owner": "daemon", "ansible_user": USER, "ansible_become": True},
        "db-2": {"ansible_become": True, "ansible_become_method": "su"},
    }
    run = controller.run()
    assert run.code == 0, run.output
    for name, host in hosts.items():
        assert host.read() == text_of(controller, name)
        assert host.facts() == f"regular file 600 {'daemon' if name.startswith('web') else 'root'} root"
        with_key = [(step, mode) for step, mode, key in seen(host) if key]
        # Core makes what it transfers executable, for its owner.
        assert {mode for _step, mode in with_key} == {"600", *(["700"] if name == "db-2" else [])}, with_key
        assert STEPS[name] <= {step for step, _mode in with_key}, with_key
    assert "/.ansible/tmp/" in (hosts["db-2"].read(SEEN) or ""), "the file that carried the content was seen"
    assert hosts["db-2"].run("find /root/.ansible /etc/monitor -type f") == f"{CONFIG}\n"
