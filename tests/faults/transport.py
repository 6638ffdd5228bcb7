# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of the transport share: servers that keep every byte, and calls of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_plan,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.support.certificates import Authority
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener
from ansible_collections.monitor.cloud.tests.support.tasks import go

ELSEWHERE = "127.0.0.2"
PASSWORD = "netrc-or-proxy-password"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle", "netrc")
Kinds = tuple[Authority, Mapping[str, tuple[str, str]]]
Open = Callable[..., Any]


CALLS: dict[str, tuple[Any, dict[str, Any], tuple[str, str]]] = {
    "list": (monitor_client_info, {}, ("GET", "clients")),
    "view": (monitor_client_info, {"id": 1}, ("GET", "client")),
    "create": (monitor_client, {"label": "web9"}, ("POST", "clients")),
    "rename": (monitor_client, {"id": 1, "label": "web9"}, ("POST", "client")),
    "delete": (monitor_client, {"label": "web1", "state": "absent"}, ("DELETE", "client")),
    "plan": (monitor_plan, {"subscription": "monitor-3"}, ("PUT", "plan")),
    "tiers": (monitor_subscription_info, {}, ("GET", "subscriptions")),
    "regions": (region_info, {}, ("GET", "regions")),
}


REASONS = {
    "wrong name": "IP address mismatch",
    "no alternative name": "IP address mismatch",
    "expired": "certificate has expired",
    "not valid yet": "certificate is not yet valid",
    "self-signed": "self-signed certificate",
    "authority of the same name": "certificate verify failed",
}


def service(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> tuple[Any, Listener]:
    account = Account()
    listener: Listener = opened(Listener, account.respond, tls=tls, **options)
    account.base_url = f"{'https' if tls else 'http'}://{listener.address}:{listener.port}/v4"
    return account, listener


def forbidden(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> Listener:
    """A server that responds like a service and must not receive a token."""
    listener: Listener = opened(Listener, Account().respond, tls=tls, **options)
    return listener


def tried(account: Any, module: Any, **options: Any) -> tuple[dict[str, Any] | None, str]:
    """The result, or None, and the message."""
    try:
        result = go(account, module, **{"retry_timeout": 0.0, "timeout": 20.0, **options})
    except MonitorError as error:
        return None, str(error)
    return result, repr(result)


def assert_no_token(*listeners: Listener) -> None:
    for listener in listeners:
        assert Account.TOKEN.encode() not in listener.received
        assert b"\nauthorization:" not in listener.received.lower()
