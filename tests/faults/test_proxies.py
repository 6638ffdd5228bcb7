# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No proxy of the environment gets the token, and no service the password of a proxy."""

import base64
import itertools
import re
import urllib.request
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.certificates import HOST, Kinds
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, try_task
from ansible_collections.monitor.cloud.tests.support.inputs import ONE_OF_EACH
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.servers import (
    OTHER_HOST,
    PASSWORD,
    Account,
    Listener,
    Open,
    Proxy,
    assert_no_token,
    forbidden,
    service,
)

pytestmark = pytest.mark.usefixtures("bare_environment")

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


def test_proxies_of_the_system_are_not_used(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where the look-up of the system's settings crashes a process that was forked and not executed."""
    account, listener = service(opened)
    system = forbidden(opened, address=OTHER_HOST)
    for name, found in (("getproxies", {"http": f"http://{OTHER_HOST}:{system.port}"}), ("proxy_bypass", False)):
        monkeypatch.setattr(
            f"requests.utils.{name}", lambda *_host, found=found: urllib.request.getproxies_environment() or found
        )
    assert try_task(account, monitor_client, label="web1", allow_http=True, faults=0)[0] is not None
    assert (system.connections, len(listener.requests)) == (0, 1)


@pytest.mark.parametrize("proxy_host", ["127.0.0.1", OTHER_HOST])
@pytest.mark.parametrize("setting", ["http_proxy", "https_proxy", "ALL_PROXY"])
def test_plain_http_by_a_proxy_of_another_machine_is_refused_unless_allowed(
    opened: Open, monkeypatch: pytest.MonkeyPatch, setting: str, proxy_host: str
) -> None:
    """The token would leave this machine unencrypted, though the service is on it."""
    account, listener = service(opened)
    proxy = opened(Proxy, (listener.address, listener.port), address=proxy_host)
    by_proxy = not setting.lower().startswith("https")
    values = f"http://someone:{PASSWORD}@{proxy_host}:{proxy.port}", f"{proxy_host}:{proxy.port}"
    for value, allowed, exempt in itertools.product(values, (False, True), ("", "127.0.0.1")):
        listener.forget()
        proxy.forget()
        monkeypatch.setenv(setting, value)
        monkeypatch.setenv("no_proxy", exempt)
        result, message = try_task(account, monitor_client, label="web9", allow_http=allowed, faults=0)
        assert PASSWORD.encode() not in listener.received
        if by_proxy and not exempt and not allowed and proxy_host == OTHER_HOST:
            assert result is None
            assert f"a proxy for it at {OTHER_HOST}" in message
            assert proxy.connections == listener.connections == 0
            continue
        assert result is not None, message
        # This also shows that the listeners see a token.
        assert (Account.TOKEN.encode() in proxy.received) is (by_proxy and not exempt)
        assert {request.header("Proxy-Authorization") for request in listener.requests} <= {
            None, f"Basic {base64.b64encode(f'someone:{PASSWORD}'.encode()).decode()}"
        }  # fmt: skip


def test_a_proxy_that_gives_no_tunnel_gets_no_token(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, listener = service(opened, kinds[1]["good"])
    trap = forbidden(opened)
    headers = {"Location": f"http://127.0.0.1:{trap.port}/", "Proxy-Authenticate": "Basic"}
    statuses = itertools.cycle([302, 407])
    proxy = opened(Listener, lambda _request: (next(statuses), headers, b"no"), address=OTHER_HOST)
    monkeypatch.setenv("https_proxy", f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}")
    for name, (module, options, _call) in ONE_OF_EACH.items():
        for _status in range(2):
            assert try_task(account, module, ca_path=kinds[0], **options)[0] is None, name
    assert {request.method for request in proxy.requests} == {"CONNECT"}
    assert_no_token(proxy)
    assert listener.connections == trap.connections == 0


def test_a_tunnel_to_another_server_gets_no_token(kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A man in the middle, with his own certificate, even of the right name."""
    authority, certificates = kinds
    account, listener = service(opened, certificates["good"])
    for kind in certificates.keys() - {"good"}:
        trap = forbidden(opened, certificates[kind])
        proxy = opened(Proxy, (trap.address, trap.port))
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        result, message = try_task(account, monitor_clients, labels=["web1", "web9"], ca_path=authority)
        assert result is None
        assert "no secure connection" in message
        assert_no_token(proxy, trap)
        assert trap.received == b""
    assert listener.connections == 0


_UNREACHABLE = "http://someone:{p}@127.0.0.1:9"
_BAD_PROXIES = (
    "socks5://someone:{p}@127.0.0.1:9", "http://someone:{p}@[bad", "http://someone:{p}@", "http://someone:{p}@x:99999",
    "http://someone:{p}@x:port", "://someone:{p}@x", "http://someone:{p}@ho st:9", _UNREACHABLE,
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_invalid_proxies_give_an_error_without_their_password(
    kinds: Kinds, opened: Open, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    account, listener = service(opened, kinds[1]["good"] if scheme == "https" else None)
    for value in _BAD_PROXIES:
        monkeypatch.setenv(f"{scheme}_proxy", value.format(p=PASSWORD))
        result, message = try_task(account, monitor_client, label="web1", ca_path=kinds[0])
        assert result is None, value
        assert listener.connections == 0
        if value == _UNREACHABLE:
            assert re.search("no connection through the proxy: .*Check the proxy settings", message)


def test_a_rollout_by_a_proxy_and_amid_netrc_files_shows_no_secret_to_others(
    kinds: Kinds, opened: Open, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text(f"default login someone password {PASSWORD}\n", encoding="ascii")
    (tmp_path / ".netrc").chmod(0o600)
    certificate, key = kinds[1]["good"]
    trap = forbidden(opened)
    with Emulator(arguments=["--tls-cert", certificate, "--tls-key", key], cafile=kinds[0]) as secure:
        port = int(secure.base_url.split(":")[2].split("/")[0])
        proxy = opened(Proxy, ("127.0.0.1", port), address=OTHER_HOST)
        controller = Local(tmp_path, secure, "web-1", "web-2", "db-1")
        environment = {
            "https_proxy": f"http://someone:{PASSWORD}@{OTHER_HOST}:{proxy.port}",
            "http_proxy": f"http://127.0.0.1:{trap.port}",
            "NETRC": str(tmp_path / ".netrc"),
            "MONITOR_BASE_URL": f"https://{HOST}:{port}/v4",
            "MONITOR_CA_PATH": kinds[0],
        }
        run = controller.run(ROLLOUT, ROLLOUT, "monitor.cloud.audit", "-vvv", "--diff", **environment)
        assert_sound(secure, run.output, faults=3)
        assert run.code == 0, run.output[-3000:]
        assert PASSWORD not in run.output
        assert "Warning: Unverified" not in run.output
        for request in run.requests:
            token = None if request["operation"] in ("list_subscriptions", "get_subscription") else "read_write"
            assert (request["token"], request["authorization"]) == (token, token is not None)
        assert sorted(run.writes()) == ["create_client db-1", "create_client web-1", "create_client web-2"]
        assert "3 ok" in run.output
        assert {request.method for request in proxy.requests} == {"CONNECT"}
        assert {request.target for request in proxy.requests} == {f"{HOST}:{port}"}
        assert secure.tokens["read_write"].encode() not in proxy.received
        assert b"\nauthorization:" not in proxy.received.lower()
        assert trap.connections == 0
