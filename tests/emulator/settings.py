# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings for behaviours of services that docs/openapi.yaml does not define.

A comment in quotes names a row of the table in README.md. The settings below the comment imitate this row.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Settings:
    # "product word"
    brand: str = "monitor"
    # "client update": with put_only, a POST gets 405.
    update_verb: Literal["post", "put_only"] = "post"
    # "`api_key`, `install_code`": read-only tokens always see masked keys.
    mask_for: Literal["read_only", "all"] = "read_only"
    # Labels of clients whose keys are masked for all tokens.
    mask_labels: tuple[str, ...] = ()
    mask_text: str = "[REDACTED]"
    mask_in: Literal["everywhere", "lists"] = "everywhere"
    # If set, all clients have this install code.
    account_code: str = ""
    # "`label`"
    label_form: Literal["as_sent", "lower_case"] = "as_sent"
    # Labels that responses show as null.
    null_labels: tuple[str, ...] = ()
    strict_labels: bool = False
    # "duplicate label"
    duplicate_status: Literal[400, 409] = 400
    duplicate_reason: str = "Label must be unique."
    # "`page_size`"
    page_size_max: int = 500
    # "page past the end"
    past_end: Literal["not_found", "empty"] = "not_found"
    # "a list that changes while it is read": the first list_lag reads lack a new client.
    list_order: Literal["oldest", "newest"] = "oldest"
    list_lag: int = 0
    lists_deleted: bool = False
    # "`apps`", "unknown fields", "plan `null`", "region availability of one region"
    apps_as_integers: bool = False
    extra_fields: bool = False
    plan_empty_string: bool = False
    region_availability: Literal["record", "array"] = "record"
    # "errors": the value of `field` if an error does not concern a field.
    error_field: Literal["empty", "missing", "null"] = "empty"
    # "statuses"
    delete_status: Literal[200, 204] = 200
    # The error 401 does not name the missing scope: "plan view without the grant", "scopes of the token".
    forbidden_status: Literal[403, 401] = 403
    # "rate limit": requests that a token may send to an operation in rate_window seconds; 0 means no limit.
    rate_limit: int = 0
    rate_window: int = 60
    # Settings of the emulator itself.
    latency_ms: int = 0
    validate_responses: bool = True


def leaves_contract(settings: Settings) -> bool:
    """Return whether responses intentionally differ from the contract. Responses that differ are not validated."""
    return (
        bool(settings.null_labels)
        or settings.apps_as_integers
        or settings.region_availability == "array"
        or settings.error_field != "empty"
        or settings.delete_status == 204
    )


def change(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings with the changes. Raise ValueError if a name or a value is invalid."""
    types = get_type_hints(Settings)
    given: dict[str, Any] = {name: tuple(new) if isinstance(new, list) else new for name, new in changes.items()}
    for name, value in given.items():
        if name not in types:
            raise ValueError(f"There is no setting {name!r}. Choose one of: {', '.join(types)}.")
        expected = types[name]
        origin = get_origin(types[name])
        if not (value in get_args(expected) if origin is Literal else isinstance(value, origin or expected)):
            raise ValueError(f"{value!r} is not a valid value of {name}: {expected}.")
    return dataclasses.replace(settings, **given)


def parse(assignment: str) -> dict[str, Any]:
    """Return `name=value` of a command line as a change. A value that is not valid JSON is a string."""
    name, equals, value = assignment.partition("=")
    if not equals:
        raise ValueError(f"Expected name=value, not {assignment!r}.")
    try:
        return {name: json.loads(value)}
    except ValueError:
        return {name: value}
