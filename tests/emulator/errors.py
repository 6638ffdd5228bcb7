# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of the service: section 7 of `api.md`."""

import dataclasses
import json
from dataclasses import dataclass

from starlette.responses import Response

from .settings import Settings


@dataclass
class ServiceError(Exception):
    """An error response of the service. `field` is the offending one, None if no field is meant."""

    status: int
    reason: str
    field: str | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def error_body(settings: Settings, error: ServiceError) -> dict[str, object]:
    """`{"errors": [{"field", "reason"}]}`, in the form that the settings ask for."""
    entry: dict[str, object] = {"reason": error.reason}
    if error.field is not None:
        entry["field"] = error.field
    elif settings.error_field == "empty":
        entry["field"] = ""
    elif settings.error_field == "null":
        entry["field"] = None
    if settings.extra_fields:
        entry["code"] = f"E{error.status}"
    return {"errors": [entry]}


def error_response(settings: Settings, error: ServiceError) -> Response:
    body = json.dumps(error_body(settings, error))
    return Response(body, error.status, error.headers, media_type="application/json")
