# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An address of the service at which, at a request of choice, nobody listens any more: connections are refused."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from urllib.parse import urlsplit

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

# Not the address that connections start from, so that none of them takes the port while nobody listens there.
_ADDRESS = "127.0.0.9"


class Outage:
    """Passes ``after`` requests on, each over a connection of its own, then is closed for so many seconds, or for ever.

    Has what the helpers need of an emulator. A caller is refused for certain only where it sends one request at a time.
    """

    def __init__(self, service: Emulator, *, after: int, seconds: float | None) -> None:
        self.tokens = service.tokens
        address = urlsplit(service.base_url)
        self._service = (address.hostname, address.port)
        self._left, self._seconds = after, seconds
        self._stopped = threading.Event()
        self._listener = socket.create_server((_ADDRESS, 0))
        self.port = int(self._listener.getsockname()[1])
        self.base_url = f"http://{_ADDRESS}:{self.port}{address.path}"
        self._closed = threading.Event()
        if not self._left:
            self._close()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Outage:
        return self

    def __exit__(self, *_details: object) -> None:
        self._stopped.set()
        # Closing alone would leave the thread waiting for a connection.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    @property
    def came(self) -> bool:
        """Whether the address was ever closed."""
        return self._closed.is_set()

    def _close(self) -> None:
        self._listener.close()
        self._closed.set()

    def _serve(self) -> None:
        while not self._stopped.is_set():
            if self._closed.is_set() and self._left == 0:
                if self._seconds is None or self._stopped.wait(self._seconds):
                    return
                self._left = -1
                self._listener = socket.create_server((_ADDRESS, self.port))
            with contextlib.suppress(OSError):
                connection = self._listener.accept()[0]
                with connection:
                    answer = self._pass_on(_whole(connection))
                    self._left -= self._left > 0
                    if self._left == 0:
                        # Before the answer: the next request must not find it open.
                        self._close()
                    connection.sendall(answer)

    def _pass_on(self, request: bytes) -> bytes:
        head, end, body = request.partition(b"\r\n\r\n")
        head = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head) + b"\r\nConnection: close"
        with socket.create_connection(self._service) as further:
            further.sendall(head + end + body)
            return b"".join(iter(lambda: further.recv(65536), b""))


def _whole(connection: socket.socket) -> bytes:
    """A request."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(65536) or b"\r\n\r\n"
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", request)
    missing = int(length[1]) if length else 0
    missing -= len(request.partition(b"\r\n\r\n")[2])
    while missing > 0:
        received = connection.recv(65536)
        request, missing = request + received, missing - (len(received) or missing)
    return request
