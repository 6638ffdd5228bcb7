# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to the service: the only file that imports ``requests``.

One session with keep-alive for each Http, retries within a time budget, one pause for all workers if the service
asks to wait. Safe to use from several threads.
"""

# pylint 4.0 confuses this file with http of the standard library, and reports imports that are not here as unused.
# pylint: disable=unused-import
from __future__ import annotations

import contextlib
import http.client
import os
import random
import socket
import ssl
import sys
import threading
import time
import typing as t
import urllib.parse
import urllib.request
from collections.abc import Iterator

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError, Outcome
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable, redact
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Object, Operation
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import (
    Response,
    encoding_of,
    unsupported_encoding,
)

try:
    import requests
    import urllib3

    MISSING = ""
except ImportError as _error:
    MISSING = str(_error)

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 30.0
_LONGEST_TEXT = 500
# Seconds to connect to an address, and to retry before the first response: so a wrong base_url fails within 20 s.
_FIRST_CONTACT = 10.0
# Limits of what an operation receives, all pages of a list included: more than 100,000 clients fit. Values are counted
# too, because an empty list takes 20 times the memory of its JSON text.
_MOST_MIB, _MOST_VALUES = 64, 2_000_000
# Seconds for all pages of a list, in addition to retry_timeout.
_LONGEST_LIST = 900.0
# Bytes that are decoded at a time: gzip expands 16 KiB to at most 16 MiB.
_CHUNK = 16384


class Settings(t.NamedTuple):
    """How to reach the service. Times in seconds; ``base_url`` includes the version segment."""

    base_url: str
    token: str | None = None
    validate_certs: bool = True
    ca_path: str | None = None
    allow_http: bool = False
    timeout: float = 30.0
    retry_timeout: float = 300.0
    concurrency: int = 8
    user_agent: str = "monitor.cloud"


class Http:
    """The connection to the service. ``usage``: requests, retries among them, and seconds waited before retries."""

    def __init__(self, settings: Settings) -> None:
        if MISSING:
            raise InputError(
                f"The Python library requests is missing for {sys.executable} ({MISSING}). Install it with "
                "the tool that installed that Python: pip install requests, pipx inject, uv tool install --with, or "
                "the system's package python3-requests. Or run the task on the controller: delegate_to: localhost."
            )
        self.settings = settings
        self.usage = {"requests": 0, "retries": 0, "waited": 0.0}
        # The scopes of the token; empty if the service does not report them.
        self.scopes = ""
        self._session = _session(settings)
        self._lock = threading.Lock()
        self._paused_until = 0.0
        self._reached = False
        self._interrupted = threading.Event()

    def request(
        self, operation: Operation, *, query: dict[str, int] | None, body: Object | None, budget: Budget | None = None
    ) -> t.Any:
        """Send the request of an operation, with retries; return the decoded JSON of the response, None if it is empty.

        Public operations carry no token. A request that is not idempotent is retried only if the service certainly did
        not carry it out. The requests of a list share a ``budget``. Raises ApiError.
        """
        budget = budget or Budget(self.settings)
        token = self.settings.token if operation.access else None
        headers = {"Authorization": f"Bearer {token}"} if token else None
        began = time.monotonic()
        outcome: Outcome = "not_done"
        for backoff in backoffs():
            while (remaining := self.pause_left) > 0 and not self._interrupted.wait(remaining):
                # Another 0.1 s for the main thread, to handle a signal that arrived while this process was stopped.
                self._interrupted.wait(0.1)
            if self._interrupted.is_set():
                raise ApiError("interrupted", outcome=outcome)
            try:
                return self._attempt(operation, budget, headers=headers, params=query, json=body)
            except ApiError as failure:
                error = failure
            # If the outcome of one attempt is unknown, so is that of the request.
            error.outcome = outcome = "unknown" if outcome == "unknown" else error.outcome
            # Retry-After can be a date that is past by this clock (wait 0): back off then.
            pause = error.wait or backoff
            if not error.retryable:
                raise error
            if time.monotonic() + pause > began + self._budget:
                raise self.gave_up(error)
            self.pause(pause, for_all=bool(error.wait))
        raise AssertionError("the back-off never ends")

    def _attempt(self, operation: Operation, budget: Budget, **options: t.Any) -> t.Any:
        url, timeout = self.settings.base_url + operation.path, self.settings.timeout
        options.update(timeout=(min(timeout, _FIRST_CONTACT), timeout), allow_redirects=False, stream=True)
        try:
            budget.spend()
            with self._lock:
                self.usage["requests"] += 1
            with _deadline(timeout), self._session.request(operation.method, url, **options) as response:
                content = _content(response, budget)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, _TooLarge) as failure:
            raise self._no_response(failure, operation) from None
        self._reached = True
        self.scopes = self._redact(response.headers.get("X-OAuth-Scopes", "")) or self.scopes
        return Response(operation, response.status_code, response.headers, content, self._redact).value()

    def _no_response(self, failure: Exception, operation: Operation) -> ApiError:
        sent = not (_was_not_sent(failure) or _is_invalid(failure))
        self._reached = self._reached or (sent and _is_late(failure))
        problem, hint, is_final = _explain(failure, self.settings)
        outcome: Outcome = "unknown" if sent and operation.method != "GET" else "not_done"
        retryable = (operation.idempotent or not sent) and not is_final
        return ApiError(self._redact(problem), hint=hint, outcome=outcome, retryable=retryable)

    def _redact(self, text: str) -> str:
        """A text for a message: without the token, on one line, of bounded length."""
        text = text[: 100 * _LONGEST_TEXT]
        if self.settings.token:
            text = redact(text, {"token": self.settings.token})
        return printable(text)[:_LONGEST_TEXT].strip()

    @property
    def _budget(self) -> float:
        """Seconds to retry a request: at most 10 before the first response, because base_url may be wrong."""
        retry_timeout = self.settings.retry_timeout
        return retry_timeout if self._reached else min(_FIRST_CONTACT, retry_timeout)

    def gave_up(self, error: ApiError, left: float = 0) -> ApiError:
        """The error of the last attempt, with the reason why there is no retry in the ``left`` seconds."""
        budget, retry_timeout = self._budget, self.settings.retry_timeout
        reason = f"Gave up after retry_timeout ({retry_timeout:g} s): try again later." if retry_timeout else ""
        if error.wait and error.wait > left:
            error.hint = ""
            reason = (
                f"The service asks to wait {error.wait:.0f} s, more than is left of retry_timeout "
                f"({retry_timeout:g} s). Raise retry_timeout, or try again later."
            )
        elif budget < retry_timeout:
            reason = f"Gave up after {budget:g} s, because the service has not responded yet."
        error.hint = f"{error.hint} {reason}".strip()
        return error

    def pause(self, seconds: float, *, retries: int = 1, for_all: bool = False) -> None:
        """Count ``retries``, and wait these seconds before them; ``for_all`` delays the requests of all workers."""
        waited = seconds
        with self._lock:
            self.usage["retries"] += retries
            if for_all:
                now = time.monotonic()
                # Pauses of several workers overlap: their common time counts once.
                begin, self._paused_until = max(now, self._paused_until), max(now + seconds, self._paused_until)
                waited = self._paused_until - begin
            self.usage["waited"] = round(self.usage["waited"] + waited, 3)
        if not for_all:
            self._interrupted.wait(seconds)

    @property
    def pause_left(self) -> float:
        """Seconds that are left of the pause that the service asked for."""
        return max(0.0, self._paused_until - time.monotonic())

    def interrupt(self) -> None:
        """Start no more requests, and end all pauses; requests in flight finish."""
        self._interrupted.set()


def backoffs() -> Iterator[float]:
    """Seconds to wait before each retry: exponential, with full jitter, without end."""
    longest = _FIRST_BACKOFF
    while True:
        yield random.uniform(0, longest)
        longest = min(_LONGEST_BACKOFF, longest * 2)


def _session(settings: Settings) -> requests.Session:
    session = requests.Session()
    # By default the library requests also accepts br and zstd if their libraries are installed.
    session.headers.update(
        {"User-Agent": settings.user_agent, "Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
    )
    # The library requests fails on a redirect to an invalid address, even with allow_redirects=False.
    session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]
    adapter = requests.adapters.HTTPAdapter(pool_maxsize=settings.concurrency, pool_block=True)
    _limit(adapter.poolmanager)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    # The environment is read here only: with each request that would cost nearly as much as the request, and a password
    # of a netrc file would replace the token.
    session.trust_env = False
    session.verify = (settings.ca_path or _certificates() or True) if settings.validate_certs else False
    # If no variable is set, requests would ask the system for proxies, which crashes a forked process on macOS.
    if urllib.request.getproxies_environment():
        session.proxies.update(requests.utils.get_environ_proxies(settings.base_url))
    proxy = requests.utils.select_proxy(settings.base_url, session.proxies)
    if proxy:
        _check_proxy(proxy, settings)
        # The first request reports an unsupported kind of proxy.
        with contextlib.suppress(ValueError):
            address = requests.utils.prepend_scheme_if_needed(proxy, "http")  # type: ignore[no-untyped-call]
            _limit(adapter.proxy_manager_for(address))
    if not settings.validate_certs:
        # urllib3 would warn for each connection.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return session


def _certificates() -> str | None:
    """The file of authorities that the environment names; requests itself does not read OpenSSL's SSL_CERT_FILE."""
    openssl = os.environ.get("SSL_CERT_FILE", "")
    requested = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    return requested or (openssl if os.path.isfile(openssl) else None)


def split_url(url: str) -> urllib.parse.SplitResult | None:
    """The parts of a URL; None if its host or port is missing or invalid."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _check_proxy(proxy: str, settings: Settings) -> None:
    """InputError for a proxy of the environment that is invalid, or that would receive the token unencrypted."""
    parts = split_url(proxy if "://" in proxy else f"http://{proxy}")
    if parts is None:
        # The address is not in the message, because it may hold a password.
        raise InputError(
            "The environment names a proxy with an invalid address. Write it as http://proxy.example.com:3128, in "
            "http_proxy, https_proxy and all_proxy."
        )
    encrypted = urllib.parse.urlsplit(settings.base_url).scheme == "https"
    if not encrypted and not settings.allow_http and parts.hostname not in LOOPBACK:
        raise InputError(
            f"base_url names this machine, but the environment names a proxy for it at {parts.hostname}, which "
            "would get the token unencrypted. Add the host to the environment's no_proxy, or set allow_http "
            "(monitor_agent_allow_http): true if the connection to the proxy is protected in another way."
        )


# ``sockets``: the sockets of the thread's request, the last one in use.
_thread = threading.local()


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Shut down the connection of this thread's request after these seconds, even if bytes keep arriving slowly."""
    done, was_late = threading.Event(), threading.Event()
    sockets = _thread.sockets = []

    def watch() -> None:
        pause = seconds
        while not done.wait(pause):
            # Try again until there is a socket: connecting and the TLS handshake have timeouts of their own.
            pause = 0.1
            gone = contextlib.suppress(OSError, IndexError)
            with gone, socket.socket(fileno=os.dup(sockets[-1].fileno())) as same:
                was_late.set()
                same.shutdown(socket.SHUT_RDWR)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        # Raise, because a body of unknown length would seem complete after the shutdown.
        if was_late.is_set():
            raise socket.timeout("the deadline has passed")


class _TooLarge(Exception):
    """A response, or a list with all its pages, exceeds a limit; the argument is the limit with its unit."""


class Budget:
    """The limits of all responses to one operation: many pages of legal size could exhaust memory and time."""

    def __init__(self, settings: Settings) -> None:
        self._began, self._seconds = time.monotonic(), _LONGEST_LIST + settings.retry_timeout
        self._size = self._values = 0
        self._lock = threading.Lock()

    def spend(self, content: bytes = b"") -> None:
        """Count received bytes and values; raise _TooLarge above a limit of size, values or time."""
        values = sum(map(content.count, (b"[", b"{", b",")))
        with self._lock:
            self._size += len(content)
            self._values += values
        for used, limit, unit in (
            (self._size / 2**20, _MOST_MIB, "MiB"),
            (self._values, _MOST_VALUES, "values"),
            (time.monotonic() - self._began, self._seconds, "seconds"),
        ):
            if used > limit:
                raise _TooLarge(f"{limit:.0f} {unit}")


class _Response(http.client.HTTPResponse):
    """A response, of the service or of a proxy to CONNECT, that registers its socket for :func:`_deadline`."""

    def __init__(self, sock: t.Any, *args: t.Any, **options: t.Any) -> None:
        super().__init__(sock, *args, **options)
        _thread.sockets.append(sock)

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        # Skip all of 1xx but 101: http.client skips only 100, and returns 103 as the response.
        return version, http.client.CONTINUE if 101 < status < 200 else status, reason


def _limit(manager: t.Any) -> None:
    """Make the connections of a pool manager use :class:`_Response`."""
    own = {"response_class": _Response}
    manager.pool_classes_by_scheme = {
        scheme: type("Pool", (pool,), {"ConnectionCls": type("Connection", (pool.ConnectionCls,), own)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _content(response: t.Any, budget: Budget) -> bytes:
    """The decoded body; empty for an encoding that was not requested, which could expand without limit."""
    # A body shorter than Content-Length is an error: the default of urllib3 2, but not of 1.26.
    response.raw.enforce_content_length = True
    # http.client reads chunks instead of urllib3, which before 2.7 reads lines without limit.
    response.raw.chunked = False
    # Normalized, because some versions of urllib3 do not know x-gzip, or identity beside another encoding.
    response.raw.headers["Content-Encoding"] = encoding_of(response.headers)
    content = bytearray()
    for chunk in () if unsupported_encoding(response.headers) else response.iter_content(_CHUNK):
        content += chunk
        budget.spend(chunk)
    return bytes(content)


def _causes(failure: BaseException | None) -> Iterator[BaseException]:
    """The failure and its causes, which libraries keep in ``reason``, in ``args`` or as context."""
    for _depth in range(10):
        if failure is None:
            return
        yield failure
        wrapped = [getattr(failure, "reason", None), *failure.args, failure.__cause__, failure.__context__]
        failure = next((inner for inner in wrapped if isinstance(inner, BaseException)), None)


def _caused_by(failure: Exception, *kinds: type[BaseException]) -> bool:
    return any(isinstance(cause, kinds) for cause in _causes(failure))


def _was_not_sent(failure: Exception) -> bool:
    """Whether no connection was made, so that the service cannot have received the request."""
    unconnected = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
    return _caused_by(failure, *unconnected, ConnectionRefusedError, ssl.SSLCertVerificationError)


def _is_invalid(failure: Exception) -> bool:
    """Whether the request was invalid and so not sent. InvalidHeader is about the response."""
    return isinstance(failure, ValueError) and not isinstance(failure, requests.exceptions.InvalidHeader)


def _is_late(failure: Exception) -> bool:
    """Whether a connection was made, and the deadline came before the end of the response."""
    return _caused_by(failure, socket.timeout, urllib3.exceptions.ReadTimeoutError)


def _explain(failure: Exception, settings: Settings) -> tuple[str, str, bool]:
    """What failed, what to do, and whether the cause is invalid settings, so that a retry would fail too."""
    if isinstance(failure, _TooLarge):
        hint = "Check that base_url is the address of the service, and how many clients the account has."
        return f"the response, with all its pages, takes more than {failure}", hint, True
    if isinstance(failure, requests.ConnectTimeout):
        limit = min(settings.timeout, _FIRST_CONTACT)
        return f"no connection within {limit:g} s", "Check base_url, its port, and the network.", False
    is_of_proxy = isinstance(failure, requests.exceptions.ProxyError)
    if _is_late(failure) and not is_of_proxy:
        return f"no whole response within {settings.timeout:g} s", "Raise timeout if the service needs longer.", False
    *_causing, last = _causes(failure)
    reason = f"{type(last).__name__}: {last}"
    if isinstance(failure, (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)):
        return f"the response was cut short: {last}", "Check the network, and any proxy in between.", False
    # A TLS connection that ends early is retried: a service or load balancer that restarts closes its connections.
    is_cut = _caused_by(failure, ssl.SSLEOFError, ssl.SSLZeroReturnError)
    if (isinstance(failure, requests.exceptions.SSLError) and not is_cut) or "CA certificate bundle" in str(failure):
        authorities = f"{settings.ca_path} (ca_path)" if settings.ca_path else "ca_path or REQUESTS_CA_BUNDLE"
        hint = f"Check base_url, and that {authorities} names a file with the certificates of its authority."
        return f"no secure connection: {reason}", hint, True
    unknown = any(isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME for cause in _causes(failure))
    invalid = _is_invalid(failure) or unknown
    if is_of_proxy:
        hint = "Check the proxy settings of the environment."
        return f"no connection through the proxy: {reason}", hint, invalid
    return (
        f"no response, because the connection failed: {reason}",
        "Check base_url, the network, and the proxy settings of the environment.",
        invalid,
    )
