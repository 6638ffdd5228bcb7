# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Descriptions of the resources of docs/openapi.yaml. Pure.

Requests, checks of responses, results of modules, and variables of the inventory plugin use these descriptions.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

Object = t.Dict[str, t.Any]  # noqa: UP006
# A client as the service returns it, with all fields.
Client = Object

_READ = "the scope {brand}:read_only"
_WRITE = "the scope {brand}:read_write"
_PLAN_GRANTS = "one of the grants account_access, {brand}_subscription, add_{brand}"


class Field(t.NamedTuple):
    """A field of a resource. If a response contains the field, the value must have one of the ``types``.

    A response without a ``required`` field is an error.
    """

    types: type | tuple[type, ...] = object
    required: bool = False
    secret: bool = False


class Operation(t.NamedTuple):
    """An operation of the service: its request, its purpose for messages, and the access that a token needs.

    ``path``, ``purpose`` and ``access`` are format strings with placeholders for the brand and the object. The
    ``access`` of a public operation is None.
    """

    method: str
    path: str
    purpose: str
    access: str | None = None
    # Idempotent: a second request has no further effect.
    idempotent: bool = True
    takes_page_size: bool = False


class Resource(t.NamedTuple):
    """A kind of object. ``path`` returns all objects, ``path/id`` returns one object. ``noun`` is for messages."""

    noun: str
    path: str
    fields: Mapping[str, Field]
    access: str | None = None
    takes_page_size: bool = False

    @property
    def list_all(self) -> Operation:
        return Operation("GET", self.path, f"list the {self.noun}s", self.access, takes_page_size=self.takes_page_size)

    @property
    def get_one(self) -> Operation:
        return Operation("GET", f"{self.path}/{{id}}", f"read {self.noun} {{id!r}}", self.access)

    @property
    def secret(self) -> list[str]:
        return [name for name, field in self.fields.items() if field.secret]


CLIENT = Resource(
    "client",
    "/{brand}/clients",
    {
        "id": Field((int, float, str), required=True),
        "label": Field(),
        "api_key": Field(secret=True),
        "install_code": Field(secret=True),
        "apps": Field(),
        "created": Field(),
        "updated": Field(),
    },
    access=_READ,
    takes_page_size=True,
)
SUBSCRIPTION = Resource(
    "subscription",
    "/{brand}/subscriptions",
    {"id": Field(str, required=True), "clients_included": Field(int, required=True)},
    takes_page_size=True,
)
REGION = Resource("region", "/regions", {"id": Field(str, required=True), "capabilities": Field(list)})

# All operations other than Resource.list_all and Resource.get_one.
CREATE_CLIENT = Operation(
    "POST", CLIENT.path, "create client {label!r}", f"{_WRITE} and the grant add_{{brand}}", idempotent=False
)
UPDATE_CLIENT = Operation("POST", f"{CLIENT.path}/{{id}}", "rename client {id} to {label!r}", _WRITE)
DELETE_CLIENT = Operation("DELETE", f"{CLIENT.path}/{{id}}", "delete client {label!r}", _WRITE)
GET_PLAN = Operation("GET", "/{brand}/plan", "read the plan", f"{_READ} and {_PLAN_GRANTS}")
SET_PLAN = Operation(
    "PUT", "/{brand}/plan", "switch the plan to {plan}", f"{_WRITE} and the grant {{brand}}_subscription"
)
LIST_AVAILABILITY = Operation("GET", "/regions/availability", "list the availability of the regions")
GET_AVAILABILITY = Operation("GET", "/regions/{id}/availability", "read the availability of region {id!r}")
