# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serves the emulator with uvicorn until it gets a signal to end."""

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from .app import emulator_app
from .state import State

_NO_LINGER = struct.pack("ii", 1, 0)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises OSError if the port is busy."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def serve(state: State, listener: socket.socket, certificate: str | None, key: str | None, until_eof: bool) -> None:
    """Serve until SIGINT or SIGTERM or, if it is set, until standard input ends."""
    config = uvicorn.Config(
        emulator_app(state),
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        # Connections are counted by tests: one that rests for a while has to stay the same.
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server = uvicorn.Server(config)
    state.close_connection = _connection_closer(server)
    # Uvicorn raises the signal that ended it once more. It is ignored: the end was requested.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if until_eof:
        threading.Thread(target=_end_with_input, args=[server], daemon=True).start()
    server.run(sockets=[listener])


def _end_with_input(server: uvicorn.Server) -> None:
    while os.read(0, 4096):
        pass
    server.should_exit = True


def _connection_closer(server: uvicorn.Server) -> Callable[[str, bool], None]:
    """A function that closes the connection of a client (`address:port`), by a reset if `reset` is set."""

    def close(client: str, reset: bool) -> None:
        for connection in list(server.server_state.connections):
            protocol: Any = connection
            if protocol.client and "{}:{}".format(*protocol.client) == client:
                if not reset:
                    protocol.transport.close()
                    continue
                raw = protocol.transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                protocol.transport.abort()

    return close
