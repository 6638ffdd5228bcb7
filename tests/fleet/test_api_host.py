# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Another host than the controller sends the requests to the service."""

import json
from collections.abc import Callable
from pathlib import Path

import certifi
import charset_normalizer
import idna
import requests
import urllib3

from ansible_collections.monitor.cloud.tests.support.hosts import Host
from ansible_collections.monitor.cloud.tests.support.runs import EXECUTED, PRUNE, ROLLOUT, WHOLE, Controller
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, secrets_of
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels

# Install the library requests on a host: the hosts have no network, and the system may lack the library.
_FOLDERS = [
    str(Path(str(package.__file__)).parent) for package in (requests, urllib3, certifi, idna, charset_normalizer)
]
WITH_REQUESTS = f"mkdir -p usr/lib/python3/dist-packages; cp -r {' '.join(_FOLDERS)} usr/lib/python3/dist-packages"
# The number of modules that the host executes: the account, the clients or the plan and tiers, and retired clients.
RUNS = (
    ((ROLLOUT, "--check"), 2),
    ((ROLLOUT,), 2),
    ((ROLLOUT,), 1),
    (("monitor.cloud.audit",), 3),
    (("monitor.cloud.adopt",), 1),
    ((PRUNE, "-e", "prune_pattern=old.* prune_confirm=true"), 2),
    (("monitor.cloud.retire", "--limit", "web-2"), 2),
)


def test_a_host_of_the_inventory_sends_the_requests(
    controllers: Callable[..., Controller], machines: Callable[..., list[Host]]
) -> None:
    [gateway] = machines("gateway", prepare=WITH_REQUESTS)
    controller = controllers(*machines("web-1", "web-2"), gateway)
    controller.service.seed(labels=["old-1"])
    controller.group_vars["monitor_agent_api_host"] = "gateway"
    for (playbook, *options), executed in RUNS:
        run = controller.succeed(playbook, *options, "-vvvvv", **WHOLE)
        assert run.output.count(EXECUTED) == executed, run.output
        assert found_in(run.output + str(run.events), secrets_of(controller.service)) == [], (playbook, options)
    assert labels(controller) == sorted(configured(controller)) == ["gateway", "web-1"]
    processes = gateway.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert found_in(processes, list(controller.service.tokens.values())) == []


def test_a_module_on_a_host_says_where_it_ran(
    controllers: Callable[..., Controller], machines: Callable[..., list[Host]]
) -> None:
    controller = controllers(*machines("web-1"))
    tasks = json.dumps([{"monitor.cloud.monitor_client_info": {"base_url": "https://127.0.0.1:1/v4"}}])
    [message] = controller.run(controller.tasks(tasks)).failures().values()
    assert "The module ran on the host of the task" in message and "delegate_to: localhost" in message
