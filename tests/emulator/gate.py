# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands between the network and the operations: request log, faults, tokens, rate limits.

A call goes through here whole: its body is read first, its response is kept until it is decided whether it is sent.
"""

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .contract import Operation, Variant, allowed_methods, find_operation, variant_of
from .errors import Headers, Response, ServiceError
from .faults import Fault, edited, take
from .settings import Settings
from .state import CALLER, QUERY, Hits, LogEntry, State, Token
from .store import LabelTaken

_GATEWAY_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>The gateway is unwell.</p></body></html>"

Service = Callable[[Variant], ASGIApp]


@dataclass
class Call:
    """A call of the service with its token, its operation and its fault. `entry` is its entry in the request log."""

    scope: Scope
    body: bytes
    variant: Variant
    operation: Operation | None
    token: Token | None
    entry: LogEntry
    resets: int
    fault: Fault | None = None


async def serve_call(state: State, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to one call of the service, or fail it as the faults require."""
    call = _call(state, scope, await _read(receive))
    call.fault = take(state.faults, call.entry)
    kind = call.fault.kind if call.fault else None
    call.entry["fault"] = kind
    try:
        response = await _response(state, call, service)
        if kind in ("drop", "lost_response"):
            await _hang_up(state, call, reset=True)
            return
        call.entry["status"] = response.status
        response.headers += _facts(state, call)
        await _send(response, send, half=kind == "truncate")
        if kind == "truncate":
            await _hang_up(state, call, reset=False)
    finally:
        call.entry["ended"] = time.monotonic()


async def _response(state: State, call: Call, service: Service) -> Response:
    """The response of the fault, if there is one, or of the service."""
    fault = call.fault
    if state.settings.latency_ms:
        await asyncio.sleep(state.settings.latency_ms / 1000)
    if fault and fault.kind in ("slow", "drop") and not fault.done:
        await asyncio.sleep(fault.seconds)
    if state.resets != call.resets:
        # A late call must not change the account of the next test.
        return Response.of_error(state.settings, ServiceError(503, "The emulator was reset."))
    if fault and not fault.done:
        _meanwhile(state, fault)
    response = _faulty(fault) if fault and not fault.work_is_done else None
    if response is None:
        try:
            _admit(state, call)
            response = await _run(service(call.variant), call)
        except ServiceError as error:
            response = Response.of_error(state.settings, error)
    if fault and fault.done:
        _meanwhile(state, fault)
        await asyncio.sleep(fault.seconds)
        response = _faulty(fault) or response
    if fault and fault.kind == "edit" and 200 <= response.status < 300 and response.body:
        response.body = edited(fault, response.body)
    return response


def _meanwhile(state: State, fault: Fault) -> None:
    """Changes by another controller, as far as clients exist and labels are free."""
    store, changes = state.store, fault.changes

    def client_id(label: str) -> int:
        return next((int(row["id"]) for row in store.all() if row["label"] == label), 0)

    for label in changes.get("delete", ()):
        store.delete(client_id(label))
    for old, new in changes.get("rename", {}).items():
        with contextlib.suppress(LabelTaken):
            store.rename(client_id(old), new)
    for label in changes.get("create", ()):
        with contextlib.suppress(LabelTaken):
            store.create([label], state.settings.key_format)


def _faulty(fault: Fault) -> Response | None:
    """The response of the fault instead of the service's; none if the connection breaks."""
    title = f"{fault.status} Gateway Trouble"
    if fault.kind == "html":
        page = fault.body or _GATEWAY_PAGE.format(title)
        return Response.of(fault.status, page.encode(), "text/html", fault.headers)
    if fault.kind == "text":
        return Response.of(fault.status, (fault.body or title).encode(), "text/plain", fault.headers)
    if fault.kind == "status":
        body = {"errors": [{"field": "", "reason": title}]} if fault.body is None else fault.body
        return Response.of(fault.status, json.dumps(body).encode(), "application/json", fault.headers)
    return Response(0, [], b"") if fault.kind == "drop" else None


def _no_operation(call: Call) -> ServiceError:
    if allowed := allowed_methods(call.variant, call.scope["path"]):
        return ServiceError(405, "Method Not Allowed", headers={"Allow": ", ".join(allowed)})
    return ServiceError(404, "Not found")


def _admit(state: State, call: Call) -> None:
    """Raise what the contract, sections 4.2 and 5 of `api.md` and the rate limits have against the call."""
    settings, operation, token = state.settings, call.operation, call.token
    if operation is None:
        raise _no_operation(call)
    if operation.scope is None:
        pass
    elif token is None:
        raise ServiceError(settings.unauthenticated_status, "Invalid Token")
    elif not token.has_scope(operation.scope):
        if settings.missing_scope == "unauthorized":
            raise ServiceError(401, "Your OAuth token is not authorized to use this endpoint.")
        raise ServiceError(settings.forbidden_status, f"Your token lacks the scope {_branded(state, operation.scope)}.")
    elif operation.grants and not token.has_grant(operation.grants):
        raise ServiceError(settings.forbidden_status, "Unauthorized: your user lacks the grant for the plan.")
    elif settings.grant_for_create and operation.operation_id == "create_client" and "add_monitor" not in token.grants:
        lacking = _branded(state, "add_monitor")
        raise ServiceError(settings.forbidden_status, f"Unauthorized: your user lacks the grant {lacking}.")
    if settings.rate_limit:
        caller = token.name if token else "anonymous"
        count_call(state.hits, settings, caller, operation.operation_id, operation.paged)


def _branded(state: State, name: str) -> str:
    """The name of a scope or a grant, which are kept under neutral names."""
    return name.replace("monitor", state.settings.brand)


def _facts(state: State, call: Call) -> Headers:
    """The headers that come with each response: scopes of the token and of the operation, rate limit."""
    headers = rate_headers(state.hits, state.settings, call.token.name if call.token else "anonymous")
    if state.settings.scope_headers and call.operation and call.operation.scope:
        headers["X-Accepted-OAuth-Scopes"] = _branded(state, call.operation.scope)
    if state.settings.scope_headers and call.token:
        headers["X-OAuth-Scopes"] = _branded(state, " ".join(sorted(call.token.scopes)))
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def _read(receive: Receive) -> bytes:
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


async def _run(service: ASGIApp, call: Call) -> Response:
    """Let the service do its work, and keep its response."""
    response = Response(500, [], b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": call.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status, response.headers = message["status"], list(message["headers"])
        else:
            response.body += message.get("body", b"")

    CALLER.set(call.token)
    QUERY.set(dict(parse_qsl(call.entry["query"])))
    await service(call.scope, receive, send)
    return response


async def _send(response: Response, send: Send, half: bool) -> None:
    """Send the response, or announce all of it and send the first half."""
    if response.status == HTTPStatus.NO_CONTENT:
        headers, body = [pair for pair in response.headers if not pair[0].startswith(b"content-")], b""
    else:
        headers, body = [pair for pair in response.headers if pair[0] != b"content-length"], response.body
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2] if half else body, "more_body": half})


async def _hang_up(state: State, call: Call, reset: bool) -> None:
    """Close the connection. The server has to see that before this call returns, or it responds with an error."""
    state.close_connection(call.entry["connection"], reset)
    await asyncio.sleep(0)


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def _token(state: State, scope: Scope) -> Token | None:
    scheme, dummy, value = (_header(scope, b"authorization") or "").partition(" ")
    return state.token(value.strip()) if scheme.lower() == "bearer" else None


def _label(state: State, body: bytes, client_id: str | None) -> str | None:
    """The label in the body, or that of the client in the path."""
    try:
        sent: Any = json.loads(body) if body else None
        row = state.store.get(int(client_id)) if client_id else None
    except (ValueError, RecursionError):
        return None
    if isinstance(sent, dict) and isinstance(sent.get("label"), str):
        # Half a surrogate pair is valid JSON, but no text.
        return str(sent["label"]).encode(errors="replace").decode()
    return row["label"] if row else None


def _call(state: State, scope: Scope, body: bytes) -> Call:
    """The call, entered in the request log, which never has the token itself."""
    variant = variant_of(state.settings)
    operation, parameter = find_operation(variant, scope["method"], scope["path"])
    token = _token(state, scope)
    query = scope["query_string"].decode("latin-1")
    page = dict(parse_qsl(query)).get("page", "")[:18]
    entry = {
        "operation": operation.operation_id if operation else None,
        "method": scope["method"],
        "path": scope["path"],
        "query": query,
        "page": int(page) if page.isdecimal() else None,
        "status": None,
        "token": token.name if token else None,
        "authorization": _header(scope, b"authorization") is not None,
        "connection": "{}:{}".format(*scope["client"]),
        "user_agent": _header(scope, b"user-agent"),
        "label": _label(state, body, parameter if operation and "clients" in scope["path"] else None),
        "started": time.monotonic(),
        "ended": None,
        "fault": None,
    }
    state.log.append(entry)
    return Call(scope, body, variant, operation, token, entry, state.resets)


# Rate limits, per token, over sliding windows

_TOTAL_SECONDS, _PAGED_SECONDS = 120.0, 60.0


def count_call(hits: Hits, settings: Settings, caller: str, operation: str, paged: bool) -> None:
    """Count a call, or raise 429 if it is one too many; calls that are refused do not count."""
    now = time.monotonic()
    buckets = list(_buckets(settings, operation, paged))
    wait = 0.0
    for name, limit, window in buckets:
        times = hits[caller, name]
        while times and times[0] <= now - window:
            times.popleft()
        if len(times) >= limit:
            wait = max(wait, times[len(times) - limit] + window - now if limit else window)
    if wait > 0:
        # A date has whole seconds: rounded up, so that the caller does not retry too early.
        forms = {
            "seconds": {"Retry-After": str(math.ceil(wait))},
            "date": {"Retry-After": formatdate(math.ceil(time.time() + wait), usegmt=True)},
        }
        raise ServiceError(429, "Too many requests.", headers=forms.get(settings.retry_after, {}))
    for name, _limit, _window in buckets:
        hits[caller, name].append(now)


def rate_headers(hits: Hits, settings: Settings, caller: str) -> dict[str, str]:
    """What a response reports of the caller's total limit; without rate limits, nothing is used up."""
    now, window = time.monotonic(), _TOTAL_SECONDS * settings.rate_window_scale
    used = [hit for hit in hits.get((caller, "total"), ()) if hit > now - window]
    return {
        "X-RateLimit-Limit": str(settings.rate_total),
        "X-RateLimit-Remaining": str(max(0, settings.rate_total - len(used))),
        "X-RateLimit-Reset": str(math.ceil(time.time() + (used[0] + window - now if used else 0))),
    }


def _buckets(settings: Settings, operation: str, paged: bool) -> Iterator[tuple[str, int, float]]:
    """Name, limit and window in seconds of each count that the call belongs to."""
    scale = settings.rate_window_scale
    yield "total", settings.rate_total, _TOTAL_SECONDS * scale
    yield operation, settings.rate_call, settings.rate_call_window * scale
    if paged:
        yield "paged", settings.rate_paged, _PAGED_SECONDS * scale
