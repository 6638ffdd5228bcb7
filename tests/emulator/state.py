# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of the emulator, and tokens with scopes and grants."""

import secrets
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .faults import Fault
from .settings import Settings
from .store import Store

LogEntry = dict[str, Any]
READ_ONLY = "monitor:read_only"
READ_WRITE = "monitor:read_write"


@dataclass(frozen=True)
class Token:
    """Scopes and grants contain `monitor` in place of the brand."""

    name: str
    scopes: Collection[str] = (READ_WRITE,)
    grants: Mapping[str, Any] = field(default_factory=dict)
    value: str = field(default_factory=partial(secrets.token_hex, 32))

    def has_scope(self, scope: str) -> bool:
        """Return whether the token has the scope. READ_WRITE includes READ_ONLY."""
        return scope in self.scopes or (scope == READ_ONLY and READ_WRITE in self.scopes)

    def has_grant(self, alternatives: Iterable[Mapping[str, Any]]) -> bool:
        return any(self.grants.get(name) == value for grant in alternatives for name, value in grant.items())

    @property
    def reads_only(self) -> bool:
        return READ_WRITE not in self.scopes


def default_tokens(value: str | None = None) -> dict[str, Token]:
    """Return tokens by name. ``value`` replaces the random value of the token `read_write`."""
    granted: dict[str, Any] = {"account_access": "read_write", "monitor_subscription": True, "add_monitor": True}
    tokens = [
        Token("read_write", grants=granted, **({"value": value} if value else {})),
        Token("read_only", [READ_ONLY], {"account_access": "read_only"}),
        Token("no_plan"),
    ]
    return {token.name: token for token in tokens}


class State:
    """The account, settings, tokens, faults and request log. `reset` restores the first settings and tokens."""

    # A function that closes the connection from `address:port`. The server sets the function.
    close_connection: Callable[[str], None]

    def __init__(self, store: Store, settings: Settings, tokens: Mapping[str, Token]) -> None:
        self.store = store
        self._first = (settings, tokens)
        self.resets = 0
        self._begin()

    def _begin(self) -> None:
        self.settings, tokens = self._first
        self.tokens = dict(tokens)
        self.faults: list[Fault] = []
        self.log: list[LogEntry] = []
        # By host: the label of the client whose codes the host sent.
        self.reports: dict[str, str | None] = {}
        # By token and operation: the times (monotonic seconds) after which calls do not count for the rate limit.
        self.hits: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)
        # By id of a client: the number of reads of the list since the client was created.
        self.reads_of: Counter[int] = Counter()

    def reset(self) -> None:
        self.store.reset()
        self.resets += 1
        self._begin()

    def token(self, value: str) -> Token | None:
        return next((token for token in self.tokens.values() if token.value == value), None)
