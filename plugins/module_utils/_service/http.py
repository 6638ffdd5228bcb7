# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to the service: the only file that imports ``requests``. Safe to use from several threads."""

from __future__ import annotations

import concurrent.futures
import os
import random
import ssl
import threading
import time
import typing as t
import urllib.request

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError, Outcome
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable, redact
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Object, Operation
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import value_of

try:
    import requests
    import urllib3

    MISSING = False
except ImportError:
    MISSING = True

T = t.TypeVar("T")

_FIRST_BACKOFF, _LONGEST_BACKOFF = 0.5, 30.0
# Seconds to connect, and to retry before the first response: so a wrong base_url fails within 20 s.
_FIRST_CONTACT = 10.0
_WAKE_UP = 0.5
# MiB of a decoded response: a page of 500 clients has 0.2.
_LARGEST = 32


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
            raise InputError(missing_required_lib("requests", url="https://pypi.org/project/requests"))
        self.settings, self._session = settings, _session(settings)
        self.usage = {"requests": 0, "retries": 0, "waited": 0.0}
        # The scopes of the token; empty if the service does not report them.
        self.scopes: list[str] = []
        # Called twice a second by the main thread, while several requests are made.
        self.on_wait: t.Callable[[], None] = lambda: None
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._reached, self.paused_until = False, 0.0

    def request(self, operation: Operation, *, query: Object | None, body: Object | None) -> t.Any:
        """Send the request of an operation, with retries; return the decoded JSON of the response, None if it is empty.

        Public operations carry no token. A request that is not idempotent is retried only if the service certainly did
        not carry it out. Raises ApiError.
        """
        outcome: Outcome = "not_done"
        attempt, began, limit = 0, time.monotonic(), self.settings.retry_timeout
        while True:
            try:
                return self._attempt(operation, query, body)
            except ApiError as error:
                # If the outcome of one attempt is unknown, so is that of the request.
                error.outcome = outcome = "unknown" if outcome == "unknown" else error.outcome
                if not error.retryable:
                    raise
                self.pause(error, attempt, began, limit if self._reached else min(limit, _FIRST_CONTACT))
            attempt += 1

    def pause(self, error: ApiError, attempt: int, began: float, limit: float, retries: int = 1) -> None:
        """Wait before retries, as long as the service asks or with back-off; raise the error if that is too long."""
        backoff = random.uniform(0, min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(attempt, 10)))
        now, seconds = time.monotonic(), error.wait or backoff
        if now + seconds > began + limit:
            asks = f"The service asks to wait {seconds:.0f} s." if error.wait else ""
            gave_up = f"Gave up after {limit:g} s (retry_timeout): try again later." if limit else ""
            error.hint = " ".join(filter(None, [error.hint, asks, gave_up]))
            raise error
        with self._lock:
            self.usage["retries"] += retries
            self.usage["waited"] = round(self.usage["waited"] + seconds, 3)
            # A rate limit is that of the token, so all workers wait.
            self.paused_until = max(self.paused_until, now + (error.wait or 0))
        if self._stopped.wait(seconds):
            raise error

    def each(self, function: t.Callable[[t.Any], T], items: t.Iterable[t.Any]) -> list[T]:
        """The results of calls, several at a time, in the order of the items. No call starts after an exception."""
        errors: list[BaseException] = []

        def call(item: t.Any) -> T:
            try:
                if errors:
                    raise errors[0]
                return function(item)
            except BaseException as error:
                errors.append(error)
                raise

        with concurrent.futures.ThreadPoolExecutor(max_workers=self.settings.concurrency) as pool:
            futures = [pool.submit(call, item) for item in items]
            try:
                # Python handles signals in the main thread, but not while that waits for a lock: so wake it up.
                while concurrent.futures.wait(futures, _WAKE_UP).not_done:
                    self.on_wait()
            except BaseException as error:
                # At Ctrl-C, or at the end of a task's timeout, the pool would wait for the retries of its threads.
                errors.append(error)
                self._stopped.set()
                raise
            return [future.result() for future in futures]

    def _attempt(self, operation: Operation, query: Object | None, body: Object | None) -> t.Any:
        url, timeout, content = self.settings.base_url + operation.path, self.settings.timeout, bytearray()
        token = self.settings.token if operation.access else None
        options: Object = {"params": query, "json": body, "timeout": (min(timeout, _FIRST_CONTACT), timeout)}
        if self._stopped.wait(max(0.0, self.paused_until - time.monotonic())):
            raise ApiError("interrupted")
        with self._lock:
            self.usage["requests"] += 1
        headers = {"Authorization": f"Bearer {token}"} if token else None
        try:
            with self._session.request(
                operation.method, url, headers=headers, allow_redirects=False, stream=True, **options
            ) as response:
                # A body shorter than Content-Length is an error: the default of urllib3 2, but not of 1.26.
                response.raw.enforce_content_length = True
                for chunk in response.iter_content(2**16):
                    content += chunk
                    if len(content) > _LARGEST * 2**20:
                        raise ApiError(f"the response has more than {_LARGEST} MiB", hint="Check base_url.")
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as failure:
            raise self._no_response(failure, operation) from None
        self._reached = True
        self.scopes = response.headers.get("X-OAuth-Scopes", "").replace(",", " ").split() or self.scopes
        return value_of(operation, response.status_code, response.headers, bytes(content), self._redact)

    def _no_response(self, failure: Exception, operation: Operation) -> ApiError:
        # Not by __context__, which can be another attempt: urllib3 1.26 first tries an argument of Python 2.
        causes: list[t.Any] = [failure]
        for cause in causes:
            wrapped = (getattr(cause, "reason", None), *cause.args, cause.__cause__)
            causes += [each for each in wrapped if isinstance(each, BaseException)][:1]
        unsent = (urllib3.exceptions.ConnectTimeoutError, ssl.SSLCertVerificationError)
        sent = not any(isinstance(each, unsent) for each in causes)
        self._reached = self._reached or isinstance(failure, requests.ReadTimeout)
        lasting = isinstance(failure, (ValueError, requests.exceptions.SSLError))
        # A service or load balancer that restarts closes connections in their handshake: an SSLError with EOF.
        passing = (isinstance(failure, requests.RequestException) and not lasting) or "EOF" in str(failure)
        # An error about an invalid address of a proxy quotes its password.
        text = "" if isinstance(failure, ValueError) else f": {causes[-1]}"
        return ApiError(
            self._redact(f"no response: {type(causes[-1]).__name__}{text}"),
            hint="Check base_url, the network, the proxy of the environment, ca_path or REQUESTS_CA_BUNDLE, timeout "
            f"({self.settings.timeout:g} s).",
            outcome="unknown" if sent and operation.method != "GET" else "not_done",
            retryable=passing and (operation.idempotent or not sent),
        )

    def _redact(self, text: str) -> str:
        """A text for a message: without the token, on one line, of bounded length."""
        secrets = {"token": self.settings.token} if self.settings.token else {}
        return printable(redact(text[:50_000], secrets))[:500].strip()


def _session(settings: Settings) -> requests.Session:
    session = requests.Session()
    # By default the library requests also accepts br and zstd if their libraries are installed.
    session.headers.update(
        {"User-Agent": settings.user_agent, "Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=settings.concurrency))
    # The environment is read here only: with each request that would cost nearly as much as the request, and a password
    # of a netrc file would replace the token. On macOS the look-up of the system's proxies crashes a forked process.
    session.trust_env = False
    if urllib.request.getproxies_environment() and (
        settings.allow_http or settings.base_url.lower().startswith("https:")
    ):
        session.proxies.update(requests.utils.get_environ_proxies(settings.base_url))
    bundles = (os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"))
    session.verify = (settings.ca_path or next(filter(None, bundles), True)) if settings.validate_certs else False
    if not settings.validate_certs:
        # urllib3 would warn for each connection.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return session
