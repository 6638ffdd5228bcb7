# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that convert a response to an object of the documented shape, or to an error. Pure.

The functions check only the fields that the collection uses, and keep unknown fields.
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

# Statuses after which a request is retried. A CDN that cannot reach the service returns 520 to 529.
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 530)})
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


def value_of(
    operation: Operation, status: int, headers: Mapping[str, str], content: bytes, redact: t.Callable[[str], str]
) -> t.Any:
    """Return the decoded JSON of a response, or None for an empty response. ``redact`` removes secrets from messages.

    Raise ApiError for an error of the service, a redirect or invalid content.
    """
    body: t.Any = None
    try:
        body, is_json = json.loads(content) if content.strip() else None, True
    except (ValueError, RecursionError):
        is_json = False
    errors = _errors_of(body, redact)
    # Some services report errors with the status 200. Without this check, a refused delete would look successful.
    refuses = status >= 300 or (isinstance(body, dict) and body.get("errors") and not body.keys() & {"id", "data"})
    if is_json and not refuses:
        return body
    # JSON may contain keys, so messages do not quote JSON.
    looks_like_json = is_json or content.lstrip()[:1] in (b"{", b"[")
    # Retry after incomplete JSON, and after an HTML page with the status 400, because gateways return such pages.
    of_gateway = status == 400 and not looks_like_json
    in_maintenance = status == 503 and "X-Maintenance-Mode" in headers
    transient = (status in _RETRIED and not in_maintenance) or of_gateway or (not refuses and looks_like_json)
    is_refusal = (300 <= status < 500 and status != 408 and not of_gateway) or in_maintenance
    if 300 <= status < 400:
        # Credentials, query and fragment of the address can contain secrets, so the message does not show these parts.
        target = headers.get("Location", "").partition("?")[0].partition("#")[0].rpartition("@")[2]
        reason = f"a redirect to {redact(target)[:_LONGEST]!r}, which is not followed"
    elif errors:
        reason = "; ".join(f"{item['field']}: {item['reason']}" if item["field"] else item["reason"] for item in errors)
    elif looks_like_json:
        reason = redact(_text(body)) or "an empty body, invalid JSON, or JSON of an unknown shape"
    else:
        # Redact the text first, then shorten the text: a cut token is not recognized.
        reason = f"not JSON but {redact(content[:10_000].decode('utf-8', 'replace'))[:_LONGEST]!r}"
    # The service explains each 403 with errors. A 403 without errors comes from another server.
    of_token = operation.access and (status == 401 or (status == 403 and errors))
    hint = "" if transient or (errors and status not in (401, 403)) else _OTHER_SERVER
    hint = f"{_TOKEN} The token needs {operation.access}." if of_token else _MAINTENANCE if in_maintenance else hint
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
    """Return the errors in a response of the documented shape; empty for a response of another shape."""
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, dict):
        # Services written with Rails return a dictionary with a list of reasons for each field.
        errors = [{"field": field, "reason": _text(reasons)} for field, reasons in errors.items()]
    objects = [item for item in (errors if isinstance(errors, list) else [])[:_MOST] if isinstance(item, dict)]
    return [
        {"field": redact(str(item.get("field") or "")), "reason": redact(_text(item) or "no reason given")}
        for item in objects
        if item.keys() & {"field", "reason"}
    ]


def _text(body: t.Any) -> str:
    """Return the text of an error in a response of any shape; empty if the response has no such text."""
    if isinstance(body, dict):
        return next(filter(None, (_text(body.get(name)) for name in _TEXTS)), "")
    if isinstance(body, list):
        return "; ".join(filter(None, map(_text, body[:_MOST])))
    return body if isinstance(body, str) else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from the header Retry-After (seconds or a date); None without a valid header."""
    given = headers.get("Retry-After", "")
    try:
        seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time() if ":" in given else float(given)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 < seconds < float("inf") else None


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
        missing = item.get(name) is None
        if field.required if missing else not isinstance(item[name], field.types):
            raise invalid_shape(f"a {resource.noun} without a valid {name}")
    return item


def plan_of(value: t.Any) -> Object:
    """Return a tier, or ``{}`` for the free plan. Raise ApiError for an incomplete tier."""
    # Some services return null or [] in place of {}.
    return {} if value in (None, {}, []) else item_of(resources.SUBSCRIPTION, value)


def client_of(value: t.Any, *, labelled: bool = False) -> Object:
    """Return a client with ``apps`` as booleans, because responses to create requests can contain 0 and 1.

    Convert an id of digits to a number. If the label is empty or not text, set the label to None. With ``labelled``,
    raise ApiError if the client has no label.
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
    """Check and return a page of a collection. ``results``: the number of all items, None if unknown."""
    page = object_of(value)
    data, pages, results = page.get("data"), page.get("pages", 1), page.get("results")
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
