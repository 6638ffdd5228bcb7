# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control interface below `/_emulator`: tests use it to set up and inspect the service.

`harness.py` has a method for each call except `POST reports`. An agent sends `POST reports` with the fields `host`,
`install_code` and `api_key`.
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
from .faults import Fault
from .settings import change
from .state import State, Token

Handler = Callable[[State, Any], Any]


def control_app(state: State) -> Starlette:
    # A handler gets the state, and the JSON body. Without a body, it gets the parameter `operation` of the query.
    table: list[tuple[str, str, Handler]] = [
        ("POST", "reset", lambda state, _body: state.reset()),
        ("PATCH", "settings", _change_settings),
        ("GET", "faults", lambda state, _query: [dataclasses.asdict(fault) for fault in state.faults]),
        ("POST", "faults", lambda state, body: state.faults.append(Fault(**body))),
        ("DELETE", "faults", lambda state, _query: state.faults.clear()),
        ("POST", "seed", lambda state, body: seed(state, **body)),
        ("GET", "clients", lambda state, _query: state.store.all()),
        ("GET", "requests", lambda state, name: [call for call in state.log if name in (None, call["operation"])]),
        ("DELETE", "requests", lambda state, _query: state.log.clear()),
        ("POST", "reports", lambda state, body: _report(state, **body)),
        ("GET", "reports", lambda state, _query: state.reports),
        ("DELETE", "reports", lambda state, _query: state.reports.clear()),
        ("GET", "tokens", lambda state, _query: {name: token.value for name, token in state.tokens.items()}),
        ("PUT", "tokens", _set_tokens),
        ("PUT", "plan", _set_plan),
    ]
    return Starlette(
        routes=[Route(f"/_emulator/{path}", _endpoint(handler, state), methods=[verb]) for verb, path, handler in table]
    )


def _endpoint(handler: Handler, state: State) -> Callable[[Request], Awaitable[JSONResponse]]:
    async def respond(request: Request) -> JSONResponse:
        try:
            given = await request.json() if await request.body() else request.query_params.get("operation")
            result = handler(state, given)
            return JSONResponse({} if result is None else result)
        except (LookupError, TypeError, ValueError) as error:
            return JSONResponse({"error": repr(error)}, 400)

    return respond


def _change_settings(state: State, given: Any) -> None:
    state.settings = change(state.settings, given)


def seed(state: State, count: int = 0, labels: list[str] | None = None) -> list[dict[str, Any]]:
    first = state.store.next_id
    requested = [f"seed-{number:05}" for number in range(first, first + count)] if labels is None else labels
    return [state.store.create(client_values({"label": label})) for label in requested]


def _report(state: State, host: str, install_code: str, api_key: str) -> None:
    """Record the label of the client that has the codes, or None."""
    sent = (install_code, api_key)
    labels = (row["label"] for row in state.store.all() if (row["install_code"], row["api_key"]) == sent)
    state.reports[host] = next(labels, None)


def _set_tokens(state: State, given: Any) -> None:
    state.tokens.update({name: Token(name, **fields) for name, fields in given.items()})


def _set_plan(state: State, given: Any) -> None:
    tiers = {tier["id"]: tier["clients_included"] for tier in catalogue.tiers(state.settings.brand)}
    state.store.plan = tiers[given["tier"]] if given["tier"] else None
