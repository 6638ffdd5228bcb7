# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control interface below `/_emulator`: what tests use to set up the service and to inspect it.

`harness.py` has a method for each call but `POST reports`, which an agent sends: `{"host", "install_code", "api_key"}`.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from . import catalogue
from .contract import client_values
from .faults import fault_from
from .settings import change
from .state import State, new_token

Handler = Callable[[State, Any], Any]


def control_app(state: State) -> Starlette:
    # What each call does, by the state and the body of the request, or the operation that a query names.
    table: list[tuple[str, str, Handler]] = [
        ("POST", "reset", lambda state, _body: state.reset()),
        ("GET", "settings", lambda state, _query: dataclasses.asdict(state.settings)),
        ("PATCH", "settings", _change_settings),
        ("GET", "faults", lambda state, _query: [dataclasses.asdict(fault) for fault in state.faults]),
        ("POST", "faults", lambda state, body: state.faults.append(fault_from(body))),
        ("DELETE", "faults", lambda state, _query: state.faults.clear()),
        ("POST", "seed", lambda state, body: seed(state, **body)),
        ("GET", "clients", lambda state, _query: state.store.all()),
        ("GET", "requests", lambda state, name: [call for call in state.log if name in (None, call["operation"])]),
        ("DELETE", "requests", lambda state, _query: state.log.clear()),
        ("POST", "reports", lambda state, body: _report(state, **body)),
        ("GET", "reports", lambda state, _query: state.reports),
        ("DELETE", "reports", lambda state, _query: state.reports.clear()),
        ("GET", "tokens", _tokens),
        ("PUT", "tokens", _set_tokens),
        ("PUT", "plan", _set_plan),
    ]
    return Starlette(
        routes=[Route(f"/_emulator/{path}", _endpoint(handler, state), methods=[verb]) for verb, path, handler in table]
    )


def _endpoint(handler: Handler, state: State) -> Callable[[Request], Awaitable[JSONResponse]]:
    """The handler as Starlette takes it; an invalid request gets 400 and the error."""

    async def respond(request: Request) -> JSONResponse:
        try:
            given = await request.json() if await request.body() else request.query_params.get("operation")
            result = handler(state, given)
            return JSONResponse({} if result is None else result)
        except (LookupError, TypeError, ValueError) as error:
            return JSONResponse({"error": repr(error)}, 400)

    return respond


def _change_settings(state: State, given: Any) -> Any:
    state.settings = change(state.settings, given)
    return dataclasses.asdict(state.settings)


def seed(state: State, count: int = 0, labels: list[str] | None = None) -> list[dict[str, Any]]:
    first = state.store.next_id
    requested = [f"seed-{number:05}" for number in range(first, first + count)] if labels is None else labels
    return [state.store.create(client_values({"label": label})) for label in requested]


def _report(state: State, host: str, install_code: str, api_key: str) -> None:
    """Record under which client a host reports; None if no client has these codes."""
    sent = (install_code, api_key)
    labels = (row["label"] for row in state.store.all() if (row["install_code"], row["api_key"]) == sent)
    state.reports[host] = next(labels, None)


def _tokens(state: State, _query: Any) -> Any:
    return {name: token.value for name, token in state.tokens.items()}


def _set_tokens(state: State, given: Any) -> Any:
    state.tokens.update({name: new_token(name, **fields) for name, fields in given.items()})
    return _tokens(state, None)


def _set_plan(state: State, given: Any) -> None:
    tiers = {tier["id"]: tier["clients_included"] for tier in catalogue.tiers(state.settings.brand)}
    state.store.plan = tiers[given["tier"]] if given["tier"] else None
