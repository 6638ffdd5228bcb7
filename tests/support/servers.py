# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A test service and a test proxy that record every byte that they receive."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from email.parser import BytesHeaderParser
from typing import Any

from ansible_collections.monitor.cloud.tests.emulator import catalogue
from ansible_collections.monitor.cloud.tests.emulator.contract import examples

Reply = tuple[int, Mapping[str, str], bytes]
# The fixture `opened` has this type. The fixture opens a listener, and stops the listener at the end of the test.
Open = Callable[..., Any]
# For the collection, this address belongs to another machine, because it is not 127.0.0.1.
OTHER_HOST = "127.0.0.2"
PASSWORD = "netrc-or-proxy-password"


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    target: str
    head: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        return BytesHeaderParser().parsebytes(self.head.partition(b"\r\n")[2]).get(name)


class Listener:
    """A server on a new port. ``respond`` returns the reply to a request, or None to end the connection."""

    def __init__(
        self,
        respond: Callable[[Request], Reply | None],
        *,
        address: str = "127.0.0.1",
        tls: tuple[str, str] | None = None,
    ) -> None:
        self.address = address
        self.connections = 0
        self.requests: list[Request] = []
        self.received = b""
        self._reply_to = respond
        self._lock = threading.Lock()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._tls and tls:
            self._tls.load_cert_chain(*tls)
        self._listener = socket.create_server((self.address, 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def stop(self) -> None:
        # Without shutdown, the thread would continue to wait for connections.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def forget(self) -> None:
        with self._lock:
            self.connections = 0
            self.requests = []
            self.received = b""

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                plain = listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        # A client that does not trust the certificate closes the connection.
        with contextlib.suppress(OSError), plain:
            plain.settimeout(60)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            while (request := self.read(connection)) and self.converse(connection, request):
                pass

    def converse(self, connection: socket.socket, request: Request) -> bool:
        reply = self._reply_to(request)
        if reply is None:
            return False
        status, headers, body = reply
        lines = [f"HTTP/1.1 {status} Reply", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body)
        return True

    def read(self, connection: socket.socket) -> Request | None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more(connection)
            # A TLS handshake begins with \x16, and is not HTTP.
            if not data or data.startswith(b"\x16"):
                return None
        head, _empty, body = data.partition(b"\r\n\r\n")
        method, target, *_version = head.split(b"\r\n")[0].decode("latin-1").split(" ")
        request = Request(method, target, head, body)
        for _part in range(1000):
            if len(request.body) >= int(request.header("Content-Length") or 0):
                break
            request = dataclasses.replace(request, body=request.body + self._more(connection))
        with self._lock:
            self.requests.append(request)
        return request

    def _more(self, connection: socket.socket) -> bytes:
        data = connection.recv(65536)
        with self._lock:
            self.received += data
        return data


class RawListener(Listener):
    """A server whose ``respond`` returns the bytes of a response in parts. Wait ``seconds`` before each part."""

    def __init__(self, parts_of: Callable[[Request], Iterable[bytes]], seconds: float = 0.0, **options: Any) -> None:
        super().__init__(lambda dummy: None, **options)
        self._parts_of = parts_of
        self._seconds = seconds

    def converse(self, connection: socket.socket, request: Request) -> bool:
        for part in self._parts_of(request):
            time.sleep(self._seconds)
            connection.sendall(part)
        return True


class Proxy(Listener):
    """A proxy for tunnels and plain HTTP. The proxy always connects to ``upstream``, for any requested host."""

    def __init__(self, upstream: tuple[str, int], **options: Any) -> None:
        super().__init__(lambda dummy: None, **options)
        self.upstream = upstream

    def converse(self, connection: socket.socket, request: Request) -> bool:
        with socket.create_connection(self.upstream, timeout=60) as there:
            if request.method == "CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = "/" + request.target.split("/", 3)[3]
                there.sendall(request.head.replace(request.target.encode(), path.encode(), 1) + b"\r\n\r\n")
                there.sendall(request.body)
            self._pass_on(connection, there)
        return False

    def _pass_on(self, client: socket.socket, service: socket.socket) -> None:
        """Forward data until one side closes. Two threads cannot share a TLS connection."""
        while True:
            buffered = isinstance(client, ssl.SSLSocket) and client.pending()
            readable = [client] if buffered else select.select([client, service], [], [], 60)[0]
            if not readable:
                return
            for source, target in ((client, service), (service, client)):
                if source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client:
                        self.received += data
                    target.sendall(data)


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return status, {"Content-Type": "application/json", **headers}, body


class Account:
    """A service with one client. Keys of ``overrides``: the method, and the last path segment that is not a number."""

    TOKEN = "tok-0123456789abcdef-SECRET"
    CLIENT: Mapping[str, Any] = {
        "id": 1,
        "label": "web1",
        "api_key": "AAAA0000-1111-2222-3333444455556666",
        "install_code": "BBBB0000-1111-2222-3333444455556666",
        "apps": {"apache": False, "mysql": True, "nginx": False},
        "created": "2026-01-02T03:04:05",
        "updated": "2026-01-02T03:04:05",
    }
    TIER = catalogue.tiers("monitor")[0]
    REGION = catalogue.regions()[1]
    AVAILABILITY = catalogue.availability(2)[1]

    def __init__(self) -> None:
        # No output may show these secrets.
        self.tokens = {"read_write": self.TOKEN, "of a proxy or netrc": PASSWORD}
        self.base_url = ""
        self.there = [dict(self.CLIENT)]
        self.overrides: dict[tuple[str, str], Reply] = {}

    def clients(self) -> list[dict[str, Any]]:
        return self.there

    def respond(self, request: Request) -> Reply:
        path = request.target.split("?")[0].rstrip("/").split("/")
        segments = [word for word in path if not word.isdigit()]
        by_id = path[-1] != segments[-1]
        override = self.overrides.get((request.method, "client" if by_id else segments[-1]))
        if override is not None:
            return override
        value = self._value(request, segments[-1], by_id)
        return as_json({"errors": [{"reason": "Not found"}]}, 404) if value is None else as_json(value)

    def _value(self, request: Request, word: str, by_id: bool) -> Any:
        if request.method in ("POST", "PUT"):
            given = json.loads(request.body)
            if word == "plan":
                return self.TIER if given["monitor_subscription"] else {}
            own = {"id": 2, "api_key": "CCCC0000-1111-2222-3333444455556666"}
            return {**self.CLIENT, **given, **({} if by_id else own)}
        if request.method == "DELETE":
            return {}
        if word == "clients":
            return self.there[0] if by_id else page(self.there)
        lists = {"subscriptions": [self.TIER], "regions": [self.REGION], "availability": [self.AVAILABILITY]}
        single = {"plan": {}, "monitor-3": self.TIER, "us-west": self.REGION}
        for noun, rows in examples().items():
            lists[f"{noun}s"] = rows
            single |= {row["id"]: row for row in rows}
        return page(lists[word]) if word in lists and not by_id else single.get(word)


def service(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> tuple[Any, Listener]:
    account = Account()
    listener: Listener = opened(Listener, account.respond, tls=tls, **options)
    account.base_url = f"{'https' if tls else 'http'}://{listener.address}:{listener.port}/v4"
    return account, listener


def assert_no_token(*listeners: Listener) -> None:
    for listener in listeners:
        assert Account.TOKEN.encode() not in listener.received
        assert b"\nauthorization:" not in listener.received.lower()


def page(items: list[Any]) -> dict[str, Any]:
    return {"data": items, "page": 1, "pages": 1, "results": len(items)}
