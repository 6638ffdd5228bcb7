# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`python -m ansible_collections.monitor.cloud.tests.emulator`: prints how to use the emulator, then serves."""

import argparse
import functools
import os
import signal
import socket
import struct
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import uvicorn

# Connexion imports Starlette's test client, which warns of what it needs. Nothing here uses it.
warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")

from .app import emulator_app
from .contract import BASE_PATH
from .control import seed
from .settings import Settings, change, parse
from .state import State, default_tokens
from .store import Store

# The control interface shows all keys to any caller.
_HOST = "127.0.0.1"
_NO_LINGER = struct.pack("ii", 1, 0)


def main() -> None:
    options = _parser().parse_args()
    try:
        settings = functools.reduce(change, map(parse, options.set), Settings())
        listener = socket.create_server((_HOST, options.port), backlog=1024)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        sys.exit(f"Cannot listen on port {options.port}: {reason}. Choose another: make emulator PORT=8090")
    except ValueError as error:
        sys.exit(f"emulator: {error}")
    state = State(Store(), settings, default_tokens(options.token))
    if options.seed:
        seed(state, options.seed)
    _print_environment(options, listener.getsockname()[1], state)
    _serve(state, listener, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emulator", description="The monitoring service, for tests.")
    parser.add_argument("--port", type=int, default=8089, help="port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="start with this number of further clients")
    parser.add_argument("--token", metavar="TEXT", help="the token that may read and write (default: a random one)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting")
    parser.add_argument("--tls-cert", metavar="PATH", help="serve https with this certificate")
    parser.add_argument("--tls-key", metavar="PATH", help="and its key")
    until = "end when standard input ends, as it does when the parent process ends"
    parser.add_argument("--until-eof", action="store_true", help=until)
    return parser


def _print_environment(options: argparse.Namespace, port: int, state: State) -> None:
    """The lines to paste into a shell. The socket listens already, so they hold from the moment they are seen.

    Nothing else is on standard output, so that programs can read it.
    """
    scheme = "https" if options.tls_cert else "http"
    explain = not options.until_eof
    if explain:
        print("Paste these lines into another shell, in which you run Ansible:\n", file=sys.stderr)
    print(f"export MONITOR_BASE_URL={scheme}://{_HOST}:{port}{BASE_PATH}")
    print(f"export MONITOR_API_TOKEN={state.tokens['read_write'].value}")
    # For an audit, or to see masked keys: MONITOR_API_TOKEN=$MONITOR_READ_ONLY_TOKEN ansible-playbook ...
    print(f"export MONITOR_READ_ONLY_TOKEN={state.tokens['read_only'].value}", flush=True)
    if explain:
        print("\nServing. Stop it with Ctrl-C in this shell; the account is lost then.", file=sys.stderr)


def _serve(state: State, listener: socket.socket, options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM or, if it is set, until standard input ends."""
    config = uvicorn.Config(
        emulator_app(state),
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        # Tests count connections, so an idle connection must stay open.
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    server = uvicorn.Server(config)
    state.close_connection = _connection_closer(server)
    # Uvicorn raises the signal that ended it once more. It is ignored: the end was requested.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if options.until_eof:
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


if __name__ == "__main__":
    main()
