# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send requests to the service. Only this file imports the library ``requests``. Threads can share an :class:`Http`."""

from __future__ import annotations

import concurrent.futures
import functools
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
from ansible_collections.monitor.cloud.plugins.module_utils._service.response import encodings, value_of

try:
    import requests
    import urllib3

    MISSING = False
except ImportError:
    MISSING = True

T = t.TypeVar("T")

_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 30.0
# The limit in seconds for a new connection, and for retries before the first response. So a wrong base_url fails soon.
_FIRST_CONTACT = 10.0
_WAKE_UP = 0.5
# The largest decoded response in MiB. A page of 500 clients has 0.2 MiB.
_LARGEST = 32
_CHUNK = 2**16


class Settings(t.NamedTuple):
    """The settings of the connection. Times are in seconds; ``base_url`` includes the version segment."""

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
    """The connection to the service. ``usage`` counts the requests, the retries, and the seconds waited for retries."""

    def __init__(self, settings: Settings) -> None:
        if MISSING:
            raise InputError(missing_required_lib("requests", url="https://pypi.org/project/requests"))
        self.settings = settings
        self._session = _session(settings)
        self.usage = {"requests": 0, "retries": 0, "waited": 0.0}
        # The scopes of the token; empty if the service does not report scopes.
        self.scopes: list[str] = []
        # The main thread calls on_wait twice a second while other threads make requests.
        self.on_wait: t.Callable[[], None] = _do_nothing
        self.paused_until = 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        # Whether the service has responded to a request.
        self._reached = False

    def request(self, operation: Operation, *, query: Object | None, body: Object | None) -> t.Any:
        """Send the request of an operation, with retries; return the decoded JSON, or None for an empty response.

        Send no token for public operations. Retry a request that is not idempotent only if the service certainly did
        not carry out the request. Raise ApiError if the request fails.
        """
        is_unknown = False
        attempt = 0
        began = time.monotonic()
        deadline = began + self.settings.retry_timeout + self.settings.timeout
        while True:
            try:
                return self._attempt(operation, query, body, deadline)
            except ApiError as error:
                # If the outcome of one attempt is unknown, the outcome of the request is unknown too.
                is_unknown = is_unknown or error.outcome == "unknown"
                if is_unknown:
                    error.outcome = "unknown"
                if not error.retryable:
                    raise
                self.pause(error, attempt, began, self._seconds_for_retries())
            attempt += 1

    def _seconds_for_retries(self) -> float:
        """Return the limit for retries. Before the first response, the limit is short: base_url may be wrong."""
        limit = self.settings.retry_timeout
        if self._reached:
            return limit
        return min(limit, _FIRST_CONTACT)

    def pause(self, error: ApiError, attempt: int, began: float, limit: float, retries: int = 1) -> None:
        """Wait before a retry: as long as the service asks, or a random time. After ``limit`` seconds, fail."""
        backoff = random.uniform(0, min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(attempt, 10)))
        seconds = error.wait or backoff
        now = time.monotonic()
        if now + seconds > began + limit:
            hints = [error.hint]
            if error.wait:
                hints.append(f"The service asks to wait {seconds:.0f} s.")
            hints.append(self._gave_up(limit))
            error.hint = " ".join(filter(None, hints))
            raise error
        with self._lock:
            self.usage["retries"] += retries
            self.usage["waited"] = round(self.usage["waited"] + seconds, 3)
            # A rate limit counts all requests with the token, so all threads wait.
            self.paused_until = max(self.paused_until, now + (error.wait or 0))
        if self._stopped.wait(seconds):
            raise error

    def _gave_up(self, limit: float) -> str:
        if not limit:
            return ""
        if limit == _FIRST_CONTACT and not self._reached:
            return (
                f"Gave up after {limit:g} s, the limit for the first contact with a service: retry_timeout "
                f"({self.settings.retry_timeout:g} s) counts only after a first response."
            )
        return f"Gave up after {limit:g} s (retry_timeout): try again later."

    def each(self, function: t.Callable[[t.Any], T], items: t.Iterable[t.Any]) -> list[T]:
        """Call the function for each item, several calls at a time, and return the results in the order of the items.

        If a call raises an exception, start no more calls.
        """
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
                # Python handles signals only in the main thread, and not during a wait. So each wait is short.
                while concurrent.futures.wait(futures, _WAKE_UP).not_done:
                    self.on_wait()
            except BaseException as error:
                # After Ctrl-C or a timeout of the task, stop the threads, because the pool would wait for all retries.
                errors.append(error)
                self._stopped.set()
                raise
            return [future.result() for future in futures]

    def _attempt(self, operation: Operation, query: Object | None, body: Object | None, deadline: float) -> t.Any:
        """Send the request once, and return the decoded JSON of the response."""
        if self._stopped.wait(max(0.0, self.paused_until - time.monotonic())):
            raise ApiError("interrupted")
        with self._lock:
            self.usage["requests"] += 1
        request = self._prepared(operation, query, body)
        timeouts = (min(self.settings.timeout, _FIRST_CONTACT), self.settings.timeout)
        try:
            with self._session.send(request, timeout=timeouts, allow_redirects=False, stream=True) as response:
                self._reached = True
                content = self._content_of(response, deadline, _unknown_outcome(operation))
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as failure:
            raise self._no_response(failure, operation) from None
        scopes = response.headers.get("X-OAuth-Scopes", "").replace(",", " ").split()
        if scopes:
            self.scopes = scopes
        return value_of(operation, response.status_code, response.headers, content, self._redact)

    def _prepared(self, operation: Operation, query: Object | None, body: Object | None) -> requests.PreparedRequest:
        headers = dict(self._session.headers)
        if operation.access and self.settings.token:
            headers["Authorization"] = f"Bearer {self.settings.token}"
        url = self.settings.base_url + operation.path
        # Do not use Session.request: it merges settings into each request, which takes a quarter of the processor time.
        return requests.Request(operation.method, url, headers, params=query, json=body).prepare()

    def _content_of(self, response: requests.Response, deadline: float, outcome: Outcome) -> bytes:
        """Return the decoded body. Raise ApiError if the body is too long, or does not end before the deadline."""
        content = bytearray()
        if response.status_code < 200:
            # The final response can arrive later. The caller closes the connection, so that no other request gets it.
            return bytes(content)
        raw = response.raw
        # Raise an error if a body is shorter than Content-Length. Only urllib3 2 raises this error by default.
        raw.enforce_content_length = True
        names = encodings(response.headers)
        # urllib3 decodes neither "gzip, identity" nor, before version 2, "x-gzip".
        raw.headers["Content-Encoding"] = ""
        if all(name in raw.CONTENT_DECODERS for name in names):
            raw.headers["Content-Encoding"] = ", ".join(names)
        for chunk in _chunks(raw):
            content += chunk
            problem = self._problem_of_content(len(content), deadline)
            if problem is not None:
                problem.status = response.status_code
                problem.outcome = outcome
                raise problem
        return bytes(content)

    def _problem_of_content(self, size: int, deadline: float) -> ApiError | None:
        if size > _LARGEST * 2**20:
            return ApiError(f"the response has more than {_LARGEST} MiB", hint="Check base_url.", lasting=True)
        if time.monotonic() > deadline:
            limit = self.settings.retry_timeout + self.settings.timeout
            return ApiError(
                f"the response did not end within {limit:g} s (retry_timeout plus timeout)",
                hint="Check the network, and any proxy before the service. For a slow network, increase timeout.",
                lasting=True,
            )
        return None

    def _no_response(self, failure: Exception, operation: Operation) -> ApiError:
        cause = _first_cause(failure)
        was_sent = not _is_unsent(failure)
        if isinstance(failure, requests.ReadTimeout):
            self._reached = True
        problem = f"no response: {type(cause).__name__}"
        # If the URL of a proxy is invalid, the error can contain the proxy password. So do not show the error text.
        if not isinstance(failure, ValueError):
            problem += f": {cause}"
        is_safe = operation.idempotent or not was_sent
        return ApiError(
            self._redact(problem),
            hint="Check base_url, the network, the proxy of the environment, ca_path or REQUESTS_CA_BUNDLE, and "
            f"timeout ({self.settings.timeout:g} s).",
            outcome=_unknown_outcome(operation) if was_sent else "not_done",
            retryable=is_safe and _is_passing(failure),
        )

    def _redact(self, text: str) -> str:
        """Return a text as one line of at most 500 characters, without the token."""
        secrets = {}
        if self.settings.token:
            secrets["token"] = self.settings.token
        return printable(redact(text[:50_000], secrets))[:500].strip()


def _do_nothing() -> None:
    pass


def _unknown_outcome(operation: Operation) -> Outcome:
    """Return the outcome of a request that was sent, but whose response was not read."""
    return "not_done" if operation.method == "GET" else "unknown"


def _chunks(raw: urllib3.HTTPResponse) -> t.Iterator[bytes]:
    """Return the decoded parts of a body as they arrive. Before urllib3 2.1, wait for 64 KiB or the end of the body."""
    if hasattr(raw, "read1"):
        return iter(functools.partial(raw.read1, _CHUNK, decode_content=True), b"")
    return raw.stream(_CHUNK, decode_content=True)


def _causes_of(failure: BaseException) -> list[BaseException]:
    """Return an exception and its causes, the first cause last."""
    causes = [failure]
    while True:
        # Ignore __context__, because in urllib3 1.26 this attribute can be a TypeError about an unrelated argument.
        last = causes[-1]
        wrapped = [getattr(last, "reason", None), *last.args, last.__cause__]
        inner = [item for item in wrapped if isinstance(item, BaseException)]
        if not inner:
            return causes
        causes.append(inner[0])


def _first_cause(failure: BaseException) -> BaseException:
    return _causes_of(failure)[-1]


def _is_unsent(failure: BaseException) -> bool:
    """Whether the request was certainly not sent, because there was no connection."""
    unsent = (urllib3.exceptions.ConnectTimeoutError, ssl.SSLCertVerificationError)
    return any(isinstance(cause, unsent) for cause in _causes_of(failure))


def _is_passing(failure: Exception) -> bool:
    """Whether a retry can succeed."""
    # If a service or load balancer restarts during a TLS handshake, the SSLError contains EOF.
    if "EOF" in str(failure):
        return True
    if isinstance(failure, (ValueError, requests.exceptions.SSLError, urllib3.exceptions.SSLError)):
        return False
    return isinstance(failure, (requests.RequestException, urllib3.exceptions.HTTPError))


def _session(settings: Settings) -> requests.Session:
    session = requests.Session()
    # Accept only gzip and deflate. By default, the library requests accepts br and zstd too if they are installed.
    session.headers.update(
        {"User-Agent": settings.user_agent, "Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=settings.concurrency))
    # Read the environment only here. By default, the library requests reads the environment for each request, which is
    # slow. A password in a netrc file would replace the token. On macOS, a forked process that reads proxies crashes.
    session.trust_env = False
    may_use_proxy = settings.allow_http or settings.base_url.lower().startswith("https:")
    if may_use_proxy and urllib.request.getproxies_environment():
        session.proxies.update(requests.utils.get_environ_proxies(settings.base_url))
    session.verify = _verification(settings)
    if session.verify is False:
        # Without this call, urllib3 prints a warning for each connection.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return session


def _verification(settings: Settings) -> bool | str:
    """Return the file with certificates of authorities, True for the default file, or False for no check."""
    if not settings.validate_certs:
        return False
    if settings.ca_path:
        return settings.ca_path
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        bundle = os.environ.get(name)
        if bundle:
            return bundle
    return True
