# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clients and the plan of the only account of the emulator, in memory.

Nothing here knows the API: rows go in and come out as plain dicts, with the true keys.
"""

import secrets
from datetime import datetime, timezone
from typing import Any

Row = dict[str, Any]


class LabelTaken(ValueError):
    """Another client has this label."""


class Store:
    """`plan` is the number of clients that the plan includes, None for the free plan."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.plan: int | None = None
        self.next_id = 1
        self._clients: dict[int, Row] = {}
        self._deleted: list[Row] = []

    def count(self) -> int:
        return len(self._clients)

    def all(self, *, deleted: bool = False) -> list[Row]:
        """Clients in the order in which they were made, after those that were deleted."""
        return [dict(row) for row in [*(self._deleted if deleted else ()), *self._clients.values()]]

    def get(self, client_id: int) -> Row | None:
        row = self._clients.get(client_id)
        return dict(row) if row else None

    def create(self, values: Row) -> Row:
        """A new client with new keys. The label is among the values."""
        self._check_label(values["label"], self.next_id)
        keys = {"api_key": _new_key(), "install_code": _new_key()}
        row = {"id": self.next_id, "label": values["label"], **keys, "created": _now(), "updated": _now(), **values}
        self._clients[self.next_id] = row
        self.next_id += 1
        return dict(row)

    def update(self, client_id: int, values: Row) -> None:
        """Give a client values, all that callers can set. Does nothing if there is no such client."""
        self._check_label(values["label"], client_id)
        if client_id in self._clients:
            self._clients[client_id].update(values, updated=_now())

    def delete(self, client_id: int) -> None:
        """Forget a client. Its id is not used again."""
        if row := self._clients.pop(client_id, None):
            self._deleted.append(row)

    def _check_label(self, label: str, client_id: int) -> None:
        # Half a surrogate pair is valid JSON, but not text: this raises UnicodeError.
        label.encode()
        if any(row["label"] == label and row["id"] != client_id for row in self._clients.values()):
            raise LabelTaken(label)


def _new_key() -> str:
    digits = secrets.token_hex(16).upper()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:]}"


def _now() -> str:
    """The time in the shape of section 2.1."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
