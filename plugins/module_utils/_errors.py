# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors of the collection: what happened, to what, and what to do next. No message carries a secret."""

from __future__ import annotations

import typing as t


class MonitorError(Exception):
    """Base of all errors that a task reports; ``str(error)`` is the message for the user."""


class InputError(MonitorError):
    """What the task asks for cannot be done; raised before the first write."""


class TaskFailure(MonitorError):
    """A task that did some of its work. ``details`` go into the result beside the message; they hold no secret."""

    def __init__(self, message: str, details: t.Mapping[str, t.Any]) -> None:
        self.details = dict(details)
        super().__init__(message)


class ApiError(MonitorError):
    """The service, or the way to it, did not do what a request asked for (section 7 of the API document).

    ``intent`` is what was attempted, in words (``create client 'web1'``). ``status`` is the HTTP status, None where no
    answer came. ``errors`` are the service's own, each ``{"field": str | None, "reason": str}``. ``outcome_unknown``
    tells that the service may have done the work all the same, and that it is up to the caller to find out;
    ``may_be_done`` says so to the user.
    """

    def __init__(
        self,
        problem: str,
        *,
        method: str,
        path: str,
        status: int | None = None,
        errors: t.Sequence[t.Mapping[str, t.Any]] = (),
        hint: str = "",
        intent: str = "",
        outcome_unknown: bool = False,
        may_be_done: bool = False,
    ) -> None:
        self.problem = problem
        self.method = method
        self.path = path
        self.status = status
        self.errors = list(errors)
        self.hint = hint
        self.intent = intent
        self.outcome_unknown = outcome_unknown
        self.may_be_done = may_be_done
        super().__init__(problem)

    def names_field(self, field: str) -> bool:
        """Whether one of the service's errors is about this field."""
        return any(error.get("field") == field for error in self.errors)

    def __str__(self) -> str:
        start = f"Could not {self.intent}: " if self.intent else ""
        hints = [self.hint, "It may have been done all the same: run again to find out." if self.may_be_done else ""]
        return " ".join([f"{start}{self.problem} ({self.method} {self.path}).", *filter(None, hints)])

    @property
    def concerns_one_label(self) -> bool:
        """Whether the service refuses this label or client, and says so."""
        return self.status in (404, 409) or self.names_field("label")

    @property
    def concerns_all_labels(self) -> bool:
        """Whether the same request for another label is certain to meet the same fate."""
        return not self.outcome_unknown and self.status in (None, 401, 429)
