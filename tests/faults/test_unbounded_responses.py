# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Responses that never end, that come a byte at a time, or that expand: each fails in time and in bounded memory.

The client runs in a process of its own, which reports its peak memory.
"""

import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service import http
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info
from ansible_collections.monitor.cloud.tests.support.certificates import Kinds
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound
from ansible_collections.monitor.cloud.tests.support.servers import Account, Endless, Listener, Open, Proxy, Reply, page
from ansible_collections.monitor.cloud.tests.support.tasks import failed

pytestmark = pytest.mark.usefixtures("bare_environment")

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_MIB = b" " * 2**20
# What comes once, and what comes again and again, a tenth of a second apart: no timeout between bytes ever ends it.
_SLOW = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "header": (_OK + b"X-Long: ", b"x"),
    "headers": (_OK, b"X-Many: 1\r\n"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 Early Hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "body": (_OK + b"Content-Length: 1000000\r\n\r\n", b" "),
    "body of unknown length": (_OK + b"\r\n", b" "),
    "chunks": (_CHUNKED, b"1\r\n \r\n"),
    "length of a chunk": (_CHUNKED + b"1;", b"x"),
}
# As fast as they are read, and what ends them.
_TOO_LARGE = "takes more than 64 MiB"
_FAST = {
    "body": (_OK + b"\r\n", _MIB, _TOO_LARGE),
    "body of 1 TiB": (_OK + b"Content-Length: 1099511627776\r\n\r\n", _MIB, _TOO_LARGE),
    "chunks": (_CHUNKED, b"100000\r\n" + _MIB + b"\r\n", _TOO_LARGE),
    "length of a chunk": (_CHUNKED + b"1;", _MIB, "cut short: got more than 65536 bytes when reading chunk size"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10000, "no whole response within 3 s"),
    "body of a refusal": (b"HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\n\r\n", _MIB, _TOO_LARGE),
}
_CLIENT = """
import json, sys, time
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info, region_info
from ansible_collections.monitor.cloud.tests.support.tasks import go
class Service:
    base_url, tokens = sys.argv[1], {"read_write": sys.argv[2]}
options = json.loads(sys.argv[3])
module = region_info if "token" in options else monitor_client_info
began = time.monotonic()
try:
    message = json.dumps(go(Service, module, **options))
except MonitorError as error:
    message = str(error)
took = time.monotonic() - began
# ru_maxrss has the parent's in it.
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(json.dumps([message, took, int(peak) / 1024]))
"""
# Over what the same client takes for a short response: the response, encoded or decoded, and one piece of gzip.
_MOST_MIB = 200
_ACCOUNT: Any = Account()
_WAYS = ("plain", "TLS", "TLS by a proxy", "TLS by a proxy over TLS")


def _fetch(base_url: str, *, environment: Mapping[str, str] | None = None, **options: Any) -> tuple[str, float, float]:
    """What a client reports, its seconds, and its peak memory in MiB."""
    given = json.dumps({"retry_timeout": 0.0, **options})
    command = [sys.executable, "-c", _CLIENT, base_url, Account.TOKEN, given]
    done = subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=120, check=True
    )
    message, took, peak = json.loads(done.stdout)
    return message, took, peak


def _fetch_by(way: str, listener: Listener, opened: Open, kinds: Kinds, pause: float = 0) -> tuple[str, float, float]:
    """The same by one of the ways to the service, of which a proxy may pass responses on slowly."""
    environment = {}
    if "proxy" in way:
        over_tls = way.endswith("over TLS")
        files = kinds[1]["good"] if over_tls else None
        proxy = opened(Proxy, (listener.address, listener.port), tls=files, pause=pause)
        environment["https_proxy"] = f"http{'s' * over_tls}://127.0.0.1:{proxy.port}"
    base_url = f"{'http' if way == 'plain' else 'https'}://127.0.0.1:{listener.port}/v4"
    return _fetch(base_url, environment=environment, ca_path=kinds[0], timeout=1.5)


Judge = Callable[[tuple[str, float, float]], str]


@pytest.fixture(scope="module")
def judge() -> Judge:
    """Bounds the memory of a client by what it takes for a short response, and gives its message."""
    listener = Listener(Account().respond)
    short, _took, ordinary = _fetch(f"http://127.0.0.1:{listener.port}/v4")
    listener.stop()
    assert '"label": "web1"' in short

    def judged(done: tuple[str, float, float]) -> str:
        message, _took, peak = done
        assert_sound(_ACCOUNT, message, faults=1)
        assert peak - ordinary < _MOST_MIB
        return message

    return judged


@pytest.mark.parametrize("way", _WAYS)
def test_a_response_that_trickles_ends_at_its_deadline(kinds: Kinds, opened: Open, judge: Judge, way: str) -> None:
    tls = None if way == "plain" else kinds[1]["good"]

    def fetch(name: str) -> tuple[str, float, float]:
        return _fetch_by(way, opened(Endless, *_SLOW[name], pause=0.1, tls=tls), opened, kinds)

    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        for name, done in zip(_SLOW, pool.map(fetch, _SLOW), strict=True):
            assert "no whole response within 1.5 s" in judge(done), name
            assert done[1] < 20, name


@pytest.mark.parametrize("way", [way for way in _WAYS if "proxy" in way])
def test_a_tunnel_that_trickles_ends_at_the_deadline(kinds: Kinds, opened: Open, judge: Judge, way: str) -> None:
    """Within the handshake of TLS and within its records, of which the client sees nothing until they are whole."""
    listener = opened(Listener, Account().respond, tls=kinds[1]["good"])
    done = _fetch_by(way, listener, opened, kinds, pause=0.1)
    assert re.search(r"within 1\.5 s|timed out", judge(done))
    assert done[1] < 20


@pytest.mark.parametrize("name", _FAST)
def test_a_response_without_end_is_not_kept(opened: Open, judge: Judge, name: str) -> None:
    first, again, expected = _FAST[name]
    listener = opened(Endless, first, again, pause=0)
    timeout = 3.0 if "within" in expected else 30.0
    message = judge(_fetch(f"http://127.0.0.1:{listener.port}/v4", timeout=timeout, retry_timeout=0.5))
    assert expected in message


def _bomb(layers: int, wbits: int) -> bytes:
    """256 MiB of white space."""
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    packed = b"".join(packer.compress(_MIB) for _number in range(256)) + packer.flush()
    return packed if layers == 1 else zlib.compress(packed, 1, wbits)


@pytest.mark.parametrize(
    ("encoding", "layers", "expected"),
    [
        ("gzip", 1, "takes more than 64 MiB"),
        ("deflate", 1, "takes more than 64 MiB"),
        ("gzip, gzip", 2, "the response is encoded as 'gzip, gzip', which was not requested"),
        ("br", 1, "the response is encoded as 'br', which was not requested"),
    ],
)
def test_a_body_that_expands_is_stopped(opened: Open, judge: Judge, encoding: str, layers: int, expected: str) -> None:
    body = _bomb(layers, 31 if "gzip" in encoding else 15)
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    listener = opened(Listener, lambda _request: (200, headers, body))
    message = judge(_fetch(f"http://127.0.0.1:{listener.port}/v4", retry_timeout=60.0))
    assert expected in message
    # The same would come again.
    assert len(listener.requests) == 1
    assert listener.requests[0].header("Accept-Encoding") == "gzip, deflate"


def test_a_text_of_the_largest_size_is_cut_before_it_is_redacted(opened: Open, judge: Judge) -> None:
    """Without a token too: 60 MiB, character by character, took 5 s and 540 MiB."""
    listener = opened(Listener, lambda _request: (200, {"Content-Type": "text/plain"}, b"x" * (60 * 2**20)))
    message = judge(_fetch(f"http://127.0.0.1:{listener.port}/v4", token=None))
    assert "the response is not JSON but text/plain, starting with 'xxx" in message


def test_many_small_values_are_not_read(opened: Open, judge: Judge) -> None:
    """Twenty times the memory of their text: 45 MiB took 950."""
    body = b"[" + b"[]," * 15_000_000 + b"[]]"
    listener = opened(Listener, lambda _request: (200, {"Content-Type": "application/json"}, body))
    message = judge(_fetch(f"http://127.0.0.1:{listener.port}/v4"))
    assert "takes more than 2000000 values" in message


def _paged(filler: str, numbers: Iterator[int], pause: float = 0) -> Callable[[Any], Reply]:
    """Pages of a list of ten thousand, each of which has another client, with something large."""

    def respond(_request: Any) -> Reply:
        number = next(numbers)
        time.sleep(pause)
        client = json.dumps({**Account.CLIENT, "id": number, "label": f"web{number}"})
        head = f'{{"data": [{client[:-1]}, "more": {filler}}}], "pages": 10000, "results": 10000}}'
        return 200, {"Content-Type": "application/json"}, head.encode()

    return respond


@pytest.mark.parametrize(
    ("filler", "limit"), [('"' + "x" * 2**23 + '"', "64 MiB"), ("[" + "[]," * 300_000 + "[]]", "2000000 values")]
)
def test_many_pages_of_legal_size_are_not_kept(opened: Open, judge: Judge, filler: str, limit: str) -> None:
    listener = opened(Listener, _paged(filler, itertools.count(1)))
    message = judge(_fetch(f"http://127.0.0.1:{listener.port}/v4"))
    assert f"Could not list the clients: the response, with all its pages, takes more than {limit} (GET" in message
    assert len(listener.requests) < 30


def test_many_slow_pages_end(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LONGEST_LIST", 0.5)
    account: Any = Account()
    listener = opened(Listener, _paged("0", itertools.count(1), pause=0.1))
    address = f"http://127.0.0.1:{listener.port}/v4"
    message = failed(account, monitor_client_info, base_url=address, retry_timeout=0.5)
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
    message, _took, _peak = _fetch(f"http://127.0.0.1:{listener.port}/v4")
    assert_sound(_ACCOUNT, message, faults=1)
    assert '"label": "web1"' in message
