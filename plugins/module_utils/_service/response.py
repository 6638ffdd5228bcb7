# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conversion of a response to an object of the documented shape, or to an error. Pure.

Only what the collection relies on is required of an object; unknown fields stay.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._service import resources
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, WrongObjectError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Object, Operation, Resource

# A CDN that cannot reach the service returns 520 to 529.
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 530)})
_TOKEN = "The token is wrong or lacks access: check api_token (monitor_agent_api_token, MONITOR_API_TOKEN). It needs"
_MAINTENANCE = "The service is in maintenance: try again later."
_OTHER_SERVER = "Check base_url, and any proxy before it: another server may have responded."
# Fields with the text of an error, the most specific first.
_TEXTS = ("reason", "detail", "message", "msg", "faultstring", "error_description", "title", "error", "fault", "errors")
# The most errors of a response that a message shows.
_MOST = 20
_INTEGER = re.compile(r"(0|[1-9][0-9]{0,18})(\.0)?")
# The most characters of a text of the service that a message shows.
_LONGEST = 200
# With the smallest known page size, 25, enough for 250,000 clients.
_MAX_PAGES = 10_000


def value_of(
    operation: Operation, status: int, headers: Mapping[str, str], content: bytes, redact: t.Callable[[str], str]
) -> t.Any:
    """The decoded JSON of a response, None if it is empty; ApiError for a refusal, a redirect or invalid content.

    ``redact`` is applied to texts in messages.
    """
    body: t.Any = None
    try:
        body, is_json = json.loads(content) if content.strip() else None, True
    except (ValueError, RecursionError):
        is_json = False
    errors = _errors_of(body, redact)
    # Some services refuse with the status 200 and errors, which a delete would otherwise count as success.
    refuses = status >= 300 or (isinstance(body, dict) and body.get("errors") and not body.keys() & {"id", "data"})
    if is_json and not refuses:
        return body
    # JSON is not quoted in messages, because it may hold keys.
    looks_like_json = is_json or content.lstrip()[:1] in (b"{", b"[")
    # A gateway returns pages with 400 in passing; half a response can be whole next time.
    of_gateway = status == 400 and not looks_like_json
    in_maintenance = status == 503 and "X-Maintenance-Mode" in headers
    transient = (status in _RETRIED and not in_maintenance) or of_gateway or (not refuses and looks_like_json)
    is_refusal = (300 <= status < 500 and status != 408 and not of_gateway) or in_maintenance
    if 300 <= status < 400:
        # The address is shown without credentials, query and fragment, which can hold secrets.
        target = headers.get("Location", "").partition("?")[0].partition("#")[0].rpartition("@")[2]
        reason = f"a redirect to {redact(target)[:_LONGEST]!r}, which is not followed"
    elif errors:
        reason = "; ".join(f"{each['field']}: {each['reason']}" if each["field"] else each["reason"] for each in errors)
    elif looks_like_json:
        reason = redact(_text(body)) or "an empty body, invalid JSON, or JSON of an unknown shape"
    else:
        # Redact the text before cutting it, because half a token would not be found.
        reason = f"not JSON but {redact(content[:10_000].decode('utf-8', 'replace'))[:_LONGEST]!r}"
    # The service gives errors with each 403, so one without them comes from another server.
    of_token = operation.access and (status == 401 or (status == 403 and errors))
    hint = "" if transient or (errors and status not in (401, 403)) else _OTHER_SERVER
    hint = f"{_TOKEN} {operation.access}." if of_token else _MAINTENANCE if in_maintenance else hint
    raise ApiError(
        f"the service returned {status}: {reason}",
        status=status,
        errors=errors,
        hint=hint,
        outcome="not_done" if is_refusal or operation.method == "GET" else "unknown",
        retryable=transient and (operation.idempotent or status in (425, 429)),
        wait=retry_after(headers) if transient else None,
    )


def _errors_of(body: t.Any, redact: t.Callable[[str], str]) -> list[Object]:
    """The errors of the documented shape: those of the service, not of a gateway before it."""
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, dict):
        # Rails: lists of texts by field.
        errors = [{"field": field, "reason": _text(reasons)} for field, reasons in errors.items()]
    objects = [each for each in (errors if isinstance(errors, list) else [])[:_MOST] if isinstance(each, dict)]
    return [
        {"field": redact(str(each.get("field") or "")), "reason": redact(_text(each) or "no reason given")}
        for each in objects
        if each.keys() & {"field", "reason"}
    ]


def _text(body: t.Any) -> str:
    """The text of an error in a shape that is not the documented one; empty without one."""
    if isinstance(body, dict):
        return next(filter(None, (_text(body.get(name)) for name in _TEXTS)), "")
    if isinstance(body, list):
        return "; ".join(filter(None, map(_text, body[:_MOST])))
    return body if isinstance(body, str) else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait by a Retry-After header, which has seconds or a date; None without a valid header."""
    given = headers.get("Retry-After", "")
    try:
        seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time() if ":" in given else float(given)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 < seconds < float("inf") else None


def invalid_shape(what: str) -> ApiError:
    hint = "Check that base_url is the address of the service, version segment included."
    return ApiError(f"the response is not of the documented shape: {what}", hint=hint)


def object_of(value: t.Any) -> Object:
    if not isinstance(value, dict):
        raise invalid_shape("not a JSON object")
    return value


def is_empty(value: t.Any) -> bool:
    """Whether a response is ``{}``, or one of the values that services return instead of it."""
    return value in (None, {}, [])


def item_of(resource: Resource, value: t.Any) -> Object:
    """An object of a resource, its required fields and the types of its fields checked."""
    item = object_of(value)
    for name, field in resource.fields.items():
        missing = item.get(name) is None
        if field.required if missing else not isinstance(item[name], field.types):
            raise invalid_shape(f"a {resource.noun} without a valid {name}")
    return item


def plan_of(value: t.Any) -> Object:
    """A tier, or ``{}``: an incomplete tier must not be taken for the free plan."""
    return {} if is_empty(value) else item_of(resources.SUBSCRIPTION, value)


def client_of(value: t.Any, *, labelled: bool = False) -> Object:
    """A client with the members of ``apps`` as booleans: responses to a create have been seen to have 0 and 1.

    An id of digits becomes a number. A label that is missing, empty or not text becomes None: such a client is known by
    its id alone. ``labelled``: ApiError without a label.
    """
    client = dict(item_of(resources.CLIENT, value))
    label, integer = client.get("label"), _INTEGER.fullmatch(str(client["id"]))
    client["id"] = int(integer[1]) if integer else client["id"]
    client["label"] = label if isinstance(label, str) and label else None
    if labelled and client["label"] is None:
        raise invalid_shape("a client without label")
    if isinstance(client.get("apps"), dict):
        client["apps"] = {name: bool(on) if on in (0, 1) else on for name, on in client["apps"].items()}
    return client


def page_of(value: t.Any, check: t.Callable[[t.Any], Object] = lambda item: item) -> Object:
    """A page of a collection, each item checked. ``results`` is None if the service does not report it."""
    page = object_of(value)
    data, pages, results = page.get("data"), page.get("pages", 1), page.get("results")
    if not isinstance(data, list) or not isinstance(pages, int) or not isinstance(results, (int, type(None))):
        raise invalid_shape("data is not a list, or pages or results is not a number")
    # Without pages, one page would count as the complete list.
    if pages > _MAX_PAGES or ("pages" not in page and results not in (None, len(data))):
        raise invalid_shape(f"missing pages, or more than {_MAX_PAGES}")
    return {"data": [check(item) for item in data], "pages": pages, "results": results}


def requested(item: Object, **expected: t.Any) -> Object:
    """The item; WrongObjectError if these fields are not what was requested. An id may be a number or text."""
    for field, value in expected.items():
        returned = item.get(field)
        if returned is None or str(returned) != str(value):
            hint = "Check base_url and any proxy or gateway before it: the response is about another object."
            shown = repr(returned)[:_LONGEST]
            raise WrongObjectError(f"the service returned the {field} {shown} instead of {value!r}", hint=hint)
    return item
