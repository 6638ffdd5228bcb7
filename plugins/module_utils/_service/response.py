# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that convert a response to an object of the documented shape, or to an error. Pure.

The functions check only the fields that the collection uses, and keep unknown fields.
"""

from __future__ import annotations

import dataclasses
import email.utils
import json
import math
import re
import time
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._service import resources
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, WrongObjectError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Field, Object, Operation, Resource

_TOKEN = "The token is wrong or lacks access: check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)."
_MAINTENANCE = "The service is in maintenance: try again later."
_OTHER_SERVER = "Check base_url, and any proxy before the service: another server may have responded."
# Fields that can contain the text of an error, the most specific field first.
_TEXTS = ("reason", "detail", "message", "msg", "faultstring", "error_description", "title", "error", "fault", "errors")
# A message shows at most this number of errors.
_MOST = 20
_INTEGER = re.compile(r"(0|[1-9][0-9]{0,18})(\.0)?")
# A message shows at most this many characters of a text from the service.
_LONGEST = 200
# The largest number of pages. A page has at least 25 clients, so 10,000 pages are enough for 250,000 clients.
_MAX_PAGES = 10_000
_BRACKETS = (b"{", b"}", b"[", b"]")
# Characters that separate the name of a field from its value, in JSON, YAML, XML and forms.
_SEPARATORS = frozenset('{}[]<>="&:')
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,60}")


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of response that is not the requested value, and what follows from this kind.

    ``refused``: the service certainly did not carry out the request. ``transient``: a retry can succeed. ``lasting``:
    a retry of a create request would certainly fail again. ``hint``: advice if no other advice is more specific.
    """

    refused: bool = False
    transient: bool = False
    lasting: bool = False
    hint: str = _OTHER_SERVER


# 1xx: http.client reads only 100, so the final response is not known.
_INFORMATIONAL = _Kind(lasting=True)
# 2xx with a web page or text, such as a login page.
_PAGE = _Kind()
# 2xx with incomplete JSON.
_GARBLED = _Kind(transient=True, hint="")
# 2xx with errors and nothing else: some services report errors this way.
_REPORTED = _Kind()
_REDIRECT = _Kind(lasting=True)
_REFUSAL = _Kind(refused=True)
# A 400 with a web page: gateways return such pages for a short time.
_GATEWAY = _Kind(transient=True, hint="")
_LIMITED = _Kind(refused=True, transient=True, hint="")
_DOWN = _Kind(transient=True, hint="")
_IN_MAINTENANCE = _Kind(refused=True, hint=_MAINTENANCE)
_FAILURE = _Kind()
# Other statuses from 400 to 499 are refusals, other statuses from 500 are failures.
_BY_STATUS = {425: _LIMITED, 429: _LIMITED, **dict.fromkeys((408, 500, 502, 503, 504), _DOWN)}
# A CDN that cannot reach the service returns 520 to 529.
_BY_STATUS.update(dict.fromkeys(range(520, 530), _DOWN))
# The encodings that requests and urllib3 always decode.
_ENCODINGS = ("gzip", "deflate")
_ALIASES = {"x-gzip": "gzip"}


def value_of(
    operation: Operation, status: int, headers: Mapping[str, str], content: bytes, redact: t.Callable[[str], str]
) -> t.Any:
    """Return the decoded JSON of a response, or None for an empty response. ``redact`` removes secrets from messages.

    Raise ApiError for an error of the service, a redirect or invalid content.
    """
    try:
        body = _decoded(content)
        is_json = True
    except (ValueError, RecursionError):
        body = None
        is_json = False
    if 200 <= status < 300 and is_json and not _has_only_errors(body):
        return body
    kind = _kind_of(status, headers, content, is_json)
    errors = _errors_of(body, redact)
    if status < 200:
        reason = "an informational response, but no final response"
    else:
        reason = _redirect(status, headers, redact) or _errors_as_text(errors) or redact(_error_text(body))
    if not reason:
        reason = _described(headers, content, is_json, redact)
    is_certain = kind.refused or operation.method == "GET"
    is_safe = operation.idempotent or kind.refused
    raise ApiError(
        f"the service returned {status}: {reason}",
        status=status,
        errors=errors,
        hint=_hint(operation, status, kind, errors),
        outcome="not_done" if is_certain else "unknown",
        retryable=kind.transient and is_safe,
        lasting=kind.lasting,
        wait=retry_after(headers) if kind.transient else None,
    )


def _decoded(content: bytes) -> t.Any:
    """Return the value of a JSON document, or None for empty content. Raise ValueError for invalid JSON."""
    if not content.strip():
        return None
    return json.loads(content, parse_constant=lambda name: None, parse_float=finite_number)


def finite_number(text: str) -> float | None:
    """Return a number, or None if the number is too large. Python would read 1e999 as infinity, which is not JSON."""
    number = float(text)
    if math.isfinite(number):
        return number
    return None


def _has_only_errors(body: t.Any) -> bool:
    """Whether a body reports errors and has no result. Some services send such a body with the status 200."""
    return isinstance(body, dict) and bool(body.get("errors")) and not body.keys() & {"id", "data"}


def _kind_of(status: int, headers: Mapping[str, str], content: bytes, is_json: bool) -> _Kind:
    begins_as_json = is_json or content.lstrip()[:1] in (b"{", b"[")
    if status < 200:
        return _INFORMATIONAL
    if status < 300:
        return _kind_of_success(is_json, begins_as_json)
    if status < 400:
        return _REDIRECT
    if status == 503 and "X-Maintenance-Mode" in headers:
        return _IN_MAINTENANCE
    if status == 400 and not begins_as_json:
        return _GATEWAY
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return _REFUSAL if status < 500 else _FAILURE


def _kind_of_success(is_json: bool, begins_as_json: bool) -> _Kind:
    if is_json:
        return _REPORTED
    return _GARBLED if begins_as_json else _PAGE


def _hint(operation: Operation, status: int, kind: _Kind, errors: list[Object]) -> str:
    # The service explains each 403 with errors. A 403 without errors comes from another server.
    is_of_token = status == 401 or (status == 403 and bool(errors))
    if is_of_token and operation.access:
        return f"{_TOKEN} The token needs {operation.access}."
    explains_itself = bool(errors) and status not in (401, 403) and kind in (_REFUSAL, _REPORTED, _FAILURE)
    if explains_itself:
        return ""
    return kind.hint


def _redirect(status: int, headers: Mapping[str, str], redact: t.Callable[[str], str]) -> str:
    """Return the reason of a redirect; empty for a response without an address, such as 304."""
    # Credentials, query and fragment of the address can contain secrets, so the message does not show these parts.
    target = headers.get("Location", "").partition("?")[0].partition("#")[0].rpartition("@")[2]
    if not 300 <= status < 400 or not target:
        return ""
    return f"a redirect to {redact(target)[:_LONGEST]!r}, which is not followed"


def _errors_as_text(errors: list[Object]) -> str:
    return "; ".join(map(_error_as_text, errors))


def _error_as_text(error: Object) -> str:
    if error["field"]:
        return f"{error['field']}: {error['reason']}"
    return str(error["reason"])


def _described(headers: Mapping[str, str], content: bytes, is_json: bool, redact: t.Callable[[str], str]) -> str:
    """Describe a body without a known error. Quote only text that certainly contains no client with its keys."""
    if not content.strip():
        return "an empty body"
    size = f"{len(content)} bytes"
    media_type = _MEDIA_TYPE.match(headers.get("Content-Type", "").lower())
    if media_type:
        size = f"{size} of {media_type[0]}"
    if is_json:
        return f"JSON of an unknown shape ({size})"
    unsupported = ", ".join(name for name in encodings(headers) if name not in _ENCODINGS)
    if unsupported:
        return f"the unsupported encoding {redact(unsupported)[:_LONGEST]!r}, or JSON of an unknown shape ({size})"
    text = _quotable(headers, content)
    if text is None:
        return f"not JSON, invalid JSON, or JSON of an unknown shape ({size})"
    # Redact the text first, then shorten the text: a cut token is not recognized.
    return f"not JSON but {redact(text[:10_000])[:_LONGEST]!r}"


def _quotable(headers: Mapping[str, str], content: bytes) -> str | None:
    """Return the text of a body that a message may quote; None if the body may contain keys.

    A response can contain clients although the body is not valid JSON: a proxy or PHP can add text, or cut the body.
    """
    if "json" in headers.get("Content-Type", "").lower():
        return None
    if any(bracket in content for bracket in _BRACKETS):
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # Text in UTF-16 contains zero bytes, which would hide the names of fields.
    if "\0" in text or _names_a_secret(text):
        return None
    return text


def _names_a_secret(text: str) -> bool:
    lower = text.lower()
    return any(name in lower for name in resources.CLIENT.secret)


def encodings(headers: Mapping[str, str]) -> list[str]:
    """Return the names in Content-Encoding. ``identity`` means no encoding, and ``x-gzip`` means ``gzip``."""
    given = headers.get("Content-Encoding", "").lower().split(",")
    names = [_ALIASES.get(name.strip(), name.strip()) for name in given]
    return [name for name in names if name not in ("", "identity")]


def _errors_of(body: t.Any, redact: t.Callable[[str], str]) -> list[Object]:
    """Return the errors in a response of the documented shape; empty for a response of another shape."""
    if not isinstance(body, dict):
        return []
    errors = body.get("errors")
    if isinstance(errors, dict):
        # Services written with Rails return a dictionary with a list of reasons for each field.
        errors = [{"field": field, "reason": _text(reasons)} for field, reasons in errors.items()]
    if not isinstance(errors, list):
        return []
    found = []
    for item in errors[:_MOST]:
        if isinstance(item, dict) and item.keys() & {"field", "reason"}:
            reason = _text(item) or "no reason given"
            found.append({"field": redact(_text(item.get("field"))), "reason": redact(reason)})
    return found


def _error_text(body: t.Any) -> str:
    """Return the text of an error, if the body is an object or a list of objects. Other JSON can be a value."""
    if isinstance(body, list):
        return _text([item for item in body if isinstance(item, dict)])
    if isinstance(body, dict):
        return _text(body)
    return ""


def _text(body: t.Any) -> str:
    """Return the text of an error in a response of any shape; empty if the response has no such text."""
    if isinstance(body, dict):
        return next(filter(None, (_text(body.get(name)) for name in _TEXTS)), "")
    if isinstance(body, list):
        return "; ".join(filter(None, map(_text, body[:_MOST])))
    if not isinstance(body, str):
        return ""
    # A gateway can put the response of the service into its own error.
    contains_a_client = _names_a_secret(body) and not _SEPARATORS.isdisjoint(body)
    if contains_a_client:
        return ""
    return body


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from the header Retry-After (seconds or a date); None without a valid header.

    A date is relative to the header Date, because the clocks of the service and of this machine can differ.
    """
    given = headers.get("Retry-After", "")
    try:
        is_date = ":" in given
        seconds = _time_of(given) - _now_of(headers) if is_date else float(given)
    except (ValueError, TypeError, OverflowError):
        return None
    if 0 < seconds < math.inf:
        return seconds
    return None


def _time_of(date: str) -> float:
    return email.utils.parsedate_to_datetime(date).timestamp()


def _now_of(headers: Mapping[str, str]) -> float:
    """Return the time at which the service sent the response."""
    try:
        return _time_of(headers["Date"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return time.time()


def invalid_shape(what: str) -> ApiError:
    hint = "Check that base_url is the address of the service, version segment included."
    return ApiError(f"the response does not have the documented shape: {what}", hint=hint)


def object_of(value: t.Any) -> Object:
    if not isinstance(value, dict):
        raise invalid_shape("not a JSON object")
    return value


def item_of(resource: Resource, value: t.Any) -> Object:
    """Return an object of a resource. Raise ApiError if a required field is missing, or a type is wrong."""
    item = object_of(value)
    for name, field in resource.fields.items():
        if not _is_valid(field, item.get(name)):
            raise invalid_shape(f"a {resource.noun} without a valid {name}")
    return item


def _is_valid(field: Field, value: t.Any) -> bool:
    if value is None:
        return not field.required
    return isinstance(value, field.types)


def plan_of(value: t.Any) -> Object:
    """Return a tier, or ``{}`` for the free plan. Raise ApiError for an incomplete tier."""
    # Some services return null or [] in place of {}.
    if value in (None, {}, []):
        return {}
    return item_of(resources.SUBSCRIPTION, value)


def client_of(value: t.Any, *, labelled: bool = False) -> Object:
    """Return a client with ``apps`` as booleans, because responses to create requests can contain 0 and 1.

    Convert an id of digits to a number. If the label is empty or not text, set the label to None. With ``labelled``,
    raise ApiError if the client has no label.
    """
    client = dict(item_of(resources.CLIENT, value))
    integer = _INTEGER.fullmatch(str(client["id"]))
    if integer:
        client["id"] = int(integer[1])
    label = client.get("label")
    if not isinstance(label, str) or not label:
        client["label"] = None
    if labelled and client["label"] is None:
        raise invalid_shape("a client without label")
    if isinstance(client.get("apps"), dict):
        client["apps"] = {name: _as_boolean(on) for name, on in client["apps"].items()}
    return client


def _as_boolean(value: t.Any) -> t.Any:
    if value in (0, 1):
        return bool(value)
    return value


def _unchecked(item: t.Any) -> t.Any:
    return item


def page_of(value: t.Any, check: t.Callable[[t.Any], Object] = _unchecked) -> Object:
    """Check and return a page of a collection. ``results``: the number of all items, None if unknown."""
    page = object_of(value)
    data = page.get("data")
    pages = page.get("pages", 1)
    results = page.get("results")
    if not isinstance(data, list) or not isinstance(pages, int) or not isinstance(results, (int, type(None))):
        raise invalid_shape("the field data is not a list, or the field pages or results is not a number")
    # Without this check, a page without the field pages would count as the complete list.
    if pages > _MAX_PAGES or ("pages" not in page and results not in (None, len(data))):
        raise invalid_shape(f"the field pages is missing or more than {_MAX_PAGES}")
    return {"data": [check(item) for item in data], "pages": pages, "results": results}


def requested(item: Object, **expected: t.Any) -> Object:
    """Return the item. Raise WrongObjectError if a field differs from ``expected``. The id 1 equals the id ``"1"``."""
    for field, value in expected.items():
        returned = item.get(field)
        if returned is None or str(returned) != str(value):
            hint = "Check base_url, and any proxy before the service: the response is about another object."
            shown = repr(returned)[:_LONGEST]
            raise WrongObjectError(f"the service returned the {field} {shown} instead of {value!r}", hint=hint)
    return item
