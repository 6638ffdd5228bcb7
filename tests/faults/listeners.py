# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers of plain sockets that keep every byte they get: a service, proxies, and places where no token may go."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any

Reply = tuple[int, Mapping[str, str], bytes]


@dataclasses.dataclass(frozen=True)
class Request:
    """What came over a connection, as it came. ``target`` is what stands behind the method."""

    method: str
    target: str
    head: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, None without it."""
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            found, _colon, value = line.partition(":")
            if found.strip().lower() == name.lower():
                return value.strip()
        return None


class Listener:
    """Listens at a port of its own until :meth:`stop`. ``received`` is all that was sent to it, with TLS decrypted.

    ``answer`` makes the reply to a request; None ends the connection.
    """

    def __init__(
        self,
        answer: Callable[[Request], Reply | None],
        *,
        address: str = "127.0.0.1",
        tls: tuple[str, str] | None = None,
    ) -> None:
        self.address = address
        self.connections = 0
        self.requests: list[Request] = []
        self.received = b""
        self._answer = answer
        self._lock = threading.Lock()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._tls and tls:
            self._tls.load_cert_chain(*tls)
        self._listener = socket.create_server((address, 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """End the thread. Closing alone would leave it waiting for a connection."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def forget(self) -> None:
        """Forget what came."""
        with self._lock:
            self.connections, self.requests, self.received = 0, [], b""

    def _accept(self) -> None:
        while True:
            try:
                plain = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        # A client that does not like the certificate goes away.
        with contextlib.suppress(OSError), plain:
            plain.settimeout(60)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            while (request := self._read(connection)) and self.converse(connection, request):
                pass

    def converse(self, connection: socket.socket, request: Request) -> bool:
        """Answer a request; whether another may follow on this connection."""
        reply = self._answer(request)
        if reply is None:
            return False
        status, headers, body = reply
        lines = [f"HTTP/1.1 {status} Reply", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body)
        return True

    def keep(self, data: bytes) -> None:
        """Add to what was received."""
        with self._lock:
            self.received += data

    def _read(self, connection: socket.socket) -> Request | None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more(connection)
            if not data:
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
        self.keep(data)
        return data


class Proxy(Listener):
    """A proxy, for tunnels and for plain HTTP, that finds every host at the one place it is told."""

    def __init__(self, place: tuple[str, int], *, address: str = "127.0.0.1") -> None:
        super().__init__(lambda dummy: None, address=address)
        self.place = place

    def converse(self, connection: socket.socket, request: Request) -> bool:
        with socket.create_connection(self.place, timeout=60) as there:
            if request.method == "CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = "/" + request.target.split("/", 3)[3]
                there.sendall(request.head.replace(request.target.encode(), path.encode(), 1) + b"\r\n\r\n")
                there.sendall(request.body)
            back = threading.Thread(target=_pass_on, args=(there, connection), daemon=True)
            back.start()
            _pass_on(connection, there, self.keep)
            back.join(60)
        return False


def _pass_on(source: socket.socket, target: socket.socket, keep: Callable[[bytes], None] = lambda dummy: None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            keep(data)
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """A reply that holds a value as JSON; bytes are sent as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return status, {"Content-Type": "application/json", **headers}, body


class Account:
    """The service as far as one client goes, for a :class:`Listener`. Has what the helpers need of an emulator.

    ``overrides`` gives other replies, by method and the last word of the path that is no number.
    """

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
    TIER: Mapping[str, Any] = {
        "id": "monitor-3",
        "label": "Monitor 3",
        "clients_included": 3,
        "price": {"hourly": 0.015, "monthly": 10.0},
    }
    REGION: Mapping[str, Any] = {
        "id": "us-west",
        "label": "Portland, OR, USA",
        "country": "us",
        "capabilities": ["Instances", "Backups"],
        "resolvers": {"ipv4": "192.0.2.1", "ipv6": "2001:db8::1"},
        "status": "ok",
    }
    AVAILABILITY: Mapping[str, Any] = {"available": True, "plan": "g1-gpu-1", "region": "us-west"}

    def __init__(self) -> None:
        self.tokens = {"read_write": self.TOKEN}
        self.base_url = ""
        self.there = [dict(self.CLIENT)]
        self.overrides: dict[tuple[str, str], Reply] = {}

    def clients(self) -> list[dict[str, Any]]:
        """The account's clients, with their keys."""
        return self.there

    def answer(self, request: Request) -> Reply:
        """What the service says."""
        path = request.target.split("?")[0].rstrip("/").split("/")
        words = [word for word in path if not word.isdigit()]
        one = path[-1] != words[-1]
        override = self.overrides.get((request.method, "client" if one else words[-1]))
        if override is not None:
            return override
        value = self._value(request, words[-1], one)
        return as_json({"errors": [{"reason": "Not found"}]}, 404) if value is None else as_json(value)

    def _value(self, request: Request, word: str, one: bool) -> Any:
        if request.method in ("POST", "PUT"):
            given = json.loads(request.body)
            if word == "plan":
                return self.TIER if given["monitor_subscription"] else {}
            return {**self.CLIENT, "id": 1 if one else 2, "label": given["label"]}
        if request.method == "DELETE":
            return {}
        if word == "clients":
            return self.there[0] if one else page(self.there)
        lists = {"subscriptions": [self.TIER], "regions": [self.REGION], "availability": [self.AVAILABILITY]}
        single = {"plan": {}, "monitor-3": self.TIER, "us-west": self.REGION}
        return page(lists[word]) if word in lists and not one else single.get(word)


def page(items: list[Any]) -> dict[str, Any]:
    """A whole list as one page of it."""
    return {"data": items, "page": 1, "pages": 1, "results": len(items)}
