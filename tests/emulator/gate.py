# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate between the network and the operations: request log, faults, tokens, rate limit.

The gate reads the whole request, and gets the whole response before it decides what to send.
"""

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .contract import Operation, ServiceError, Variant, client_values, error_response, operation_at, variant_of
from .faults import Fault, edited, extended, take
from .state import LogEntry, State, Token
from .store import LabelTaken

_GATEWAY_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>The gateway is unwell.</p></body></html>"

Service = Callable[[Variant], ASGIApp]


@dataclass
class Call:
    scope: Scope
    body: bytes
    operation: Operation | None
    token: Token | None
    entry: LogEntry


async def serve_call(state: State, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    call = _call(state, request, await request.body())
    fault = take(state.faults, call.entry)
    kind = call.entry["fault"] = fault.kind if fault else None
    try:
        response = await _response(state, call, fault, service)
        if kind not in ("drop", "lost_response"):
            call.entry["status"] = response.status_code
            for name, value in _scopes(state, call).items():
                response.headers.setdefault(name, value)
            await _send(response, send, half=kind == "truncate")
        if kind in ("drop", "lost_response", "truncate"):
            state.close_connection(call.entry["connection"])
            # Without this pause, uvicorn would send an error before it closes the connection.
            await asyncio.sleep(0)
    finally:
        call.entry["ended"] = time.monotonic()


async def _response(state: State, call: Call, fault: Fault | None, service: Service) -> Response:
    """Return the response of the fault, or the response of the service."""
    resets = state.resets
    await asyncio.sleep(state.settings.latency_ms / 1000)
    if fault and not fault.done:
        await asyncio.sleep(fault.seconds)
    if state.resets != resets:
        # A call of the previous test must not change the account of this test.
        return error_response(state.settings, ServiceError(503, "The emulator was reset."))
    replacement = _replacement(fault) if fault else None
    if fault and not fault.done:
        _change_account(state, fault)
        if replacement:
            return replacement
    response = await _served(state, call, service)
    if fault and fault.done:
        _change_account(state, fault)
        await asyncio.sleep(fault.seconds)
        response = replacement or response
    if fault and fault.kind == "edit" and 200 <= response.status_code < 300 and response.body:
        response.body = edited(fault, bytes(response.body))
    if state.settings.extra_fields and response.headers.get("content-type") == "application/json":
        response.body = extended(bytes(response.body))
    return response


def _change_account(state: State, fault: Fault) -> None:
    """Make the changes of another controller. Ignore a missing client and a label that is taken."""
    store = state.store
    changes = fault.changes

    def client_id(label: str) -> int:
        return next((int(row["id"]) for row in store.all() if row["label"] == label), 0)

    for label in changes.get("delete", ()):
        store.delete(client_id(label))
    for old, new in changes.get("rename", {}).items():
        with contextlib.suppress(LabelTaken):
            store.update(client_id(old), client_values({"label": new}))
    for label in changes.get("create", ()):
        with contextlib.suppress(LabelTaken):
            store.create(client_values({"label": label}))


def _replacement(fault: Fault) -> Response | None:
    """Return the response that replaces the response of the service."""
    title = f"{fault.status} Gateway Trouble"
    if fault.kind == "html":
        body = _GATEWAY_PAGE.format(title) if fault.body is None else fault.body
        return HTMLResponse(body, fault.status, fault.headers)
    if fault.kind == "status":
        body = {"errors": [{"field": "", "reason": title}]} if fault.body is None else fault.body
        return JSONResponse(body, fault.status, fault.headers)
    return Response() if fault.kind == "drop" else None


async def _served(state: State, call: Call, service: Service) -> Response:
    try:
        _admit(state, call)
    except ServiceError as error:
        return error_response(state.settings, error)
    response = Response()

    async def receive() -> Message:
        return {"type": "http.request", "body": call.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            response.raw_headers = list(message["headers"])
        else:
            response.body += message.get("body", b"")

    await service(variant_of(state.settings))({**call.scope, "caller": call.token}, receive, send)
    return response


def _admit(state: State, call: Call) -> None:
    """Raise ServiceError if the token, its scopes, its grants or the rate limit do not allow the call."""
    settings = state.settings
    operation = call.operation
    token = call.token
    if operation is None:
        return
    if operation.scope:
        if token is None:
            raise ServiceError(401, "Invalid Token")
        if not token.has_scope(operation.scope):
            unnamed = "Your OAuth token is not authorized to use this endpoint."
            named = f"Your token lacks the scope {_branded(state, operation.scope)}."
            raise ServiceError(settings.forbidden_status, named if settings.forbidden_status == 403 else unnamed)
        if operation.grants and not token.has_grant(operation.grants):
            raise ServiceError(settings.forbidden_status, "Unauthorized: your user lacks the grant for the plan.")
    if settings.rate_limit:
        _count(state, token.name if token else "anonymous", operation.operation_id)


def _count(state: State, caller: str, operation: str) -> None:
    """Raise ServiceError above the rate limit. Calls that get 429 do not count towards the limit."""
    settings = state.settings
    now = time.monotonic()
    ends = state.hits[caller, operation]
    while ends and ends[0] <= now:
        ends.popleft()
    if len(ends) >= settings.rate_limit:
        raise ServiceError(429, "Too many requests.", headers={"Retry-After": str(math.ceil(ends[0] - now))})
    ends.append(now + settings.rate_window)


def _branded(state: State, name: str) -> str:
    return name.replace("monitor", state.settings.brand)


def _scopes(state: State, call: Call) -> dict[str, str]:
    """Return the headers with the scopes of the token and of the operation."""
    headers: dict[str, str] = {}
    if call.operation and call.operation.scope:
        headers["X-Accepted-OAuth-Scopes"] = _branded(state, call.operation.scope)
    if call.token:
        headers["X-OAuth-Scopes"] = _branded(state, " ".join(sorted(call.token.scopes)))
    return headers


async def _send(response: Response, send: Send, half: bool) -> None:
    """Send the response, or announce the whole length and send the first half."""
    body = response.body
    if response.status_code == 204:
        body = b""
        del response.headers["content-type"], response.headers["content-length"]
    else:
        response.headers["content-length"] = str(len(body))
    headers = response.raw_headers
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2] if half else body, "more_body": half})


def _label(state: State, body: bytes, client_id: str | None) -> str | None:
    """Return the label in the body, else the label of the client in the path."""
    try:
        sent: Any = json.loads(body) if body else None
        row = state.store.get(int(client_id)) if client_id else None
    except (ValueError, RecursionError):
        return None
    if isinstance(sent, dict) and isinstance(sent.get("label"), str):
        # Half a surrogate pair is valid JSON, but cannot be encoded as UTF-8.
        return str(sent["label"]).encode(errors="replace").decode()
    return row["label"] if row else None


def _call(state: State, request: Request, body: bytes) -> Call:
    """Add the call to the request log. The log contains no token."""
    path = request.scope["path"]
    operation, parameter = operation_at(variant_of(state.settings), request.method, path)
    scheme, _space, value = request.headers.get("authorization", "").partition(" ")
    token = state.token(value.strip()) if scheme.lower() == "bearer" else None
    page = request.query_params.get("page", "")[:18]
    entry = {
        "operation": operation.operation_id if operation else None,
        "method": request.method,
        "path": path,
        "query": request.scope["query_string"].decode("latin-1"),
        "page": int(page) if page.isdecimal() else None,
        "status": None,
        "connection": "{}:{}".format(*request.scope["client"]),
        "label": _label(state, body, parameter if operation and "clients" in path else None),
        "ended": None,
        "fault": None,
    }
    state.log.append(entry)
    return Call(request.scope, body, operation, token, entry)
