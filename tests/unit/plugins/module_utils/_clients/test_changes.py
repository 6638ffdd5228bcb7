# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import (
    Fleet,
    check_is_free,
    reconcile_fleet,
    rename,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError


def _clients(labels: list[str]) -> list[dict[str, Any]]:
    return [{"id": number, "label": label} for number, label in enumerate(labels, 1)]


def _fleet(labels: list[str], **options: Any) -> Fleet:
    unset = {"present": True, "renames": {}, "prune_pattern": None, "prune_limit": 1}
    return Fleet(labels, **{**unset, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"renames": {"web1": "x"}}, "'x' has 1 character"),
        ({"present": False, "renames": {"web1": "www1"}}, "need state: present"),
        ({"present": False, "prune_pattern": ".*"}, "need state: present"),
        ({"renames": {"web1": "www1", "web2": "www1"}}, "two clients the same new label"),
        ({"renames": {"web1": "web2", "web2": "web3"}}, "renames has 'web2' both as old and as new label"),
        ({"renames": {"keep": "www1"}}, "'keep' is an old label in renames, and also in labels"),
        ({"prune_pattern": "("}, "prune_pattern '\\(' is not a valid regular expression"),
        ({"labels": [], "prune_pattern": "old.*"}, "labels is empty"),
        ({"prune_pattern": "web.*"}, "prune would delete 2 clients, more than prune_limit"),
        ({"renames": {"old1": "web1"}}, "both labels have a client. Delete the client whose history is not"),
        ({"renames": {"gone": "new1"}}, "no client has the old or the new label"),
        ({"labels": ["web1", " web2"], "prune_pattern": "web.*"}, "but there is 'web2'. Remove the white space around"),
        ({"labels": ["web1", " web9"]}, "There is no client ' web9'. Remove the white space around the label."),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reconcile_fleet(_clients(["web1", "web2", "old1"]), _fleet(**{"labels": ["keep"], **options}))


@pytest.mark.parametrize(
    ("existing", "labels", "pattern", "expected"),
    [
        (["www1"], ["www1"], None, "none www1"),
        ([], ["www1"], None, "create www1"),
        (["web1"], ["www1"], None, "rename www1"),
        (["keep1", "old1", "web1"], ["keep1"], ".*1", "rename www1, none keep1, delete old1"),
        (["old1", "www1"], ["keep"], ".*1", "none www1, create keep, delete old1"),
        (["old1", "web1", "web2"], ["new1", "web2"], "old.*", "rename www1, create new1, none web2, delete old1"),
    ],
)
def test_each_label_is_reported_once_renames_first(
    existing: list[str], labels: list[str], pattern: str | None, expected: str
) -> None:
    changes = reconcile_fleet(_clients(existing), _fleet(labels, renames={"web1": "www1"}, prune_pattern=pattern))
    assert ", ".join(f"{change.action} {change.label}" for change in changes) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"labels": ["web1"]},
        {"labels": ["web1"], "present": False},
        {"renames": {"web1": "www1"}},
        {"renames": {"www1": "web1"}},
        {"labels": ["web2"], "prune_pattern": "web1"},
    ],
    ids=str,
)
def test_two_clients_with_the_same_label_are_not_changed(options: dict[str, Any]) -> None:
    current = [*_clients(["web1", "web2"]), {"id": 7, "label": "web1"}]
    changes = reconcile_fleet(current, _fleet(**{"labels": [], **options}))
    assert not any(change.changed for change in changes)
    problems = {str(change.problem).partition(":")[0] for change in changes if change.problem}
    assert problems == {"The label 'web1' has 2 clients, with the ids 1 and 7"}


def test_a_client_keeps_its_own_label_or_gets_a_free_one() -> None:
    current = _clients(["web1", "web2"])
    for label, action in (("web1", "none"), ("web3", "rename")):
        check_is_free(current[0], label, current)
        change = rename(current[0], label)
        assert (change.action, change.after["label"]) == (action, label)
    with pytest.raises(InputError, match="client 2 has this label"):
        check_is_free(current[0], "web2", current)
