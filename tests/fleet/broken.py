# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from ansible_collections.monitor.cloud.tests.support.runs import UNREACHABLE, Local, texts

STRANGE = "11111111-2222-3333-4444444444444444"
# A slice contains every second host: clone-1 and clone-2 are in one slice, web-1 is in the other slice.
HOSTS = (
    *("clone-1", "web-1", "renamed", "strange-1"),
    *("clone-2", "fresh", "strange-2", "stopped"),
    *("edited", "open", "closed", "gone"),
    *("empty", "fine", "labelled.example.com", "ok-10"),
)
UNREGISTERED = {"renamed", "strange-1", "fresh"}
# Clients whose label no host of the inventory has. The host renamed carries the key of old-name.
ORPHANS = ["old-name", "retired-1", "retired-2", "{{ 7 * 7 }}"]
EXPECTED = {
    "gone": ["unreachable"],
    "clone-1": ["foreign_key", "shared_key"],
    "clone-2": ["foreign_key", "shared_key"],
    "renamed": ["other_label"],
    "strange-1": ["unknown_key", "shared_key", "not_registered"],
    "strange-2": ["unknown_key", "shared_key", "wrong_permissions"],
    "web-1": ["shared_key"],
    "fresh": ["not_registered", "not_configured"],
    "empty": ["not_configured"],
    "closed": ["not_configured"],
    "edited": ["outdated"],
    "stopped": ["agent_stopped"],
    "open": ["wrong_permissions"],
    "fine": ["ok"],
    "labelled.example.com": ["ok"],
    "ok-10": ["ok"],
}


def break_all(fleet: Local) -> None:
    fleet.host_vars["labelled.example.com"]["monitor_agent_label"] = "labelled"
    # The host has no service with this name, so the audit reports agent_stopped.
    fleet.host_vars["stopped"]["monitor_agent_service"] = "monitor-agent"
    fleet.host_vars["gone"] = dict(UNREACHABLE)
    fleet.service.seed(labels=[*(fleet.label(host) for host in HOSTS if host not in UNREGISTERED), *ORPHANS])
    fleet.service.set_plan("monitor-40")
    written = texts(fleet.service.clients())
    for host in ("web-1", "stopped", "edited", "open", "fine", "labelled.example.com", "ok-10"):
        fleet.write(host, written[fleet.label(host)], 0o644 if host == "open" else 0o600)
    for host in ("clone-1", "clone-2"):
        fleet.write(host, written["web-1"])
    fleet.write("renamed", written["old-name"])
    fleet.write("strange-1", f"install_code={STRANGE[::-1]}\napi_key={STRANGE}\n")
    fleet.write("strange-2", f"install_code={STRANGE[::-1]}\napi_key={STRANGE}\n", 0o640)
    fleet.write("empty", "# to be done\n")
    fleet.write("edited", f"{written['edited']}# edited\n")
    fleet.path("closed").mkdir(parents=True)
