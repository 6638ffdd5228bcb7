# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that carry out a list of changes in the account, with several concurrent requests."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import re
import threading
import time
import typing as t
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients import plan as plans
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Change, absent, keep
from ansible_collections.monitor.cloud.plugins.module_utils._clients.masks import mask_reason, secrets_of
from ansible_collections.monitor.cloud.plugins.module_utils._clients.views import Views
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import (
    ApiError,
    MonitorError,
    Outcome,
    WrongObjectError,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import SUBSCRIPTION, Client
from ansible_collections.monitor.cloud.plugins.module_utils._service.transport import Http

# If at least three changes fail in a row, the failures probably have one cause: skip the other changes.
_LEAST_IN_A_ROW = 3
# A user can have access to a few of the clients. But each read counts towards the rate limit, often 200 a minute.
_MOST_WITHOUT_KEYS = 20
# Some services show clients only in lists, and respond with these statuses to a request for one client.
_NOT_READABLE = (403, 404, 405, 501)
# If another client has the label, the error of the service contains one of these words.
_TAKEN = re.compile(r"uniq|taken|exists|duplicate|in use|conflict|already", re.IGNORECASE)
_NOT_LISTED = "Another client, which this token cannot read, has the label. Use a token that can read all clients."
_ALIKE = "The account has a client {!r}, and the service treats both labels as equal. Use this label, or another label."


@dataclasses.dataclass(frozen=True)
class ChangeResult:
    """A change with its result: the client that exists after the change, or the error that stopped the change.

    If another controller made the requested change first, ``change`` has the action ``none``. ``tried`` is True if this
    task sent a request for the change.
    """

    change: Change
    client: Client
    error: MonitorError | None = None
    tried: bool = True

    @property
    def renamed_meanwhile(self) -> bool:
        """Whether another controller renamed the client, so that this task did not delete the client."""
        return bool(self.client) and not self.change.changed and not self.change.after


def _read_by_id(api: Api, client: Client) -> Client:
    """Read a client of the list again by its id. Return ``{}`` if the client was deleted.

    If the service shows clients only in lists, return the client from the list.
    """
    try:
        by_id = api.get_client(client["id"])
    except ApiError as error:
        if error.status in _NOT_READABLE:
            return client
        raise
    return by_id or {}


def without_deleted(api: Api, current: Sequence[Client], labels: t.Collection[str]) -> list[Client]:
    """Read each client whose label is in ``labels`` again by its id, and return the list without deleted clients."""
    to_verify = [client for client in current if client["label"] in labels]
    read = api.http.each(functools.partial(_read_by_id, api), to_verify)
    deleted = {client["id"] for client, by_id in zip(to_verify, read) if not by_id}
    return [client for client in current if client["id"] not in deleted]


def ensure_capacity(
    api: Api, changes: Sequence[Change], existing: int, *, check_mode: bool = False, advice: str = ""
) -> tuple[list[str], str]:
    """Raise InputError if the paid plan is too small for the clients to create. Return warnings, and the cost as text.

    ``existing`` is the number of clients in the account. Clients to delete do not count, because :func:`carry_out`
    deletes clients before it creates clients. If the plan cannot be read, return a warning that ends with ``advice``.
    Return the cost only in check mode.
    """
    actions = [change.action for change in changes]
    if "create" not in actions:
        return [], ""
    try:
        plan = api.get_plan()
    except ApiError as error:
        warning = f"Could not check whether the plan is large enough for the new clients. {error} {advice}"
        return [warning.strip()], ""
    used = existing - actions.count("delete")
    new = actions.count("create")
    use = plans.use_of_plan(used, new, plan, [])
    if plans.is_too_small(use) or (check_mode and not plan):
        # The list of tiers only adds a hint to a message, so ignore an error of this request.
        with contextlib.suppress(MonitorError):
            use = plans.use_of_plan(used, new, plan, api.find(SUBSCRIPTION))
    plans.check_capacity(use)
    if check_mode:
        return [], plans.cost(use)
    return [], ""


def carry_out(api: Api, changes: Sequence[Change], *, check_mode: bool) -> list[ChangeResult]:
    """Make changes, and return a result for each change in the same order. In check mode, only predict the results.

    Rename clients first. Delete clients before you create clients, because the plan limits the number of clients. If a
    change fails, continue with the other changes, unless all other changes would fail with the same error.
    """
    done = [ChangeResult(change, change.after, change.problem) for change in changes]
    if check_mode:
        return done
    worker = _Worker(api)
    api.total = sum(change.changed for change in changes)
    for action in ("rename", "delete", "create"):
        numbers = [number for number, change in enumerate(changes) if change.action == action]
        todo = [changes[number] for number in numbers]
        results = _create_all(worker, todo) if action == "create" else worker.start(todo)
        for number, result in zip(numbers, results):
            done[number] = result
    return done


@dataclasses.dataclass
class _Worker:
    """Make changes in several threads. Skip the remaining changes if each change would fail with the same error.

    The threads stop after one error if the service cannot be reached, refuses the token or returns 429. After other
    errors, the threads stop if N changes fail in a row. N is the number of threads, but at least three.
    """

    api: Api
    cause: ApiError | None = None
    in_a_row: int = 0
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def start(self, changes: Sequence[Change]) -> list[ChangeResult]:
        """Make changes of one kind. Ignore errors of earlier kinds of changes, except a WrongObjectError."""
        self.in_a_row = 0
        if not isinstance(self.cause, WrongObjectError):
            self.cause = None
        return self.api.http.each(self._make, changes)

    def _make(self, change: Change) -> ChangeResult:
        if self.cause is not None:
            return _not_tried(change, self.cause)
        try:
            done = self._send(change)
        except ApiError as error:
            with self.lock:
                self._record(change, error)
            return ChangeResult(change, change.before, error)
        with self.lock:
            self.in_a_row = 0
            self.api.done += 1
        return done

    def _send(self, change: Change) -> ChangeResult:
        if change.action == "create":
            return ChangeResult(change, self.api.create_client(change.label))
        if change.action == "rename":
            return ChangeResult(change, self.api.rename_client(change.before, change.label))
        return self._delete(change)

    def _delete(self, change: Change) -> ChangeResult:
        """Read the client again. Delete the client only if the client still has the label from the list."""
        before = change.before
        # Send the delete request even if the read returns no client, because a replica of the service can be late.
        client = self.api.get_client(before["id"], labelled=before["label"] is not None) or before
        if client["label"] != before["label"]:
            return ChangeResult(absent(change.label), client)
        self.api.delete_client(before["id"], change.label)
        return ChangeResult(change, {})

    def _record(self, change: Change, error: ApiError) -> None:
        # An error with the status 404 or 409, or an error about the label, concerns only one client.
        if error.status in (404, 409) or error.names_field("label"):
            self.in_a_row = 0
            return
        self.in_a_row += 1
        if isinstance(error, WrongObjectError) or (self.cause is None and self._concerns_all_changes(change, error)):
            self.cause = error

    def _concerns_all_changes(self, change: Change, error: ApiError) -> bool:
        """Whether other changes would fail with the same error."""
        if self.in_a_row >= max(self.api.http.settings.concurrency, _LEAST_IN_A_ROW):
            return True
        # The class Http already retried after these errors, except create requests with an unknown outcome.
        was_retried = change.action != "create" or error.outcome != "unknown"
        return was_retried and error.status in (None, 401, 429)


def _not_tried(change: Change, cause: ApiError) -> ChangeResult:
    outcome: Outcome = "pending" if cause.outcome == "unknown" else "not_done"
    error = dataclasses.replace(cause, purpose=f"{change.action} client {change.label!r} (not tried)", outcome=outcome)
    return ChangeResult(change, change.before, error, tried=False)


def views_of(
    api: Api, known: Sequence[Client], clients: Sequence[Client], *, include_keys: bool
) -> tuple[Views, list[Client]]:
    """Return :class:`Views` of ``clients``, and ``clients`` with all keys that the service does not mask.

    ``known`` are all clients of the account. Some services mask keys only in lists, so with ``include_keys`` read each
    client with masked keys by its id.
    """
    views = Views(known, clients, include_keys=include_keys)
    if not include_keys:
        return views, list(clients)
    todo = [client for client in clients if _may_have_more_keys(client, views)]
    if not todo:
        return views, list(clients)
    shown = api.http.each(_KeyReader(api).read, todo)
    by_id = {client["id"]: client for client in shown}
    clients = [by_id.get(client.get("id"), client) for client in clients]
    return Views(known, clients, include_keys=include_keys), clients


def _may_have_more_keys(client: Client, views: Views) -> bool:
    """Whether a read of the client by its id can return keys that the list does not have."""
    if client.get("id") is None:
        return False
    return client.get("install_code") is None or client["id"] in views.masked


@dataclasses.dataclass
class _KeyReader:
    """Read the keys of clients by id, in several threads.

    The access to keys can differ from client to client. But if ``_MOST_WITHOUT_KEYS`` reads in a row return no new
    keys, the token probably cannot read any keys, or the service has no install codes: read no more clients.
    """

    api: Api
    without_keys: int = 0
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def read(self, client: Client) -> Client:
        """Return the client with its keys. If the service masks the keys of this client, return the same client."""
        if self.without_keys >= _MOST_WITHOUT_KEYS:
            return client
        by_id = _read_by_id(self.api, client)
        shown = dict(client)
        if not mask_reason(by_id):
            shown.update(secrets_of(by_id))
        with self.lock:
            if shown == client:
                self.without_keys += 1
            else:
                self.without_keys = 0
        return shown


def not_deleted(done: Sequence[ChangeResult]) -> list[str]:
    """Return a warning for each client that was not deleted because another controller had renamed the client."""
    return [
        f"Client {entry.client['id']} was not deleted, because it was renamed: its label was {entry.change.label!r} "
        f"when the list was read, and is {entry.client['label']!r} now."
        for entry in done
        if entry.renamed_meanwhile
    ]


def _create_all(worker: _Worker, changes: Sequence[Change]) -> list[ChangeResult]:
    """Create clients. After an unknown outcome, or an error about the label, read the list of clients.

    Never create two clients with the same label: after an unknown outcome, retry the request only if no client in the
    list has the label. If the service refuses the retry because the label exists, the first request created the client.
    Retry until the list contains the client, at most for ``retry_timeout`` seconds.
    """
    creation = _Creation(worker)
    todo = list(changes)
    for attempt in itertools.count():
        failed = creation.attempt(todo)
        if not _waited(worker.api.http, failed, attempt, creation.began):
            break
        todo = [entry.change for entry in failed]
    return [creation.done[change.label] for change in changes]


@dataclasses.dataclass
class _Creation:
    """The state of create requests with retries.

    ``done``: the last result by label. ``unknown``: labels of clients that a request may have created. ``began``: the
    time of the last success, when the limit for retries begins.
    """

    worker: _Worker
    done: dict[str, ChangeResult] = dataclasses.field(default_factory=dict)
    unknown: set[str] = dataclasses.field(default_factory=set)
    began: float = dataclasses.field(default_factory=time.monotonic)

    def attempt(self, changes: Sequence[Change]) -> list[ChangeResult]:
        """Send create requests, and find out unknown outcomes. Return the results that a retry can change."""
        results = self.worker.start(changes)
        self._add(results)
        if any(entry.error is None for entry in results):
            self.began = time.monotonic()
        ambiguous = [entry for entry in results if _is_ambiguous(entry.error)]
        if not any(entry.tried for entry in ambiguous):
            return []
        self.unknown.update(entry.change.label for entry in ambiguous if _error(entry).outcome == "unknown")
        resolved = _resolved(self.worker.api, ambiguous, self.unknown)
        self._add(resolved)
        self.worker.api.done += sum(entry.error is None for entry in resolved)
        return [entry for entry in map(self._result, changes) if self._may_succeed_later(entry)]

    def _add(self, results: Sequence[ChangeResult]) -> None:
        self.done.update((entry.change.label, entry) for entry in results)

    def _result(self, change: Change) -> ChangeResult:
        return self.done[change.label]

    def _may_succeed_later(self, entry: ChangeResult) -> bool:
        error = entry.error
        if not isinstance(error, ApiError) or error.lasting:
            return False
        if error.outcome in ("unknown", "pending"):
            return True
        # An earlier request may have created the client, and the list does not show the client yet.
        return entry.change.label in self.unknown and _is_taken(error)


def _waited(http: Http, failed: Sequence[ChangeResult], attempt: int, began: float) -> bool:
    """Wait before the retry of failed requests. Return False if there is no request to retry, or no time left."""
    errors = [_error(entry) for entry in failed]
    if not errors:
        return False
    longest = max(errors, key=lambda error: error.wait or 0)
    retries = sum(entry.tried for entry in failed)
    try:
        http.pause(longest, attempt, began, http.settings.retry_timeout, retries)
    except ApiError:
        for error in errors:
            error.hint = longest.hint
        return False
    return True


def _error(entry: ChangeResult) -> ApiError:
    return t.cast("ApiError", entry.error)


def _is_ambiguous(error: MonitorError | None) -> bool:
    if not isinstance(error, ApiError):
        return False
    return error.outcome in ("unknown", "pending") or error.status == 409 or error.names_field("label")


def _is_taken(error: ApiError) -> bool:
    """Whether the error reports that another client has the label."""
    reasons = [item["reason"] for item in error.errors if item["field"] == "label"]
    return error.status == 409 or any(map(_TAKEN.search, reasons))


def _bare(label: str) -> str:
    """Return a label in lower case without white space: some services ignore case and white space in labels."""
    return "".join(label.split()).casefold()


def _resolved(api: Api, ambiguous: Sequence[ChangeResult], unknown: t.Collection[str]) -> list[ChangeResult]:
    """Read the list of clients to find the outcome of failed create requests, and return a result for each request."""
    try:
        existing = api.find_clients([entry.change.label for entry in ambiguous])
    except ApiError as failure:
        return [_unresolved(entry, failure) for entry in ambiguous]
    resolved = []
    for entry in ambiguous:
        client = existing.get(entry.change.label)
        if client is None:
            _explain_missing(entry, existing)
            resolved.append(entry)
        elif entry.change.label in unknown:
            resolved.append(ChangeResult(entry.change, client))
        else:
            resolved.append(ChangeResult(keep(client), client))
    return resolved


def _unresolved(entry: ChangeResult, failure: ApiError) -> ChangeResult:
    """Return the result of a create request if the list of clients cannot be read."""
    purpose = f"find out whether client {entry.change.label!r} was created"
    error = dataclasses.replace(failure, purpose=purpose, hint="Run again: the next run creates no duplicates.")
    return dataclasses.replace(entry, error=error)


def _explain_missing(entry: ChangeResult, existing: t.Collection[str]) -> None:
    """Add to the error of a create request what the list of clients shows. The list does not contain the client."""
    error = _error(entry)
    label = entry.change.label
    if error.lasting and error.outcome == "unknown":
        error.hint = f"The list of clients does not contain {label!r}. {error.hint}".strip()
    elif error.outcome == "unknown" and error.status is not None:
        # Without a response, the create request can reach the service later, so the outcome stays unknown.
        error.outcome = "pending"
    if _is_taken(error):
        alike = [other for other in existing if _bare(other) == _bare(label)]
        error.hint = _ALIKE.format(alike[0]) if alike else _NOT_LISTED
