# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to be done: changes computed from what is there and what is wanted. Pure.

Check mode, the diff and the real run all use the changes that these functions return, so they can't disagree.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import Client
from ansible_collections.monitor.cloud.plugins.module_utils._labels import check_label, check_labels
from ansible_collections.monitor.cloud.plugins.module_utils._patterns import compiled, matching

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Change:
    """One thing to do. ``action`` is none, create, rename, delete or switch; ``{}`` stands for "is not there".

    ``label`` names what it is about: of a client that is renamed, the new label; of a plan, the tier.
    """

    action: str
    label: str
    before: dict[str, t.Any]
    after: dict[str, t.Any]

    @property
    def changed(self) -> bool:
        return self.action != "none"


def foreseen_client(label: str) -> Client:
    """A client that is still to be created, as check mode shows it: everything that the service decides is null."""
    return {"id": None, "label": label, "apps": {}, "created": None, "updated": None}


def keep(client: Client) -> Change:
    return Change("none", client["label"], client, client)


def absent(label: str) -> Change:
    return Change("none", label, {}, {})


def create(label: str) -> Change:
    return Change("create", label, {}, foreseen_client(label))


def rename(client: Client, label: str) -> Change:
    return Change("rename", label, client, {**client, "label": label})


def delete(client: Client) -> Change:
    return Change("delete", client["label"], client, {})


def by_label(clients: Sequence[Client]) -> dict[str, Client]:
    return {client["label"]: client for client in clients}


def labelled_client(there: Mapping[str, Client], label: str, *, present: bool) -> Change:
    """Find, create or delete the client of a label; ``there`` holds the account's clients by label."""
    client = there.get(label)
    if client is None:
        return create(label) if present else absent(label)
    return keep(client) if present else delete(client)


def renamed_client(client: Client, label: str, current: Sequence[Client]) -> Change:
    """Give a client another label; InputError where another client has it."""
    other = by_label(current).get(label)
    if other is not None and other["id"] != client["id"]:
        raise InputError(
            f"Client {client['id']} ({client['label']!r}) can't get the label {label!r}: client {other['id']} has it. "
            "Labels are unique; rename or delete that one first."
        )
    return rename(client, label)


@dataclasses.dataclass(frozen=True)
class Fleet:
    """What a task wants of the account's clients. ``prune_pattern``, a regular expression, turns pruning on."""

    labels: Sequence[str]
    present: bool = True
    renames: Mapping[str, str] = dataclasses.field(default_factory=dict)
    prune_pattern: str | None = None
    prune_limit: int = 10

    def check(self) -> None:
        """Raise InputError for a wish that contradicts itself, whatever is there."""
        check_labels(self.labels)
        for label in self.renames.values():
            check_label(label)
        if not self.present and (self.renames or self.prune_pattern is not None):
            raise InputError("renames and prune go with state: present only.")
        if len(set(self.renames.values())) < len(self.renames):
            raise InputError("renames gives two clients the same new label; labels are unique.")
        chained = sorted(set(self.renames) & set(self.renames.values()))
        if chained:
            raise InputError(f"renames has a chain or swap at {quoted(chained)}: use a task for each step.")
        wanted = sorted(set(self.renames) & set(self.labels))
        if wanted:
            raise InputError(f"{quoted(wanted)} can't be both renamed and wanted: take it out of labels or of renames.")
        if self.prune_pattern is not None:
            compiled(self.prune_pattern, "prune_pattern")
            if not self.labels:
                raise InputError("labels is empty, so that prune would remove every client that matches. Check it.")


def reconcile_fleet(current: Sequence[Client], fleet: Fleet) -> list[Change]:
    """The changes that make the account as wanted: renames first, then the labels, then what is pruned.

    InputError, before anything is done, where renames don't fit what is there or more is pruned than the limit.
    """
    fleet.check()
    there = by_label(current)
    wanted = set(fleet.labels)
    renames = [_fleet_rename(there, old, new, new in wanted) for old, new in fleet.renames.items()]
    done = [change for change in renames if change.changed or change.after and change.label not in wanted]
    renamed = {change.label for change in done}
    labels = [labelled_client(there, label, present=fleet.present) for label in fleet.labels if label not in renamed]
    return [*done, *labels, *_surplus(there, fleet)]


def _fleet_rename(there: Mapping[str, Client], old: str, new: str, wanted: bool) -> Change:
    if old in there and new in there:
        raise InputError(f"{old!r} can't be renamed to {new!r}: there are clients of both labels. Delete one of them.")
    if old in there:
        return rename(there[old], new)
    if new in there:
        return keep(there[new])
    if wanted:
        return absent(old)
    raise InputError(f"{old!r} can't be renamed to {new!r}: there is no client of either label.")


def _surplus(there: Mapping[str, Client], fleet: Fleet) -> list[Change]:
    if fleet.prune_pattern is None:
        return []
    wanted = {*fleet.labels, *fleet.renames, *fleet.renames.values()}
    others = [label for label in there if label not in wanted]
    surplus = [delete(there[label]) for label in matching(fleet.prune_pattern, "prune_pattern", others)]
    if len(surplus) > fleet.prune_limit:
        raise InputError(
            f"prune would delete {len(surplus)} clients, more than prune_limit ({fleet.prune_limit}); nothing was "
            f"done. They are: {quoted(sorted(change.label for change in surplus))}. Raise prune_limit if that is meant."
        )
    return surplus


def check_capacity(changes: Sequence[Change], existing: int, plan: Mapping[str, t.Any]) -> None:
    """InputError where the clients to be created don't fit into the paid plan; the free plan's limit is not known."""
    needed = existing + sum(change.action == "create" for change in changes)
    included = plan.get("clients_included")
    if isinstance(included, int) and needed > included:
        raise InputError(
            f"The plan {plan.get('id')!r} has too few clients: needs {needed}, includes {included}. Nothing was "
            "created. Switch to a larger plan (monitor_plan with min_clients), or remove clients that are not needed."
        )


def quoted(labels: Sequence[str]) -> str:
    shown = ", ".join(repr(label) for label in labels[:20])
    return shown + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")
