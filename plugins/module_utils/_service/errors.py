# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors of the collection: what failed, on what, and what to do. No message holds a secret."""

from __future__ import annotations

import dataclasses
import re
import typing as t

# Whether the service carried out a request that failed.
# not_done: certainly not.
# pending: not so far, so a retry is safe: the request was not sent, or a later list does not show its effect.
# unknown: perhaps.
# done: yes, but with another effect than requested.
Outcome = t.Literal["not_done", "pending", "unknown", "done"]

# The service can return 401 with the reason _NO_SCOPE to a valid token, and 403 with _NO_TOKEN to an invalid one.
_NO_SCOPE = "not authorized to use this endpoint"
_NO_TOKEN = re.compile(
    r"\b(invalid|unknown|expired) (\w+ )?token\b|\btoken (is |has )?(invalid|unknown|expired)\b", re.IGNORECASE
)


class MonitorError(Exception):
    """Base of all errors that a task reports; ``str(error)`` is the message for the user.

    ``details`` go into the result beside the message; they hold no secret.
    """

    details: dict[str, t.Any] = {}


class InputError(MonitorError):
    """A problem that the user has to resolve: in the options, in the account or on the host."""

    @classmethod
    def missing_option(cls, option: str, purpose: str = "") -> InputError:
        """The error for a connection option that is not set, with the ways to set it."""
        return cls(
            f"{option} is required{purpose and f' to {purpose}'}: set the option {option} (of the role: "
            f"monitor_agent_{option}), or the environment variable MONITOR_{option.upper()}."
        )


class TaskFailure(MonitorError):
    """The failure of a task that did some of its work; ``details`` describes that work."""

    def __init__(self, message: str, details: t.Mapping[str, t.Any]) -> None:
        self.details = dict(details)
        super().__init__(message)


@dataclasses.dataclass(eq=False, repr=False)
class ApiError(MonitorError):
    """The service, or the connection to it, failed to do what a request asked for."""

    problem: str
    # The HTTP status; None without a response.
    status: int | None = None
    # The errors in the response, each ``{"field": str | None, "reason": str}``.
    errors: t.Sequence[t.Mapping[str, t.Any]] = ()
    hint: str = ""
    outcome: Outcome = "not_done"
    # Whether the request may be retried, and how many seconds the service asks to wait.
    retryable: bool = False
    wait: float | None = None
    # The scopes of the token, and the scopes that the operation accepts; empty if the service does not report them.
    scopes: str = ""
    accepted_scopes: str = ""
    # Set by Api: the request, and its purpose, such as ``create client 'web1'``.
    method: str = ""
    url: str = ""
    purpose: str = ""

    def names_field(self, field: str) -> bool:
        """Whether one of the service's errors is about this field."""
        return any(error.get("field") == field for error in self.errors)

    def __str__(self) -> str:
        start = f"Could not {self.purpose}: " if self.purpose else ""
        unknown = "The service may have made the change: run again to find out." if self.outcome == "unknown" else ""
        return " ".join([f"{start}{self.problem} ({self.method} {self.url}).", *filter(None, [self.hint, unknown])])

    @property
    def is_missing(self) -> bool:
        """Whether the object does not exist: only the service, not a gateway, reports errors with a 404."""
        return self.status in (404, 410) and bool(self.errors)

    @property
    def rejects_token(self) -> bool:
        """Whether the service gives an invalid token as the reason."""
        return bool(_NO_TOKEN.search(self.problem))

    @property
    def lacks_access(self) -> bool:
        """Whether a valid token does not allow the operation: the token has scopes, or the service gives that reason.

        The service explains each 403. A 403 without a reason comes from another server.
        """
        by_reason = {401: _NO_SCOPE in self.problem, 403: bool(self.errors) and not self.rejects_token}
        return by_reason.get(self.status or 0, False) or (self.status in by_reason and bool(self.scopes))


class OtherObject(ApiError):
    """A response about another object than requested: the caller must make no more changes."""
