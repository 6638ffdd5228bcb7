# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tokens, their scopes and the grants of their users: sections 4.2 and 5 of `api.md`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

READ_ONLY = "monitor:read_only"
READ_WRITE = "monitor:read_write"


@dataclass(frozen=True)
class Token:
    """A token, whom it belongs to, and what it allows.

    `value` is what the caller sends. Scopes and grants are named neutrally, whatever the brand is.
    """

    name: str
    value: str
    scopes: frozenset[str] = frozenset({READ_WRITE})
    account_access: str | None = None
    monitor_subscription: bool = False
    add_monitor: bool = False
    read_only_ids: frozenset[int] = frozenset()

    def has_scope(self, scope: str) -> bool:
        """Whether the token allows this. Who may write may read."""
        return scope in self.scopes or (scope == READ_ONLY and READ_WRITE in self.scopes)

    def has_grant(self, alternatives: Iterable[Mapping[str, Any]]) -> bool:
        """Whether the user has one of the grants, each given as one grant's name and value."""
        return any(getattr(self, name) == value for grant in alternatives for name, value in grant.items())

    def reads_only(self, client_id: int) -> bool:
        """Whether the token has no more than read access to this client."""
        return READ_WRITE not in self.scopes or client_id in self.read_only_ids


def new_value() -> str:
    """A token that no other text can be mistaken for."""
    return secrets.token_hex(32)


def default_tokens() -> dict[str, Token]:
    """Tokens by name: all rights, read only, and one that may not touch the plan."""
    granted: dict[str, Any] = {"account_access": "read_write", "monitor_subscription": True, "add_monitor": True}
    tokens = [
        Token("read_write", new_value(), **granted),
        Token("read_only", new_value(), frozenset({READ_ONLY}), account_access="read_only"),
        Token("no_plan", new_value()),
    ]
    return {token.name: token for token in tokens}


def token_from(name: str, given: Mapping[str, Any]) -> Token:
    """A token from the fields of the control interface; what is not given is made or left at its default."""
    unknown = set(given) - {"token", "scopes", "grants", "read_only_ids"}
    if unknown:
        raise ValueError(f"A token has no {', '.join(sorted(unknown))}.")
    grants = given.get("grants", {})
    return Token(
        name,
        given.get("token") or new_value(),
        frozenset(given.get("scopes", [READ_WRITE])),
        grants.get("account_access"),
        bool(grants.get("monitor_subscription")),
        bool(grants.get("add_monitor")),
        frozenset(given.get("read_only_ids", [])),
    )
