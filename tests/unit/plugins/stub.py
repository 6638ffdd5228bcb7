# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stub of the service without a network, and actions that run without a play."""

import types
from collections.abc import Mapping
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.template import Templar

from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Object, Operation
from ansible_collections.monitor.cloud.plugins.module_utils._service.transport import Http, Settings

CLIENTS = [
    {"id": number, "label": f"web{number}", "api_key": str(number) * 36, "install_code": "c" * 36} for number in (1, 2)
]
TIERS = [{"id": f"monitor-{size}", "clients_included": size, "price": {"monthly": size}} for size in (3, 10)]


class Service(Http):
    """An account with the clients web1 and web2 on the free plan.

    ``responses`` contains each response by method and path. ``received`` contains the requests.
    """

    def __init__(self) -> None:
        super().__init__(Settings("https://api.example.com/v4", token="t" * 20))
        self.api = Api(self)
        self.received: list[Any] = []
        self.responses: dict[str, Any] = {
            "GET /monitor/clients": {"data": CLIENTS, "pages": 1, "results": 2},
            "GET /monitor/subscriptions": {"data": TIERS, "pages": 1, "results": 2},
            "GET /monitor/plan": {},
            **{f"GET /monitor/clients/{client['id']}": client for client in CLIENTS},
            "POST /monitor/clients": {**CLIENTS[0], "id": 3, "label": "web3", "api_key": "3" * 36},
            "POST /monitor/clients/1": {**CLIENTS[0], "label": "www1"},
            "DELETE /monitor/clients/1": {},
            "PUT /monitor/plan": TIERS[1],
        }

    def request(self, operation: Operation, *, query: Object | None, body: Object | None) -> Any:
        name = f"{operation.method} {operation.path}"
        self.received.append((name, body) if body else name)
        if name not in self.responses:
            raise ApiError("no such object", status=404, errors=[{"reason": "Not found"}])
        return self.responses[name]

    @property
    def writes(self) -> list[Any]:
        return [request for request in self.received if not str(request).startswith("GET")]


def action_of(kind: type[ActionBase], arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
    """Return the action of a task for an SSH host."""
    task: Any = Task()
    task.action = kind.__module__.rpartition(".")[2]
    task.check_mode = False
    task.diff = False
    task.args = dict(arguments)
    play = types.SimpleNamespace(no_log=False)
    shell = types.SimpleNamespace(env_prefix=lambda: "", tmpdir="/tmp")
    connection: Any = types.SimpleNamespace(
        _shell=shell, _play_context=play, transport="ssh", become=None, has_pipelining=True
    )
    loader: Any = DataLoader()
    unset: Any = None
    return kind(task, connection, unset, loader, Templar(loader=loader, variables=dict(variables)), unset)


def fleet(**results: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables of a play: the result ``audit`` of each host, and the result ``account``."""
    hosts = list(results)
    plays = dict.fromkeys(("ansible_play_hosts", "ansible_play_hosts_all", "ansible_play_batch"), hosts)
    account = {"clients": [{"label": label, "key_fingerprint": label, "keys_masked": False} for label in ("old", "db")]}
    hostvars = {host: {"audit": result} for host, result in results.items()}
    return {"hostvars": hostvars, "groups": {"all": hosts}, "account": account, **plays}


# Results of agent_info for a host with its own key, and for a renamed host.
_FILE = {"path": "/etc/agent.conf", "kind": "file"}
OWN = {**_FILE, "label": "db", "key_owner": "own", "owner_label": "db", "key_fingerprint": "db"}
RENAMED = {**_FILE, "label": "web", "key_owner": "other", "owner_label": "old", "key_fingerprint": "old"}
