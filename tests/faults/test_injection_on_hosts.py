# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Keys, paths, labels and names of hosts that are written as commands or templates reach hosts as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.hostile import CANARY, TEMPLATES, TEXTS, assert_quiet
from ansible_collections.monitor.cloud.tests.support.hosts import Host
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.tally import Tally, short_or_long

# Without the characters of a mask, so that they are taken for keys.
KEY = f"{{{{lookup('pipe','touch${{IFS}}{CANARY}')}}}}{{%set(x)%}}"
CODE = f"';touch${{IFS}}{CANARY};$(touch${{IFS}}{CANARY})`touch${{IFS}}{CANARY}`\"{{{{7|int}}}}\\n"


def _assert_nothing_on(controller: Controller) -> None:
    for host in controller.hosts.values():
        assert host.run(f"ls -d {CANARY}* 2>/dev/null", check=False) == ""


_INSTALL = 'printf %s "$MONITOR_INSTALL_CODE" > {path}'


def _keyed_account(service: Emulator, *labels: str) -> list[dict[str, Any]]:
    """An account whose keys and codes are templates and commands."""
    service.configure(validate_responses=False)
    service.seed(labels=labels)
    keyed = [
        {**client, "api_key": f"{KEY}{client['id']}", "install_code": f"{CODE}{client['id']}"}
        for client in service.clients()
    ]
    response = {"data": keyed, "page": 1, "pages": 1, "results": len(keyed)}
    service.fault(kind="status", status=200, body=response, operation="list_clients", times=-1)
    return keyed


def _assert_no_key(keyed: list[dict[str, Any]], *runs: Run) -> None:
    for run in runs:
        for client in keyed:
            for secret in (client["api_key"], client["install_code"]):
                assert secret not in run.output
                assert json.dumps(secret)[1:-1] not in run.output


def test_keys_are_text_over_local_connections(emulator: Emulator, counts: Tally, tmp_path: Path) -> None:
    keyed = _keyed_account(emulator, "web-1")
    controller = Local(tmp_path, emulator, "web-1")
    installed = controller.directory / "installed"
    controller.group_vars["monitor_agent_install_command"] = _INSTALL.format(path=installed)
    controller.group_vars["monitor_agent_install_creates"] = str(installed)
    runs = [controller.run("monitor.cloud.rollout", "-vvv", "--diff") for dummy in range(2)]
    runs.append(controller.run("monitor.cloud.audit", "-vvv"))
    assert_quiet(counts, emulator, *runs, faults=2)
    _assert_no_key(keyed, *runs)
    assert [run.code for run in runs] == [0, 0, 0], runs[0].output[-3000:]
    written = (controller.directory / "host-0" / "agent.conf").read_text(encoding="utf-8")
    assert written == f"install_code={keyed[0]['install_code']}\napi_key={keyed[0]['api_key']}\n"
    assert installed.read_text(encoding="utf-8") == keyed[0]["install_code"]
    assert runs[1].changed_hosts() == set()
    assert "1 ok" in runs[2].output


@pytest.mark.parametrize("pipelining", ["True", "False"][: short_or_long(1, 2)])
def test_keys_are_text_over_ssh(
    machines: Callable[..., list[Host]],
    controllers: Callable[..., Controller],
    emulator: Emulator,
    counts: Tally,
    pipelining: str,
) -> None:
    keyed = _keyed_account(emulator, "web-1", "db-1")
    controller = controllers(*machines("web-1", "db-1"))
    controller.group_vars["monitor_agent_install_command"] = _INSTALL.format(path="/tmp/installed")
    controller.group_vars["monitor_agent_install_creates"] = "/tmp/installed"
    controller.host_vars = {
        "web-1": {
            "monitor_agent_config_path": "/opt/agent x/$(touch C)/'`touch C`\"\nagent.conf".replace("C", CANARY[5:])
        },
    }
    runs = [
        controller.run("monitor.cloud.rollout", "-vvv", "--diff", ANSIBLE_PIPELINING=pipelining) for dummy in range(2)
    ]
    assert_quiet(counts, emulator, *runs, faults=2)
    _assert_no_key(keyed, *runs)
    assert [run.code for run in runs] == [0, 0], runs[0].output[-3000:]
    assert runs[1].changed_hosts() == set()
    for client in keyed:
        host = controller.hosts[client["label"]]
        expected = f"install_code={client['install_code']}\napi_key={client['api_key']}\n"
        found = host.run("find /opt/agent* /etc/monitor -type f -print0 2>/dev/null | xargs -0 cat", check=False)
        assert found == expected
        assert host.run("cat /tmp/installed") == client["install_code"]
    _assert_nothing_on(controller)
    assert controller.hosts["web-1"].run(f"find / -xdev -name {CANARY[5:]} 2>/dev/null", check=False) == ""


_PATHS = (
    "a b/c d.conf", "it's/\"x\".conf", "$(touch C)/`touch C`.conf", "-rf/--help", "a\nb/c\n.conf", "*?[a]/{a,b}~",
    "é\u202e/\\n\\", "; touch C #/&& touch C|", "%(x)s/{1..9}", "!!/^a^b^",
)  # fmt: skip
_NAMES = (
    "web 1", "web$(touch C)", "web`touch C`", "web'; touch C #", 'web"x', *TEMPLATES, "web\\n", "wéb",
    "-x",
)  # fmt: skip
_LABELS = tuple(text for text in TEXTS if 3 <= len(text) <= 32 and "{" not in text and text.isprintable())


def test_paths_names_and_labels_over_local_connections(emulator: Emulator, counts: Tally, tmp_path: Path) -> None:
    emulator.configure(validate_responses=False)
    names = [name.replace("C", CANARY) for name in _NAMES]
    controller = Local(tmp_path, emulator, *names)
    for name, path in zip(names, _PATHS, strict=True):
        controller.host_vars[name]["monitor_agent_config_path"] = (
            f"{controller.directory}/h/{path.replace('C', CANARY[5:])}"
        )
    for name, label in zip(names[:-2], _LABELS, strict=False):
        controller.host_vars[name]["monitor_agent_label"] = label
    first = controller.run("monitor.cloud.rollout", "--diff")
    again = controller.run("monitor.cloud.rollout")
    audit = controller.run("monitor.cloud.audit")
    retired = controller.run("monitor.cloud.retire", "-e", "target=all retire_limit=20")
    assert_quiet(counts, emulator, first, again, audit, retired)
    assert [run.code for run in (first, again, audit, retired)] == [0, 0, 0, 0], first.output[-3000:]
    assert first.changed_hosts() == set(names)
    assert again.changed_hosts() == set()
    counts.converged += 1
    assert f"{len(names)} ok" in audit.output
    assert set(retired.statuses(CONFIGURE).values()) == {"changed"}
    assert emulator.clients() == []
    assert [path for path in (controller.directory / "h").rglob("*") if not path.is_dir()] == []
    assert not list(Path(".").glob(f"{CANARY[5:]}*"))
