# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of networks, gateways and other controllers, scheduled by tests.

| kind | what happens |
|---|---|
| `drop` | after `seconds` the service closes the connection without a response; the work is not done |
| `lost_response` | the service does the work, then closes the connection |
| `truncate` | the service does the work, and sends half of the response |
| `html` | a gateway responds with a page, or with the text `body` |
| `slow` | the call waits `seconds`, then continues |
| `status` | the response is an error, or `body` as JSON |
| `meanwhile` | another controller makes the `changes`, then the call continues |
| `edit` | the service does the work; the values of `add` replace fields of the response, or add fields |

`html` and `status` have `status` (502 unless given) and `headers`. With `done`, the service does the work first.
`changes` has lists of labels to `delete` and `create`, and a dictionary from old to new labels to `rename`.
`add` names a field by its path, such as `id`; the path `data.id` names the field of all items of a list.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fault:
    """A fault skips `skip` matching calls, then hits `times` calls, or all calls if `times` is -1."""

    kind: str
    operation: str | None = None
    times: int = 1
    skip: int = 0
    match: dict[str, Any] = field(default_factory=dict)
    status: int = 502
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    seconds: float = 0.0
    done: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    add: dict[str, Any] = field(default_factory=dict)


def take(faults: list[Fault], entry: Mapping[str, Any]) -> Fault | None:
    """Return the first fault that hits the call of this entry of the request log. Remove a fault that is used up."""
    for fault in list(faults):
        if fault.operation not in (None, entry["operation"]):
            continue
        if any(entry[name] != expected for name, expected in fault.match.items()):
            continue
        if fault.skip > 0:
            fault.skip -= 1
            continue
        fault.times -= 1
        if fault.times == 0:
            faults.remove(fault)
        return fault
    return None


def edited(fault: Fault, content: bytes) -> bytes:
    response = json.loads(content)
    for path, value in fault.add.items():
        for owner, name in _owners(response, path):
            owner[name] = value
    return json.dumps(response).encode()


def extended(content: bytes) -> bytes:
    """Return a response with one more field in each object that has fields."""
    return json.dumps(json.loads(content or "{}", object_hook=lambda item: item and {**item, "beta": True})).encode()


def _owners(value: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects that can have the field at the end of the path, and the name of the field."""
    if isinstance(value, list):
        for item in value:
            yield from _owners(item, path)
    elif isinstance(value, dict):
        name, dot, rest = path.partition(".")
        if dot:
            yield from _owners(value.get(name), rest)
        else:
            yield value, name
