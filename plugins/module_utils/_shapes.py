# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of the service: whether an answer holds one of the documented shape. Pure. Section 2 of the API document.

Only what the collection relies on is asked for; unknown fields stay. Each function takes an answer and what it is the
answer to (method, path, and what was attempted), and raises ApiError where it is of another shape.
"""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.monitor.cloud.plugins.module_utils._keys import Client

_LONGEST_ID = 64

Object = dict[str, t.Any]
Shape = t.Callable[[t.Any, str, str, str], Object]


def bad_shape(method: str, path: str, intent: str, what: str) -> ApiError:
    return ApiError(
        f"the answer is not of the documented shape: {what}",
        method=method,
        path=path,
        intent=intent,
        hint="Check that base_url leads to the service, version segment included.",
    )


def object_of(answer: t.Any, method: str, path: str, intent: str, needed: Sequence[str] = ()) -> Object:
    if not isinstance(answer, dict):
        raise bad_shape(method, path, intent, "it is no JSON object")
    missing = [name for name in needed if answer.get(name) is None]
    if missing:
        raise bad_shape(method, path, intent, f"it lacks {' and '.join(missing)}")
    return answer


def region_of(answer: t.Any, method: str, path: str, intent: str) -> Object:
    region = object_of(answer, method, path, intent, ("id",))
    if not isinstance(region.get("capabilities") or [], list):
        raise bad_shape(method, path, intent, "capabilities is not a list")
    return region


def tier_of(answer: t.Any, method: str, path: str, intent: str) -> Object:
    tier = object_of(answer, method, path, intent, ("id", "clients_included"))
    name = tier["id"]
    # It goes into messages and requests.
    if not isinstance(name, str) or len(name) > _LONGEST_ID or not name.isprintable():
        raise bad_shape(method, path, intent, "the id of a subscription is no name")
    if not isinstance(tier["clients_included"], int):
        raise bad_shape(method, path, intent, "clients_included is not a number")
    return tier


def plan_of(answer: t.Any, method: str, path: str, intent: str) -> Object:
    """A tier, or ``{}``: half a tier must not be taken for a small one."""
    return tier_of(answer, method, path, intent) if answer != {} else {}


def client_of(answer: t.Any, method: str, path: str, intent: str) -> Client:
    """A client with the members of ``apps`` as booleans: answers to a create have been seen to say 0 and 1."""
    item = object_of(answer, method, path, intent, ("id", "label"))
    if not isinstance(item["id"], (int, str)) or not isinstance(item["label"], str):
        raise bad_shape(method, path, intent, "its id or label is of a wrong type")
    apps = item.get("apps")
    if not isinstance(apps, dict):
        return item
    return {**item, "apps": {name: bool(value) if value in (0, 1) else value for name, value in apps.items()}}


def each_once(items: Sequence[Object]) -> list[Object]:
    """The items without a second one of the same id; records without an id are all kept."""
    kept: dict[str, Object] = {}
    for position, item in enumerate(items):
        kept.setdefault(repr(item.get("id") or f"no id {position}"), item)
    return list(kept.values())
