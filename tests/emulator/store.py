# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clients and the plan of the one account that the emulator has, in SQLite.

Nothing here knows the API: rows go in and come out as plain dicts, with the true keys.
"""

import json
import secrets
import sqlite3
from datetime import datetime, timezone
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS clients (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    label TEXT NOT NULL UNIQUE,
    api_key TEXT NOT NULL,
    install_code TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    -- Values of the other fields that callers set, as JSON.
    others TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS plan (clients_included INTEGER);
"""

# SQLite counts in 64 bits. An id beyond that is one that no client has, not an error.
_LARGEST_ID = 2**63 - 1

Row = dict[str, Any]


# Another client has this label.
LabelTaken = sqlite3.IntegrityError


class Store:
    """The account, in memory."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.row_factory = sqlite3.Row
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        self._database.close()

    def reset(self) -> None:
        """No clients, free plan, and ids that begin at 1 again."""
        self._database.executescript("DELETE FROM clients; DELETE FROM sqlite_sequence; DELETE FROM plan;")

    def count(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM clients").fetchone()[0])

    def all(self) -> list[Row]:
        """Clients in the order in which they were made."""
        return [_row(found) for found in self._database.execute("SELECT * FROM clients ORDER BY id")]

    def get(self, client_id: int) -> Row | None:
        """One client, None if there is none with this id."""
        if abs(client_id) > _LARGEST_ID:
            return None
        found = self._database.execute("SELECT * FROM clients WHERE id = ?", (client_id,)).fetchone()
        return _row(found) if found else None

    def next_id(self) -> int:
        row = self._database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'clients'").fetchone()
        return (row[0] if row else 0) + 1

    def create(self, values: Row, key_format: str) -> Row:
        """A new client with new keys. The label is among the values."""
        now = _now()
        keys = {"api_key": _new_key(key_format), "install_code": _new_key(key_format)}
        row = {**keys, "created": now, "updated": now, **_columns(values)}
        names = ", ".join(row)
        query = f"INSERT INTO clients ({names}) VALUES (:{names.replace(', ', ', :')})"
        client: Row | None = self.get(self._database.execute(query, row).lastrowid or 0)
        assert client
        return client

    def update(self, client_id: int, values: Row) -> None:
        """Give a client values, all that callers can set."""
        row = {**_columns(values), "updated": _now(), "id": client_id}
        query = "UPDATE clients SET label = :label, others = :others, updated = :updated WHERE id = :id"
        self._database.execute(query, row)

    def delete(self, client_id: int) -> None:
        """Forget a client. Its id is not used again."""
        self._database.execute("DELETE FROM clients WHERE id = ?", (client_id,))

    def plan(self) -> int | None:
        row = self._database.execute("SELECT clients_included FROM plan").fetchone()
        return row[0] if row else None

    def set_plan(self, clients_included: int | None) -> None:
        self._database.execute("DELETE FROM plan")
        self._database.execute("INSERT INTO plan VALUES (?)", (clients_included,))


def _columns(values: Row) -> Row:
    others = {name: value for name, value in values.items() if name != "label"}
    return {"label": values["label"], "others": json.dumps(others)}


def _row(found: sqlite3.Row) -> Row:
    row = dict(found)
    others: Row = json.loads(row.pop("others"))
    return row | others


def _new_key(key_format: str) -> str:
    if key_format == "plain_hex":
        return secrets.token_hex(20)
    digits = secrets.token_hex(16).upper()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:]}"


def _now() -> str:
    """The time in the shape of section 2.1."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
