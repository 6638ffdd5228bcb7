# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole state of the emulator, and tokens, with their scopes and the grants of their users."""

import secrets
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .faults import Fault
from .settings import Settings
from .store import Store

LogEntry = dict[str, Any]
READ_ONLY = "monitor:read_only"
READ_WRITE = "monitor:read_write"


@dataclass(frozen=True)
class Token:
    """A token, whom it belongs to, and what it allows.

    `value` is what the caller sends. Scopes and grants have the names of the brand `monitor`.
    """

    name: str
    value: str
    scopes: frozenset[str]
    grants: Mapping[str, Any]

    def has_scope(self, scope: str) -> bool:
        """Whether the token allows this. Who may write may read."""
        return scope in self.scopes or (scope == READ_ONLY and READ_WRITE in self.scopes)

    def has_grant(self, alternatives: Iterable[Mapping[str, Any]]) -> bool:
        return any(self.grants.get(name) == value for grant in alternatives for name, value in grant.items())

    @property
    def reads_only(self) -> bool:
        return READ_WRITE not in self.scopes


def new_token(
    name: str,
    scopes: Iterable[str] = (READ_WRITE,),
    grants: Mapping[str, Any] | None = None,
    value: str | None = None,
) -> Token:
    """A token, by default with a random value."""
    return Token(name, value or secrets.token_hex(32), frozenset(scopes), grants or {})


def default_tokens(value: str | None = None) -> dict[str, Token]:
    """Tokens by name: one with all rights, which has this value, one that only reads, and one without the plan."""
    granted: dict[str, Any] = {"account_access": "read_write", "monitor_subscription": True, "add_monitor": True}
    tokens = [
        new_token("read_write", grants=granted, value=value),
        new_token("read_only", [READ_ONLY], {"account_access": "read_only"}),
        new_token("no_plan"),
    ]
    return {token.name: token for token in tokens}


class State:
    """A reset goes back to the first settings and tokens. `close_connection` is the server's."""

    close_connection: Callable[[str, bool], None]

    def __init__(self, store: Store, settings: Settings, tokens: Mapping[str, Token]) -> None:
        self.store, self._first = store, (settings, tokens)
        self.resets = 0
        self._begin()

    def _begin(self) -> None:
        self.settings, tokens = self._first
        self.tokens = dict(tokens)
        self.faults: list[Fault] = []
        self.log: list[LogEntry] = []
        # The client by host.
        self.reports: dict[str, str | None] = {}
        # Until when calls count for the rate limit, in monotonic seconds, by token and operation.
        self.hits: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)
        self.reads_of: Counter[int] = Counter()

    def reset(self) -> None:
        self.store.reset()
        self.resets += 1
        self._begin()

    def token(self, value: str) -> Token | None:
        return next((token for token in self.tokens.values() if token.value == value), None)
