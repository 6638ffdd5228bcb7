# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of the transport share: servers that keep every byte, and calls of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.monitor.cloud.tests.support import inputs
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener

OTHER_HOST = "127.0.0.2"
PASSWORD = "netrc-or-proxy-password"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle", "netrc")
# The file of an authority, and its certificates by what is wrong with them.
Kinds = tuple[str, Mapping[str, tuple[str, str]]]
Open = Callable[..., Any]


CALLS = {
    name: inputs.CALLS[name]
    for name in ("list, register", "view", "create one", "rename", "delete", "switch", "tiers", "regions")
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


def assert_no_token(*listeners: Listener) -> None:
    for listener in listeners:
        assert Account.TOKEN.encode() not in listener.received
        assert b"\nauthorization:" not in listener.received.lower()
