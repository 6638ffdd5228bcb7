# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out changes on the account: what :mod:`_reconcile` decided, done by :mod:`_api`, several at a time."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading
import time
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError
from ansible_collections.monitor.cloud.plugins.module_utils._http import backoffs, repeated_in_vain
from ansible_collections.monitor.cloud.plugins.module_utils._reconcile import (
    Change,
    absent,
    check_capacity,
    keep,
)

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.monitor.cloud.plugins.module_utils._api import Api
    from ansible_collections.monitor.cloud.plugins.module_utils._keys import Client


_FEW = 3


@dataclasses.dataclass(frozen=True)
class Done:
    """A change and what became of it: the client that is there now (``{}`` for none), or the error that stopped it.

    ``change`` is not the one asked for where somebody else was faster: then there was nothing left to do. Of a client
    that got another label before it could be deleted, it is :func:`absent`, and ``client`` is that client.
    """

    change: Change
    client: Client
    error: ApiError | None = None
    tried: bool = True


def ensure_capacity(api: Api, changes: Sequence[Change], existing: int) -> list[str]:
    """Raise InputError where the paid plan has no room for what is to be created; return warnings.

    The plan is read only where something is to be created. Without the grant to read it (section 4.2) the check is
    left to the service.
    """
    if not any(change.action == "create" for change in changes):
        return []
    try:
        plan = api.get_plan()
    except ApiError as error:
        if error.status not in (401, 403):
            raise
        return [f"Whether the plan has room for the new clients was not checked. {error}"]
    check_capacity(changes, existing, plan)
    return []


def carry_out(
    api: Api,
    changes: Sequence[Change],
    *,
    check_mode: bool,
    concurrency: int = 1,
    retry_timeout: float,
    on_done: t.Callable[[], None] = lambda: None,
    look_again: bool = True,
) -> list[Done]:
    """Do the changes, in check mode only say what would become of them; the answers are in the order of the changes.

    Renames come first, then creates, then deletes, each kind ``concurrency`` at a time. ``on_done`` is called for each
    change that is done, by whatever thread did it. With ``look_again`` each client is looked at once more right before
    it is deleted.

    An error of one label does not stop the others; one that would meet every label alike leaves the rest untried.
    """
    done: dict[int, Done] = {number: Done(change, change.after) for number, change in enumerate(changes)}
    if check_mode:
        return list(done.values())
    for action in ("rename", "create", "delete"):
        numbers = [number for number, change in enumerate(changes) if change.action == action]
        todo = [changes[number] for number in numbers]
        if action == "create":
            results = _create_all(api, todo, concurrency, retry_timeout, on_done)
        else:
            results = _each(api, todo, concurrency, on_done, look_again)
        done.update(zip(numbers, results))
    return [done[number] for number in range(len(changes))]


class _Stopper:
    """Tells when to leave the rest untried: once it is plain that every label meets the same error.

    Where the service can't be reached or lets nobody in, one error is enough. Others may be bad luck, or about a label
    that a gateway does not like without saying so; as many in a row as there are workers, and a few at least, are not.
    """

    def __init__(self, workers: int) -> None:
        self.error: ApiError | None = None
        self._patience = max(workers, _FEW)
        self._in_a_row = 0
        self._lock = threading.Lock()

    def note(self, error: ApiError | None) -> None:
        with self._lock:
            if error is None or error.concerns_one_label:
                self._in_a_row = 0
                return
            self._in_a_row += 1
            if error.concerns_all_labels or self._in_a_row >= self._patience:
                self.error = self.error or error


def _each(
    api: Api, changes: Sequence[Change], concurrency: int, on_done: t.Callable[[], None], look_again: bool = True
) -> list[Done]:
    stopper = _Stopper(concurrency)

    def one(change: Change) -> Done:
        if stopper.error is not None:
            return Done(change, change.before, _untried(change, stopper.error), tried=False)
        try:
            done = _apply(api, change, look_again)
        except ApiError as error:
            stopper.note(error)
            return Done(change, change.before, error)
        stopper.note(None)
        on_done()
        return done

    if len(changes) < 2:
        return [one(change) for change in changes]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(concurrency, len(changes))) as pool:
        try:
            return list(pool.map(one, changes))
        except KeyboardInterrupt:
            # The pool waits for its threads, so those that wait for their turn have to give up.
            api.interrupt()
            raise


def _apply(api: Api, change: Change, look_again: bool) -> Done:
    if change.action == "create":
        return Done(change, api.create_client(change.label))
    if change.action == "rename":
        return Done(change, api.rename_client(change.before["id"], change.label))
    now = _now(api, change) if look_again else change.before
    if now is not None and now["label"] != change.label:
        return Done(absent(change.label), now)
    if now is not None:
        api.delete_client(now["id"], change.label)
    return Done(change, {})


def _now(api: Api, change: Change) -> Client | None:
    """The client that is to be deleted as it is by now: the list may have been read long ago, or while it moved."""
    try:
        return api.get_client(change.before["id"])
    except ApiError as error:
        error.intent = f"make sure that {change.label!r} still is the client to delete"
        raise


def spared(done: Sequence[Done]) -> list[str]:
    """Warnings of clients that were to be deleted, and got another label in time."""
    return [
        f"Client {entry.client['id']} was not deleted: its label was {entry.change.label!r} when the list was read, "
        f"and is {entry.client['label']!r} now."
        for entry in done
        if entry.client and not entry.change.changed and not entry.change.after
    ]


def _untried(change: Change, cause: ApiError) -> ApiError:
    return ApiError(
        cause.problem,
        method=cause.method,
        path=cause.path,
        status=cause.status,
        hint=cause.hint,
        intent=f"{change.action} client {change.label!r} (not tried)",
        outcome_unknown=cause.outcome_unknown,
    )


def _create_all(
    api: Api, changes: Sequence[Change], concurrency: int, retry_timeout: float, on_done: t.Callable[[], None]
) -> list[Done]:
    """Create clients. Where it is not known whether one was created, or its label is taken, the list tells.

    Never two clients for one label: a create of unknown outcome is sent again only after a read without its label.
    Where it was only late, the next is told that the label is taken, and the client is this task's own all the
    same. Gives up after ``retry_timeout`` seconds in which nothing was created.
    """
    done: dict[str, Done] = {}
    todo = list(changes)
    unclear: set[str] = set()
    deadline = time.monotonic() + retry_timeout
    for pause in backoffs():
        done.update((entry.change.label, entry) for entry in _each(api, todo, concurrency, on_done))
        if any(done[change.label].error is None for change in todo):
            deadline = time.monotonic() + retry_timeout
        doubtful = [
            entry for entry in map(done.__getitem__, (change.label for change in todo)) if _is_doubtful(entry.error)
        ]
        if not any(entry.tried for entry in doubtful):
            break
        unclear.update(entry.change.label for entry in doubtful if entry.tried and _is_unclear(entry.error))
        resolved = _resolved(api, doubtful, unclear)
        for entry in resolved:
            done[entry.change.label] = entry
            if entry.error is None:
                on_done()
        todo = [change for change in todo if _is_unclear(done[change.label].error)]
        if not todo:
            break
        if time.monotonic() + pause > deadline:
            for change in todo:
                repeated_in_vain(t.cast("ApiError", done[change.label].error), retry_timeout)
            break
        api.pause_before_repeats(sum(done[change.label].tried for change in todo), pause)
    return [done[change.label] for change in changes]


def _is_unclear(error: ApiError | None) -> bool:
    return error is not None and error.outcome_unknown


def _is_doubtful(error: ApiError | None) -> bool:
    return error is not None and (error.outcome_unknown or error.status == 409 or error.names_field("label"))


def _resolved(api: Api, doubtful: Sequence[Done], unclear: t.Collection[str]) -> list[Done]:
    """What the list says of creates that failed: done all the same, done by somebody else, or not done."""
    try:
        there = api.find_clients([entry.change.label for entry in doubtful])
    except ApiError as failure:
        return [dataclasses.replace(entry, error=_unresolved(entry, failure)) for entry in doubtful]
    resolved = []
    for entry in doubtful:
        client = there.get(entry.change.label)
        error = t.cast("ApiError", entry.error)
        if client is None:
            # A refusal stands; what was not done may be tried again. Only what got no answer may still come.
            error.may_be_done = error.may_be_done and error.status is None
            resolved.append(entry)
        else:
            resolved.append(Done(entry.change if entry.change.label in unclear else keep(client), client))
    return resolved


def _unresolved(entry: Done, failure: ApiError) -> ApiError:
    return ApiError(
        failure.problem,
        method=failure.method,
        path=failure.path,
        status=failure.status,
        intent=f"find out whether client {entry.change.label!r} was created",
        hint="Run again to find out: nothing is created twice.",
    )
