# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The token goes only to the service, whatever certificates, redirects, netrc files and proxies there are.

Listeners keep every byte that comes to them: what was sent is what counts, not what was meant.
"""

from __future__ import annotations

import base64
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import inputs
from ansible_collections.monitor.cloud.tests.support.certificates import HOST, Kinds
from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.servers import (
    Account,
    Listener,
    Open,
    Proxy,
    Reply,
    Request,
    as_json,
    service,
)
from ansible_collections.monitor.cloud.tests.support.tally import Tally, short_or_long

OTHER_HOST = "127.0.0.2"
PASSWORD = "netrc-or-proxy-password"
CALLS = {
    name: inputs.CALLS[name]
    for name in ("list, register", "view", "create one", "rename", "delete", "switch", "tiers", "regions")
}
REASONS = {
    "wrong name": "IP address mismatch",
    "no alternative name": "IP address mismatch",
    "expired": "certificate has expired",
    "not valid yet": "certificate is not yet valid",
    "self-signed": "self-signed certificate",
    "authority of the same name": "certificate verify failed",
}

pytestmark = pytest.mark.usefixtures("bare_environment")


def forbidden(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> Listener:
    """A server that responds like a service and must not receive a token."""
    listener: Listener = opened(Listener, Account().respond, tls=tls, **options)
    return listener


def assert_no_token(*listeners: Listener) -> None:
    for listener in listeners:
        assert Account.TOKEN.encode() not in listener.received
        assert b"\nauthorization:" not in listener.received.lower()


# Certificates


@pytest.mark.parametrize("trust", ["ca_path", "both", "directory", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_private_authority(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trust: str
) -> None:
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    options = {"ca_path": authority} if trust in ("ca_path", "both") else {}
    if trust == "both":
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", certificates["self-signed"][0])
    elif trust == "directory":
        # OpenSSL searches a directory for a certificate by the hash of its name.
        command = ["openssl", "x509", "-hash", "-noout", "-in", authority]
        name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        (tmp_path / f"{name}.0").symlink_to(authority)
        options = {"ca_path": str(tmp_path)}
    elif trust != "ca_path":
        monkeypatch.setenv(trust, authority)
    result, message = counts.task(account, monitor_client, label="web1", **options, faults=0)
    assert result is not None, message
    assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}


@pytest.mark.parametrize(
    ("kind", "trust"), [*itertools.product(REASONS, ["ca_path", "REQUESTS_CA_BUNDLE", "nothing"]), ("good", "nothing")]
)
def test_an_invalid_certificate_is_refused(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, kind: str, trust: str
) -> None:
    """Refused at once and for a reason that helps; nothing at all is sent to who shows it."""
    authority, certificates = kinds
    account, listener = service(opened, certificates[kind])
    options: dict[str, Any] = {"ca_path": authority} if trust == "ca_path" else {}
    if trust == "REQUESTS_CA_BUNDLE":
        monkeypatch.setenv(trust, authority)
    result, message = counts.task(account, monitor_client, label="web9", retry_timeout=60.0, **options)
    assert result is None
    assert "no secure connection: SSLCertVerificationError" in message
    assert message.endswith("Check base_url; for a private certificate authority set ca_path (monitor_agent_ca_path).")
    assert REASONS.get(kind if trust != "nothing" else "", "certificate verify failed") in message
    assert (listener.connections, listener.received) == (1, b"")


def test_plain_http_to_a_service_over_tls(kinds: Kinds, opened: Open, counts: Tally) -> None:
    account, _listener = service(opened, kinds[1]["good"])
    account.base_url = account.base_url.replace("https:", "http:")
    result, message = counts.task(account, monitor_client, label="web1")
    assert result is None and message.startswith("Could not list the clients: ")


@pytest.mark.parametrize("kind", ["good", *REASONS])
def test_checks_turned_off(
    kinds: Kinds, opened: Open, counts: Tally, kind: str, recwarn: pytest.WarningsRecorder
) -> None:
    account, listener = service(opened, kinds[1][kind])
    result, message = counts.task(account, monitor_client, label="web1", validate_certs=False, faults=0)
    assert result is not None, message
    assert listener.received
    warnings = [str(warning.message) for warning in recwarn]
    assert [text for text in warnings if "HTTPS" in text or Account.TOKEN in text] == []


def test_warnings_of_other_code_stay_enabled(kinds: Kinds) -> None:
    """Turned off for one, in a process of its own: a warning of another library is not silenced."""
    script = (
        "import warnings, urllib3\n"
        "from ansible_collections.monitor.cloud.plugins.module_utils._service.http import Http, Settings\n"
        "Http(Settings('https://127.0.0.1/v4', validate_certs=CHECKED))\n"
        "warnings.warn('unverified', urllib3.exceptions.InsecureRequestWarning)\n"
    )
    for checked in (True, False):
        command = [sys.executable, "-c", script.replace("CHECKED", str(checked))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ("unverified" in done.stderr) is checked


# Plain HTTP

_REMOTE = (
    "http://127.0.0.2:{port}/v4",
    "http://api.example.test:{port}/v4",
    "HTTP://127.0.0.2:{port}/v4",
    "http://127.0.0.1.example.test:{port}/v4",
    "http://localhost.example.test:{port}/v4",
    "http://127.0.0.1\\.example.test:{port}/v4",
    "http://[::ffff:127.0.0.2]:{port}/v4",
    "http://2130706434:{port}/v4",
    "http://0x7f000002:{port}/v4",
    "http://0.0.0.0:{port}/v4",
    "\thttp://127.0.0.2:{port}/v4\n",
)
_INVALID = ("http://127.0.0.1:{port}@127.0.0.2:{port}/v4", "http://127.0.0.2:{port}#@127.0.0.1/v4", "http:127.0.0.2/v4")


class _Watch:
    """Connections and name lookups of this process. A hook of the interpreter stays, so that there is but one."""

    seen: list[str] | None = None
    installed = False

    @classmethod
    def hook(cls, event: str, arguments: Any) -> None:
        if cls.seen is not None and event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
            cls.seen.append(f"{event} {arguments[-1] if event == 'socket.connect' else arguments[0]}")


@pytest.fixture
def network() -> Iterator[list[str]]:
    if not _Watch.installed:
        sys.addaudithook(_Watch.hook)
        _Watch.installed = True
    _Watch.seen = []
    yield _Watch.seen
    _Watch.seen = None


@pytest.mark.parametrize("proxied", [False, True])
@pytest.mark.parametrize("address", [*_REMOTE, *_INVALID])
def test_plain_http_to_others_is_refused_before_any_packet(
    opened: Open, counts: Tally, network: list[str], monkeypatch: pytest.MonkeyPatch, address: str, proxied: bool
) -> None:
    account, _listener = service(opened)
    trap = forbidden(opened, address=OTHER_HOST)
    if proxied:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{trap.port}")
    account.base_url = address.format(port=trap.port)
    for module, options in ((monitor_client_info, {}), (region_info, {}), (monitor_client, {"label": "web1"})):
        assert counts.task(account, module, faults=0, **options)[0] is None
    assert network == []
    assert trap.connections == 0


def test_plain_http_if_it_is_allowed(opened: Open, counts: Tally, network: list[str]) -> None:
    account, listener = service(opened, address=OTHER_HOST)
    result, message = counts.task(account, monitor_client, label="web1", allow_http=True, faults=0)
    assert result is not None
    assert Account.TOKEN.encode() in listener.received
    assert all(OTHER_HOST in event for event in network)
    assert network, "the watch sees connections"


# Redirects


@pytest.mark.parametrize("to", ["same host", "other host", "other name", "http", "http of the service"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_of_each_kind_of_call(kinds: Kinds, opened: Open, counts: Tally, status: int, to: str) -> None:
    """From a secure service: not followed, whatever the call, the status and the target."""
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    secure, plain = forbidden(opened, certificates["good"], address=OTHER_HOST), forbidden(opened)
    targets = {
        "same host": f"https://127.0.0.1:{listener.port}/v4/elsewhere",
        "other host": f"https://{OTHER_HOST}:{secure.port}/v4/monitor/clients",
        "other name": f"//localhost:{plain.port}/v4/monitor/clients",
        "http": f"http://127.0.0.1:{plain.port}/v4/monitor/clients",
        "http of the service": f"http://127.0.0.1:{listener.port}/v4/monitor/clients",
    }
    for name, (module, options, call) in CALLS.items():
        listener.forget()
        account.overrides = {call: as_json({}, status, Location=targets[to])}
        result, message = counts.task(account, module, ca_path=authority, **options)
        assert result is None, name
        assert f"returned {status}, a redirect to '{targets[to]}', which is not followed" in message
        assert message.count("Set base_url to the right address.") == 1
        assert listener.requests[-1].method == call[0]
        # A client is read before its delete; no delete is sent twice.
        assert len([request for request in listener.requests if request.method != "GET"]) == (call[0] != "GET")
        assert not any("elsewhere" in request.target for request in listener.requests)
    assert secure.connections == plain.connections == 0


@pytest.mark.parametrize("location", ["http://[", "", "//", "http://\x80\xff:99999/", "\x1b[2J", "x" * 20000, None])
def test_redirects_to_no_address(opened: Open, counts: Tally, location: str | None) -> None:
    account, listener = service(opened)
    account.overrides = {("GET", "clients"): as_json({}, 302, **({} if location is None else {"Location": location}))}
    result, message = counts.task(account, monitor_client_info)
    assert result is None
    assert "returned 302, a redirect to" in message
    assert message.isprintable()
    assert len(message) < 1000
    assert len(listener.requests) == 1


# Credentials of netrc files


@pytest.mark.parametrize("entry", ["machine 127.0.0.1", "machine localhost", "default"])
@pytest.mark.parametrize("name_of_file", ["NETRC", ".netrc", "_netrc"])
@pytest.mark.parametrize("secure", [False, True])
def test_netrc_files_are_not_used(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    entry: str, name_of_file: str, secure: bool,
) -> None:  # fmt: skip
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"] if secure else None)
    file = tmp_path / name_of_file
    file.write_text(f"{entry} login someone password {PASSWORD}\n", encoding="ascii")
    file.chmod(0o600)
    if name_of_file == "NETRC":
        monkeypatch.setenv("NETRC", str(file))
    account.base_url = account.base_url.replace("127.0.0.1", "localhost") if "localhost" in entry else account.base_url
    for name, (module, options, _call) in CALLS.items():
        result, message = counts.task(account, module, ca_path=authority, **options, faults=0)
        assert result is not None, f"{name}: {message}"
    public = [r for r in listener.requests if "/regions" in r.target or "/subscriptions" in r.target]
    assert {request.header("Authorization") for request in public} == {None}
    private = [request for request in listener.requests if request not in public]
    assert {request.header("Authorization") for request in private} == {f"Bearer {Account.TOKEN}"}
    assert PASSWORD.encode() not in listener.received
    assert base64.b64encode(f"someone:{PASSWORD}".encode()) not in listener.received


# Proxies of the environment

_SETTINGS = tuple(
    name for variable in ("http_proxy", "https_proxy", "all_proxy") for name in (variable, variable.upper())
)
_EXEMPT = (None, "*", "{host}", "{host}:{port}", ".example.test", "other.example.test", "")


def _goes_by_proxy(scheme: str, host: str, port: int, setting: str, exempt: str | None) -> bool:
    """What the environment means, as its inventors describe it."""
    if setting.lower().split("_")[0] not in (scheme, "all"):
        return False
    names = [] if not exempt else exempt.format(host=host, port=port).split(",")
    return not any(name == "*" or host == name or f"{host}:{port}" == name or host.endswith(name) for name in names)


@pytest.mark.parametrize("exempt", _EXEMPT)
@pytest.mark.parametrize("setting", _SETTINGS)
def test_tunnels_through_proxies(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, setting: str, exempt: str | None
) -> None:
    """Over TLS a proxy sees the name of the host, and its own password; the service sees the token, and no password."""
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    proxy = opened(Proxy, (listener.address, listener.port), address=OTHER_HOST)
    # The one name can only be found by way of the proxy, the other without it as well.
    for host in (HOST, "localhost"):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
        if exempt is not None:
            monkeypatch.setenv("no_proxy", exempt.format(host=host, port=listener.port))
        account.base_url = f"https://{host}:{listener.port}/v4"
        expected = _goes_by_proxy("https", host, listener.port, setting, exempt)
        if host == HOST and not expected:
            continue
        result, message = counts.task(account, monitor_client, label="web9", ca_path=authority, faults=0)
        assert result is not None, message
        assert PASSWORD not in message
        assert bool(proxy.connections) is expected
        assert all(request.method == "CONNECT" for request in proxy.requests)
        assert_no_token(proxy)
        assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
        assert b"proxy-authorization" not in listener.received.lower()
        assert PASSWORD.encode() not in listener.received


@pytest.mark.parametrize("proxy_host", ["127.0.0.1", OTHER_HOST])
@pytest.mark.parametrize("setting", _SETTINGS)
def test_plain_http_through_proxies(
    opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, setting: str, proxy_host: str
) -> None:
    """A proxy on another machine for loopback is refused: the token would leave unencrypted."""
    account, listener = service(opened)
    proxy = opened(Proxy, (listener.address, listener.port), address=proxy_host)
    by_proxy = not setting.lower().startswith("https")
    for value, allowed, exempt in itertools.product(
        (f"http://someone:{PASSWORD}@{proxy_host}:{proxy.port}", f"{proxy_host}:{proxy.port}"),
        (False, True),
        ("", "127.0.0.1"),
    ):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, value)
        monkeypatch.setenv("no_proxy", exempt)
        result, message = counts.task(account, monitor_client, label="web9", allow_http=allowed, faults=0)
        assert PASSWORD not in message
        assert PASSWORD.encode() not in listener.received
        if by_proxy and not exempt and not allowed and proxy_host == OTHER_HOST:
            assert result is None
            assert f"a proxy for it at {OTHER_HOST}" in message
            assert proxy.connections == listener.connections == 0
            continue
        assert result is not None, message
        assert bool(proxy.connections) is (by_proxy and not exempt)
        assert {request.header("Proxy-Authorization") for request in listener.requests} <= {
            None, f"Basic {base64.b64encode(f'someone:{PASSWORD}'.encode()).decode()}"
        }  # fmt: skip


@pytest.mark.parametrize("status", [302, 307, 403, 407, 502])
def test_a_proxy_that_gives_no_tunnel_gets_no_token(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    account, listener = service(opened, kinds[1]["good"])
    trap = forbidden(opened)
    refusal: Reply = (status, {"Location": f"http://127.0.0.1:{trap.port}/", "Proxy-Authenticate": "Basic"}, b"no")
    received: list[Request] = []

    def refuse(request: Request) -> Reply:
        received.append(request)
        return refusal

    proxy = opened(Listener, refuse, address=OTHER_HOST)
    monkeypatch.setenv("https_proxy", f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
    for name, (module, options, _call) in CALLS.items():
        result, message = counts.task(account, module, ca_path=kinds[0], **options)
        assert result is None, name
        assert PASSWORD not in message
    assert {request.method for request in received} == {"CONNECT"}
    assert_no_token(proxy)
    assert listener.connections == trap.connections == 0


def test_a_tunnel_to_another_server_gets_no_token(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A man in the middle, with his own certificate, even of the right name."""
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    for kind in REASONS:
        trap = forbidden(opened, certificates[kind])
        proxy = opened(Proxy, (trap.address, trap.port))
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        result, message = counts.task(account, monitor_clients, labels=["web1", "web9"], ca_path=authority)
        assert result is None
        assert "no secure connection" in message
        assert_no_token(proxy, trap)
        assert trap.received == b""
    assert listener.connections == 0


_BAD_PROXIES = (
    "ftp://someone:{p}@127.0.0.1:9",
    "socks5://someone:{p}@127.0.0.1:9",
    "http://someone:{p}@[bad",
    "http://someone:{p}@",
    "http://someone:{p}@127.0.0.1:99999",
    "http://someone:{p}@127.0.0.1:port",
    "://someone:{p}@x",
    "someone:{p}@127.0.0.1:9",
    "http://someone:{p}@ho st:9",
    "http://someone:{p}@127.0.0.1:9",
)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("value", _BAD_PROXIES)
def test_invalid_proxies_give_an_error_without_their_password(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, value: str, scheme: str
) -> None:
    account, listener = service(opened, kinds[1]["good"] if scheme == "https" else None)
    monkeypatch.setenv(f"{scheme}_proxy", value.format(p=PASSWORD))
    result, message = counts.task(account, monitor_client, label="web1", ca_path=kinds[0])
    assert result is None
    assert PASSWORD not in message
    assert listener.connections == 0
    if value == _BAD_PROXIES[-1]:
        assert re.search("no connection through the proxy: .*Check the proxy settings", message)


def test_the_listeners_detect_a_token(opened: Open, kinds: Kinds, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above find a token: unencrypted through a proxy, and at a service."""
    account, listener = service(opened)
    proxy = opened(Proxy, (listener.address, listener.port))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    assert Tally().task(account, monitor_client, label="web1")[0] is not None
    for endpoint in (proxy, listener):
        with pytest.raises(AssertionError):
            assert_no_token(endpoint)


# Ansible itself


@pytest.fixture(scope="module")
def secure(kinds: Kinds) -> Iterator[Emulator]:
    """The emulator over TLS."""
    authority, certificates = kinds
    certificate, key = certificates["good"]
    with Emulator(arguments=["--tls-cert", certificate, "--tls-key", key], cafile=authority) as emulator:
        yield emulator


def _controller(tmp_path: Path, service: Emulator) -> Local:
    """Three hosts over local connections, and a netrc file for every host there is."""
    file = tmp_path / ".netrc"
    file.write_text(f"default login someone password {PASSWORD}\n", encoding="ascii")
    file.chmod(0o600)
    return Local(tmp_path, service, "web-1", "web-2", "db-1")


@pytest.mark.parametrize("setting", ["https_proxy", "ALL_PROXY"][: short_or_long(1, 2)])
def test_a_rollout_by_a_proxy_and_amid_netrc_files(
    kinds: Kinds, secure: Emulator, opened: Open, counts: Tally, tmp_path: Path, setting: str
) -> None:
    secure.reset()
    port = int(secure.base_url.split(":")[2].split("/")[0])
    proxy, trap = opened(Proxy, ("127.0.0.1", port), address=OTHER_HOST), forbidden(opened)
    controller = _controller(tmp_path, secure)
    environment = {
        setting: f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}",
        "http_proxy": f"http://127.0.0.1:{trap.port}",
        "NETRC": str(tmp_path / ".netrc"),
        "MONITOR_BASE_URL": f"https://{HOST}:{port}/v4",
        "MONITOR_CA_PATH": kinds[0],
    }
    first = controller.run("monitor.cloud.rollout", "-vvv", "--diff", **environment)
    again = controller.run("monitor.cloud.rollout", "-vvv", **environment)
    audit = controller.run("monitor.cloud.audit", "-vvv", **environment)
    for run in (first, again, audit):
        counts.check(secure, run.output, faults=3)
        counts.converged += run is again
        assert run.code == 0, run.output[-3000:]
        assert PASSWORD not in run.output
        assert "Warning: Unverified" not in run.output
        for request in run.requests:
            public = request["operation"].endswith(("subscriptions", "subscription"))
            assert (request["token"], request["authorization"]) == ((None, False) if public else ("read_write", True))
    assert sorted(first.writes()) == ["create_client db-1", "create_client web-1", "create_client web-2"]
    assert again.writes() == []
    assert again.changed_hosts() == set()
    assert "3 ok" in audit.output
    assert {request.method for request in proxy.requests} == {"CONNECT"}
    assert {request.target for request in proxy.requests} == {f"{HOST}:{port}"}
    assert secure.tokens["read_write"].encode() not in proxy.received
    assert b"\nauthorization:" not in proxy.received.lower()
    assert trap.connections == 0


def test_rollouts_that_would_reveal_the_token_are_refused(
    emulator: Emulator, opened: Open, counts: Tally, tmp_path: Path
) -> None:
    trap = forbidden(opened, address=OTHER_HOST)
    controller = _controller(tmp_path, emulator)
    other = f"http://{OTHER_HOST}:{trap.port}"
    port = emulator.base_url.split(":")[2]
    cases = {
        "would send the token unencrypted": {"MONITOR_BASE_URL": f"{other}/v4"},
        f"a proxy for it at {OTHER_HOST}": {"http_proxy": other},
        "no secure connection": {"MONITOR_BASE_URL": f"https://127.0.0.1:{port}"},
        "base_url must not contain credentials": {"MONITOR_BASE_URL": f"http://someone:{PASSWORD}@127.0.0.1:{port}"},
    }
    for reason, environment in cases.items():
        # At -vvv core shows the options of tasks, base_url among them.
        run = controller.run("monitor.cloud.rollout", **environment)
        counts.check(emulator, run.output, faults=1)
        assert run.code != 0
        assert reason in " ".join(run.failures().values())
        assert PASSWORD not in run.output
        assert run.requests == []
    assert trap.connections == 0
    redirected = f"http://{OTHER_HOST}:{trap.port}/v4/monitor/clients"
    emulator.fault(kind="status", status=307, headers={"Location": redirected}, times=-1)
    run = controller.run("monitor.cloud.rollout", "-vvv")
    counts.check(emulator, run.output, faults=1)
    assert f"a redirect to '{redirected}', which is not followed" in " ".join(run.failures().values())
    assert trap.connections == 0
