# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The changes from the existing clients to the desired ones. Pure.

Check mode, the diff and the real run all use the changes that these functions return, so they cannot disagree.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import Client, listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT

Labelled = t.Dict[str, t.List[Client]]  # noqa: UP006
Values = Mapping[str, t.Any]


class Change(t.NamedTuple):
    """A change of a client or of the plan; ``{}`` means that it does not exist.

    ``label`` names the object: of a client that is renamed the new label, of a plan the tier. ``problem`` is the reason
    why a desired change cannot be made.
    """

    action: t.Literal["none", "create", "rename", "update", "delete", "switch"]
    label: str
    before: dict[str, t.Any]
    after: dict[str, t.Any]
    problem: MonitorError | None = None

    @property
    def changed(self) -> bool:
        return self.action != "none"

    @property
    def values(self) -> dict[str, t.Any]:
        """The fields that a request has to set."""
        return {name: self.after[name] for name in CLIENT.settable if self.before.get(name) != self.after.get(name)}


def keep(client: Client) -> Change:
    return Change("none", client["label"], client, client)


def absent(label: str) -> Change:
    return Change("none", label, {}, {})


def create(label: str, values: Values | None = None) -> Change:
    # In check mode the values that the service sets are null.
    unknown = dict.fromkeys(name for name in CLIENT.fields if name not in CLIENT.secret)
    return Change("create", label, {}, {**unknown, "apps": {}, **(values or {}), "label": label})


def update(client: Client, values: Values) -> Change:
    """Give fields of a client these values; nothing to do if it has them."""
    after = {**client, **values}
    if all(client.get(name) == value for name, value in values.items()):
        return keep(client)
    return Change("update" if after["label"] == client["label"] else "rename", after["label"], client, after)


def delete(client: Client) -> Change:
    return Change("delete", fields.name_of(client), client, {})


def by_label(clients: Sequence[Client]) -> Labelled:
    """The clients that have a label, by label. Labels are unique: several clients are a defect of the service."""
    found: Labelled = {}
    for client in clients:
        if client["label"] is not None:
            found.setdefault(client["label"], []).append(client)
    return found


def labelled_client(existing: Labelled, label: str, *, present: bool, values: Values | None = None) -> Change:
    """Find, create, update or delete the client of a label; ``existing`` holds the account's clients by label."""
    bare = label.strip()
    if label not in existing and label != bare and (present or bare in existing):
        # A list that is written as text with ", " has such labels. Prune would delete the client.
        but = f", but there is {bare!r}" if bare in existing else ""
        raise InputError(f"There is no client {label!r}{but}. Remove the white space around the label.")
    if label not in existing:
        return create(label, values) if present else absent(label)
    client = existing[label][0]
    return _ambiguous(existing, label) or (update(client, values or {}) if present else delete(client))


def _ambiguous(existing: Labelled, label: str) -> Change | None:
    """The problem that several clients have a label, so that it is unknown which is meant; None if one has it."""
    clients = existing[label]
    if len(clients) < 2:
        return None
    ids = " and ".join(str(client["id"]) for client in clients)
    problem = InputError(
        f"The label {label!r} has {len(clients)} clients, with the ids {ids}: it is ambiguous, and none "
        "of them was changed. Delete or rename all but one by id (monitor_client)."
    )
    return Change("none", label, {}, {}, problem)


def check_is_free(client: Client, label: str, current: Sequence[Client]) -> None:
    """InputError if a client cannot be renamed to a label, because another client has it."""
    for other in by_label(current).get(label, []):
        if other["id"] != client["id"]:
            raise InputError(
                f"Client {client['id']} ({client['label']!r}) can't get the label {label!r}: client {other['id']} has "
                "it. Labels are unique; rename or delete that one first."
            )


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The desired clients of the account. ``prune_pattern``, a regular expression, turns pruning on.

    InputError for options that contradict each other.
    """

    labels: Sequence[str]
    present: bool
    renames: Mapping[str, str]
    prune_pattern: str | None
    prune_limit: int

    def __post_init__(self) -> None:
        fields.check_labels(self.labels)
        for label in self.renames.values():
            fields.check_label(label)
        if not self.present and (self.renames or self.prune_pattern is not None):
            raise InputError("renames and prune need state: present. Use another task for state: absent.")
        if len(set(self.renames.values())) < len(self.renames):
            raise InputError("renames gives two clients the same new label. Labels are unique: choose another one.")
        chained = sorted(set(self.renames) & set(self.renames.values()))
        if chained:
            raise InputError(f"renames has a chain or swap at {listed(chained)}: use a task for each step.")
        both = sorted(set(self.renames) & set(self.labels))
        if both:
            raise InputError(f"{listed(both)} is both in renames and in labels: take it out of one of them.")
        if self.prune_pattern is not None:
            fields.compiled(self.prune_pattern, "prune_pattern")
            if not self.labels:
                raise InputError(
                    "labels is empty, so prune would delete every client that matches. List the labels to keep."
                )


def reconcile_fleet(current: Sequence[Client], fleet: Fleet) -> list[Change]:
    """The changes to the desired account: renames first, then the labels, then what is pruned.

    InputError, before anything is changed, if renames do not match the clients or more is pruned than the limit.
    """
    existing = by_label(current)
    desired = set(fleet.labels)
    found = [_fleet_rename(existing, old, new, new in desired) for old, new in fleet.renames.items()]
    # A rename that was made before is reported here, unless its new label is among the labels.
    renames = [each for each in found if each.changed or each.problem or (each.after and each.label not in desired)]
    renamed = {change.label for change in renames}
    labels = [labelled_client(existing, label, present=fleet.present) for label in fleet.labels if label not in renamed]
    return [*renames, *labels, *_surplus(existing, fleet)]


def _fleet_rename(existing: Labelled, old: str, new: str, desired: bool) -> Change:
    if old in existing and new in existing:
        raise InputError(
            f"{old!r} can't be renamed to {new!r}: there are clients of both labels. Delete the one whose history is "
            "not needed."
        )
    if old in existing:
        return _ambiguous(existing, old) or update(existing[old][0], {"label": new})
    if new in existing:
        return labelled_client(existing, new, present=True)
    if desired:
        return absent(old)
    raise InputError(
        f"{old!r} can't be renamed to {new!r}: there is no client of either label. Correct renames, or create {new!r} "
        "with labels."
    )


def _surplus(existing: Labelled, fleet: Fleet) -> list[Change]:
    if fleet.prune_pattern is None:
        return []
    desired = {*fleet.labels, *fleet.renames, *fleet.renames.values()}
    others = [label for label in existing if label not in desired]
    found = fields.matching(fleet.prune_pattern, "prune_pattern", others)
    surplus = [labelled_client(existing, label, present=False) for label in found]
    if len(surplus) > fleet.prune_limit:
        raise InputError(
            f"prune would delete {len(surplus)} clients, more than prune_limit ({fleet.prune_limit}); nothing was "
            f"done. They are: {listed(sorted(change.label for change in surplus))}. Raise prune_limit to allow it."
        )
    return surplus
