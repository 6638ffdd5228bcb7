# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contract `docs/openapi.yaml`, changed as the settings require, and the form of errors."""

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
# The brand replaces `monitor` in identifiers, not in sentences.
_PRODUCT_WORD = re.compile(r"\bmonitor(?=[-_:/])")
_CLIENT_PATH = "/monitor/clients/{clientId}"


@dataclass(frozen=True)
class Operation:
    """`scope` is None if the operation needs no token."""

    operation_id: str
    method: str
    pattern: re.Pattern[str]
    scope: str | None
    grants: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """The differences between the contract that the emulator serves and the contract in the file."""

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
    """Return the operations. Paths contain the brand. Scopes and grants contain `monitor`."""
    result = []
    for path, item in _adapted(variant)["paths"].items():
        # The file lists fixed paths before paths with a parameter, so the first match is right.
        pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", BASE_PATH + _branded(path, variant.brand)))
        for verb in _VERBS:
            if verb in item:
                scopes = [scope for scheme in item[verb]["security"] for scope in scheme.get("oauth", [])]
                grants = tuple(item[verb].get("x-grants", []))
                scope = next(iter(scopes), None)
                result.append(Operation(item[verb]["operationId"], verb.upper(), pattern, scope, grants))
    return tuple(result)


def client_values(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """For each field that callers can set, return the given value, else the old value, else the default."""
    fields = _written()["components"]["schemas"]["ClientInput"]["properties"]
    return {name: given.get(name, (before or {}).get(name, of.get("default"))) for name, of in fields.items()}


def examples() -> dict[str, list[dict[str, Any]]]:
    """Return the example objects of each list by noun: `alert` for `list_alerts`."""
    objects = {}
    for item in _written()["paths"].values():
        listing = item.get("get", {})
        responses = listing.get("responses", {})
        content = responses.get("200", {}).get("content", {}).get("application/json", {})
        if "example" in content:
            objects[listing["operationId"].removeprefix("list_").removesuffix("s")] = content["example"]["data"]
    return objects


def operation_at(variant: Variant, method: str, path: str) -> tuple[Operation | None, str | None]:
    """Return the operation, and the value of the parameter in the path."""
    for operation in operations(variant):
        if operation.method == method and (match := operation.pattern.fullmatch(path)):
            return operation, (match.groups() or (None,))[0]
    return None, None


def _adapted(variant: Variant) -> dict[str, Any]:
    """Return the contract of the variant, before the brand replaces `monitor`."""
    adapted = copy.deepcopy(_written())
    if variant.update_verb == "put_only":
        client = adapted["paths"][_CLIENT_PATH]
        client["put"] = client.pop("post")
    if variant.plan_empty_string:
        adapted["components"]["schemas"]["PlanInput"]["properties"]["monitor_subscription"]["enum"].append("")
    return adapted


def _branded(value: Any, brand: str) -> Any:
    if isinstance(value, dict):
        return {_branded(key, brand): _branded(each, brand) for key, each in value.items()}
    if isinstance(value, list):
        return [_branded(each, brand) for each in value]
    return _PRODUCT_WORD.sub(brand, value) if isinstance(value, str) else value


@dataclass
class ServiceError(Exception):
    """`field` is None if the error does not concern a field."""

    status: int
    reason: str
    field: str | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def error_body(settings: Settings, error: ServiceError) -> dict[str, object]:
    without: dict[str, dict[str, object]] = {"empty": {"field": ""}, "null": {"field": None}, "missing": {}}
    field = without[settings.error_field] if error.field is None else {"field": error.field}
    return {"errors": [{"reason": error.reason, **field}]}


def error_response(settings: Settings, error: ServiceError) -> Response:
    body = json.dumps(error_body(settings, error))
    return Response(body, error.status, error.headers, media_type="application/json")
