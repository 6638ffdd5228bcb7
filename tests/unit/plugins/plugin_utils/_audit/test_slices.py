# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits of parts of a fleet, joined: the report of one audit of the whole fleet, and the sentences about the parts."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Account, Host, Report, audit
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import as_json, document
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.slices import join, parse
from ansible_collections.monitor.cloud.tests.support.audits import TIERS, account, every_state, inspected, states

NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.timezone.utc)
EARLIER, LATER = "2026-01-02T03:00:00Z", "2026-01-02T04:00:00Z"
HERE = MappingProxyType({"web": "web", "db": "db"})
WEB = MappingProxyType({"web": "web"})


def written(seen: Iterable[Host], known: Account, labels: Mapping[str, str] = HERE, at: str = EARLIER) -> Any:
    return json.loads(as_json(audit(list(seen), known, labels, generated_at=at)))


def one_host(at: str, host: str = "web", **facts: Any) -> Any:
    return written([inspected(host, **facts)], account(HERE), at=at)


def joined(
    documents: Mapping[str, Any], known: Account | None = None, labels: Mapping[str, str] = WEB, max_age: float = 24
) -> Report:
    """The joined report of audits by their names."""
    known = known or account(HERE)
    parts = [parse(name, each) for name, each in documents.items()]
    seen, members = join(parts, list(labels), known, labels, now=NOW, max_age=max_age)
    return audit(seen, known, labels, generated_at=LATER, **members)


@pytest.mark.parametrize("own_hosts_only", [False, True])
def test_the_joined_report_is_that_of_one_run(own_hosts_only: bool) -> None:
    """But for its time, whether an audit knows the whole inventory or, as job slices do, its hosts."""
    single = every_state()
    labels = {one.host: one.label for one in single.hosts}
    known = account([*labels.keys() - {"new", "renamed"}, "old", "older"], plan=TIERS[1], tiers=TIERS)
    documents = {}
    for first in range(4):
        part = single.hosts[first::4]
        own = {one.host: one.label for one in part} if own_hosts_only else labels
        documents[f"{first}.json"] = written(part, known, own)
    differ = {"generated_at": "", "audits": None, "notes": None}
    again = joined(documents, known, labels)
    assert {**document(again), **differ} == {**document(single), **differ}
    assert (again.notes, again.renames) == ([], single.renames)


@pytest.mark.parametrize(
    ("other", "at", "state"),
    [
        ("2026-01-02T12:00:00Z", LATER, "ok"),
        (LATER, EARLIER, "ok"),
        # An audit from the future replaces no finding.
        ("2026-01-02T12:00:01Z", EARLIER, "wrong_permissions"),
    ],
)
def test_the_latest_audit_of_a_host_counts(other: str, at: str, state: str) -> None:
    found = joined({"other.json": one_host(other), "own.json": one_host(at, differs=["mode"])})
    assert states(found) == {"web": (state,)}
    assert [source["hosts"] for source in found.sources] == [state == "ok", state != "ok"]


@pytest.mark.parametrize(
    ("at", "max_age", "when"),
    [
        ("2026-01-01T11:59:59Z", 24, "more than 24 hours ago"),
        ("2026-01-01T12:00:00Z", 24, ""),
        # The clocks of two controllers differ.
        ("2026-01-02T12:10:00Z", 24, ""),
        ("2026-01-02T12:10:01Z", 24, "in the future, so a clock is wrong"),
        ("2020-01-01T00:00:00Z", 0, ""),
    ],
)
def test_a_stale_audit_is_named_and_is_drift(at: str, max_age: float, when: str) -> None:
    found = joined({"a.json": one_host(at), "b.json": one_host(LATER, host="db")}, labels=HERE, max_age=max_age)
    assert [source["stale"] for source in found.sources] == [bool(when), False]
    assert found.drift == ("1 stale audit" if when else "")
    assert found.notes == ([f"a.json was made at {at}, {when}. Audit its hosts again."] if when else [])


def test_hosts_of_audits_and_of_the_inventory() -> None:
    # Nothing of the old audit is used, so it is not stale.
    found = joined({"a.json": one_host("2020-01-01T00:00:00Z"), "b.json": one_host(LATER)}, labels=HERE)
    assert (states(found), found.notes) == ({"web": ("ok",), "db": ("unreachable",)}, [])
    assert [(source["hosts"], source["stale"]) for source in found.sources] == [(0, False), (1, False)]
    assert [one.host for one in found.hosts if not one.audited] == ["db"]
    gone = ["web-9", "web-10"]
    found = joined({"a.json": written(map(inspected, gone), account(gone))})
    assert found.notes == ["Hosts left out, because the inventory does not contain them: 2 (web-9, web-10)."]
    # The label that the inventory gives a host now counts.
    found = joined({"a.json": one_host(EARLIER)}, account(["web"]), {"web": "www"})
    assert states(found) == {"web": ("foreign_key", "not_registered")}


@pytest.mark.parametrize(
    ("found_then", "clients_now", "masked_now", "expected"),
    [
        # Renamed since, as adopt does: its key is that of its own client now.
        (inspected("web", "other", owner_label="old"), {"web": "old"}, (), "ok"),
        # Deleted since.
        (inspected("web"), {"other": "other"}, (), "unknown_key not_registered"),
        # The token of this run reads no keys: what the audit found still holds.
        (inspected("web"), {"web": "web"}, ("web",), "ok"),
        (inspected("web", "other", owner_label="db"), {"web": "web", "db": "db"}, ("web", "db"), "foreign_key"),
        # Audited without reading keys: its content was not compared, so that the owner of the key does not make it ok.
        (inspected("web", "unverifiable", key_fingerprint=fingerprint("web")), {"web": "web"}, (), "unverifiable"),
    ],
)
def test_whose_key_it_is_follows_from_the_clients_there_are_now(
    found_then: Host, clients_now: dict[str, str], masked_now: Sequence[str], expected: str
) -> None:
    keys = {label: None if label in masked_now else fingerprint(key) for label, key in clients_now.items()}
    known = Account({label: {"key_fingerprint": key, "keys_masked": not key} for label, key in keys.items()})
    found = joined({"a.json": written([found_then], account(["web", "db", "old"]))}, known)
    assert states(found) == {"web": tuple(expected.split())}


VALID = one_host(EARLIER)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"schema_version": 1}, "is not an audit with the schema version 2, but 1"),
        ({"audits": []}, "was written by the playbook report"),
        ({"hosts": 7}, "is not a valid audit: TypeError"),
        ({"hosts": [{"host": "db"}]}, r"is not a valid audit: KeyError\('reached'\)"),
        ({"generated_at": "2026-01-02T03:04:05"}, "is not a valid audit: ValueError"),
    ],
)
def test_what_is_not_an_audit_is_refused_by_its_name(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^a.json .*{message}"):
        parse("a.json", {**VALID, **members})
    with pytest.raises(InputError, match="^a.json is not an audit"):
        parse("a.json", [members])


def test_the_time_of_an_audit_is_in_utc_and_members_that_are_not_facts_have_no_effect() -> None:
    entry = {**VALID["hosts"][0], "unreachable": True, "state": "foreign_key", "label": "y"}
    found = joined({"a.json": {**VALID, "generated_at": "2026-01-02T04:00:00+01:00", "hosts": [entry]}})
    assert (states(found), found.sources[0]["generated_at"]) == ({"web": ("ok",)}, EARLIER)
