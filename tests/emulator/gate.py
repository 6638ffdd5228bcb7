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
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .contract import Operation, ServiceError, Variant, client_values, error_response, operations_at, variant_of
from .faults import Fault, edited, extended, take
from .state import LogEntry, State, Token
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
    """Respond to a call of the service, or fail it as the faults require."""
    request = Request(scope, receive)
    call = _call(state, request, await request.body())
    call.fault = take(state.faults, call.entry)
    kind = call.fault.kind if call.fault else None
    call.entry["fault"] = kind
    try:
        response = await _response(state, call, service)
        if kind in ("drop", "lost_response"):
            await _hang_up(state, call, reset=True)
            return
        call.entry["status"] = response.status_code
        for name, value in _facts(state, call).items():
            # A fault may send its own.
            response.headers.setdefault(name, value)
        await _send(response, send, half=kind == "truncate")
        if kind == "truncate":
            await _hang_up(state, call, reset=False)
    finally:
        call.entry["ended"] = time.monotonic()


async def _response(state: State, call: Call, service: Service) -> Response:
    """The response of the fault, if it has a response, or of the service."""
    fault = call.fault
    if state.settings.latency_ms:
        await asyncio.sleep(state.settings.latency_ms / 1000)
    if fault and fault.kind in ("slow", "drop") and not fault.done:
        await asyncio.sleep(fault.seconds)
    if state.resets != call.resets:
        # A late call must not change the account of the next test.
        return error_response(state.settings, ServiceError(503, "The emulator was reset."))
    if fault and not fault.done:
        _meanwhile(state, fault)
    response = _faulty(fault) if fault and not fault.work_is_done else None
    if response is None:
        try:
            _admit(state, call)
            response = await _run(service(call.variant), call)
        except ServiceError as error:
            response = error_response(state.settings, error)
    if fault and fault.done:
        _meanwhile(state, fault)
        await asyncio.sleep(fault.seconds)
        response = _faulty(fault) or response
    if fault and fault.kind == "edit" and 200 <= response.status_code < 300 and response.body:
        response.body = edited(fault, bytes(response.body))
    if state.settings.extra_fields and response.headers.get("content-type") == "application/json":
        response.body = extended(bytes(response.body))
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
            store.update(client_id(old), client_values({"label": new}))
    for label in changes.get("create", ()):
        with contextlib.suppress(LabelTaken):
            store.create(client_values({"label": label}))


def _faulty(fault: Fault) -> Response | None:
    """The response of the fault instead of the service's; none if the connection breaks."""
    title = f"{fault.status} Gateway Trouble"
    # The media type, and the body if the fault has none.
    forms: dict[str, tuple[str, Any]] = {
        "drop": ("", ""),
        "html": ("text/html", _GATEWAY_PAGE.format(title)),
        "text": ("text/plain", title),
        "status": ("application/json", {"errors": [{"field": "", "reason": title}]}),
    }
    if fault.kind not in forms:
        return None
    media_type, body = forms[fault.kind]
    body = body if fault.body is None else fault.body
    content = json.dumps(body) if fault.kind == "status" else body
    return Response(content, fault.status, {"Content-Type": media_type, **fault.headers})


def _no_operation(call: Call) -> ServiceError:
    if allowed := operations_at(call.variant, call.scope["path"]):
        return ServiceError(405, "Method Not Allowed", headers={"Allow": ", ".join(allowed)})
    return ServiceError(404, "Not found")


def _admit(state: State, call: Call) -> None:
    """Raise what the contract, its scopes and grants included, and the rate limits have against the call."""
    settings, operation, token = state.settings, call.operation, call.token
    if operation is None:
        raise _no_operation(call)
    if operation.scope is None:
        pass
    elif token is None:
        raise ServiceError(401, "Invalid Token")
    elif not token.has_scope(operation.scope):
        if settings.missing_scope == "unauthorized":
            raise ServiceError(401, "Your OAuth token is not authorized to use this endpoint.")
        raise ServiceError(settings.forbidden_status, f"Your token lacks the scope {_branded(state, operation.scope)}.")
    elif operation.grants and not token.has_grant(operation.grants):
        raise ServiceError(settings.forbidden_status, "Unauthorized: your user lacks the grant for the plan.")
    if settings.rate_limit:
        _count(state, token.name if token else "anonymous", operation.operation_id)


def _branded(state: State, name: str) -> str:
    """The name of a scope or a grant, which are kept under neutral names."""
    return name.replace("monitor", state.settings.brand)


def _facts(state: State, call: Call) -> dict[str, str]:
    """The headers that come with each response: the scopes of the token and of the operation."""
    headers: dict[str, str] = {}
    if call.operation and call.operation.scope:
        headers["X-Accepted-OAuth-Scopes"] = _branded(state, call.operation.scope)
    if call.token:
        headers["X-OAuth-Scopes"] = _branded(state, " ".join(sorted(call.token.scopes)))
    return headers


async def _run(service: ASGIApp, call: Call) -> Response:
    response = Response()

    async def receive() -> Message:
        return {"type": "http.request", "body": call.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code, response.raw_headers = message["status"], list(message["headers"])
        else:
            response.body += message.get("body", b"")

    await service({**call.scope, "caller": call.token}, receive, send)
    return response


async def _send(response: Response, send: Send, half: bool) -> None:
    """Send the response, or announce all of it and send the first half."""
    body = response.body
    if response.status_code == HTTPStatus.NO_CONTENT:
        body = b""
        del response.headers["content-type"], response.headers["content-length"]
    else:
        response.headers["content-length"] = str(len(body))
    headers = response.raw_headers
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2] if half else body, "more_body": half})


async def _hang_up(state: State, call: Call, reset: bool) -> None:
    """Close the connection. The server has to see that before this call returns, or it responds with an error."""
    state.close_connection(call.entry["connection"], reset)
    await asyncio.sleep(0)


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


def _call(state: State, request: Request, body: bytes) -> Call:
    """The call, entered in the request log, which never has the token itself."""
    variant, path = variant_of(state.settings), request.scope["path"]
    operation, parameter = operations_at(variant, path).get(request.method, (None, None))
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
        "token": token.name if token else None,
        "authorization": "authorization" in request.headers,
        "connection": "{}:{}".format(*request.scope["client"]),
        "label": _label(state, body, parameter if operation and "clients" in path else None),
        "started": time.monotonic(),
        "ended": None,
        "fault": None,
    }
    state.log.append(entry)
    return Call(request.scope, body, variant, operation, token, entry, state.resets)


def _count(state: State, caller: str, operation: str) -> None:
    """Count a call in a sliding window, or raise 429 above the limit; calls that are refused do not count."""
    settings, now = state.settings, time.monotonic()
    # Until when calls count.
    ends = state.hits[caller, operation]
    while ends and ends[0] <= now:
        ends.popleft()
    if len(ends) >= settings.rate_call:
        raise ServiceError(429, "Too many requests.", headers={"Retry-After": str(math.ceil(ends[0] - now))})
    ends.append(now + 60 * settings.rate_window_scale)
