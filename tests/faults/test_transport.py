# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The token is sent only to the service. Test servers record every byte that they receive."""

import base64
import gzip
import itertools
import json
import random
import sys
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import connect
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, region_info
from ansible_collections.monitor.cloud.tests.support.certificates import HOST, Kinds
from ansible_collections.monitor.cloud.tests.support.checks import try_task
from ansible_collections.monitor.cloud.tests.support.inputs import CALLS, ONE_OF_EACH
from ansible_collections.monitor.cloud.tests.support.servers import (
    OTHER_HOST,
    PASSWORD,
    Account,
    Open,
    Proxy,
    RawListener,
    Request,
    as_json,
    assert_no_token,
    page,
    service,
)
from ansible_collections.monitor.cloud.tests.support.tasks import parameters

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
# Columns: the certificate of the service, how the module trusts the authority, a part of the expected error.
_CERTIFICATES = [
    *(("good", way, "") for way in ("ca_path", *_BUNDLES, "unchecked")),
    ("wrong name", "unchecked", ""),
    ("good", "nothing", "certificate verify failed"),
    ("wrong name", "ca_path", "IP address mismatch"),
    ("expired", "ca_path", "certificate has expired"),
    ("authority of the same name", "ca_path", "certificate verify failed"),
    ("self-signed", "REQUESTS_CA_BUNDLE", "self-signed certificate"),
]

_LIST = json.dumps(page([dict(Account.CLIENT)])).encode()

pytestmark = pytest.mark.usefixtures("bare_environment")


@pytest.mark.parametrize(("kind", "way", "reason"), _CERTIFICATES)
def test_only_a_valid_certificate_of_a_trusted_authority_is_accepted(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder,
    kind: str, way: str, reason: str,
) -> None:  # fmt: skip
    """A server with an invalid certificate receives nothing."""
    authority, certificates = kinds
    account, listener = service(opened, certificates[kind])
    if way in _BUNDLES:
        for name in _BUNDLES[_BUNDLES.index(way) + 1 :]:
            monkeypatch.setenv(name, certificates["self-signed"][0])
        monkeypatch.setenv(way, authority)
    options: dict[str, Any] = {"ca_path": authority if way == "ca_path" else None, "validate_certs": way != "unchecked"}
    result, message = try_task(account, monitor_client, label="web9", retry_timeout=60.0, **options)
    if not reason:
        assert result is not None, message
        assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
        warnings = [str(warning.message) for warning in recwarn]
        assert [text for text in warnings if "HTTPS" in text or Account.TOKEN in text] == []
        return
    assert result is None
    assert "no response: SSLCertVerificationError" in message and reason in message
    assert "ca_path or REQUESTS_CA_BUNDLE" in message
    assert (listener.connections, listener.received) == (1, b"")


_REMOTE = (
    "HTTP://127.0.0.2:{port}/v4",
    "http://localhost.example.test:{port}/v4",
    "http://127.0.0.1@127.0.0.2:{port}/v4",
)


@pytest.fixture(scope="session")
def network() -> list[str]:
    """Record connections and name lookups of this process. Python cannot remove audit hooks, so tests share a hook."""
    seen: list[str] = []
    watched = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")
    sys.addaudithook(lambda event, arguments: seen.append(f"{event} {arguments}") if event in watched else None)
    return seen


def test_plain_http_to_others_is_refused_before_any_packet_unless_allowed(
    opened: Open, network: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    account, listener = service(opened, address=OTHER_HOST)
    allowed = account.base_url
    for address, proxy in itertools.product(_REMOTE, ("", f"http://127.0.0.1:{listener.port}")):
        account.base_url = address.format(port=listener.port)
        monkeypatch.setenv("http_proxy", proxy)
        network.clear()
        for module, options in ((monitor_client_info, {}), (region_info, {}), (monitor_client, {"label": "web1"})):
            assert try_task(account, module, faults=0, **options)[0] is None, address
        assert network == [], address
    account.base_url = allowed
    monkeypatch.delenv("http_proxy")
    assert try_task(account, monitor_client, label="web1", allow_http=True, faults=0)[0] is not None
    assert Account.TOKEN.encode() in listener.received
    assert network and all(OTHER_HOST in event for event in network)


def test_redirects_of_each_kind_of_call_are_not_followed(kinds: Kinds, opened: Open) -> None:
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    others = service(opened, certificates["good"], address=OTHER_HOST)[1], service(opened)[1]
    targets = {
        301: f"{account.base_url}/elsewhere",
        302: f"https://{others[0].address}:{others[0].port}/v4/monitor/clients",
        307: f"http://{others[1].address}:{others[1].port}/v4/monitor/clients",
    }
    for (status, to), name in itertools.product(targets.items(), ONE_OF_EACH):
        module, options, call = ONE_OF_EACH[name]
        listener.forget()
        account.overrides = {call: as_json({}, status, Location=to)}
        result, message = try_task(account, module, ca_path=authority, **options)
        assert result is None, name
        assert f"returned {status}: a redirect to '{to}', which is not followed" in message
        assert message.count("Check base_url") == 1
        assert call[0] in {request.method for request in listener.requests}
        # Requests other than GET are sent once. Before a DELETE and after a POST, the module also sends a GET.
        assert len([request for request in listener.requests if request.method != "GET"]) == (call[0] != "GET")
        assert not any("elsewhere" in request.target for request in listener.requests)
    assert [other.connections for other in others] == [0, 0]


def test_netrc_files_are_not_used(opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    account, listener = service(opened)
    (tmp_path / "NETRC").write_text(f"default login someone password {PASSWORD}\n", encoding="ascii")
    (tmp_path / "NETRC").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "NETRC"))
    account.base_url = account.base_url.replace("127.0.0.1", "localhost")
    for name, (module, options, _call) in CALLS.items():
        result, message = try_task(account, module, **options)
        assert result is not None, f"{name}: {message}"
    public = [r for r in listener.requests if "/regions" in r.target or "/subscriptions" in r.target]
    assert {request.header("Authorization") for request in public} == {None}
    private = [request for request in listener.requests if request not in public]
    assert {request.header("Authorization") for request in private} == {f"Bearer {Account.TOKEN}"}
    assert PASSWORD.encode() not in listener.received
    assert base64.b64encode(f"someone:{PASSWORD}".encode()) not in listener.received


# Columns: the proxy variable, no_proxy, the host of the service, whether the proxy is used. Only the proxy knows HOST.
_PROXIES = [
    ("http_proxy", "", "localhost", False),
    ("https_proxy", "other.example.test", HOST, True),
    ("HTTPS_PROXY", "", "localhost", True),
    ("all_proxy", "", HOST, True),
    ("https_proxy", "*", "localhost", False),
]


@pytest.mark.parametrize(("setting", "exempt", "host", "used"), _PROXIES)
def test_over_tls_a_proxy_gets_no_token_and_the_service_no_password(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch, setting: str, exempt: str, host: str, used: bool
) -> None:
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    proxy = opened(Proxy, (listener.address, listener.port), address=OTHER_HOST)
    monkeypatch.setenv(setting, f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
    monkeypatch.setenv("no_proxy", exempt)
    account.base_url = f"https://{host}:{listener.port}/v4"
    result, message = try_task(account, monitor_client, label="web9", ca_path=authority, faults=0)
    assert result is not None, message
    assert bool(proxy.connections) is used
    assert all(request.method == "CONNECT" for request in proxy.requests)
    assert_no_token(proxy)
    assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
    assert b"proxy-authorization" not in listener.received.lower()
    assert PASSWORD.encode() not in listener.received


def test_plain_http_uses_no_proxy_unless_allowed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a proxy, the unencrypted token for a local service would leave this machine."""
    account, listener = service(opened)
    proxy = opened(Proxy, (listener.address, listener.port), address=OTHER_HOST)
    monkeypatch.setenv("ALL_PROXY", f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
    for allowed, exempt in itertools.product((False, True), ("", "127.0.0.1")):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv("no_proxy", exempt)
        result, message = try_task(account, monitor_client, label="web9", allow_http=allowed, faults=0)
        assert result is not None, message
        assert PASSWORD.encode() not in listener.received
        assert (Account.TOKEN.encode() in proxy.received) is (allowed and not exempt)


def test_proxies_that_cannot_be_used_give_an_error_without_their_password(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, listener = service(opened, kinds[1]["good"])
    for value in ("socks5://someone:{p}@127.0.0.1:9", "http://someone:{p}@x:port", "http://someone:{p}@127.0.0.1:9"):
        monkeypatch.setenv("https_proxy", value.format(p=PASSWORD))
        result, message = try_task(account, monitor_client, label="web1", ca_path=kinds[0])
        assert result is None, value
        assert "the proxy of the environment" in message
        assert listener.connections == 0


@pytest.mark.parametrize(
    ("encoding", "body", "problem"),
    [
        ("gzip", gzip.compress(_LIST), ""),
        ("X-GZIP", gzip.compress(_LIST), ""),
        ("deflate", zlib.compress(_LIST), ""),
        ("identity", _LIST, ""),
        (" , Identity", _LIST, ""),
        ("gzip, identity", gzip.compress(_LIST), ""),
        ("identity, gzip", gzip.compress(_LIST), ""),
        ("deflate, gzip", gzip.compress(zlib.compress(_LIST)), ""),
        (
            "zstd",
            b"(\xb5/\xfd",
            "the service returned 200: the unsupported encoding 'zstd', or JSON of an unknown shape",
        ),
        ("gzip, aws-chunked", gzip.compress(_LIST), "the unsupported encoding 'aws-chunked'"),
        ("gzip", gzip.compress(b" " * (33 * 2**20)), "the response has more than 32 MiB"),
        ("identity", b" " * (33 * 2**20), "the response has more than 32 MiB"),
    ],
)
def test_a_body_is_decoded_up_to_a_limit_of_bytes(opened: Open, encoding: str, body: bytes, problem: str) -> None:
    account, listener = service(opened)
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    account.overrides = {("GET", "clients"): (200, headers, body)}
    result, message = try_task(account, monitor_client_info, faults=0, retry_timeout=60.0)
    assert problem in message
    assert (result is None, len(listener.requests)) == (bool(problem), 1)


def test_an_informational_response_is_an_error_and_no_later_request_gets_its_final_response(opened: Open) -> None:
    """Observed: "gateway". The final response to the DELETE request arrives after the task read the status 103."""
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"

    def respond(request: Request) -> Iterable[bytes]:
        if request.method == "DELETE":
            return [hints, final]
        body = _LIST if request.target.partition("?")[0].endswith("clients") else json.dumps(Account.CLIENT).encode()
        return [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body]

    account = Account()
    listener = opened(RawListener, respond, 0.05)
    account.base_url = f"http://127.0.0.1:{listener.port}/v4"
    api = connect(parameters(cast(Any, account), monitor_client))
    for _attempt in range(3):
        with pytest.raises(ApiError, match="returned 103: an informational response, but no final response") as error:
            api.delete_client(1, "web1")
        assert (error.value.outcome, error.value.retryable) == ("unknown", False)
        assert [client["id"] for client in api.list_clients()] == [1]
    assert len(listener.requests) == 6


@pytest.mark.parametrize("form", ["length", "chunked", "until the end", "gzip"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_response_that_never_ends_is_an_error_after_a_total_deadline(opened: Open, form: str, method: str) -> None:
    """A timeout of the socket limits only the wait for the next byte."""
    heads = {
        "length": b"Content-Length: 9999",
        "chunked": b"Transfer-Encoding: chunked",
        "until the end": b"Connection: close",
        "gzip": b"Content-Encoding: gzip\r\nContent-Length: 9999",
    }
    part = b"1\r\n \r\n" if form == "chunked" else b" "
    compressed = gzip.compress(random.Random(1).randbytes(20_000))
    account, listener = service(opened)

    def respond(request: Request) -> Iterable[bytes]:
        yield b"HTTP/1.1 200 OK\r\n%s\r\n\r\n" % heads[form]
        if form == "gzip":
            # The decoder returns no byte before the header of the first block ends.
            yield compressed[:20]
        for number in range(20, 120):
            yield compressed[number : number + 1] if form == "gzip" else part

    slow = opened(RawListener, respond, 0.3)
    api = connect(parameters(account, monitor_client, retry_timeout=1.0, timeout=0.6))
    api.http.settings = api.http.settings._replace(base_url=f"http://127.0.0.1:{slow.port}/v4")
    began = time.monotonic()
    with pytest.raises(ApiError) as error:
        api.list_clients() if method == "GET" else api.create_client("web9")
    assert "the response did not end within 1.6 s (retry_timeout plus timeout)" in str(error.value)
    assert 1.5 < time.monotonic() - began < 5
    assert (len(slow.requests), listener.requests) == (1, [])
    assert error.value.outcome == ("not_done" if method == "GET" else "unknown")
