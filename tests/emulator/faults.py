# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that are scheduled to happen to calls: what networks and gateways do, on demand.

| kind | what happens |
|---|---|
| `drop` | after `seconds` the connection is reset before a byte is sent; nothing is done |
| `lost_response` | the work is done, then the connection is reset |
| `truncate` | the work is done; half of the response arrives |
| `html`, `text` | a page of a gateway, with `status` (502 unless given) |
| `slow` | the call waits `seconds`, then continues |
| `status` | an error with `status`, `headers` and, if given, this `body` |
| `meanwhile` | another controller makes the `changes`, then the call continues |
| `edit` | the work is done; fields of the response are missing (`remove`) or there beside the others (`add`) |

The `changes` are lists of labels to `delete` and to `create`, and a dict old to new to `rename`, done in the order
delete, rename, create. With `done` they are made once the work is done, before the response is sent.

An `edit` names fields by their path, such as `id` or `data.id`; a path through a list means all of its items:
`remove` is a list of them, `add` a dict from the path to the value. Only responses of 2xx in JSON are edited.

The work of `html`, `text` and `status` is not done, unless `done` is set.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .contract import operation_ids

KINDS = ("drop", "lost_response", "truncate", "html", "text", "slow", "status", "meanwhile", "edit")
_AFTER_THE_WORK = ("lost_response", "truncate", "slow", "meanwhile", "edit")
_CHANGES = ("delete", "rename", "create")
_MATCHED = ("label", "page", "method")


@dataclass
class Fault:
    """One scheduled fault. It lets `skip` matching calls pass, then hits `times` of them (-1: all that come)."""

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
    remove: list[str] = field(default_factory=list)
    add: dict[str, Any] = field(default_factory=dict)

    @property
    def work_is_done(self) -> bool:
        return self.done or self.kind in _AFTER_THE_WORK


def fault_from(given: Mapping[str, Any]) -> Fault:
    """A fault from the fields of the control interface. Raises an error that names what is invalid."""
    fault = Fault(**given)
    operations = [] if fault.operation is None else [fault.operation]
    for name, values, valid in (
        ("kind", [fault.kind], KINDS),
        ("operation", operations, operation_ids()),
        ("match", fault.match, _MATCHED),
        ("changes", fault.changes, _CHANGES),
    ):
        if wrong := sorted(set(values) - set(valid)):
            raise ValueError(f"{name} of a fault: choose from {', '.join(valid)}, not {', '.join(wrong)}.")
    return fault


def take(faults: list[Fault], call: Mapping[str, Any]) -> Fault | None:
    """The first fault that matches this call and is due, if any. A fault that is used up leaves the list.

    `call` is the call's entry in the request log.
    """
    for fault in list(faults):
        if fault.operation not in (None, call["operation"]):
            continue
        if any(call[name] != expected for name, expected in fault.match.items()):
            continue
        if fault.skip > 0:
            fault.skip -= 1
            continue
        if fault.times > 0:
            fault.times -= 1
        if fault.times == 0:
            faults.remove(fault)
        return fault
    return None


def edited(fault: Fault, content: bytes) -> bytes:
    """A response without the fields that the fault removes, and with those that it adds."""
    response = json.loads(content)
    for way in fault.remove:
        for owner, name in _owners(response, way):
            owner.pop(name, None)
    for way, value in fault.add.items():
        for owner, name in _owners(response, way):
            owner[name] = value
    return json.dumps(response).encode()


def extended(content: bytes) -> bytes:
    """A response in which each object that has fields has one more."""
    return json.dumps(json.loads(content or "{}", object_hook=lambda each: each and {**each, "beta": True})).encode()


def _owners(value: Any, way: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects that have the field at the end of the way, or could have it, and its name."""
    if isinstance(value, list):
        for item in value:
            yield from _owners(item, way)
    elif isinstance(value, dict):
        name, dot, rest = way.partition(".")
        if dot:
            yield from _owners(value.get(name), rest)
        else:
            yield value, name
