# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole state of the emulator."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .faults import Fault
from .limits import Hits
from .settings import Settings
from .store import Store
from .tokens import Token, default_tokens

LogEntry = dict[str, Any]


CALLER: ContextVar[Token | None] = ContextVar("caller")
"""Who makes the call that is being processed; None if no token is needed."""
QUERY: ContextVar[Mapping[str, str]] = ContextVar("query")
"""Its query as it came."""


@dataclass
class State:
    """`baseline` is what a reset goes back to: the settings of the command line. `reports`: the client by host.

    `close_connection` is the server's.
    """

    store: Store
    baseline: Settings = field(default_factory=Settings)
    settings: Settings = field(default_factory=Settings)
    tokens: dict[str, Token] = field(default_factory=default_tokens)
    faults: list[Fault] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    reports: dict[str, str | None] = field(default_factory=dict)
    hits: Hits = field(default_factory=lambda: defaultdict(deque))
    reads_of: dict[int, int] = field(default_factory=dict)
    resets: int = 0
    close_connection: Callable[[str, bool], None] = field(init=False)
    first_tokens: dict[str, Token] = field(init=False)

    def __post_init__(self) -> None:
        self.first_tokens = dict(self.tokens)

    def reset(self) -> None:
        """An empty account on the free plan, the first settings and tokens, no faults, no request log, no reports."""
        self.store.reset()
        self.settings, self.tokens = self.baseline, dict(self.first_tokens)
        kept: tuple[Any, ...] = (self.faults, self.log, self.reports, self.hits, self.reads_of)
        for each in kept:
            each.clear()
        self.resets += 1

    def token(self, value: str) -> Token | None:
        """The token that the caller sent, if it is one of ours."""
        return next((token for token in self.tokens.values() if token.value == value), None)
