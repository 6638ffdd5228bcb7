# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Responses that never end, that come a byte at a time, or that expand: each fails in time and in bounded memory."""

import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info
from ansible_collections.monitor.cloud.tests.support.certificates import Kinds
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, try_task
from ansible_collections.monitor.cloud.tests.support.servers import (
    Account,
    Endless,
    Listener,
    Open,
    Proxy,
    Reply,
    Request,
    as_json,
    page,
)
from ansible_collections.monitor.cloud.tests.support.tasks import failed

pytestmark = pytest.mark.usefixtures("bare_environment")

Responder = Callable[[Any], Reply]

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_MIB = b" " * 2**20
# What comes once, and what comes again and again, a tenth of a second apart: no timeout between bytes ever ends it.
_SLOW = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (_OK, b"X-Many: 1\r\n"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (_OK + b"Content-Length: 1000000\r\n\r\n", b" "),
    "chunks": (_CHUNKED, b"1\r\n \r\n"),
    "length of a chunk": (_CHUNKED + b"1;", b"x"),
}
_CLIENT = """
import concurrent.futures, json, sys, time, types
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info
from ansible_collections.monitor.cloud.tests.support.tasks import go
def fetch(given):
    base_url, options = given
    service = types.SimpleNamespace(base_url=base_url, tokens={"read_write": sys.argv[1]})
    began = time.monotonic()
    try:
        message = json.dumps(go(service, monitor_client_info, **options))
    except MonitorError as error:
        message = str(error)
    # ru_maxrss has the parent's in it.
    [peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")]
    return message, time.monotonic() - began, int(peak) / 1024
with concurrent.futures.ThreadPoolExecutor(int(sys.argv[2])) as pool:
    print(json.dumps(list(pool.map(fetch, json.loads(sys.argv[3])))))
"""
# Over what the same client takes for a short response: the response, encoded or decoded, and one piece of gzip.
_MOST_MIB = 200
_ACCOUNT: Any = Account()
_WAYS = ("plain", "TLS", "TLS by a proxy", "TLS by a proxy over TLS")


def _fetch_all(
    requested: Sequence[tuple[str, dict[str, Any]]], workers: int = 1, **environment: str
) -> list[tuple[str, float, float]]:
    """What one client reports of each base_url and its options, its seconds, and the peak memory in MiB until then."""
    given = json.dumps([(base_url, {"retry_timeout": 0.0, **options}) for base_url, options in requested])
    command = [sys.executable, "-c", _CLIENT, Account.TOKEN, str(workers), given]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=True
    )
    results: list[tuple[str, float, float]] = json.loads(done.stdout)
    for message, _took, _peak in results:
        assert_sound(_ACCOUNT, message, faults=1)
    return results


def _fetch_by(
    way: str, listener: Listener, opened: Open, kinds: Kinds, paths: Sequence[str] = ("",), pause: float = 0
) -> list[tuple[str, float, float]]:
    """The same by one of the ways to the service, of which a proxy may pass responses on slowly. All paths at once."""
    environment = {}
    if "proxy" in way:
        over_tls = way.endswith("over TLS")
        files = kinds[1]["good"] if over_tls else None
        proxy = opened(Proxy, (listener.address, listener.port), tls=files, pause=pause)
        environment["https_proxy"] = f"http{'s' * over_tls}://127.0.0.1:{proxy.port}"
    address = f"{'http' if way == 'plain' else 'https'}://127.0.0.1:{listener.port}"
    options = {"ca_path": kinds[0], "timeout": 1.5}
    return _fetch_all([(f"{address}{path}/v4", options) for path in paths], len(paths), **environment)


class Trickles(Listener):
    """At each path begins with one of the slow responses, and never ends."""

    def converse(self, connection: socket.socket, request: Request) -> bool:
        beginning, piece = list(_SLOW.values())[int(request.target.split("/")[1])]
        connection.sendall(beginning)
        while True:
            connection.sendall(piece)
            time.sleep(0.1)


@pytest.mark.parametrize("way", _WAYS)
def test_a_response_that_trickles_ends_at_its_deadline(kinds: Kinds, opened: Open, way: str) -> None:
    listener = opened(Trickles, lambda _request: None, tls=None if way == "plain" else kinds[1]["good"])
    done = _fetch_by(way, listener, opened, kinds, [f"/{number}" for number in range(len(_SLOW))])
    for name, (message, took, peak) in zip(_SLOW, done, strict=True):
        assert "no whole response within 1.5 s" in message, name
        assert took < 20 and peak < _MOST_MIB, name


@pytest.mark.parametrize("way", [way for way in _WAYS if "proxy" in way])
def test_a_tunnel_that_trickles_ends_at_the_deadline(kinds: Kinds, opened: Open, way: str) -> None:
    """Within the handshake of TLS and within its records, of which the client sees nothing until they are whole."""
    listener = opened(Listener, Account().respond, tls=kinds[1]["good"])
    [(message, took, _peak)] = _fetch_by(way, listener, opened, kinds, pause=0.1)
    assert re.search(r"within 1\.5 s|timed out", message)
    assert took < 20


def _bomb(layers: int, wbits: int) -> bytes:
    """256 MiB of white space."""
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    packed = b"".join(packer.compress(_MIB) for _number in range(256)) + packer.flush()
    return packed if layers == 1 else zlib.compress(packed, 1, wbits)


def _encoded(encoding: str, layers: int = 1) -> Responder:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    body = _bomb(layers, 31 if "gzip" in encoding else 15)
    return lambda _request: (200, headers, body)


def _paged(filler: str, pause: float = 0) -> Responder:
    """Pages of a list of ten thousand, each of which has another client, with something large."""
    numbers = itertools.count(1)

    def respond(_request: Any) -> Reply:
        number = next(numbers)
        time.sleep(pause)
        client = json.dumps({**Account.CLIENT, "id": number, "label": f"web{number}"})
        head = f'{{"data": [{client[:-1]}, "more": {filler}}}], "pages": 10000, "results": 10000}}'
        return as_json(head.encode())

    return respond


_TOO_LARGE = "takes more than 64 MiB"
_PAGES = "Could not list the clients: the response, with all its pages, takes more than {} (GET"


def _unbounded() -> dict[str, tuple[Responder | tuple[bytes, bytes], str]]:
    """Responses, or how they begin and what follows without end as fast as it is read, and their errors."""
    encoded = "the response is encoded as '{}', which was not requested"
    return {
        # Cut before it is redacted: character by character, it took 5 s and 540 MiB.
        "text": (lambda _request: (200, {"Content-Type": "text/plain"}, b"x" * (60 * 2**20)), "not JSON but text"),
        "body": ((_OK + b"\r\n", _MIB), _TOO_LARGE),
        "chunks": ((_CHUNKED, b"100000\r\n" + _MIB + b"\r\n"), _TOO_LARGE),
        "length of a chunk": ((_CHUNKED + b"1;", _MIB), "cut short: got more than 65536 bytes when reading chunk size"),
        "100 Continue": ((b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10000), "no whole response within 3 s"),
        "refusal": ((b"HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\n\r\n", _MIB), _TOO_LARGE),
        "gzip": (_encoded("gzip"), _TOO_LARGE),
        "gzip twice": (_encoded("gzip, gzip", 2), encoded.format("gzip, gzip")),
        "br": (_encoded("br"), encoded.format("br")),
        # Twenty times the memory of their text: 45 MiB took 950.
        "many small values": (
            lambda _request: as_json(b"[" + b"[]," * 15_000_000 + b"[]]"), "takes more than 2000000 values"
        ),
        "large pages": (_paged(f'"{"x" * 2**23}"'), _PAGES.format("64 MiB")),
        "pages of many values": (_paged("[" + "[]," * 300_000 + "[]]"), _PAGES.format("2000000 values")),
    }  # fmt: skip


def test_a_response_that_is_large_expands_or_never_ends_is_not_kept(opened: Open) -> None:
    """One client gets them one by one, after a short response."""
    cases, servers, requested = _unbounded(), [opened(Listener, Account().respond)], []
    for response, expected in cases.values():
        if isinstance(response, tuple):
            servers.append(opened(Endless, *response, pause=0))
        else:
            servers.append(opened(Listener, response))
        # A response that is cut off is retried.
        retry = 0.5 if isinstance(response, tuple) else 60.0
        requested.append({"timeout": 3.0 if "within" in expected else 30.0, "retry_timeout": retry})
    addresses = [f"http://127.0.0.1:{listener.port}/v4" for listener in servers]
    (short, _took, ordinary), *done = _fetch_all(list(zip(addresses, [{}, *requested], strict=True)))
    assert '"label": "web1"' in short
    for name, listener, (message, _took, peak) in zip(cases, servers[1:], done, strict=True):
        assert cases[name][1] in message, name
        assert peak - ordinary < _MOST_MIB, name
        if not isinstance(listener, Endless):
            # The same would come again.
            assert len(listener.requests) < (30 if "pages" in name else 2), name
            assert listener.requests[0].header("Accept-Encoding") == "gzip, deflate"


def test_many_slow_pages_end(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LONGEST_LIST", 0.5)
    listener = opened(Listener, _paged("0", pause=0.1))
    address = f"http://127.0.0.1:{listener.port}/v4"
    message = failed(_ACCOUNT, monitor_client_info, base_url=address, retry_timeout=0.5)
    assert "the response, with all its pages, takes more than 1 seconds (GET" in message
    assert len(listener.requests) < 100


@pytest.mark.parametrize(
    ("before", "size"), [(b"", 2**26 - 2**16), (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 200)]
)
def test_a_large_response_and_one_after_a_hint_are_taken(opened: Open, before: bytes, size: int) -> None:
    """Observed: "gateway"."""
    body = json.dumps(page([dict(Account.CLIENT)])).encode().ljust(size)
    whole = before + _OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    listener = opened(Endless, whole, b"", pause=0)
    assert try_task(_ACCOUNT, monitor_client_info, base_url=f"http://127.0.0.1:{listener.port}/v4")[0] is not None
