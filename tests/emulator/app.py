# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service as ASGI applications: connexion serves the contract, the gate stands in front of it."""

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

# The gate checks the tokens, and there is no page to show and no start-up to run.
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
    """All operations, requests and (if the variant requires it) responses checked against the contract."""
    middlewares = [each for each in ConnexionMiddleware.default_middlewares if each not in _NOT_NEEDED]
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
    """The operation with its state. Its errors become responses here, so that they are checked like all others."""
    bound = functools.partial(operation, state)

    @functools.wraps(bound)
    async def run(**arguments: Any) -> Any:
        try:
            return await bound(**arguments)
        except ServiceError as error:
            return error_body(state.settings, error), error.status, error.headers

    return run


async def _problem_response(state: State, _request: ConnexionRequest, problem: Exception) -> ConnexionResponse:
    """What connexion refuses (shape of the request, path, method), in the form of the service's errors."""
    # An error of Python's is about a body that cannot be read or kept.
    status = getattr(problem, "status_code", 400)
    reason = str(
        getattr(problem, "detail", None) or getattr(problem, "title", None) or "The body is not valid text in JSON."
    )
    error = ServiceError(status, reason.splitlines()[0])
    return _new_response(
        status_code=status,
        mimetype="application/json",
        body=json.dumps(error_body(state.settings, error)),
        headers=dict(getattr(problem, "headers", None) or {}),
    )
