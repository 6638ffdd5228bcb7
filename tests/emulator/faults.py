# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that tests schedule: faults of networks and gateways, and changes of other controllers.

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

`html` and `status` use the fields `status` (default: 502) and `headers`. With `done`, the service does the work first.
`changes` contains the lists of labels `delete` and `create`, and `rename`, a dictionary from old to new labels.
The keys of `add` are paths of fields, such as `id`. The path `data.id` is the field `id` of each item of a list.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fault:
    """A fault skips `skip` matching calls, then affects `times` calls, or all calls if `times` is -1."""

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
    """Return the first fault for this entry of the request log. Remove the fault after its last call."""
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
    """Add the field `beta` to each object of a response that is not empty."""
    return json.dumps(json.loads(content or "{}", object_hook=lambda item: item and {**item, "beta": True})).encode()


def _owners(value: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object that can contain the last field of the path, with the name of this field."""
    if isinstance(value, list):
        for item in value:
            yield from _owners(item, path)
    elif isinstance(value, dict):
        name, dot, rest = path.partition(".")
        if dot:
            yield from _owners(value.get(name), rest)
        else:
            yield value, name
