# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that end where no HTTP server ends them: within a handshake, a header, a chunk; in clear and over TLS."""

from __future__ import annotations

import functools
import itertools
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info
from ansible_collections.monitor.cloud.tests.support.certificates import loopback
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener, Reply, Request
from ansible_collections.monitor.cloud.tests.support.tasks import Module, Result, failed, go

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
# What is sent before the connection ends.
_BROKEN = {
    "at once": b"",
    "within the status": b"HTTP/1.1 2",
    "within a header": b"HTTP/1.1 200 OK\r\nContent-",
    "after the headers": _HEAD + b"Content-Length: 40\r\n\r\n",
    "within the body": _HEAD + b'Content-Length: 40\r\n\r\n{"data":',
    "within a body of unknown length": _HEAD + b'\r\n{"data":',
    "within a chunk": _HEAD + b'Transfer-Encoding: chunked\r\n\r\n40\r\n{"data":',
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n",
}


pytestmark = pytest.mark.usefixtures("quick_backoff")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for loopback, and its key."""
    return loopback(tmp_path_factory.mktemp("tls"))


def _read(service: Any, module: Module = monitor_client_info, **options: Any) -> Result:
    return go(service.account, module, timeout=5.0, retry_timeout=5.0, **options)


class Service(Listener):
    """Responds to one request on each connection, and breaks one of them: by these bytes or, None, in the handshake.

    ``log`` has the method of each request; with ``done``, the broken one is carried out all the same.
    """

    def __init__(
        self, first: bytes | None, *, files: tuple[str, str] | None = None, broken: int = 0, done: bool = False
    ):
        self.log: list[str] = []
        self.account = Account()
        self._first, self._broken, self._done = first, broken, done
        super().__init__(self._respond, tls=files)
        self.account.base_url = f"{'https' if files else 'http'}://127.0.0.1:{self.port}/v4"

    def serve(self, plain: socket.socket) -> None:
        breaks = len(self.log) == self._broken
        if breaks and self._first is None:
            self.log.append("handshake")
            plain.recv(65536)
            return
        connection = self.secured(plain)
        request = self.read(connection)
        if request is None:
            connection.sendall(_HEAD)
            return
        self.log.append(request.method)
        if not breaks:
            self.converse(connection, request)
        else:
            if self._done:
                self._respond(request)
            connection.sendall(self._first or b"")
        # Without the farewell of TLS.
        socket.socket(fileno=connection.detach()).close()

    def _respond(self, request: Request) -> Reply:
        status, headers, body = self.account.respond(request)
        if request.method == "POST":
            self.account.there.append(json.loads(body))
        return status, {**headers, "Connection": "close"}, body


@pytest.fixture
def serve(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Starts a service that breaks one connection."""
    return functools.partial(opened, Service)


@pytest.mark.parametrize(("secure", "name"), [*itertools.product([False, True], _BROKEN), (True, None)])
def test_a_read_is_retried(
    serve: Callable[..., Any], certificate: tuple[str, str], secure: bool, name: str | None
) -> None:
    service = serve(_BROKEN[name] if name else None, files=certificate if secure else None)
    result = _read(service, ca_path=certificate[0] if secure else None)
    assert [client["id"] for client in result["clients"]] == [1]
    assert service.log[-1] == "GET" and len(service.log) == 2
    assert result["api_usage"]["retries"] == 1


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("name", _BROKEN)
def test_a_create_is_searched_in_the_list_before_it_is_retried(
    serve: Callable[..., Any], certificate: tuple[str, str], name: str, done: bool, secure: bool
) -> None:
    service = serve(_BROKEN[name], files=certificate if secure else None, broken=2, done=done)
    result = _read(service, monitor_client, label="web2", ca_path=certificate[0] if secure else None)
    assert result["changed"] is True
    assert result["client"]["id"] == 2
    assert service.log == ["GET", "GET", "POST", "GET", *([] if done else ["POST"])]


def test_https_to_a_service_without_fails_at_once(serve: Callable[..., Any]) -> None:
    account = serve(_HEAD).account
    with pytest.raises(ApiError, match="no secure connection: SSLError: .*Check base_url; for a private") as failed:
        go(account, monitor_client_info, base_url=account.base_url.replace("http:", "https:"), retry_timeout=30.0)
    assert "retry_timeout" not in str(failed.value)


def test_a_bundle_that_is_not_there(serve: Callable[..., Any], certificate: tuple[str, str]) -> None:
    service = serve(b"", files=certificate)
    message = failed(service.account, monitor_client_info, ca_path="/nonexistent/ca.pem", retry_timeout=30.0)
    message = message
    assert "Could not find a suitable TLS CA certificate bundle, invalid path: /nonexistent/ca.pem" in message
    assert message.endswith("Check ca_path and the environment's REQUESTS_CA_BUNDLE.")
    assert service.log == []
