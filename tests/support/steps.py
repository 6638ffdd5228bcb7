# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import json
from collections.abc import Collection

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, REGISTER, ROLLOUT, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.runs import texts as expected_files

_SNAPSHOT = f"find /etc/monitor {CONFIG} -exec stat -c '%n %f %u %g %s %y %z' {{}} + 2>/dev/null | sort"


@dataclasses.dataclass(frozen=True)
class Steps:
    check: Run
    run: Run
    again: Run


def converge(controller: Controller, playbook: str = ROLLOUT, *options: str, changes: Collection[str]) -> Steps:
    """Assert that check mode predicts ``changes``, that a run makes these changes, and that the next run makes none."""
    before = snapshots(controller), controller.service.clients()
    check = controller.succeed(playbook, "--check", "--diff", *options)
    assert (snapshots(controller), controller.service.clients()) == before, "check mode wrote something"
    assert check.writes() == []

    run = controller.succeed(playbook, *options)
    assert (check.changed_hosts(), run.changed_hosts()) == (set(changes), set(changes)), check.output + run.output
    assert check.statuses(REGISTER) == run.statuses(REGISTER), "a task has another status in check mode"

    settled = snapshots(controller)
    again = controller.succeed(playbook, *options)
    assert "changed" not in {event.status for event in again.events}, again.output
    assert again.writes() == []
    assert snapshots(controller) == settled
    return Steps(check, run, again)


def refuse(
    controller: Controller, playbook: str = ROLLOUT, *options: str, environment: dict[str, str] | None = None
) -> str:
    """Assert that check mode and a run fail for one host, without a request or a change. Return the error."""
    before = snapshots(controller), controller.service.clients()
    messages: set[str] = set()
    for more in (["--check", "--diff"], []):
        run = controller.run(playbook, *more, *options, **(environment or {}))
        assert run.code == 2 and run.calls() == [], run.output
        assert len(run.failures()) == 1, run.failures()
        messages.update(run.failures().values())
    assert (snapshots(controller), controller.service.clients()) == before
    (message,) = messages
    return message


def snapshots(controller: Controller) -> dict[str, object]:
    """Return names, types, permissions, owners and times of the files of each host."""
    if isinstance(controller, Local):
        own = controller.host_vars.items()
        return {name: controller.snapshot(name) for name, values in own if "monitor_agent_config_path" in values}
    return {name: host.run(_SNAPSHOT) for name, host in controller.hosts.items()}


def configured(controller: Controller) -> set[str]:
    """Return the hosts whose file has the expected content and the mode 0600."""
    if isinstance(controller, Local):
        files = controller.files().items()
        current = {name for name, text in files if text and text == controller.expected(name)}
        return {name for name in current if controller.path(name).stat().st_mode == 0o100600}
    expected = expected_files(controller.service.clients())
    hosts = controller.hosts.items()
    private = [(name, host) for name, host in hosts if host.facts() == "regular file 600 root root"]
    return {name for name, host in private if host.read() == expected.get(client_label(name))}


def text_of(controller: Controller, host: str) -> str:
    return expected_files(controller.service.clients())[client_label(host)]


def labels(controller: Controller) -> list[str]:
    return sorted(str(client["label"]) for client in controller.service.clients())


def role_play(
    controller: Controller, *, play: str = "", role: str = "", before: str = "meta: noop", use: str = "import_role"
) -> str:  # fmt: skip
    tasks = f"- {before}\n- ansible.builtin.{use}: {{name: monitor.cloud.monitor_agent}}\n  {role}\n"
    return controller.tasks(tasks, play=play)


def own_play(controller: Controller, *, play: str, **options: object) -> str:
    """Write a playbook without the role. The playbook creates all clients, then writes the files of all hosts."""
    register = {
        "monitor.cloud.monitor_clients": {"labels": "{{ ansible_play_hosts_all }}", "include_keys": True},
        "run_once": True,
        "delegate_to": "localhost",
        "become": False,
        "register": "registered",
    }
    write = {"name": CONFIGURE, "monitor.cloud.agent_config": {"path": CONFIG, "registration": "registered", **options}}
    return controller.tasks(json.dumps([register, write]), play=play)
