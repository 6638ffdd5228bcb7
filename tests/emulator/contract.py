# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contract, `docs/openapi.yaml`, in the variant that the settings ask for, and the form of errors."""

import copy
import dataclasses
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from starlette.responses import Response

from .settings import Settings, leaves_contract

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
BASE_PATH = "/v4"
_VERBS = ("get", "post", "put", "delete")
# The product word is a part of identifiers; `monitor` in a sentence is an ordinary word.
_PRODUCT_WORD = re.compile(r"\bmonitor(?=[-_:/])")
_CLIENT_PATH = "/monitor/clients/{clientId}"


@dataclass(frozen=True)
class Operation:
    """What the contract defines of an operation beyond its shape. `scope` is None if no token is needed."""

    operation_id: str
    method: str
    pattern: re.Pattern[str]
    scope: str | None
    grants: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """The ways in which the served contract can differ from the written one."""

    brand: str
    update_verb: str
    plan_empty_string: bool
    validate_responses: bool


def variant_of(settings: Settings) -> Variant:
    validate = settings.validate_responses and not leaves_contract(settings)
    return Variant(settings.brand, settings.update_verb, settings.plan_empty_string, validate)


@functools.cache
def _written() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(DOCUMENT.read_text(encoding="utf-8"))
    return document


@functools.cache
def document(variant: Variant) -> dict[str, Any]:
    served = _adapted(variant)
    result: dict[str, Any] = _branded(served, variant.brand)
    return result


@functools.cache
def operations(variant: Variant) -> tuple[Operation, ...]:
    """The operations of that contract. Scopes and grants keep their neutral names."""
    result = []
    for path, item in _adapted(variant)["paths"].items():
        # Fixed paths are written before those with a parameter, so the first match is right.
        pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", BASE_PATH + _branded(path, variant.brand)))
        for verb in _VERBS:
            if verb in item:
                result.append(_operation(verb, pattern, item[verb]))
    return tuple(result)


def operation_ids() -> list[str]:
    return [operation.operation_id for operation in operations(variant_of(Settings()))]


def client_values(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All fields of a client that callers can set: as given, else as they were, else the default of the contract."""
    fields = _written()["components"]["schemas"]["ClientInput"]["properties"]
    return {name: given.get(name, (before or {}).get(name, of.get("default"))) for name, of in fields.items()}


def examples() -> dict[str, list[dict[str, Any]]]:
    """The objects in the examples of lists, by the noun of their resource; `list_alerts` lists the noun `alert`."""
    objects = {}
    for item in _written()["paths"].values():
        listing = item.get("get", {})
        responses = listing.get("responses", {})
        content = responses.get("200", {}).get("content", {}).get("application/json", {})
        if "example" in content:
            objects[listing["operationId"].removeprefix("list_").removesuffix("s")] = content["example"]["data"]
    return objects


def operations_at(variant: Variant, path: str) -> dict[str, tuple[Operation, str | None]]:
    """The operations at this path by their methods, each with its parameter; none if there is no such path."""
    result: dict[str, tuple[Operation, str | None]] = {}
    for operation in operations(variant):
        if match := operation.pattern.fullmatch(path):
            result.setdefault(operation.method, (operation, (match.groups() or (None,))[0]))
    return result


def _operation(verb: str, pattern: re.Pattern[str], written: Mapping[str, Any]) -> Operation:
    scopes = [scope for scheme in written["security"] for scope in scheme.get("oauth", [])]
    return Operation(
        written["operationId"],
        verb.upper(),
        pattern,
        scopes[0] if scopes else None,
        tuple(written.get("x-grants", [])),
    )


def _adapted(variant: Variant) -> dict[str, Any]:
    """The written contract with the changes of the variant, but still under the neutral names."""
    adapted = copy.deepcopy(_written())
    if variant.update_verb == "put_only":
        client = adapted["paths"][_CLIENT_PATH]
        client["put"] = client.pop("post")
    if variant.plan_empty_string:
        adapted["components"]["schemas"]["PlanInput"]["properties"]["monitor_subscription"]["enum"].append("")
    return adapted


def _branded(value: Any, brand: str) -> Any:
    """The same with the product word replaced, in keys as in values."""
    if isinstance(value, dict):
        return {_branded(key, brand): _branded(each, brand) for key, each in value.items()}
    if isinstance(value, list):
        return [_branded(each, brand) for each in value]
    return _PRODUCT_WORD.sub(brand, value) if isinstance(value, str) else value


# Errors: the schema `Errors` of the contract


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
    return {"errors": [entry]}


def error_response(settings: Settings, error: ServiceError) -> Response:
    body = json.dumps(error_body(settings, error))
    return Response(body, error.status, error.headers, media_type="application/json")
