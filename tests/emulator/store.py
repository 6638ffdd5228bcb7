# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clients and the plan of the account, in memory. Rows contain the keys."""

import secrets
from datetime import datetime, timezone
from typing import Any

Row = dict[str, Any]


class LabelTaken(ValueError):
    pass


class Store:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        # The number of clients that the plan includes; None is the free plan.
        self.plan: int | None = None
        self.next_id = 1
        self._clients: dict[int, Row] = {}
        self._deleted: list[Row] = []

    def count(self) -> int:
        return len(self._clients)

    def all(self, *, deleted: bool = False) -> list[Row]:
        """Return the deleted clients, if requested, then the clients in the order of their creation."""
        return [dict(row) for row in [*(self._deleted if deleted else ()), *self._clients.values()]]

    def get(self, client_id: int) -> Row | None:
        row = self._clients.get(client_id)
        return dict(row) if row else None

    def create(self, values: Row) -> Row:
        self._check_label(values["label"], self.next_id)
        keys = {"api_key": _new_key(), "install_code": _new_key()}
        row = {"id": self.next_id, "label": values["label"], **keys, "created": _now(), "updated": _now(), **values}
        self._clients[self.next_id] = row
        self.next_id += 1
        return dict(row)

    def update(self, client_id: int, values: Row) -> None:
        self._check_label(values["label"], client_id)
        if client_id in self._clients:
            self._clients[client_id].update(values, updated=_now())

    def delete(self, client_id: int) -> None:
        if row := self._clients.pop(client_id, None):
            self._deleted.append(row)

    def _check_label(self, label: str, client_id: int) -> None:
        # Raise UnicodeError if the label contains half a surrogate pair, which is valid JSON.
        label.encode()
        if any(row["label"] == label and row["id"] != client_id for row in self._clients.values()):
            raise LabelTaken(label)


def _new_key() -> str:
    digits = secrets.token_hex(16).upper()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:]}"


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
