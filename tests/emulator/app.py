# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ASGI application: the gate receives each call, then connexion serves the contract."""

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from connexion.apps.asynchronous import AsyncApp
from connexion.exceptions import ProblemException
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from connexion.middleware.lifespan import LifespanMiddleware
from connexion.middleware.main import ConnexionMiddleware
from connexion.middleware.security import SecurityMiddleware
from connexion.middleware.swagger_ui import SwaggerUIMiddleware
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from . import operations
from .contract import BASE_PATH, ServiceError, Variant, document, error_body
from .control import control_app
from .gate import serve_call
from .state import State

# The gate checks tokens. The emulator has no pages, and does nothing when it starts.
_NOT_NEEDED = (LifespanMiddleware, SecurityMiddleware, SwaggerUIMiddleware)
# Connexion's constructor has no annotations.
_new_response: Callable[..., ConnexionResponse] = ConnexionResponse


def emulator_app(state: State) -> ASGIApp:
    control = control_app(state)

    @functools.cache
    def service(variant: Variant) -> ASGIApp:
        return service_app(state, variant)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/_emulator/"):
            await control(scope, receive, send)
        else:
            await serve_call(state, service, scope, receive, send)

    return app


def service_app(state: State, variant: Variant) -> ASGIApp:
    middlewares = [kind for kind in ConnexionMiddleware.default_middlewares if kind not in _NOT_NEEDED]
    app = AsyncApp(__name__, middlewares=middlewares, pythonic_params=True)
    app.add_api(
        document(variant),
        base_path=BASE_PATH,
        resolver=lambda operation_id: _bound(operations.named(operation_id), state),
        validate_responses=variant.validate_responses,
    )
    handler = functools.partial(_problem_response, state)
    for kind in (ProblemException, HTTPException, UnicodeError, RecursionError):
        app.add_error_handler(kind, handler)
    result: ASGIApp = app
    return result


def _bound(operation: Callable[..., Awaitable[Any]], state: State) -> Callable[..., Awaitable[Any]]:
    """Bind the state. Convert ServiceError to a response here, so that connexion validates the response."""
    bound = functools.partial(operation, state)

    @functools.wraps(bound)
    async def run(**arguments: Any) -> Any:
        try:
            return await bound(**arguments)
        except ServiceError as error:
            return error_body(state.settings, error), error.status, error.headers

    return run


async def _problem_response(state: State, _request: ConnexionRequest, problem: Exception) -> ConnexionResponse:
    """Return an error response in the form that the service uses."""
    # UnicodeError and RecursionError have no status: they mean that the body is not valid JSON.
    status = getattr(problem, "status_code", 400)
    reason = getattr(problem, "detail", None) or getattr(problem, "title", None) or "The body is not valid JSON."
    error = ServiceError(status, str(reason).splitlines()[0])
    return _new_response(
        status_code=status,
        mimetype="application/json",
        body=json.dumps(error_body(state.settings, error)),
        headers=dict(getattr(problem, "headers", None) or {}),
    )
