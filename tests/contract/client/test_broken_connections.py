# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that end where no HTTP server ends them: within a handshake, a header, a chunk; in clear and over TLS."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils import _http
from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info
from ansible_collections.monitor.cloud.tests.contract.client.tasks import Module, Result, go

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


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats come soon, so that many cases take little time."""
    monkeypatch.setattr(_http, "_FIRST_BACKOFF", 0.02)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for loopback, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder: Path = tmp_path_factory.mktemp("tls")
    made = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    files = (str(folder / "cert.pem"), str(folder / "key.pem"))
    subprocess.run(["openssl", *made.split(), "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def _read(service: Any, module: Module = monitor_client_info, **options: Any) -> Result:
    return go(service, module, timeout=5.0, retry_timeout=5.0, **options)


def _request(connection: socket.socket) -> str:
    """A whole request: a connection that is closed with something unread is reset, and its answer lost."""
    request = connection.recv(65536).decode("latin-1")
    if request.startswith("POST"):
        while not request.endswith("}"):
            request += connection.recv(65536).decode("latin-1")
    return request


class Service:
    """Answers one request on each connection, but for one that it breaks: by these bytes, or, None, in the handshake.

    Has what the helpers need of an emulator. ``log`` has the method of each request; ``done`` tells whether the broken
    one is carried out all the same.
    """

    def __init__(self, first: bytes | None, *, files: tuple[str, str] | None, broken: int, done: bool) -> None:
        self.log: list[str] = []
        self.tokens = {"read_write": "0123456789abcdef"}
        self._first, self._broken, self._done = first, broken, done
        self._clients: list[dict[str, Any]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if files else None
        if self._tls and files:
            self._tls.load_cert_chain(*files)
        self.base_url = f"{'https' if files else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}/v4"
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        """End the thread. Closing alone would leave it waiting for a connection."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                plain = self._listener.accept()[0]
            except OSError:
                return
            # A client that does not like the certificate goes away.
            with contextlib.suppress(OSError):
                self._serve_one(plain)

    def _serve_one(self, plain: socket.socket) -> None:
        breaks = len(self.log) == self._broken
        if breaks and self._first is None:
            self.log.append("handshake")
            plain.recv(65536)
            plain.close()
            return
        connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
        request = _request(connection)
        self.log.append(request.split(" ", 1)[0])
        answer = self._answer(request) if self._done or not breaks else b""
        connection.sendall(self._first if breaks and self._first is not None else answer)
        # Without the farewell of TLS.
        socket.socket(fileno=connection.detach()).close()

    def _answer(self, request: str) -> bytes:
        answer: Any = {"data": self._clients, "page": 1, "pages": 1, "results": len(self._clients)}
        if request.startswith("POST"):
            answer = {"id": len(self._clients) + 1, "label": "web1"}
            self._clients.append(answer)
        elif "/plan" in request:
            answer = {}
        body = json.dumps(answer).encode()
        return _HEAD + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Starts a service that breaks one connection."""
    services = []

    def start(
        first: bytes | None, *, files: tuple[str, str] | None = None, broken: int = 0, done: bool = False
    ) -> Service:
        services.append(Service(first, files=files, broken=broken, done=done))
        return services[-1]

    yield start
    for service in services:
        service.stop()


@pytest.mark.parametrize("name", _BROKEN)
def test_a_read_is_repeated(serve: Callable[..., Any], name: str) -> None:
    service = serve(_BROKEN[name])
    result = _read(service)
    assert result["clients"] == []
    assert service.log == ["GET", "GET"]
    assert result["api_usage"]["retries"] == 1


@pytest.mark.parametrize("name", [None, *_BROKEN])
def test_a_read_over_tls_is_repeated(serve: Callable[..., Any], certificate: tuple[str, str], name: str | None) -> None:
    service = serve(_BROKEN[name] if name else None, files=certificate)
    assert _read(service, ca_path=certificate[0])["clients"] == []
    assert len(service.log) == 2


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("name", _BROKEN)
def test_a_create_is_looked_for_before_it_is_sent_again(
    serve: Callable[..., Any], certificate: tuple[str, str], name: str, done: bool, secure: bool
) -> None:
    service = serve(_BROKEN[name], files=certificate if secure else None, broken=2, done=done)
    result = _read(service, monitor_client, label="web1", ca_path=certificate[0] if secure else None)
    assert result["changed"] is True
    assert result["client"]["id"] == 1
    assert service.log == ["GET", "GET", "POST", "GET", *([] if done else ["POST"])]


def test_settings_that_are_wrong_are_told_at_once(serve: Callable[..., Any], certificate: tuple[str, str]) -> None:
    service = serve(_HEAD)
    with pytest.raises(ApiError, match="no secure connection: SSLError: .*Check base_url; for a private") as failed:
        go(service, monitor_client_info, base_url=service.base_url.replace("http:", "https:"), retry_timeout=30.0)
    assert "retry_timeout" not in str(failed.value)
    service = serve(b"", files=certificate)
    with pytest.raises(ApiError, match="no secure connection: SSLCertVerificationError: .*for a private certificate"):
        go(service, monitor_client_info, retry_timeout=30.0)


def test_a_bundle_that_is_not_there(serve: Callable[..., Any], certificate: tuple[str, str]) -> None:
    service = serve(b"", files=certificate)
    with pytest.raises(ApiError) as failed:
        go(service, monitor_client_info, ca_path="/nonexistent/ca.pem", retry_timeout=30.0)
    message = str(failed.value)
    assert "Could not find a suitable TLS CA certificate bundle, invalid path: /nonexistent/ca.pem" in message
    assert message.endswith("Check ca_path and the environment's REQUESTS_CA_BUNDLE.")
    assert service.log == []
