# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conversion of a response to an object of the documented shape, or to an error. Pure.

Implements the schemas and errors of docs/openapi.yaml, and the statuses that it leaves open. Only what the collection
relies on is required of an object; unknown fields stay.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import json
import math
import re
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, OtherObject, Outcome
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import (
    CLIENT,
    SUBSCRIPTION,
    Object,
    Operation,
    Resource,
)

# A CDN that cannot reach the service returns 520 to 529.
_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 530)})
_EXCERPT = 120
# At most this many errors of a response are in a message.
_MAX_ERRORS = 20
# Fields with the text of an error in responses of gateways, and in RFC 9457: the most specific first.
_TEXTS = ("reason", "detail", "message", "msg", "error_description", "title", "error", "errors")
_ENCODINGS = ("", "gzip", "deflate")
# At most this many levels of nesting are accepted; documented objects have five.
_DEEPEST = 50
_NO_TOKEN = "The token is missing, wrong or expired: check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)."
_OTHER_SERVER = "Check base_url, and any proxy before it: another server may have responded."
_HINTS = {
    401: _NO_TOKEN,
    403: _NO_TOKEN,
    407: "The proxy requires credentials: check the proxy settings of the environment.",
}
# What follows the error in a JSON text that was cut within a word, a number or an escape, or before a value.
_CUT_OFF = re.compile(r"|tr?u?|fa?l?s?|nu?l?|[-.]|e[-+]?|u[\da-f]{0,4}", re.IGNORECASE)
_LONGEST_ID = 64
# Characters of a text of the service in a message.
_LONGEST_SHOWN = 200
# With the smallest known page size, 25, enough for 250,000 clients.
_MAX_PAGES = 10_000


class Page(t.TypedDict):
    """A page of a collection. ``results`` is None if the service does not report it."""

    data: list[Object]
    pages: int
    results: int | None


class Response(t.NamedTuple):
    """The HTTP response to an operation. ``redact`` is applied to texts in messages."""

    operation: Operation
    status: int
    headers: Mapping[str, str]
    content: bytes
    redact: t.Callable[[str], str]

    def value(self) -> t.Any:
        """The decoded JSON, None for an empty response; ApiError for a refusal, a redirect or invalid content."""
        if 300 <= self.status < 400:
            raise self._redirect()
        if self.status >= 400:
            body = None
            with contextlib.suppress(ValueError, RecursionError):
                body = self._json()
            raise self._refusal(body)
        # An empty response needs a length: one that was cut within its headers has none.
        has_length = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        encoded = unsupported_encoding(self.headers)
        if self.status == 204 or (not encoded and not self.content and has_length):
            return None
        problem = f"the response is {self._describe_body()}"
        try:
            if not encoded:
                return self._decoded()
        except RecursionError:
            problem = "the response is nested more deeply than any response should be"
        except ValueError as failure:
            if self.content.lstrip()[:1] in (b"", b"{", b"["):
                raise self._invalid_json(failure) from None
        raise self._error(problem, ambiguous=True, hint=_OTHER_SERVER)

    def _decoded(self) -> t.Any:
        value = self._json()
        # Some services refuse with the status 200 and errors, which a delete would otherwise count as success.
        if isinstance(value, dict) and value.get("errors") and not value.keys() & {"id", "data"}:
            raise self._refusal(value)
        return value

    def _json(self) -> t.Any:
        # NaN and Infinity become null: they are not JSON, so other programs could not read the result.
        value = json.loads(self.content, parse_constant=lambda dummy: None)
        _check_depth(value)
        return value

    def _invalid_json(self, failure: ValueError) -> ApiError:
        """The error for invalid JSON. If parsing failed at the end, the text was cut, and a retry can succeed."""
        if isinstance(failure, json.JSONDecodeError):
            rest = failure.doc[failure.pos :].strip()
            is_cut = failure.msg.startswith("Unterminated string") or bool(_CUT_OFF.fullmatch(rest))
            problem = f"not valid JSON at line {failure.lineno}, column {failure.colno}: {failure.msg}"
        else:
            is_cut = getattr(failure, "reason", "") == "unexpected end of data"
            problem = f"not valid JSON: {failure}"
        if is_cut:
            return self._error("the response was cut short", ambiguous=True, retryable=self.operation.idempotent)
        return self._error(f"the response is {problem}", ambiguous=True, hint=_OTHER_SERVER)

    def _error(self, problem: str, *, ambiguous: bool = False, **details: t.Any) -> ApiError:
        """An error with this status. ``ambiguous``: the response does not show whether the service did the work."""
        outcome: Outcome = "unknown" if ambiguous and self.operation.method != "GET" else "not_done"
        return ApiError(problem, status=self.status, outcome=outcome, **details)

    def _redirect(self) -> ApiError:
        if not self.headers.get("Location"):
            problem = f"the service returned {self.status}, which is not a valid response to this request"
            return self._error(problem, hint=_OTHER_SERVER)
        # The address is shown without credentials, query and fragment, which can hold secrets.
        bare = re.sub(r"(?<=//)[^/]*@|[?#].*", "", self.headers["Location"], flags=re.DOTALL)
        shown = self.redact(bare)[:_LONGEST_SHOWN]
        problem = f"the service returned {self.status}, a redirect to {shown!r}, which is not followed"
        return self._error(problem, hint="Set base_url to the right address.")

    def _refusal(self, body: t.Any) -> ApiError:
        errors = self._service_errors(body)
        reasons = "; ".join(f"{e['field']}: {e['reason']}" if e["field"] else e["reason"] for e in errors)
        text = self.redact(_text(body)) if isinstance(body, dict) else ""
        # A 400 with HTML is from a gateway, and transient; a service in maintenance changes nothing.
        of_gateway = self.status == 400 and self._content_type() == "text/html"
        in_maintenance = self.status == 503 and "X-Maintenance-Mode" in self.headers
        certainly_not_done = in_maintenance or (400 <= self.status < 500 and self.status != 408 and not of_gateway)
        transient = of_gateway or (self.status in _RETRIED_STATUSES and not in_maintenance)
        retryable = transient and (self.operation.idempotent or self.status in (425, 429))
        hint = "The service is in maintenance: try again later." if in_maintenance else _HINTS.get(self.status, "")
        # The service explains each refusal in ``errors``, so a refusal without them comes from another server.
        if not (transient or errors) and (not hint or self.status == 403):
            hint = _OTHER_SERVER
        return self._error(
            f"the service returned {self.status}: {reasons or text or self._describe_body()}",
            ambiguous=not certainly_not_done,
            errors=errors,
            hint=hint,
            retryable=retryable,
            wait=retry_after(self.headers) if transient else None,
            scopes=self.redact(self.headers.get("X-OAuth-Scopes", "")),
            accepted_scopes=self.redact(self.headers.get("X-Accepted-OAuth-Scopes", "")),
        )

    def _service_errors(self, body: t.Any) -> list[dict[str, t.Any]]:
        """The errors of the documented shape: those of the service, not of a gateway before it."""
        errors = body.get("errors") if isinstance(body, dict) else None
        return [
            {
                **error,
                "field": self.redact(str(error.get("field") or "")) or None,
                "reason": self.redact(str(error.get("reason") or _text(error) or "no reason given")),
            }
            for error in (errors[:_MAX_ERRORS] if isinstance(errors, list) else [])
            if isinstance(error, dict) and error.keys() & {"field", "reason"}
        ]

    def _content_type(self) -> str:
        return self.headers.get("Content-Type", "").split(";")[0].strip().lower()

    def _describe_body(self) -> str:
        encoding = unsupported_encoding(self.headers)
        if encoding:
            return f"encoded as {self.redact(encoding)!r}, which was not requested"
        if not self.content.strip():
            return "an empty body"
        content_type = self._content_type()
        # JSON is not quoted in messages, because it may hold keys.
        if "json" in content_type or self.content.lstrip()[:1] in (b"{", b"["):
            return "JSON of an unknown shape"
        # Redact the text before cutting it, because half a token would not be found.
        text = self.redact(self.content.decode("utf-8", "replace"))[:_EXCERPT]
        return f"not JSON but {self.redact(content_type) or 'of no type'}, starting with {text!r}"


def _text(error: t.Any) -> str:
    """The text of an error in a shape that is not the documented one; empty without one."""
    if isinstance(error, dict):
        return next(filter(None, (_text(error.get(name)) for name in _TEXTS)), "")
    if isinstance(error, list):
        return "; ".join(filter(None, map(_text, error[:_MAX_ERRORS])))
    return error if isinstance(error, str) else ""


def _check_depth(value: t.Any, depth: int = 0) -> None:
    """RecursionError for JSON of more than 50 levels, which Ansible could not pass on as a result."""
    if depth > _DEEPEST:
        raise RecursionError
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        # Test before the call, which costs more: lists of clients hold thousands of plain values.
        if item.__class__ in (dict, list):
            _check_depth(item, depth + 1)


def encoding_of(headers: Mapping[str, str]) -> str:
    """The encodings of a body, in the names of the request; empty for none."""
    names = [name.strip() for name in headers.get("Content-Encoding", "").lower().split(",")]
    return ", ".join("gzip" if name == "x-gzip" else name for name in names if name not in ("", "identity"))


def unsupported_encoding(headers: Mapping[str, str]) -> str:
    """The encoding of a body if it was not requested, else an empty string."""
    encoding = encoding_of(headers)
    return "" if encoding in _ENCODINGS else encoding


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks to wait, be it given in seconds or as an HTTP date; None without one."""
    given = headers.get("Retry-After", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        until = _http_date(given)
        if until is None:
            return None
        # The clock of the service or of this machine may be wrong, so the shorter wait counts.
        clocks = (_http_date(headers.get("Date", "")), datetime.datetime.now(datetime.timezone.utc))
        left = [(until - now).total_seconds() for now in clocks if now]
        seconds = min((each for each in left if each > 0), default=0.0)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _http_date(text: str) -> datetime.datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    # A date without a zone is in UTC.
    return date if date.tzinfo else date.replace(tzinfo=datetime.timezone.utc)


def invalid_shape(what: str) -> ApiError:
    hint = "Check that base_url is the address of the service, version segment included."
    return ApiError(f"the response is not of the documented shape: {what}", hint=hint)


def object_of(value: t.Any, needed: Sequence[str] = ()) -> Object:
    if not isinstance(value, dict):
        raise invalid_shape("not a JSON object")
    missing = [name for name in needed if value.get(name) is None]
    if missing:
        raise invalid_shape(f"missing {' and '.join(missing)}")
    return value


def is_empty(value: t.Any) -> bool:
    """Whether a response is ``{}``, or one of the values that services return instead of it."""
    return value is None or value in ({}, [])


def _is_integer(value: t.Any) -> bool:
    # In Python a bool is an int.
    return isinstance(value, int) and not isinstance(value, bool)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text.isprintable()


# Field.type → the check of a value, and the name of the type in messages.
_TYPES: Mapping[str, tuple[t.Callable[[t.Any], bool], str]] = {
    "int": (_is_integer, "a number"),
    "list": (lambda value: isinstance(value, list), "a list"),
    # A name is used in messages and requests, so it must be short and printable.
    "name": (lambda value: isinstance(value, str) and _is_name(value), "a valid name"),
    "str": (lambda value: isinstance(value, str), "text"),
}


def item_of(resource: Resource, value: t.Any) -> Object:
    """An object of a resource, its required fields and the types of its fields checked."""
    item = object_of(value, resource.required)
    for name, field in resource.fields.items():
        if field.type and item.get(name) is not None:
            allows, kind = _TYPES[field.type]
            if not allows(item[name]):
                raise invalid_shape(f"the {name} of a {resource.noun} is not {kind}")
    return item


def plan_of(value: t.Any) -> Object:
    """A tier, or ``{}``: an incomplete tier must not be taken for the free plan."""
    return {} if is_empty(value) else item_of(SUBSCRIPTION, value)


def client_of(value: t.Any, *, labelled: bool = False) -> Object:
    """A client with the members of ``apps`` as booleans: responses to a create have been seen to have 0 and 1.

    An id of digits becomes a number. A label that is missing, empty or not text becomes None: such a client is known by
    its id alone. ``labelled``: ApiError without a label.
    """
    client = item_of(CLIENT, object_of(value, ("label",) if labelled else ()))
    client_id, label = client["id"], client.get("label")
    # The id is used in messages and paths.
    if not (_is_integer(client_id) or isinstance(client_id, str)) or not _is_name(str(client_id)):
        raise invalid_shape("the id of the client is not valid")
    if str(client_id).isdecimal() and str(int(client_id)) == client_id:
        client_id = int(client_id)
    client = {**client, "id": client_id, "label": label if isinstance(label, str) and label else None}
    if isinstance(client.get("apps"), dict):
        client["apps"] = {name: bool(on) if on in (0, 1) else on for name, on in client["apps"].items()}
    return client


def page_of(value: t.Any, check: t.Callable[[t.Any], Object] = lambda item: item) -> Page:
    """A page of a collection, each item checked."""
    page = object_of(value, ("data",))
    data, pages, results = page["data"], page.get("pages", 1), page.get("results")
    if not isinstance(data, list):
        raise invalid_shape("data is not a list")
    if "pages" not in page and results not in (None, len(data)):
        # Without pages, one page would count as the complete list.
        raise invalid_shape("missing pages")
    if not _is_integer(pages) or not (results is None or _is_integer(results)):
        raise invalid_shape("pages or results is not a number")
    if pages > _MAX_PAGES:
        raise invalid_shape(f"pages is more than {_MAX_PAGES}")
    return {"data": [check(item) for item in data], "pages": pages, "results": results}


def requested(item: Object, **expected: t.Any) -> Object:
    """The item, if these fields of it are what was requested; an id may be a number or text. OtherObject if not."""
    for field, value in expected.items():
        returned = item.get(field)
        if returned is None or str(returned) != str(value):
            hint = "Check base_url and any proxy or gateway before it: the response is about another object."
            shown = repr(returned)[:_LONGEST_SHOWN]
            raise OtherObject(f"the service returned the {field} {shown} instead of {value!r}", hint=hint)
    return item
