# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import argparse
import functools
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import uvicorn

# Connexion imports Starlette's test client, which warns about a missing package that the emulator does not need.
warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")

from .app import emulator_app
from .contract import BASE_PATH
from .control import seed
from .settings import Settings, change, parse
from .state import State, default_tokens
from .store import Store

# The emulator listens on the loopback address only, because the control interface shows all keys to any caller.
_HOST = "127.0.0.1"


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
    parser = argparse.ArgumentParser(prog="emulator", description="An emulated monitoring service for tests.")
    parser.add_argument("--port", type=int, default=8089, help="the port; 0 is any free port (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="create N clients")
    parser.add_argument("--token", metavar="TEXT", help="the token that may read and write (default: a random one)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting")
    parser.add_argument("--tls-cert", metavar="PATH", help="serve https with this certificate")
    parser.add_argument("--tls-key", metavar="PATH", help="the key of the certificate")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    return parser


def _print_environment(options: argparse.Namespace, port: int, state: State) -> None:
    """Print commands for a shell. Explanations go to standard error: programs read standard output."""
    scheme = "https" if options.tls_cert else "http"
    explain = not options.until_eof
    if explain:
        print("Paste these lines into another shell, in which you run Ansible:\n", file=sys.stderr)
    print(f"export MONITOR_BASE_URL={scheme}://{_HOST}:{port}{BASE_PATH}")
    print(f"export MONITOR_API_TOKEN={state.tokens['read_write'].value}")
    print(f"export MONITOR_READ_ONLY_TOKEN={state.tokens['read_only'].value}", flush=True)
    if explain:
        print("\nThe emulator is running. Ctrl-C in this shell stops it and deletes its clients.", file=sys.stderr)


def _serve(state: State, listener: socket.socket, options: argparse.Namespace) -> None:
    config = uvicorn.Config(
        emulator_app(state),
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        # Tests count connections, so idle connections must stay open.
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    server = uvicorn.Server(config)
    state.close_connection = _connection_closer(server)
    # Uvicorn stops on a signal, and then raises the signal again. Ignore the second signal.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if options.until_eof:
        threading.Thread(target=_end_with_input, args=[server], daemon=True).start()
    server.run(sockets=[listener])


def _end_with_input(server: uvicorn.Server) -> None:
    while os.read(0, 4096):
        pass
    server.should_exit = True


def _connection_closer(server: uvicorn.Server) -> Callable[[str], None]:
    def close(client: str) -> None:
        for connection in list(server.server_state.connections):
            protocol: Any = connection
            if protocol.client and "{}:{}".format(*protocol.client) == client:
                protocol.transport.close()

    return close


if __name__ == "__main__":
    main()
