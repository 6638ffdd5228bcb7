# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an answer of the service means: a value, or an error and whether the request may be sent again. Pure.

Implements section 7 of the API document: error bodies, and the statuses that it leaves open.
"""

from __future__ import annotations

import dataclasses
import datetime
import email.utils
import json
import math
import typing as t
import urllib.parse

from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

_RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_EXCERPT = 120
# Documented are five levels.
_DEEPEST = 50
_CONTAINERS = (dict, list)
_ELSEWHERE = "Check that base_url leads to the service: something else has answered."
_HINTS = {
    401: "The token is missing, wrong or expired: check api_token (MONITOR_API_TOKEN).",
    407: "The proxy wants credentials: check the proxy settings of the environment.",
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one request. ``wait``: seconds that the service asks to wait before the next."""

    value: t.Any = None
    error: ApiError | None = None
    may_repeat: bool = False
    wait: float | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """An HTTP answer to one request. ``repeatable``: sending that request twice does no harm."""

    method: str
    path: str
    repeatable: bool
    status: int
    headers: Mapping[str, str]
    content: bytes
    clean: t.Callable[[str], str]

    def read(self) -> Outcome:
        """The outcome of the request."""
        if 300 <= self.status < 400:
            return Outcome(error=self._redirect())
        if self.status >= 400:
            return self._refusal()
        if self.status == 204 or (not self.content and self._has_length()):
            return Outcome()
        try:
            value = json.loads(self.content)
            _check_depth(value)
            return Outcome(value=value)
        except RecursionError:
            problem = "the answer holds more within each other than any answer should"
            return Outcome(error=self._error(problem, hint=_ELSEWHERE, unclear=True))
        except ValueError:
            return self._not_json()

    def _error(self, problem: str, *, unclear: bool = False, **details: t.Any) -> ApiError:
        """``unclear``: the answer does not tell whether the work was done."""
        return ApiError(
            problem,
            method=self.method,
            path=self.path,
            status=self.status,
            outcome_unknown=unclear and not self.repeatable,
            may_be_done=unclear and self.method != "GET",
            **details,
        )

    def _redirect(self) -> ApiError:
        try:
            target = urllib.parse.urlsplit(self.headers.get("Location", ""))
            bare = target._replace(query="", fragment="", netloc=target.netloc.rpartition("@")[2]).geturl()
        except ValueError:
            bare = "no address at all"
        shown = self.clean(bare)
        return self._error(
            f"the service answered {self.status}, a redirect to {shown!r}, which is not followed",
            hint="Set base_url to the address that is meant.",
        )

    def _has_length(self) -> bool:
        """Whether it is said how long the answer is. One that is cut within its headers looks empty, but for this."""
        return "Content-Length" in self.headers or "Transfer-Encoding" in self.headers

    def _not_json(self) -> Outcome:
        cut_short = self.content.lstrip()[:1] in (b"", b"{", b"[")
        problem = "the answer was cut short" if cut_short else f"the answer is {self._describe_text()}"
        hint = "" if cut_short else _ELSEWHERE
        error = self._error(problem, hint=hint, unclear=True)
        return Outcome(error=error, may_repeat=cut_short and self.repeatable)

    def _refusal(self) -> Outcome:
        errors = self._service_errors()
        reasons = "; ".join(f"{e['field']}: {e['reason']}" if e["field"] else e["reason"] for e in errors)
        certainly_not_done = 400 <= self.status < 500 and self.status != 408
        error = self._error(
            f"the service answered {self.status}: {reasons or self._describe_text()}",
            errors=errors,
            hint=_HINTS.get(self.status, ""),
            unclear=not certainly_not_done,
        )
        may_repeat = self.status in _RETRIED_STATUSES and (self.repeatable or self.status == 429)
        return Outcome(error=error, may_repeat=may_repeat, wait=retry_after(self.headers) if may_repeat else None)

    def _service_errors(self) -> list[dict[str, t.Any]]:
        try:
            errors = json.loads(self.content)["errors"]
            _check_depth(errors)
        except (ValueError, RecursionError, LookupError, TypeError):
            return []
        return [
            {
                **error,
                "field": self.clean(str(error.get("field") or "")) or None,
                "reason": self.clean(str(error.get("reason") or "no reason given")),
            }
            for error in (errors if isinstance(errors, list) else [])
            if isinstance(error, dict)
        ]

    def _describe_text(self) -> str:
        kind = self.headers.get("Content-Type", "").split(";")[0]
        # JSON is not quoted, for it may hold keys.
        if "json" in kind or self.content.lstrip()[:1] in (b"{", b"["):
            return "JSON of an unknown shape"
        # Cleaned before it is cut: half a token would not be found.
        text = self.clean(self.content.decode("utf-8", "replace"))[:_EXCERPT]
        return f"not JSON but {self.clean(kind) or 'of no type'}, starting with {text!r}"


def _check_depth(value: t.Any, depth: int = 0) -> None:
    """RecursionError for JSON that holds more within each other than any answer: Ansible can't pass it on."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        if item.__class__ in _CONTAINERS:
            _check_depth(item, depth + 1)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks to wait, be it given in seconds or as an HTTP date; None without one."""
    given = headers.get("Retry-After", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        until = email.utils.parsedate_to_datetime(given)
    except (ValueError, TypeError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, (until - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
