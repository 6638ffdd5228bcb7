# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands between the network and the operations: request log, faults, tokens, rate limits.

A call goes through here whole: its body is read first, its answer is kept back until it is known whether it is sent.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .contract import Operation, Variant, find_operation, variant_of
from .errors import Answer, ServiceError
from .faults import Fault, take
from .limits import count_call
from .state import CALLER, LogEntry, State
from .tokens import Token

_GATEWAY_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>The gateway is unwell.</p></body></html>"
_LOGIN_PAGE = "<!DOCTYPE html><html><body><h1>Log in</h1><form method='post'><input name='user'></form></body></html>"

Service = Callable[[Variant], ASGIApp]


async def serve_call(state: State, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one call of the service, or fail it as the faults want it."""
    body = await _read(receive)
    variant = variant_of(state.settings)
    operation, client_id = find_operation(variant, scope["method"], scope["path"])
    token = _token(state, scope)
    entry = _log(state, scope, operation, token, _label(state, body, client_id))
    fault = take(state.faults, entry)
    entry["fault"] = fault.kind if fault else None
    try:
        answer = await _answer(state, fault, operation, token, entry, scope, service(variant), body)
        if fault and fault.kind in ("drop", "lost_answer"):
            state.close_connection(entry["connection"], True)
            await asyncio.sleep(0)
            return
        entry["status"] = answer.status
        await _send(state, answer, entry["connection"], send, cut=bool(fault and fault.kind == "truncate"))
    finally:
        entry["ended"] = time.monotonic()


async def _answer(
    state: State,
    fault: Fault | None,
    operation: Operation | None,
    token: Token | None,
    entry: LogEntry,
    scope: Scope,
    service: ASGIApp,
    body: bytes,
) -> Answer:
    """The answer of the fault, of the gate or of the operation, whichever comes first."""
    if state.settings.latency_ms:
        await asyncio.sleep(state.settings.latency_ms / 1000)
    if fault and fault.kind == "slow" and not fault.done:
        await asyncio.sleep(fault.seconds)
    answer = None if not fault or fault.work_is_done else _faulty(fault)
    answer = answer or _elsewhere(state)
    if answer is None:
        try:
            _admit(state, operation, token, entry)
            answer = await _run(service, scope, body, token)
        except ServiceError as error:
            answer = Answer.of_error(state.settings, error)
    if fault and fault.done:
        await asyncio.sleep(fault.seconds)
        answer = _faulty(fault) or answer
    return answer


def _elsewhere(state: State) -> Answer | None:
    """The answer of something that stands in front of the service, if the settings put it there."""
    settings = state.settings
    if settings.redirect_to:
        return Answer.of(settings.redirect_status, b"", "text/plain", {"Location": settings.redirect_to})
    if settings.login_page:
        return Answer.of(200, _LOGIN_PAGE.encode(), "text/html; charset=utf-8")
    return None


def _faulty(fault: Fault) -> Answer | None:
    """The answer that the fault gives in place of the service; none where the connection is what breaks."""
    title = f"{fault.status} Gateway Trouble"
    if fault.kind == "html":
        page = fault.body or _GATEWAY_PAGE.format(title)
        return Answer.of(fault.status, page.encode(), "text/html", fault.headers)
    if fault.kind == "text":
        return Answer.of(fault.status, (fault.body or title).encode(), "text/plain", fault.headers)
    if fault.kind == "status":
        body = {"errors": [{"field": "", "reason": title}]} if fault.body is None else fault.body
        return Answer.of(fault.status, json.dumps(body).encode(), "application/json", fault.headers)
    return Answer(0, [], b"") if fault.kind == "drop" else None


def _admit(state: State, operation: Operation | None, token: Token | None, entry: LogEntry) -> None:
    """Raise what sections 4.2 and 5 of `api.md` and the rate limits have against the call."""
    if operation is None:
        return
    settings = state.settings
    if operation.scope is None:
        if entry["authorization"] and settings.refuse_token_on_public:
            raise ServiceError(400, "This call needs no token, and one was sent.", "Authorization")
    elif token is None:
        raise ServiceError(settings.unauthenticated_status, "Invalid Token")
    elif not token.has_scope(operation.scope):
        raise ServiceError(settings.forbidden_status, f"Your token lacks the scope {operation.scope}.")
    elif operation.grants and not token.has_grant(operation.grants):
        raise ServiceError(settings.forbidden_status, "Unauthorized: your user lacks the grant for the plan.")
    if settings.rate_limit:
        caller = token.name if token else "nobody"
        count_call(state.hits, settings, caller, operation.operation_id, operation.paged)


async def _read(receive: Receive) -> bytes:
    """The body of the request."""
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


async def _run(service: ASGIApp, scope: Scope, body: bytes, token: Token | None) -> Answer:
    """Let the service do its work, and keep its answer."""
    answer = Answer(500, [], b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], list(message["headers"])
        else:
            answer.body += message.get("body", b"")

    CALLER.set(token)
    await service(scope, receive, send)
    return answer


async def _send(state: State, answer: Answer, connection: str, send: Send, cut: bool) -> None:
    """Send the answer, or the first half of it."""
    body = b"" if answer.status == 204 else answer.body
    headers = [pair for pair in answer.headers if pair[0] != b"content-length"]
    if answer.status == 204:
        headers = [pair for pair in headers if pair[0] != b"content-type"]
    else:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if cut:
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        state.close_connection(connection, False)
        await asyncio.sleep(0)
        return
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def _token(state: State, scope: Scope) -> Token | None:
    scheme, _, value = (_header(scope, b"authorization") or "").partition(" ")
    return state.token(value.strip()) if scheme.lower() == "bearer" else None


def _label(state: State, body: bytes, client_id: str | None) -> str | None:
    """The label in the body, or that of the client in the path."""
    try:
        sent: Any = json.loads(body) if body else None
    except ValueError:
        sent = None
    if isinstance(sent, dict) and isinstance(sent.get("label"), str):
        return str(sent["label"])
    row = state.store.get(int(client_id)) if client_id and client_id.isdecimal() and len(client_id) < 19 else None
    return row["label"] if row else None


def _log(
    state: State, scope: Scope, operation: Operation | None, token: Token | None, label: str | None
) -> LogEntry:
    """A new entry of the request log. It never has the token itself."""
    state.calls += 1
    query = scope["query_string"].decode("latin-1")
    entry = {
        "n": state.calls,
        "operation": operation.operation_id if operation else None,
        "method": scope["method"],
        "path": scope["path"],
        "query": query,
        "page": next((part[5:] for part in query.split("&") if part.startswith("page=")), None),
        "status": None,
        "token": token.name if token else None,
        "authorization": _header(scope, b"authorization") is not None,
        "connection": "{}:{}".format(*scope["client"]),
        "user_agent": _header(scope, b"user-agent"),
        "label": label,
        "started": time.monotonic(),
        "ended": None,
        "fault": None,
    }
    state.log.append(entry)
    return entry
