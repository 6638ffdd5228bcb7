# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode, run and second run of one playbook, with the checks that hold in every situation."""

import dataclasses
import json
from collections.abc import Collection

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, Host
from ansible_collections.monitor.cloud.tests.support.runs import (
    CONFIGURE,
    REGISTER,
    ROLLOUT,
    Controller,
    Local,
    Run,
    texts,
)

# All that a run could change: names, kinds, permissions, owners and times of change.
_SNAPSHOT = f"find /etc/monitor {CONFIG} -exec stat -c '%n %f %u %g %s %y %z' {{}} + 2>/dev/null | sort"


@dataclasses.dataclass(frozen=True)
class Steps:
    check: Run
    run: Run
    again: Run


def converge(
    controller: Controller,
    playbook: str = ROLLOUT,
    *options: str,
    changes: Collection[str],
) -> Steps:
    """Check mode predicts the changes and writes nothing; the run makes them; the next run changes nothing."""
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
    controller: Controller,
    playbook: str = ROLLOUT,
    *options: str,
    environment: dict[str, str] | None = None,
) -> str:
    """Check mode and run fail with one message, before any call and change, for one host; returns it."""
    before = snapshots(controller), controller.service.clients()
    messages: set[str] = set()
    for more in (["--check", "--diff"], []):
        run = controller.run(playbook, *more, *options, **(environment or {}))
        assert run.code == 2 and run.calls() == [], run.output
        assert len(run.failures()) == 1, run.failures()
        # What only other tasks of the role read.
        assert not [event for event in run.events if event.status == "failed" and "use" in event.result], run.output
        messages.update(run.failures().values())
    assert (snapshots(controller), controller.service.clients()) == before
    (message,) = messages
    return message


def snapshots(controller: Controller) -> dict[str, object]:
    if isinstance(controller, Local):
        own = controller.host_vars.items()
        return {name: controller.snapshot(name) for name, values in own if "monitor_agent_config_path" in values}
    return {name: host.run(_SNAPSHOT) for name, host in controller.hosts.items()}


def configured(controller: Controller) -> set[str]:
    """The hosts that carry the key of the client with their label, readable by their owner alone."""
    if isinstance(controller, Local):
        files = controller.files().items()
        current = {name for name, text in files if text and text == controller.expected(name)}
        return {name for name in current if controller.path(name).stat().st_mode == 0o100600}
    keys = {client["label"]: f"api_key={client['api_key']}" for client in controller.service.clients()}
    return {
        name
        for name, host in controller.hosts.items()
        if client_label(name) in keys
        and keys[client_label(name)] in (host.read() or "")
        and host.facts() == "regular file 600 root root"
    }


def host(controller: Controller) -> Host:
    return controller.hosts["web-1"]


def text_of(controller: Controller, host: str) -> str:
    """The file that the role writes for a host by default; its client has to be there."""
    return texts(controller.service.clients())[client_label(host)]


def labels(controller: Controller) -> list[str]:
    return sorted(str(client["label"]) for client in controller.service.clients())


def diffs(run: Run) -> dict[str, tuple[str | None, str | None]]:
    """By host, from the diff: whose key it carries (None: no file) and whose it is going to carry."""
    shown = {host: event.result["diff"] for host, event in run.of(CONFIGURE).items() if "diff" in event.result}
    return {host: (diff["before"].get("key_of"), diff["after"].get("key_of")) for host, diff in shown.items()}


def role_play(
    controller: Controller, *, play: str = "", role: str = "", before: str = "meta: noop", use: str = "import_role"
) -> str:  # fmt: skip
    tasks = f"- {before}\n- ansible.builtin.{use}: {{name: monitor.cloud.monitor_agent}}\n  {role}\n"
    return controller.tasks(tasks, play=play)


def own_play(controller: Controller, *, play: str, **options: object) -> str:
    """A playbook without the role: it registers all hosts, then writes their files with these options."""
    register = {
        "monitor.cloud.monitor_clients": {"labels": "{{ ansible_play_hosts_all }}", "include_keys": True},
        "run_once": True,
        "delegate_to": "localhost",
        "become": False,
        "register": "registered",
    }
    write = {"name": CONFIGURE, "monitor.cloud.agent_config": {"path": CONFIG, "registration": "registered", **options}}
    return controller.tasks(json.dumps([register, write]), play=play)
