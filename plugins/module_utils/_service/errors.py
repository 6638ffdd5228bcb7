# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors of the collection: what failed, on what, and what to do. No message holds a secret."""

from __future__ import annotations

import dataclasses
import re
import typing as t

# The state of a request that failed.
# not_done: the service certainly did not do it.
# pending: not done so far, and safe to send again: it was not sent, or a later list does not show its effect.
# unknown: the service may have done it.
# done: it was done, with another effect than requested.
Outcome = t.Literal["not_done", "pending", "unknown", "done"]

# Part of the reason in a response 401 to a valid token, and in a response 403 to one that is not valid.
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
    def of_missing(cls, option: str, purpose: str = "") -> InputError:
        """The error for a connection option that is not set, with the ways to set it."""
        return cls(
            f"{option} is required{purpose and f' to {purpose}'}: set the option {option} (of the role: "
            f"monitor_agent_{option}), or the environment variable MONITOR_{option.upper()}."
        )


class TaskFailure(MonitorError):
    """A task that did some of its work, with the details of that."""

    def __init__(self, message: str, details: t.Mapping[str, t.Any]) -> None:
        self.details = dict(details)
        super().__init__(message)


@dataclasses.dataclass(eq=False, repr=False)
class ApiError(MonitorError):
    """The service, or the connection to it, failed to do what a request asked for."""

    problem: str
    # None if there was no response.
    status: int | None = None
    # The errors in the response, each ``{"field": str | None, "reason": str}``.
    errors: t.Sequence[t.Mapping[str, t.Any]] = ()
    hint: str = ""
    outcome: Outcome = "not_done"
    # Whether the same request may be sent again, and after how many seconds at the least.
    retryable: bool = False
    wait: float | None = None
    # The scopes of the token, and those that the operation accepts, as far as the service reports them.
    scopes: str = ""
    accepted_scopes: str = ""
    # The request, and what it is for: ``create client 'web1'``. Set by Api.
    method: str = ""
    url: str = ""
    purpose: str = ""

    def names_field(self, field: str) -> bool:
        """Whether one of the service's errors is about this field."""
        return any(error.get("field") == field for error in self.errors)

    def __str__(self) -> str:
        start = f"Could not {self.purpose}: " if self.purpose else ""
        unknown = "The service may have done it: run again to find out." if self.outcome == "unknown" else ""
        return " ".join([f"{start}{self.problem} ({self.method} {self.url}).", *filter(None, [self.hint, unknown])])

    @property
    def is_missing(self) -> bool:
        """Whether the object does not exist: so the service says, with errors, and not a gateway before it."""
        return self.status in (404, 410) and bool(self.errors)

    @property
    def rejects_token(self) -> bool:
        """Whether the reason is that the token is not valid."""
        return bool(_NO_TOKEN.search(self.problem))

    @property
    def lacks_access(self) -> bool:
        """Whether the token is valid, but does not allow this. No invalid token has scopes.

        The service gives a reason for each 403, and a 403 without one is another server's.
        """
        by_reason = {401: _NO_SCOPE in self.problem, 403: bool(self.errors) and not self.rejects_token}
        return by_reason.get(self.status or 0, False) or (self.status in by_reason and bool(self.scopes))


class OtherObject(ApiError):
    """A response about another object than the request: the caller changes nothing more."""
