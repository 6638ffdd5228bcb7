# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The token goes only to the service, whatever certificates, redirects, netrc files and proxies there are.

Listeners keep every byte that comes to them.
"""

import base64
import gzip
import itertools
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, region_info
from ansible_collections.monitor.cloud.tests.support.certificates import HOST, Kinds
from ansible_collections.monitor.cloud.tests.support.checks import try_task
from ansible_collections.monitor.cloud.tests.support.inputs import ONE_OF_EACH
from ansible_collections.monitor.cloud.tests.support.servers import (
    OTHER_HOST,
    PASSWORD,
    Account,
    Open,
    Proxy,
    as_json,
    assert_no_token,
    forbidden,
    page,
    service,
)

_REASONS = {
    "wrong name": "IP address mismatch", "no alternative name": "IP address mismatch",
    "expired": "certificate has expired", "not valid yet": "certificate is not yet valid",
    "self-signed": "self-signed certificate", "authority of the same name": "certificate verify failed",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("bare_environment")


# Certificates

_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_TRUSTED = ("ca_path", *_BUNDLES)
# A certificate and what is trusted: by each way the right authority, nothing (a connection is refused), or anything.
_CERTIFICATES = [
    *itertools.product(["good"], _TRUSTED),
    *itertools.product(["good", "wrong name", "self-signed"], ["unchecked", "nothing"]),
    *itertools.product(_REASONS, ["ca_path"]),
    ("self-signed", "REQUESTS_CA_BUNDLE"),
]


def trust(way: str, kinds: Kinds, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Set the environment, and return the options of a task."""
    authority, certificates = kinds
    if way in _BUNDLES:
        for name in _BUNDLES[_BUNDLES.index(way) + 1 :]:
            monkeypatch.setenv(name, certificates["self-signed"][0])
        monkeypatch.setenv(way, authority)
    return {"ca_path": authority if way == "ca_path" else None, "validate_certs": way != "unchecked"}


@pytest.mark.parametrize(("kind", "way"), _CERTIFICATES)
def test_only_a_valid_certificate_of_a_trusted_authority_is_accepted(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, kind: str, way: str
) -> None:
    """Refused at once and for a reason that helps; nothing at all is sent to who shows another."""
    account, listener = service(opened, kinds[1][kind])
    options = trust(way, kinds, monkeypatch)
    result, message = try_task(account, monitor_client, label="web9", retry_timeout=60.0, **options)
    if way == "unchecked" or (kind == "good" and way in _TRUSTED):
        assert result is not None, message
        assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
        warnings = [str(warning.message) for warning in recwarn]
        assert [text for text in warnings if "HTTPS" in text or Account.TOKEN in text] == []
        return
    assert result is None
    assert "no response: SSLCertVerificationError" in message
    assert "ca_path or REQUESTS_CA_BUNDLE" in message
    assert _REASONS.get(kind if way != "nothing" else "", "certificate verify failed") in message
    assert (listener.connections, listener.received) == (1, b"")


# Plain HTTP

_REMOTE = (
    "http://127.0.0.2:{port}/v4",
    "HTTP://127.0.0.2:{port}/v4",
    "http://localhost.example.test:{port}/v4",
    "http://127.0.0.1:{port}@127.0.0.2:{port}/v4",
)


@pytest.fixture(scope="session")
def network() -> list[str]:
    """The connections and name lookups of this process from now on. A hook of the interpreter stays."""
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


# Redirects


@pytest.mark.parametrize(
    ("status", "target"),
    [
        (301, "https://{service}/v4/elsewhere"),
        (302, "https://{secure}/v4/monitor/clients"),
        (307, "http://{plain}/v4/monitor/clients"),
    ],
)
def test_redirects_of_each_kind_of_call_are_not_followed(kinds: Kinds, opened: Open, status: int, target: str) -> None:
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    secure, plain = forbidden(opened, certificates["good"], address=OTHER_HOST), forbidden(opened)
    addresses = {"service": listener, "secure": secure, "plain": plain}
    to = target.format(**{name: f"{other.address}:{other.port}" for name, other in addresses.items()})
    for name, (module, options, call) in ONE_OF_EACH.items():
        listener.forget()
        account.overrides = {call: as_json({}, status, Location=to)}
        result, message = try_task(account, module, ca_path=authority, **options)
        assert result is None, name
        assert f"returned {status}: a redirect to '{to}', which is not followed" in message
        assert message.count("Check base_url") == 1
        assert listener.requests[-1].method == call[0]
        # A client is read before its delete; no delete is sent twice.
        assert len([request for request in listener.requests if request.method != "GET"]) == (call[0] != "GET")
        assert not any("elsewhere" in request.target for request in listener.requests)
    assert secure.connections == plain.connections == 0


# Credentials of netrc files


@pytest.mark.parametrize(("entry", "name_of_file"), [("machine localhost", ".netrc"), ("default", "NETRC")])
def test_netrc_files_are_not_used(
    opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, entry: str, name_of_file: str
) -> None:
    account, listener = service(opened)
    file = tmp_path / name_of_file
    file.write_text(f"{entry} login someone password {PASSWORD}\n", encoding="ascii")
    file.chmod(0o600)
    if name_of_file == "NETRC":
        monkeypatch.setenv("NETRC", str(file))
    account.base_url = account.base_url.replace("127.0.0.1", "localhost")
    for name, (module, options, _call) in ONE_OF_EACH.items():
        result, message = try_task(account, module, **options)
        assert result is not None, f"{name}: {message}"
    public = [r for r in listener.requests if "/regions" in r.target or "/subscriptions" in r.target]
    assert {request.header("Authorization") for request in public} == {None}
    private = [request for request in listener.requests if request not in public]
    assert {request.header("Authorization") for request in private} == {f"Bearer {Account.TOKEN}"}
    assert PASSWORD.encode() not in listener.received
    assert base64.b64encode(f"someone:{PASSWORD}".encode()) not in listener.received


# Proxies of the environment

_SETTINGS = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy")
_BOTH = (HOST, "localhost")
# Values of no_proxy, and the hosts that they exempt.
_EXEMPT = {"": (), "other.example.test": (), ".example.test": (HOST,), "*": _BOTH, "{host}:{port}": _BOTH}


@pytest.mark.parametrize(
    ("setting", "exempt"),
    [*((setting, "") for setting in _SETTINGS), *(("https_proxy", exempt) for exempt in _EXEMPT if exempt)],
)
def test_over_tls_a_proxy_gets_no_token_and_the_service_no_password(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch, setting: str, exempt: str
) -> None:
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    proxy = opened(Proxy, (listener.address, listener.port), address=OTHER_HOST)
    # The one name can only be found by way of the proxy, the other without it as well.
    for host in _BOTH:
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
        monkeypatch.setenv("no_proxy", exempt.format(host=host, port=listener.port))
        account.base_url = f"https://{host}:{listener.port}/v4"
        expected = setting.lower() != "http_proxy" and host not in _EXEMPT[exempt]
        if host == HOST and not expected:
            continue
        result, message = try_task(account, monitor_client, label="web9", ca_path=authority, faults=0)
        assert result is not None, message
        assert bool(proxy.connections) is expected
        assert all(request.method == "CONNECT" for request in proxy.requests)
        assert_no_token(proxy)
        assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
        assert b"proxy-authorization" not in listener.received.lower()
        assert PASSWORD.encode() not in listener.received


@pytest.mark.parametrize("setting", ["http_proxy", "https_proxy", "ALL_PROXY"])
def test_plain_http_uses_no_proxy_unless_allowed(opened: Open, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """The token would leave this machine unencrypted, though the service is on it."""
    account, listener = service(opened)
    proxy = opened(Proxy, (listener.address, listener.port), address=OTHER_HOST)
    by_proxy = not setting.lower().startswith("https")
    monkeypatch.setenv(setting, f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
    for allowed, exempt in itertools.product((False, True), ("", "127.0.0.1")):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv("no_proxy", exempt)
        result, message = try_task(account, monitor_client, label="web9", allow_http=allowed, faults=0)
        assert result is not None, message
        assert PASSWORD.encode() not in listener.received
        # This also shows that the listeners see a token.
        assert (Account.TOKEN.encode() in proxy.received) is (by_proxy and allowed and not exempt)


_BAD_PROXIES = ("socks5://someone:{p}@127.0.0.1:9", "http://someone:{p}@x:port", "http://someone:{p}@127.0.0.1:9")


def test_proxies_that_cannot_be_used_give_an_error_without_their_password(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, listener = service(opened, kinds[1]["good"])
    for value in _BAD_PROXIES:
        monkeypatch.setenv("https_proxy", value.format(p=PASSWORD))
        result, message = try_task(account, monitor_client, label="web1", ca_path=kinds[0])
        assert result is None, value
        assert "the proxy of the environment" in message
        assert listener.connections == 0


# Bodies


def _packed(encoding: str) -> bytes:
    body = json.dumps(page([dict(Account.CLIENT)])).encode()
    for name in encoding.lower().split(","):
        body = gzip.compress(body) if "gzip" in name else zlib.compress(body) if name.strip() == "deflate" else body
    return body


def test_encodings_and_a_limit_of_bytes(opened: Open) -> None:
    """Names that are no encodings are ignored."""
    account, listener = service(opened)
    for encoding in ("", "gzip", "deflate", "identity", "none", "utf-8"):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        account.overrides = {("GET", "clients"): (200, headers, _packed(encoding))}
        result, message = try_task(account, monitor_client_info, faults=0)
        assert result is not None, (encoding, message)
    assert {request.header("Accept-Encoding") for request in listener.requests} == {"gzip, deflate"}
    account.overrides = {("GET", "clients"): (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 2**26))}
    result, message = try_task(account, monitor_client_info, faults=0, retry_timeout=60.0)
    assert "the response has more than 32 MiB" in message
