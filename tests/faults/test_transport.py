# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The token goes nowhere but to the service, whatever certificates, redirects, netrc files and proxies there are.

Listeners keep every byte that comes to them: what was sent is what counts, not what was meant.
"""

from __future__ import annotations

import base64
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.contract.client.tasks import go
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.certificates import HOST, Authority, all_kinds
from ansible_collections.monitor.cloud.tests.faults.listeners import Account, Listener, Proxy, Reply, Request, as_json
from ansible_collections.monitor.cloud.tests.faults.tally import Tally, short_or_long
from ansible_collections.monitor.cloud.tests.fleet.runs import Controller

ELSEWHERE = "127.0.0.2"
PASSWORD = "netrc-or-proxy-password"
_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle", "netrc")
Kinds = tuple[Authority, Mapping[str, tuple[str, str]]]
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    """An authority, and its certificates by what is wrong with them."""
    return all_kinds(tmp_path_factory.mktemp("tls"))


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own settings do not count."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens listeners and proxies that end with the test."""
    listeners: list[Listener] = []

    def listen(kind: Callable[..., Listener], *arguments: Any, **options: Any) -> Listener:
        listeners.append(kind(*arguments, **options))
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.stop()


def _service(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> tuple[Any, Listener]:
    account = Account()
    listener: Listener = opened(Listener, account.answer, tls=tls, **options)
    account.base_url = f"{'https' if tls else 'http'}://{listener.address}:{listener.port}/v4"
    return account, listener


def _trap(opened: Open, tls: tuple[str, str] | None = None, **options: Any) -> Listener:
    """A place that answers like a service, and where no token may come."""
    listener: Listener = opened(Listener, Account().answer, tls=tls, **options)
    return listener


def _try(account: Any, module: Any, **options: Any) -> tuple[dict[str, Any] | None, str]:
    """The result, or None, and what was said."""
    try:
        result = go(account, module, **{"retry_timeout": 0.0, "timeout": 20.0, **options})
    except MonitorError as error:
        return None, str(error)
    return result, repr(result)


def _assert_no_token(*listeners: Listener) -> None:
    for listener in listeners:
        assert Account.TOKEN.encode() not in listener.received
        assert b"\nauthorization:" not in listener.received.lower()


# Certificates


@pytest.mark.parametrize("trust", ["ca_path", "directory", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_private_authority(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trust: str
) -> None:
    authority, certificates = kinds
    account, listener = _service(opened, certificates["good"])
    options = {"ca_path": authority.path} if trust == "ca_path" else {}
    if trust == "directory":
        # OpenSSL looks for a certificate in a directory under the hash of its name.
        asked = ["openssl", "x509", "-hash", "-noout", "-in", authority.path]
        name = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        (tmp_path / f"{name}.0").symlink_to(authority.path)
        options = {"ca_path": str(tmp_path)}
    elif trust != "ca_path":
        monkeypatch.setenv(trust, authority.path)
    result, said = _try(account, monitor_client, label="web1", **options)
    counts.look(account, said)
    assert result is not None, said
    assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}


_REASONS = {
    "wrong name": "IP address mismatch",
    "no alternative name": "IP address mismatch",
    "expired": "certificate has expired",
    "not valid yet": "certificate is not yet valid",
    "self-signed": "self-signed certificate",
    "authority of the same name": "certificate verify failed",
}


@pytest.mark.parametrize(
    ("kind", "trust"), [*itertools.product(_REASONS, ["ca_path", "REQUESTS_CA_BUNDLE", "nothing"]), ("good", "nothing")]
)
def test_a_certificate_that_is_wrong(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, kind: str, trust: str
) -> None:
    """Refused at once and for a reason that helps; nothing at all is sent to who shows it."""
    authority, certificates = kinds
    account, listener = _service(opened, certificates[kind])
    options = {"ca_path": authority.path} if trust == "ca_path" else {}
    if trust == "REQUESTS_CA_BUNDLE":
        monkeypatch.setenv(trust, authority.path)
    result, said = _try(account, monitor_client, label="web9", retry_timeout=60.0, **options)
    counts.look(account, said, faults=1)
    assert result is None
    assert "no secure connection: SSLCertVerificationError" in said
    assert _REASONS.get(kind if trust != "nothing" else "", "certificate verify failed") in said
    assert (listener.connections, listener.received) == (1, b"")


@pytest.mark.parametrize("kind", ["good", *_REASONS])
def test_checks_turned_off(
    kinds: Kinds, opened: Open, counts: Tally, kind: str, recwarn: pytest.WarningsRecorder
) -> None:
    account, listener = _service(opened, kinds[1][kind])
    result, said = _try(account, monitor_client, label="web1", validate_certs=False)
    counts.look(account, said, *(str(warning.message) for warning in recwarn))
    assert result is not None, said
    assert listener.received
    assert [str(warning.message) for warning in recwarn if "HTTPS" in str(warning.message)] == []


def test_who_checks_is_still_warned_of_others(kinds: Kinds) -> None:
    """Turned off for one, in a process of its own: what another library asks for is not silenced beforehand."""
    script = (
        "import warnings, urllib3\n"
        "from ansible_collections.monitor.cloud.plugins.module_utils._http import Http, Settings\n"
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
_ODD = ("http://127.0.0.1:{port}@127.0.0.2:{port}/v4", "http://127.0.0.2:{port}#@127.0.0.1/v4", "http:127.0.0.2/v4")


class _Watch:
    """What this process asks of the network. A hook of the interpreter stays, so that there is but one."""

    seen: list[str] | None = None
    installed = False

    @classmethod
    def hook(cls, event: str, arguments: Any) -> None:
        if cls.seen is not None and event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
            cls.seen.append(f"{event} {arguments[-1] if event == 'socket.connect' else arguments[0]}")


@pytest.fixture
def network() -> Iterator[list[str]]:
    """Connections and look-ups of names, of this process, as they happen."""
    if not _Watch.installed:
        sys.addaudithook(_Watch.hook)
        _Watch.installed = True
    _Watch.seen = []
    yield _Watch.seen
    _Watch.seen = None


@pytest.mark.parametrize("proxied", [False, True])
@pytest.mark.parametrize("address", [*_REMOTE, *_ODD])
def test_plain_http_to_others_is_refused_before_any_packet(
    opened: Open, counts: Tally, network: list[str], monkeypatch: pytest.MonkeyPatch, address: str, proxied: bool
) -> None:
    account, _listener = _service(opened)
    trap = _trap(opened, address=ELSEWHERE)
    if proxied:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{trap.port}")
    account.base_url = address.format(port=trap.port)
    for module, options in ((monitor_client_info, {}), (region_info, {}), (monitor_client, {"label": "web1"})):
        with pytest.raises(InputError):
            go(account, module, **options)  # type: ignore[arg-type]
        counts.look(account)
    assert network == []
    assert trap.connections == 0


def test_plain_http_where_that_is_allowed(opened: Open, counts: Tally, network: list[str]) -> None:
    account, listener = _service(opened, address=ELSEWHERE)
    result, said = _try(account, monitor_client, label="web1", allow_http=True)
    counts.look(account, said)
    assert result is not None
    assert Account.TOKEN.encode() in listener.received
    assert all(ELSEWHERE in event for event in network)
    assert network, "the watch sees connections"


# Redirects

_CALLS: dict[str, tuple[Any, dict[str, Any], tuple[str, str]]] = {
    "list": (monitor_client_info, {}, ("GET", "clients")),
    "view": (monitor_client_info, {"id": 1}, ("GET", "client")),
    "create": (monitor_client, {"label": "web9"}, ("POST", "clients")),
    "rename": (monitor_client, {"id": 1, "label": "web9"}, ("POST", "client")),
    "delete": (monitor_client, {"label": "web1", "state": "absent"}, ("DELETE", "client")),
    "plan": (monitor_plan, {"subscription": "monitor-3"}, ("PUT", "plan")),
    "tiers": (monitor_subscription_info, {}, ("GET", "subscriptions")),
    "regions": (region_info, {}, ("GET", "regions")),
}


@pytest.mark.parametrize("to", ["same host", "other host", "other name", "http", "http of the service"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_of_each_kind_of_call(kinds: Kinds, opened: Open, counts: Tally, status: int, to: str) -> None:
    """From a secure service: not followed, whatever the call, the status and the place."""
    authority, certificates = kinds
    account, listener = _service(opened, certificates["good"])
    secure, plain = _trap(opened, certificates["good"], address=ELSEWHERE), _trap(opened)
    places = {
        "same host": f"https://127.0.0.1:{listener.port}/v4/elsewhere",
        "other host": f"https://{ELSEWHERE}:{secure.port}/v4/monitor/clients",
        "other name": f"//localhost:{plain.port}/v4/monitor/clients",
        "http": f"http://127.0.0.1:{plain.port}/v4/monitor/clients",
        "http of the service": f"http://127.0.0.1:{listener.port}/v4/monitor/clients",
    }
    for name, (module, options, call) in _CALLS.items():
        listener.forget()
        account.overrides = {call: as_json({}, status, Location=places[to])}
        result, said = _try(account, module, ca_path=authority.path, **options)
        counts.look(account, said, faults=1)
        assert result is None, name
        assert f"answered {status}, a redirect to '{places[to]}', which is not followed" in said
        assert listener.requests[-1].method == call[0]
        # A delete is looked at first; none is sent twice.
        assert len([request for request in listener.requests if request.method != "GET"]) == (call[0] != "GET")
        assert not any("elsewhere" in request.target for request in listener.requests)
    assert secure.connections == plain.connections == 0


@pytest.mark.parametrize("location", ["http://[", "", "//", "http://\x80\xff:99999/", "\x1b[2J", "x" * 20000, None])
def test_redirects_to_no_address(opened: Open, counts: Tally, location: str | None) -> None:
    account, listener = _service(opened)
    account.overrides = {("GET", "clients"): as_json({}, 302, **({} if location is None else {"Location": location}))}
    result, said = _try(account, monitor_client_info)
    counts.look(account, said, faults=1)
    assert result is None
    assert "answered 302, a redirect to" in said
    assert said.isprintable()
    assert len(said) < 1000
    assert len(listener.requests) == 1


# Credentials of netrc files


@pytest.mark.parametrize("entry", ["machine 127.0.0.1", "machine localhost", "default"])
@pytest.mark.parametrize("place", ["NETRC", ".netrc", "_netrc"])
@pytest.mark.parametrize("secure", [False, True])
def test_netrc_files_are_not_used(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    entry: str, place: str, secure: bool,
) -> None:  # fmt: skip
    authority, certificates = kinds
    account, listener = _service(opened, certificates["good"] if secure else None)
    file = tmp_path / place
    file.write_text(f"{entry} login someone password {PASSWORD}\n", encoding="ascii")
    file.chmod(0o600)
    if place == "NETRC":
        monkeypatch.setenv("NETRC", str(file))
    account.base_url = account.base_url.replace("127.0.0.1", "localhost") if "localhost" in entry else account.base_url
    for name, (module, options, _call) in _CALLS.items():
        result, said = _try(account, module, ca_path=authority.path, **options)
        counts.look(account, said)
        assert result is not None, f"{name}: {said}"
    public = [r for r in listener.requests if "/regions" in r.target or "/subscriptions" in r.target]
    assert {request.header("Authorization") for request in public} == {None}
    private = [request for request in listener.requests if request not in public]
    assert {request.header("Authorization") for request in private} == {f"Bearer {Account.TOKEN}"}
    assert PASSWORD.encode() not in listener.received
    assert base64.b64encode(f"someone:{PASSWORD}".encode()) not in listener.received


# Proxies

_SETTINGS = tuple(
    name for variable in ("http_proxy", "https_proxy", "all_proxy") for name in (variable, variable.upper())
)
_EXEMPT = (None, "*", "{host}", "{host}:{port}", ".example.test", "other.example.test", "")


def _goes_by_proxy(scheme: str, host: str, port: int, setting: str, exempt: str | None) -> bool:
    """What the environment means, by the words of those who invented it."""
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
    account, listener = _service(opened, certificates["good"])
    proxy = opened(Proxy, (listener.address, listener.port), address=ELSEWHERE)
    # The one name can only be found by way of the proxy, the other without it as well.
    for host in (HOST, "localhost"):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, f"http://someone:{PASSWORD}@{ELSEWHERE}:{proxy.port}")
        if exempt is not None:
            monkeypatch.setenv("no_proxy", exempt.format(host=host, port=listener.port))
        account.base_url = f"https://{host}:{listener.port}/v4"
        expected = _goes_by_proxy("https", host, listener.port, setting, exempt)
        if host == HOST and not expected:
            continue
        result, said = _try(account, monitor_client, label="web9", ca_path=authority.path)
        counts.look(account, said)
        assert result is not None, said
        assert PASSWORD not in said
        assert bool(proxy.connections) is expected
        assert all(request.method == "CONNECT" for request in proxy.requests)
        _assert_no_token(proxy)
        assert {request.header("Authorization") for request in listener.requests} == {f"Bearer {Account.TOKEN}"}
        assert b"proxy-authorization" not in listener.received.lower()
        assert PASSWORD.encode() not in listener.received


@pytest.mark.parametrize("where", ["127.0.0.1", ELSEWHERE])
@pytest.mark.parametrize("setting", _SETTINGS)
def test_plain_http_through_proxies(
    opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, setting: str, where: str
) -> None:
    """To this machine by a proxy elsewhere is refused: the token would leave, and in clear."""
    account, listener = _service(opened)
    proxy = opened(Proxy, (listener.address, listener.port), address=where)
    by_proxy = not setting.lower().startswith("https")
    for value, allowed, exempt in itertools.product(
        (f"http://someone:{PASSWORD}@{where}:{proxy.port}", f"{where}:{proxy.port}"), (False, True), ("", "127.0.0.1")
    ):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, value)
        monkeypatch.setenv("no_proxy", exempt)
        result, said = _try(account, monitor_client, label="web9", allow_http=allowed)
        counts.look(account, said)
        assert PASSWORD not in said
        assert PASSWORD.encode() not in listener.received
        if by_proxy and not exempt and not allowed and where == ELSEWHERE:
            assert result is None
            assert f"a proxy for it at {ELSEWHERE}" in said
            assert proxy.connections == listener.connections == 0
            continue
        assert result is not None, said
        assert bool(proxy.connections) is (by_proxy and not exempt)
        assert {request.header("Proxy-Authorization") for request in listener.requests} <= {
            None, f"Basic {base64.b64encode(f'someone:{PASSWORD}'.encode()).decode()}"
        }  # fmt: skip


@pytest.mark.parametrize("status", [302, 307, 403, 407, 502])
def test_a_proxy_that_gives_no_tunnel_gets_no_token(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    account, listener = _service(opened, kinds[1]["good"])
    trap = _trap(opened)
    refusal: Reply = (status, {"Location": f"http://127.0.0.1:{trap.port}/", "Proxy-Authenticate": "Basic"}, b"no")
    asked: list[Request] = []

    def refuse(request: Request) -> Reply:
        asked.append(request)
        return refusal

    proxy = opened(Listener, refuse, address=ELSEWHERE)
    monkeypatch.setenv("https_proxy", f"http://someone:{PASSWORD}@{ELSEWHERE}:{proxy.port}")
    for name, (module, options, _call) in _CALLS.items():
        result, said = _try(account, module, ca_path=kinds[0].path, **options)
        counts.look(account, said, faults=1)
        assert result is None, name
        assert PASSWORD not in said
    assert {request.method for request in asked} == {"CONNECT"}
    _assert_no_token(proxy)
    assert listener.connections == trap.connections == 0


def test_a_tunnel_that_leads_elsewhere_gets_no_token(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody in the middle, with a certificate of his own, of the right name even."""
    authority, certificates = kinds
    account, listener = _service(opened, certificates["good"])
    for kind in _REASONS:
        trap = _trap(opened, certificates[kind])
        proxy = opened(Proxy, (trap.address, trap.port))
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        result, said = _try(account, monitor_clients, labels=["web1", "web9"], ca_path=authority.path)
        counts.look(account, said, faults=1)
        assert result is None
        assert "no secure connection" in said
        _assert_no_token(proxy, trap)
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
def test_bad_settings_of_proxies_give_an_error_without_their_password(
    kinds: Kinds, opened: Open, counts: Tally, monkeypatch: pytest.MonkeyPatch, value: str, scheme: str
) -> None:
    account, listener = _service(opened, kinds[1]["good"] if scheme == "https" else None)
    monkeypatch.setenv(f"{scheme}_proxy", value.format(p=PASSWORD))
    result, said = _try(account, monitor_client, label="web1", ca_path=kinds[0].path)
    counts.look(account, said, faults=1)
    assert result is None
    assert PASSWORD not in said
    assert listener.connections == 0


def test_the_listeners_would_notice(opened: Open, kinds: Kinds, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above look for, they find: in clear through a proxy, and at a service."""
    account, listener = _service(opened)
    proxy = opened(Proxy, (listener.address, listener.port))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    assert _try(account, monitor_client, label="web1")[0] is not None
    for place in (proxy, listener):
        with pytest.raises(AssertionError):
            _assert_no_token(place)


# Ansible itself


@pytest.fixture(scope="module")
def secure(kinds: Kinds) -> Iterator[Emulator]:
    """The emulator over TLS."""
    authority, certificates = kinds
    certificate, key = certificates["good"]
    with Emulator(arguments=["--tls-cert", certificate, "--tls-key", key], cafile=authority.path) as emulator:
        yield emulator


def _controller(tmp_path: Path, service: Emulator) -> Controller:
    """Three hosts over local connections, and a netrc file for every host there is."""
    place = tmp_path / "c"
    place.mkdir()
    file = tmp_path / ".netrc"
    file.write_text(f"default login someone password {PASSWORD}\n", encoding="ascii")
    file.chmod(0o600)
    controller = Controller(place, tmp_path / "keys", service, [])
    for name in ("web-1", "web-2", "db-1"):
        path = str(place / name / "agent.conf")
        controller.host_vars[name] = {"ansible_connection": "local", "monitor_agent_config_path": path}
    return controller


@pytest.mark.parametrize("setting", ["https_proxy", "ALL_PROXY"][: short_or_long(1, 2)])
def test_a_rollout_by_a_proxy_and_amid_netrc_files(
    kinds: Kinds, secure: Emulator, opened: Open, counts: Tally, tmp_path: Path, setting: str
) -> None:
    secure.reset()
    port = int(secure.base_url.split(":")[2].split("/")[0])
    proxy, trap = opened(Proxy, ("127.0.0.1", port), address=ELSEWHERE), _trap(opened)
    controller = _controller(tmp_path, secure)
    environment = {
        setting: f"http://someone:{PASSWORD}@{ELSEWHERE}:{proxy.port}",
        "http_proxy": f"http://127.0.0.1:{trap.port}",
        "NETRC": str(tmp_path / ".netrc"),
        "MONITOR_BASE_URL": f"https://{HOST}:{port}/v4",
        "MONITOR_CA_PATH": kinds[0].path,
    }
    first = controller.run("monitor.cloud.rollout", "-vvv", "--diff", **environment)
    again = controller.run("monitor.cloud.rollout", "-vvv", **environment)
    audit = controller.run("monitor.cloud.audit", "-vvv", **environment)
    for run in (first, again, audit):
        counts.look(secure, run.output, faults=3)
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


def test_rollouts_that_would_give_the_token_away(
    emulator: Emulator, opened: Open, counts: Tally, tmp_path: Path
) -> None:
    trap = _trap(opened, address=ELSEWHERE)
    controller = _controller(tmp_path, emulator)
    elsewhere = f"http://{ELSEWHERE}:{trap.port}"
    port = emulator.base_url.split(":")[2]
    cases = {
        "would send the token unencrypted": {"MONITOR_BASE_URL": f"{elsewhere}/v4"},
        f"a proxy for it at {ELSEWHERE}": {"http_proxy": elsewhere},
        "no secure connection": {"MONITOR_BASE_URL": f"https://127.0.0.1:{port}"},
        "base_url must carry no credentials": {"MONITOR_BASE_URL": f"http://someone:{PASSWORD}@127.0.0.1:{port}"},
    }
    for words, environment in cases.items():
        # At -vvv core shows the options of tasks, base_url among them.
        run = controller.run("monitor.cloud.rollout", **environment)
        counts.look(emulator, run.output, faults=1)
        assert run.code != 0
        assert words in " ".join(run.failures().values())
        assert PASSWORD not in run.output
        assert run.requests == []
    assert trap.connections == 0
    redirected = f"http://{ELSEWHERE}:{trap.port}/v4/monitor/clients"
    emulator.configure(redirect_to=redirected, redirect_status=307)
    run = controller.run("monitor.cloud.rollout", "-vvv")
    counts.look(emulator, run.output, faults=1)
    assert f"a redirect to '{redirected}', which is not followed" in " ".join(run.failures().values())
    assert trap.connections == 0
