# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`python -m ansible_collections.monitor.cloud.tests.emulator`: prints how to use the emulator, then serves."""

import argparse
import functools
import os
import sys
import warnings

# Connexion imports Starlette's test client, which warns of what it needs. Nothing here uses it.
warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")

from .contract import BASE_PATH
from .control import seed
from .server import listen, serve
from .settings import Settings, change, describe, parse
from .state import State, default_tokens
from .store import Store


def main() -> int:
    """Run the command. Returns its exit code: 2 if it could not start."""
    options = _parser().parse_args()
    if options.list_settings:
        print(describe())
        return 0
    try:
        settings = functools.reduce(change, map(parse, options.set), Settings())
        listener = listen(options.host, options.port)
    except ValueError as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"emulator: cannot listen on {options.host}:{options.port}: {os.strerror(error.errno or 0)}. "
            f"Take a free port: {sys.executable} -m {__package__} --port 0",
            file=sys.stderr,
        )
        return 2
    state = State(Store(options.database), settings, default_tokens(options.token))
    if options.seed:
        seed(state, options.seed)
    _print_environment(options, listener.getsockname()[1], state)
    serve(state, listener, options.tls_cert, options.tls_key, options.until_eof)
    state.store.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emulator", description="The monitoring service, for tests.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8089, help="port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--database", default=":memory:", metavar="PATH", help="keep the account in this file")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="start with this number of further clients")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting")
    parser.add_argument("--list-settings", action="store_true", help="print all settings and end")
    parser.add_argument("--token", metavar="TEXT", help="the token with all rights (default: made at the start)")
    parser.add_argument("--tls-cert", metavar="PATH", help="serve https with this certificate")
    parser.add_argument("--tls-key", metavar="PATH", help="and its key")
    until = "end at the end of standard input, which comes when the process that started this one ends"
    parser.add_argument("--until-eof", action="store_true", help=until)
    return parser


def _print_environment(options: argparse.Namespace, port: int, state: State) -> None:
    """The lines to paste into a shell. The socket listens already, so they hold from the moment they are seen.

    Nothing else is on standard output, so that programs can read it.
    """
    scheme = "https" if options.tls_cert else "http"
    host = f"[{options.host}]" if ":" in options.host else options.host
    kept = "is lost then" if options.database == ":memory:" else f"stays in {options.database}"
    _explain(options, "Paste these two lines into another shell, in which you run Ansible:\n")
    print(f"export MONITOR_BASE_URL={scheme}://{host}:{port}{BASE_PATH}")
    print(f"export MONITOR_API_TOKEN={state.tokens['read_write'].value}", flush=True)
    _explain(options, f"\nServing. Stop it with Ctrl-C in this shell; the account {kept}.")


def _explain(options: argparse.Namespace, text: str) -> None:
    """For a person who started it, not for a program that did."""
    if not options.until_eof:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
