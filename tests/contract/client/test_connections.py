# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that are refused, or that end where no HTTP server ends them: within a handshake, a header, a chunk; in
clear and over TLS.
"""

import gzip
import json
import re
import socket
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import connect
from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.certificates import loopback
from ansible_collections.monitor.cloud.tests.support.servers import Account, Listener, Outage, Reply, Request
from ansible_collections.monitor.cloud.tests.support.tasks import failed, go, parameters

pytestmark = pytest.mark.usefixtures("quick_backoff")


def test_a_host_that_takes_no_connection(emulator: Emulator) -> None:
    # The only place in the queue is taken, so that further connections get no response.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        address = f"http://127.0.0.1:{full.getsockname()[1]}/v4"
        message = failed(emulator, monitor_client, label="web1", base_url=address, timeout=0.3, retry_timeout=0.0)
    assert re.search(r"no connection within 0\.3 s.*Check base_url, its port, and the network", message)


def test_a_wrong_port_is_given_up_within_seconds(opened: Callable[..., Listener]) -> None:
    """A closed port, or a service that does not speak HTTP. A later outage is retried."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    closing = opened(Listener, lambda dummy: None).port
    account: Any = Account()
    for port, error in ((closed, "ConnectionRefusedError"), (closing, "RemoteDisconnected")):
        began = time.monotonic()
        message = failed(account, monitor_client, label="web1", base_url=f"http://127.0.0.1:{port}/v4")
        assert time.monotonic() - began < 20
        expected = f"Could not list the clients: no response, because the connection failed: {error}"
        assert message.startswith(expected), message
        assert "Check base_url, the network, and the proxy settings of the environment." in message
        assert "Gave up after 10 s, because the service has not responded yet." in message


def test_an_outage_amid_a_task_is_retried_for_the_whole_budget(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_FIRST_CONTACT", 0.1)
    outage: Any = Outage(emulator, after=1, seconds=None)
    with outage as service:
        api = connect(parameters(service, monitor_client_info, retry_timeout=1.0, allow_http=True))
        assert api.list_clients() == []
        with pytest.raises(ApiError, match=r"Gave up after retry_timeout \(1 s\)"):
            api.list_clients()


def test_an_unknown_host_fails_at_once(emulator: Emulator) -> None:
    began = time.monotonic()
    nowhere = {"base_url": "https://no-such-host.invalid/v4", "retry_timeout": 30.0}
    assert failed(emulator, monitor_client, label="web1", **nowhere).endswith(
        "Check base_url, the network, and the proxy settings of the environment."
    )
    assert time.monotonic() - began < 10


def test_https_to_a_service_without_fails_at_once(emulator: Emulator) -> None:
    address = emulator.base_url.replace("http:", "https:")
    message = failed(emulator, monitor_client_info, base_url=address, retry_timeout=30.0)
    assert re.search("no secure connection: SSLError: .*Check base_url, and that ca_path or", message)
    assert "Gave up" not in message


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "gzip, identity", "identity, X-GZIP", "identity"])
def test_names_of_gzip(opened: Callable[..., Listener], encoding: str) -> None:
    account: Any = Account()

    def respond(request: Request) -> Reply:
        status, headers, body = account.respond(request)
        packed = gzip.compress(body) if "gzip" in encoding.lower() else body
        return status, {**headers, "Content-Encoding": encoding}, packed

    address = f"http://127.0.0.1:{opened(Listener, respond).port}/v4"
    assert go(account, monitor_client, label="web1", base_url=address)["client"]["id"] == 1


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
    "two lengths": _HEAD + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n",
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return loopback(tmp_path_factory.mktemp("tls"))


class Breaking(Listener):
    """A service that ends a connection at the request of this number: after these bytes or, None, in the handshake.

    With ``done``, that request is carried out all the same.
    """

    def __init__(self, first: bytes | None, *, tls: tuple[str, str] | None, number: int = 1, done: bool = False):
        self.account = Account()
        self._first, self._number, self._done = first, number, done
        super().__init__(self._respond, tls=tls)
        self.account.base_url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/v4"

    def secured(self, plain: socket.socket) -> socket.socket:
        if self._first is None and self.connections == self._number:
            plain.recv(65536)
            raise ConnectionAbortedError
        return super().secured(plain)

    def converse(self, connection: socket.socket, request: Request) -> bool:
        if self._first is None or len(self.requests) != self._number:
            return super().converse(connection, request)
        if self._done:
            self._respond(request)
        connection.sendall(self._first)
        # Without the farewell of TLS.
        socket.socket(fileno=connection.detach()).close()
        return False

    def _respond(self, request: Request) -> Reply:
        reply = self.account.respond(request)
        if request.method == "POST":
            self.account.there.append(json.loads(reply[2]))
        return reply


_CASES = [
    *((*each, 1, False, "GET GET GET POST") for each in product(_BROKEN, [False, True])),
    *((*each, 3, False, "GET GET POST GET POST") for each in product(_BROKEN, [False, True])),
    *((*each, 3, True, "GET GET POST GET") for each in product(_BROKEN, [False, True])),
    (None, True, 1, False, "GET GET POST"),
]


@pytest.mark.parametrize(("name", "secure", "number", "done", "methods"), _CASES)
def test_a_read_is_retried_and_a_create_is_searched_in_the_list_before(
    opened: Callable[..., Any],
    certificate: tuple[str, str],
    name: Any,
    secure: bool,
    number: int,
    done: bool,
    methods: str,
) -> None:
    service = opened(Breaking, _BROKEN.get(name), tls=certificate if secure else None, number=number, done=done)
    options: dict[str, Any] = {"ca_path": certificate[0] if secure else None, "timeout": 5.0, "retry_timeout": 5.0}
    result = go(service.account, monitor_client, label="web2", **options)
    assert (result["changed"], result["client"]["id"]) == (True, 2)
    assert [request.method for request in service.requests] == methods.split()
    assert service.connections == 2
