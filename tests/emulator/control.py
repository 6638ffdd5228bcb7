# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control interface below `/_emulator`: what tests use to arrange the service and to look behind it.

| call | does |
|---|---|
| `GET health` | answers when the emulator is up |
| `POST reset` | back to the start |
| `GET settings`, `PATCH settings` | all settings; change some |
| `GET faults`, `POST faults`, `DELETE faults` | scheduled faults; add one; drop all |
| `POST seed` | make clients: `{"count": n, "prefix": "seed-"}` or `{"labels": [...]}` |
| `GET clients` | all clients with their true keys |
| `GET requests[?operation=]`, `DELETE requests` | the request log; empty it |
| `GET tokens`, `PUT tokens` | tokens by name; replace or add some |
| `PUT plan` | `{"tier": id or null}`, without a call of the service |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from . import catalogue
from .faults import fault_from
from .settings import change
from .state import State
from .store import LabelTaken
from .tokens import Token, token_from

Handler = Callable[[State, Request], Awaitable[Any]]


def control_app(state: State) -> Starlette:
    """The interface as an ASGI application."""
    table: list[tuple[str, str, Handler]] = [
        ("GET", "health", _health),
        ("POST", "reset", _reset),
        ("GET", "settings", _get_settings),
        ("PATCH", "settings", _change_settings),
        ("GET", "faults", _get_faults),
        ("POST", "faults", _add_fault),
        ("DELETE", "faults", _clear_faults),
        ("POST", "seed", _seed),
        ("GET", "clients", _get_clients),
        ("GET", "requests", _get_requests),
        ("DELETE", "requests", _clear_requests),
        ("GET", "tokens", _get_tokens),
        ("PUT", "tokens", _set_tokens),
        ("PUT", "plan", _set_plan),
    ]
    return Starlette(
        routes=[Route(f"/_emulator/{path}", _endpoint(handler, state), methods=[verb]) for verb, path, handler in table]
    )


def _endpoint(handler: Handler, state: State) -> Callable[[Request], Awaitable[JSONResponse]]:
    """The handler as Starlette wants it. What is wrong with a request is told in one line."""

    async def answer(request: Request) -> JSONResponse:
        try:
            return JSONResponse(await handler(state, request))
        except (ValueError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


async def _health(_state: State, _request: Request) -> Any:
    return {"ok": True}


async def _reset(state: State, _request: Request) -> Any:
    state.reset()
    return {}


async def _get_settings(state: State, _request: Request) -> Any:
    return dataclasses.asdict(state.settings)


async def _change_settings(state: State, request: Request) -> Any:
    state.settings = change(state.settings, await request.json())
    return dataclasses.asdict(state.settings)


async def _get_faults(state: State, _request: Request) -> Any:
    return [dataclasses.asdict(fault) for fault in state.faults]


async def _add_fault(state: State, request: Request) -> Any:
    state.faults.append(fault_from(await request.json()))
    return {}


async def _clear_faults(state: State, _request: Request) -> Any:
    state.faults.clear()
    return {}


async def _seed(state: State, request: Request) -> Any:
    return seed(state, **await request.json())


def seed(state: State, count: int = 0, labels: list[str] | None = None, prefix: str = "seed-") -> list[dict[str, Any]]:
    """Make clients, with these labels or with so many numbered ones. No limit of the plan holds here."""
    first = state.store.next_id()
    wanted = [f"{prefix}{number:05}" for number in range(first, first + count)] if labels is None else labels
    try:
        return state.store.create(wanted, state.settings.key_format)
    except LabelTaken as error:
        raise ValueError("One of the labels is taken; nothing was made.") from error


async def _get_clients(state: State, _request: Request) -> Any:
    return state.store.all()


async def _get_requests(state: State, request: Request) -> Any:
    operation = request.query_params.get("operation")
    return [entry for entry in state.log if operation in (None, entry["operation"])]


async def _clear_requests(state: State, _request: Request) -> Any:
    state.log.clear()
    return {}


async def _get_tokens(state: State, _request: Request) -> Any:
    return {name: _described(token) for name, token in state.tokens.items()}


async def _set_tokens(state: State, request: Request) -> Any:
    given = await request.json()
    state.tokens.update({name: token_from(name, fields) for name, fields in given.items()})
    return {name: _described(token) for name, token in state.tokens.items()}


def _described(token: Token) -> dict[str, Any]:
    """A token in the shape in which it can be set."""
    return {
        "token": token.value,
        "scopes": sorted(token.scopes),
        "grants": {name: getattr(token, name) for name in ("account_access", "monitor_subscription", "add_monitor")},
        "read_only_ids": sorted(token.read_only_ids),
    }


async def _set_plan(state: State, request: Request) -> Any:
    wanted = (await request.json())["tier"]
    tiers = {tier["id"]: tier["clients_included"] for tier in catalogue.tiers(state.settings.brand)}
    if wanted is not None and wanted not in tiers:
        raise ValueError(f"There is no tier {wanted!r}. There are: {', '.join(tiers)}.")
    state.store.set_plan(tiers.get(wanted))
    return {}
