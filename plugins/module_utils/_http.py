# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to the service: the one place that imports ``requests``. Sections 5 and 9 of the API document.

One session with keep-alive for the process, repeats within a time budget, one pause for all workers where the service
asks for it. Safe to use from several threads.
"""

from __future__ import annotations

import dataclasses
import random
import socket
import ssl
import sys
import threading
import time
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._access import check_base_url, check_proxy, check_token
from ansible_collections.monitor.cloud.plugins.module_utils._answer import Answer, Outcome
from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError, InputError

try:
    import requests
    import requests.adapters
    import requests.utils
    import urllib3
    import urllib3.exceptions
except ImportError as import_error:
    REQUESTS_MISSING: str | None = str(import_error)
else:
    REQUESTS_MISSING = None

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 30.0
_LONGEST_TEXT = 500


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to reach the service. Times in seconds; ``base_url`` includes the version segment (section 9)."""

    base_url: str
    token: str | None = None
    validate_certs: bool = True
    ca_path: str | None = None
    allow_http: bool = False
    timeout: float = 30.0
    retry_timeout: float = 120.0
    concurrency: int = 8
    user_agent: str = "monitor.cloud"


@dataclasses.dataclass
class Usage:
    """What a task cost: requests sent, how many of them were repeats, seconds spent waiting for repeats."""

    requests: int = 0
    retries: int = 0
    waited: float = 0.0

    def as_result(self) -> dict[str, t.Any]:
        return {"requests": self.requests, "retries": self.retries, "waited": round(self.waited, 3)}


class Http:
    """The way to the service. Use :meth:`request`; ``usage`` counts what was sent."""

    def __init__(self, settings: Settings) -> None:
        if REQUESTS_MISSING:
            raise InputError(
                f"The Python library requests is missing for {sys.executable} ({REQUESTS_MISSING}). Install it there, "
                "or run the task on the controller: delegate_to: localhost, with the variable "
                "ansible_python_interpreter set to ansible_playbook_python."
            )
        check_token(settings.token)
        self.settings = settings
        self.usage = Usage()
        self._base_url = check_base_url(settings.base_url, allow_http=settings.allow_http)
        self._lock = threading.Lock()
        self._paused_until = 0.0
        self._interrupted = threading.Event()
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": settings.user_agent, "Accept": "application/json"})
        # Not even looked at: requests would stumble over a redirect to what is no address.
        self._session.get_redirect_target = _no_target  # type: ignore[method-assign]
        adapter = requests.adapters.HTTPAdapter(pool_maxsize=settings.concurrency, pool_block=True)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        # What the environment says of proxies and certificates, looked up once: with each request it would cost nearly
        # as much as the request. Asked for together with our own setting, so that each has the rank that it should.
        verify = (settings.ca_path or True) if settings.validate_certs else False
        found = self._session.merge_environment_settings(self._base_url, {}, False, verify, None)
        self._session.proxies, self._session.verify = found["proxies"], found["verify"]
        self._session.trust_env = False
        proxy = requests.utils.select_proxy(self._base_url, found["proxies"])
        if proxy:
            check_proxy(self._base_url, proxy, allow_http=settings.allow_http)
        if not settings.validate_certs:
            # Who turns the check off knows, and need not be told with each connection.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)

    def request(
        self,
        method: str,
        path: str,
        *,
        intent: str,
        public: bool = False,
        query: Mapping[str, int] | None = None,
        body: Mapping[str, t.Any] | None = None,
        repeatable: bool = True,
    ) -> t.Any:
        """Send one request and return the decoded JSON of its answer (None for an empty one).

        ``public`` requests carry no token (section 5). A request that is not ``repeatable`` is sent again only where
        the service certainly did not do it. Raises ApiError; its ``outcome_unknown`` is set where such a request may
        have been done.
        """
        if not public and not self.settings.token:
            raise InputError(f"api_token is required to {intent}: set it, or the environment's MONITOR_API_TOKEN.")
        auth = _Bearer(None if public else self.settings.token)
        deadline = time.monotonic() + self.settings.retry_timeout
        may_be_done = False
        for backoff in backoffs():
            self._wait_for_pause()
            if self._interrupted.is_set():
                raise ApiError("interrupted", method=method, path=path, intent=intent, may_be_done=may_be_done)
            outcome = self._attempt(method, path, auth=auth, params=query, json=body, repeatable=repeatable)
            if outcome.error is None:
                return outcome.value
            outcome.error.intent = intent
            # By this attempt, or by one before.
            may_be_done = outcome.error.may_be_done = outcome.error.may_be_done or may_be_done
            # A time that is over, as clocks differ, or none at all, must not lead to repeats without a pause.
            pause = outcome.wait or backoff
            if not outcome.may_repeat or time.monotonic() + pause > deadline:
                raise _with_budget(outcome, self.settings.retry_timeout)
            self._pause(pause, for_all=bool(outcome.wait))
        raise AssertionError("the back-off never ends")

    def pause_before_repeats(self, repeats: int, seconds: float) -> None:
        """Wait before so many requests are sent again by the caller, and count that as usage."""
        with self._lock:
            self.usage.retries += repeats
            self.usage.waited += seconds
        self._interrupted.wait(seconds)

    def _attempt(self, method: str, path: str, *, repeatable: bool, **options: t.Any) -> Outcome:
        with self._lock:
            self.usage.requests += 1
        try:
            response = self._session.request(
                method,
                self._base_url + path,
                timeout=self.settings.timeout,
                allow_redirects=False,
                **options,
            )
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as failure:
            return self._transport_failure(failure, method, path, repeatable)
        return Answer(
            method, path, repeatable, response.status_code, response.headers, response.content, self._clean
        ).read()

    def _transport_failure(self, failure: Exception, method: str, path: str, repeatable: bool) -> Outcome:
        final, not_sent = _is_final(failure), _was_not_sent(failure) or isinstance(failure, ValueError)
        problem, hint = _explain(failure, self.settings)
        error = ApiError(self._clean(problem), method=method, path=path, hint=hint)
        error.outcome_unknown = not (repeatable or not_sent)
        error.may_be_done = method != "GET" and not not_sent
        return Outcome(error=error, may_repeat=not final and (repeatable or not_sent))

    def _clean(self, text: str) -> str:
        """Text from outside made fit for a message: without the token, on one line, of bounded length."""
        if self.settings.token:
            text = text.replace(self.settings.token, "<token>")
        return "".join(character if character.isprintable() else " " for character in text)[:_LONGEST_TEXT].strip()

    def _pause(self, seconds: float, *, for_all: bool) -> None:
        now = time.monotonic()
        with self._lock:
            self.usage.retries += 1
            if for_all:
                self.usage.waited += max(0.0, now + seconds - max(self._paused_until, now))
                self._paused_until = max(self._paused_until, now + seconds)
                return
            self.usage.waited += seconds
        self._interrupted.wait(seconds)

    @property
    def waits(self) -> float:
        """Seconds that are left of the pause that the service asked for."""
        return max(0.0, self._paused_until - time.monotonic())

    def interrupt(self) -> None:
        """Let no other request begin, nor wait for its turn; those under way come to their end."""
        self._interrupted.set()

    def _wait_for_pause(self) -> None:
        while (remaining := self.waits) > 0 and not self._interrupted.wait(remaining):
            pass


def _no_target(resp: t.Any) -> None:
    """Where an answer redirects to, as requests is told: nowhere."""


class _Bearer:
    """Sets or leaves out the token. Any ``auth`` at all keeps requests from taking credentials out of a netrc file."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: t.Any) -> t.Any:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def backoffs() -> Iterator[float]:
    """Seconds to wait before each repeat: exponential, with full jitter, without end."""
    longest = _FIRST_BACKOFF
    while True:
        yield random.uniform(0, longest)
        longest = min(_LONGEST_BACKOFF, longest * 2)


def _with_budget(outcome: Outcome, retry_timeout: float) -> ApiError:
    error = t.cast("ApiError", outcome.error)
    if outcome.wait:
        error.hint = (
            f"The service asks to wait {outcome.wait:.0f} s, more than is left of retry_timeout "
            f"({retry_timeout:g} s): raise it, or try again later."
        )
    elif outcome.may_repeat:
        repeated_in_vain(error, retry_timeout)
    return error


def repeated_in_vain(error: ApiError, retry_timeout: float) -> None:
    """Say in the error that repeating was given up, and after what time."""
    if retry_timeout:
        error.hint = f"{error.hint} Repeated for retry_timeout ({retry_timeout:g} s) in vain: try again later.".strip()


def _causes(failure: BaseException | None) -> Iterator[BaseException]:
    """The failure and what is behind it: libraries wrap, in ``reason``, in ``args`` or as context."""
    for _depth in range(10):
        if failure is None:
            return
        yield failure
        wrapped = [getattr(failure, "reason", None), *failure.args, failure.__cause__, failure.__context__]
        failure = next((inner for inner in wrapped if isinstance(inner, BaseException)), None)


def _was_not_sent(failure: Exception) -> bool:
    """Whether no connection was made, so that the service can't have seen the request."""
    kinds = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        ConnectionRefusedError,
        ssl.SSLCertVerificationError,
    )
    return any(isinstance(cause, kinds) for cause in _causes(failure))


def _is_final(failure: Exception) -> bool:
    """Whether the same request would fail the same way again: bad settings rather than bad luck."""
    if isinstance(failure, ValueError) or _bundle_is_missing(failure):
        return True
    if isinstance(failure, requests.exceptions.SSLError):
        # A connection that ends in the middle is what happens when a service or a balancer before it restarts.
        return not any(isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError)) for cause in _causes(failure))
    return any(isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME for cause in _causes(failure))


def _bundle_is_missing(failure: Exception) -> bool:
    return "CA certificate bundle" in str(failure)


def _explain(failure: Exception, settings: Settings) -> tuple[str, str]:
    """What went wrong, and what to do, for a request that got no answer."""
    if isinstance(failure, requests.Timeout):
        return f"no answer within {settings.timeout:g} s", "Raise timeout if the service is that slow."
    last = list(_causes(failure))[-1]
    reason = f"{type(last).__name__}: {last}"
    if isinstance(failure, (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)):
        return f"the answer was cut short: {last}", "Check the network and what stands between."
    if _bundle_is_missing(failure):
        return f"no secure connection: {last}", "Check ca_path and the environment's REQUESTS_CA_BUNDLE."
    if isinstance(failure, requests.exceptions.SSLError) and _is_final(failure):
        return f"no secure connection: {reason}", "Check base_url; for a private certificate authority set ca_path."
    if isinstance(failure, requests.exceptions.ProxyError):
        return f"the proxy gave no connection: {reason}", "Check the proxy settings of the environment."
    return f"no answer, for the connection failed: {reason}", "Check base_url and the network."
