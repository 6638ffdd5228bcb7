# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Behaviour of the emulated service that docs/openapi.yaml leaves open.

Each setting names the row of README.md, "What services do", that it plays. The defaults keep to the contract. Settings
are plain values and can be changed while the service runs; `change` does that.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


def _choice(row: str, about: str, choices: tuple[Any, ...]) -> Any:
    """A field whose default is the first of its choices."""
    return _setting(choices[0], row, about, choices)


def _setting(default: Any, row: str, about: str, choices: tuple[Any, ...] = ()) -> Any:
    """A field with its default, the topic of its row in README.md, and what it does."""
    # The call is made within the dataclass below, by way of this function.
    # pylint: disable-next=invalid-field-call
    return field(default=default, metadata={"row": row, "about": about, "choices": choices})


_MASK = "`api_key`, `install_code`"
_LABEL = "`label`"
_MOVING = "a list that changes while it is read"
_RATE = "rate limit"
_SIZE = "`page_size`"
_SERVICE = "(the emulator itself)"


@dataclass(frozen=True)
class Settings:
    brand: str = _setting("monitor", "product word", "The word in paths, tier ids and the plan field.")
    update_verb: str = _choice("client update", "`put_only`: rename by PUT; POST returns 405.", ("post", "put_only"))

    mask_for: str = _choice(_MASK, "Who sees masked keys: tokens that only read, or all.", ("read_only", "all"))
    mask_labels: tuple[str, ...] = _setting((), _MASK, "Clients whose keys are masked for all tokens.")
    mask_kind: str = _choice(_MASK, "A text, no fields, or six characters of each.", ("text", "missing", "cut_short"))
    mask_text: str = _setting("[REDACTED]", _MASK, "The text; may be empty.")
    mask_in: str = _choice(_MASK, "Where keys are masked: everywhere, or in lists only.", ("everywhere", "lists"))
    account_code: str = _setting("", _MASK, "The `install_code` of all clients, for example a short one.")

    label_form: str = _choice(_LABEL, "How it is stored.", ("as_sent", "lower_case"))
    null_labels: tuple[str, ...] = _setting((), _LABEL, "Clients whose label is shown as null.")
    strict_labels: bool = _setting(False, _LABEL, "Refuse all but letters, digits, `-` and `_`, with 400.")
    duplicate_status: int = _choice("duplicate label", "Status when a label is taken.", (400, 409))
    duplicate_reason: str = _setting("Label must be unique.", "duplicate label", "Reason given for it.")

    page_size_max: int = _setting(500, _SIZE, "Largest `page_size` that is accepted; the smallest is 25.")
    past_end: str = _choice("page past the end", "404, or a page without items.", ("not_found", "empty"))
    list_order: str = _choice(_MOVING, "Which clients come first in the list.", ("oldest", "newest"))
    list_lag: int = _setting(0, _MOVING, "How many reads of the list lack a client, from when it was created on.")
    lists_deleted: bool = _setting(False, _MOVING, "Whether the list still has clients that were deleted.")

    apps_as_integers: bool = _setting(False, "`apps`", "0 and 1 in the response to a create.")
    extra_fields: bool = _setting(False, "unknown fields", "A field more in every object that has fields.")
    plan_empty_string: bool = _setting(False, "plan `null`", "Take an empty text for null.")
    region_availability: str = _choice(
        "region availability of one region", "The first record of the region, or an array of all.", ("record", "array")
    )

    error_field: str = _choice("errors", "`field` without a field that is meant.", ("empty", "missing", "null"))
    delete_status: int = _choice("statuses", "Status of a delete; 204 has no body.", (200, 204))
    forbidden_status: int = _choice("plan view without the grant", "Status for a missing scope or grant.", (403, 401))

    missing_scope: str = _choice(
        "scopes of the token", "It is named, or 401 without its name.", ("named", "unauthorized")
    )
    rate_limit: bool = _setting(False, _RATE, "Whether there is a rate limit.")
    rate_call: int = _setting(400, _RATE, "Requests of a token to one operation in a minute.")
    rate_window_scale: float = _setting(1.0, _RATE, "The minute is multiplied by this, so that tests can be quick.")

    latency_ms: float = _setting(0.0, _SERVICE, "Milliseconds added to each call before it is processed.")
    validate_responses: bool = _setting(True, _SERVICE, "Check each response against the contract.")


def leaves_contract(settings: Settings) -> bool:
    """Whether responses differ from the contract on purpose, so that they are not checked."""
    return (
        settings.mask_kind == "missing"
        or bool(settings.null_labels)
        or settings.apps_as_integers
        or settings.region_availability == "array"
        or settings.error_field != "empty"
        or settings.delete_status == HTTPStatus.NO_CONTENT
    )


def change(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings with the changes made. Raises ValueError that names the setting which is unknown or wrong."""
    known = {each.name: each for each in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known:
            raise ValueError(f"There is no setting {name!r}. Choose one of: {', '.join(sorted(known))}.")
        values[name] = _checked(known[name], value)
    return dataclasses.replace(settings, **values)


def _checked(setting: dataclasses.Field[Any], value: Any) -> Any:
    """The value in the type of the setting's default."""
    choices, default = setting.metadata["choices"], setting.default
    if choices and value not in choices:
        raise ValueError(f"{setting.name} is one of {', '.join(map(str, choices))}, not {value!r}.")
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    allowed = (int, float) if isinstance(default, float) else (int, type(None)) if default is None else type(default)
    if not isinstance(value, allowed) or isinstance(value, bool) is not isinstance(default, bool):
        raise ValueError(f"{setting.name} is of type {getattr(setting.type, '__name__', setting.type)}, not {value!r}.")
    return value


def parse(assignment: str) -> dict[str, Any]:
    """`name=value` of a command line as a change. The value is JSON if it is valid JSON, else text."""
    name, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"Expected name=value, not {assignment!r}.")
    try:
        return {name: json.loads(text)}
    except ValueError:
        return {name: text}
