# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits of parts of a fleet, joined: the report of one audit of the whole fleet, and the sentences about the parts."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import (
    STATES,
    Account,
    Inspection,
    Report,
    audit,
    facts_of,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import as_json, document
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.slices import Joined, join, parse
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    details,
    fingerprint,
    in_every_state,
    inspected,
    states,
    unreachable,
)

NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
EARLIER, LATER = "2026-01-02T03:00:00Z", "2026-01-02T04:00:00Z"


def made(seen: Iterable[Inspection], known: Account, labels: Mapping[str, str], at: str = EARLIER) -> Report:
    return audit(list(seen), known, labels, generated_at=at)


def written(of: Report) -> Any:
    """The report as it comes back from its file."""
    return json.loads(as_json(of))


def joined(documents: Mapping[str, Any], known: Account, labels: Mapping[str, str], max_age: float = 24) -> Joined:
    parts = [parse(name, each) for name, each in documents.items()]
    return join(parts, list(labels), known, labels, now=NOW, max_age=max_age)


def sliced(seen: Sequence[Inspection], known: Account, number: int, own_hosts_only: bool) -> dict[str, Any]:
    """Audits of equal parts of the hosts, as several runs write them; job slices know no other hosts."""
    labels = {one.host: one.label for one in seen}
    parts = [seen[first::number] for first in range(number)]
    known_there = [{one.host: one.label for one in part} if own_hosts_only else labels for part in parts]
    return {
        f"{index}.json": written(made(part, known, there))
        for index, (part, there) in enumerate(zip(parts, known_there, strict=True))
    }


def assert_as_one(seen: Sequence[Inspection], known: Account, inventory: Iterable[str] = ()) -> Report:
    """The joined report of slices is that of a single audit, but for its time, in every part."""
    labels = {**{one.host: one.label for one in seen}, **{host: host for host in inventory}}
    hosts = [one.host for one in seen]
    single = made(seen, known, labels)
    for own_hosts_only in (False, True):
        parts = [parse(*each) for each in sliced(seen, known, 4, own_hosts_only).items()]
        found = join(parts, hosts, known, labels, now=NOW, max_age=24)
        again = made(found.inspections, known, labels, at=LATER)
        assert found.notes == ()
        assert {**document(again), "generated_at": EARLIER} == document(single)
        # What steps are made of, and no document has.
        assert [(one.adoption, one.adoption_detail) for one in again.hosts] == [
            (one.adoption, one.adoption_detail) for one in single.hosts
        ]
    return single


def every_state() -> list[Inspection]:
    """Hosts in each state, and keys that hosts of other slices have, as slices of every fourth host."""
    return [
        *in_every_state(),
        inspected("clone-2", "other", owner_label="web"),
        inspected("stranger-2", "unknown", key_fingerprint=fingerprint("?"), differs=["content"]),
        Inspection("failed before", "failed before", facts_of(None)),
        Inspection("long", "long", facts_of({"msg": "Task failed: Task failed: no\x1b sudo " + "x" * 500})),
        inspected("unreadable", "unverifiable"),
        inspected("link", differs=["type"]),
        inspected("owned", differs=["mode", "owner"]),
        inspected("leftover", differs=["leftovers"]),
        inspected("active", service_state="active"),
        inspected("twin-1", "other", owner_label="fine"),
        inspected("masked-1", "unverifiable", key_fingerprint=fingerprint("masked-1")),
        inspected("masked-2", "unverifiable", key_fingerprint=fingerprint("masked-1")),
    ]


@pytest.mark.parametrize("masked", [(), ("masked-1", "masked-2")])
def test_the_joined_report_is_that_of_one_run(masked: Sequence[str]) -> None:
    seen = every_state()
    labels = {one.host for one in seen} - {"new", "renamed"} | {"old", "older"}
    single = assert_as_one(seen, account(labels, masked=masked, plan=TIERS[1], tiers=TIERS), ["not audited"])
    # The states that masked keys exclude are those of the other case.
    assert {state for one in single.hosts for state in one.states} >= set(STATES) - {"unknown_key"}
    assert masked or "unknown_key" in single.counts


HOSTS = [f"host-{number}" for number in range(9)]
KEYS = [*HOSTS, "gone", "of no client", "of no client either"]
DIFFERS = st.lists(st.sampled_from(["content", "type", "owner", "mode", "leftovers", "restart"]), unique=True)
# What agent_config reports of a host: the result of a failure, or a key with what differs.
RESULTS = st.one_of(
    st.none(),
    st.builds(lambda text: {"unreachable": True, "msg": text}, st.text()),
    st.builds(lambda text: {"msg": text, "failed": True}, st.text()),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from([*KEYS, "no_file", "no_key", "unverifiable"]),
            "differs": DIFFERS,
            "service_state": st.sampled_from([None, "active", "failed"]),
        }
    ),
)


@given(
    results=st.lists(RESULTS, max_size=len(HOSTS)),
    clients=st.sets(st.sampled_from([*HOSTS, "gone"])),
    masked=st.sets(st.sampled_from(HOSTS)),
)
def test_random_fleets(results: list[dict[str, Any] | None], clients: set[str], masked: set[str]) -> None:
    known = account(clients, masked=masked & clients)
    seen = [_inspection(host, result, known) for host, result in zip(HOSTS, results, strict=False)]
    assert_as_one(seen, known, HOSTS)


def _inspection(host: str, result: dict[str, Any] | None, known: Account) -> Inspection:
    """What agent_config would return on a host, for the key that it carries."""
    if result is None or "key" not in result:
        return Inspection(host, host, facts_of(result))
    key, facts = result["key"], {name: result[name] for name in ("differs", "service_state")}
    if key in ("no_file", "no_key", "unverifiable"):
        return inspected(host, key, **facts)
    owner = known.key_owners.get(fingerprint(key))
    if owner is None:
        state = "unverifiable" if host in known.masked_labels else "unknown"
        return inspected(host, state, key_fingerprint=fingerprint(key), **facts)
    return inspected(host, "own" if owner == host else "other", owner_label=owner, **facts)


def test_a_host_that_no_audit_has_is_unreachable_and_says_why() -> None:
    known = account(["web", "db"])
    found = joined({"a.json": written(made([inspected("web")], known, {"web": "web"}))}, known, HERE)
    report = made(found.inspections, known, HERE)
    assert states(report) == {"db": ("unreachable",), "web": ("ok",)}
    assert details(report)["db"] == "Not inspected: it is in none of the audits that were joined."
    first = joined({"a.json": written(made([inspected("db")], known, {"db": "db"}))}, known, HERE)
    assert states(made(first.inspections, known, HERE)) == {"web": ("unreachable",), "db": ("ok",)}


HERE = {"web": "web", "db": "db"}


def one_host(at: str, host: str = "web", **facts: Any) -> Any:
    return written(made([inspected(host, **facts)], account(HERE), HERE, at))


@pytest.mark.parametrize("order", [1, -1])
def test_of_audits_that_differ_the_latest_counts_and_is_named(order: int) -> None:
    documents = {"old.json": one_host(EARLIER, differs=["mode"]), "new.json": one_host(LATER)}
    found = joined(dict(list(documents.items())[::order]), account(HERE), {"web": "web"})
    assert states(made(found.inspections, account(HERE), HERE)) == {"web": ("ok",)}
    assert found.notes == ("new.json and old.json differ about 1 host (web). new.json is later, and counts.",)
    assert {source.name: source.hosts for source in found.sources} == {"old.json": 0, "new.json": 1}


def test_audits_that_agree_are_not_worth_a_note() -> None:
    found = joined({"old.json": one_host(EARLIER), "new.json": one_host(LATER)}, account(HERE), {"web": "web"})
    assert found.notes == ()


def test_a_host_that_was_reached_later_only() -> None:
    documents = {"old.json": written(made([unreachable("web")], account(HERE), HERE)), "new.json": one_host(LATER)}
    found = joined(documents, account(HERE), {"web": "web"})
    assert states(made(found.inspections, account(HERE), HERE)) == {"web": ("ok",)}
    assert "differ about 1 host (web)" in found.notes[0]


@pytest.mark.parametrize(
    ("at", "max_age", "stale"),
    [
        ("2026-01-01T11:59:59Z", 24, True),
        ("2026-01-01T12:00:00Z", 24, False),
        ("2026-01-01T12:00:00Z", 0.5, True),
        # The clock of that controller is wrong.
        ("2026-01-03T12:00:01Z", 24, True),
        ("2020-01-01T00:00:00Z", 0, False),
    ],
)
def test_a_stale_audit_is_named_and_is_drift(at: str, max_age: float, stale: bool) -> None:
    found = joined({"a.json": one_host(at), "b.json": one_host(LATER, host="db")}, account(HERE), HERE, max_age)
    assert [source.stale for source in found.sources] == [stale, max_age == 0.5]
    report = Report(LATER, (), (), {}, found.sources, found.notes)
    assert report.drift is any(source.stale for source in found.sources)
    note = f"a.json was made at {at}, more than {max_age:g} hours from now, and 1 finding is from it. "
    assert (f"{note}Audit its hosts again." in found.notes) is stale


def test_a_stale_audit_of_which_nothing_is_used_is_not_worth_a_note() -> None:
    found = joined(
        {"a.json": one_host("2020-01-01T00:00:00Z"), "b.json": one_host(LATER)}, account(HERE), {"web": "web"}
    )
    assert [source.stale for source in found.sources] == [False, False]
    assert found.notes == ()


def test_hosts_that_the_inventory_does_not_have_are_left_out_and_named() -> None:
    found = joined({"a.json": one_host(EARLIER)}, account(HERE), {"db": "db"})
    assert [one.host for one in found.inspections] == ["db"]
    assert found.notes == ("Left out, because the inventory does not have them: 1 host (web).",)


def test_the_first_five_hosts_are_named() -> None:
    gone = {f"web-{number}": f"web-{number}" for number in range(6)}
    found = joined({"a.json": written(made(map(inspected, gone), account(gone), gone))}, account(gone), {})
    assert found.notes[0].endswith("6 hosts (web-0, web-1, web-2, web-3, web-4 and 1 more).")


def test_hosts_of_the_inventory_that_are_not_asked_for_are_left_out() -> None:
    documents = {"a.json": one_host(EARLIER)}
    found = join([parse(*each) for each in documents.items()], ["db"], account(HERE), HERE, now=NOW, max_age=24)
    assert [one.host for one in found.inspections] == ["db"]
    assert found.notes == ()
    assert [source.hosts for source in found.sources] == [0]


@pytest.mark.parametrize(
    ("found_then", "clients_now", "masked_now", "expected"),
    [
        # Renamed since, as adopt does: its key is that of its own client now.
        (inspected("web", "other", owner_label="old"), {"web": "old"}, (), "ok"),
        # Deleted since.
        (inspected("web", "other", owner_label="old"), {}, (), "unknown_key not_registered"),
        (inspected("web"), {"other": "other"}, (), "unknown_key not_registered"),
        # Created since, or readable now.
        (inspected("web", "unknown", key_fingerprint=fingerprint("web")), {"web": "web"}, (), "ok"),
        # The token of this run reads no keys: what the audit found still holds.
        (inspected("web"), {"web": "web"}, ("web",), "ok"),
        (inspected("web", "other", owner_label="db"), {"web": "web", "db": "db"}, ("web", "db"), "foreign_key"),
    ],
)
def test_whose_key_it_is_follows_from_the_clients_there_are_now(
    found_then: Inspection, clients_now: dict[str, str], masked_now: Sequence[str], expected: str
) -> None:
    then = account(["web", "db", "old"])
    known = Account(
        clients={label: {"id": 1} for label in clients_now},
        labels=frozenset(clients_now),
        key_owners={fingerprint(key): label for label, key in clients_now.items() if label not in masked_now},
    )
    found = joined({"a.json": written(made([found_then], then, {"web": "web"}))}, known, {"web": "web"})
    assert states(made(found.inspections, known, {"web": "web"})) == {"web": tuple(expected.split())}
    assert any("the account has changed" in note for note in found.notes) is not bool(masked_now)


def test_what_was_audited_without_reading_keys_stays_unverifiable() -> None:
    """Its content was not compared, so that the owner of the key alone does not make it ok."""
    then = made([inspected("web", "unverifiable", key_fingerprint=fingerprint("web"))], account(["web"], ["web"]), HERE)
    found = joined({"a.json": written(then)}, account(["web"]), {"web": "web"})
    report = made(found.inspections, account(["web"]), HERE)
    assert (states(report), found.notes) == ({"web": ("unverifiable",)}, ())
    assert "The service masks keys" in details(report)["web"]


def test_the_label_that_the_inventory_gives_a_host_now_counts() -> None:
    labels = {"web": "www"}
    known = account(["web"])
    found = joined({"a.json": one_host(EARLIER)}, known, labels)
    assert states(made(found.inspections, known, labels)) == {"web": ("foreign_key", "not_registered")}


VALID = one_host(EARLIER)
HOST = VALID["hosts"][0]


@pytest.mark.parametrize(
    ("given_document", "message"),
    [
        (None, "is not an audit"),
        ([], "is not an audit"),
        ({}, "is not an audit"),
        ("text", "is not an audit"),
        ({**VALID, "schema_version": 1}, "has the schema version 1, and only version 2 can be joined"),
        ({**VALID, "schema_version": "2"}, "has the schema version '2'"),
        ({**VALID, "audits": []}, "is a joined report itself"),
        ({**VALID, "hosts": {}}, "hosts is missing or invalid"),
        ({**VALID, "hosts": [7]}, r"hosts\[0\].host is missing or invalid"),
        ({**VALID, "hosts": [HOST, HOST]}, "a host twice"),
        ({**VALID, "hosts": [{**HOST, "host": None}]}, r"hosts\[0\].host is missing or invalid"),
        ({**VALID, "hosts": [HOST, {"host": "db"}]}, r"hosts\[1\].reached is missing or invalid"),
        ({**VALID, "hosts": [{**HOST, "key_owner": "mine"}]}, r"hosts\[0\].key_owner"),
        ({**VALID, "hosts": [{**HOST, "key_owner": ["own"]}]}, r"hosts\[0\].key_owner"),
        ({**VALID, "hosts": [{**HOST, "owner_label": 7}]}, r"hosts\[0\].owner_label"),
        ({**VALID, "hosts": [{**HOST, "differs": "mode"}]}, r"hosts\[0\].differs"),
        ({**VALID, "hosts": [{**HOST, "differs": [7]}]}, r"hosts\[0\].differs"),
        ({**VALID, "generated_at": None}, "generated_at is missing or invalid"),
        ({**VALID, "generated_at": "yesterday"}, "generated_at is missing or invalid"),
        ({**VALID, "generated_at": "2026-01-02T03:04:05"}, "generated_at is missing or invalid"),
    ],
)
def test_what_is_not_an_audit_is_refused_by_its_name(given_document: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^a.json .*{message}"):
        parse("a.json", given_document)


@pytest.mark.parametrize(
    "member", ["reached", "reason", "key_owner", "owner_label", "key_fingerprint", "service_state"]
)
def test_a_missing_member_is_named(member: str) -> None:
    entry = {name: value for name, value in HOST.items() if name != member}
    with pytest.raises(InputError, match=rf"hosts\[0\].{member} is missing"):
        parse("a.json", {**VALID, "hosts": [entry]})


def test_other_members_have_no_effect() -> None:
    entry = {**HOST, "unreachable": True, "msg": "{{ 7 * 7 }}", "state": "foreign_key", "detail": "x", "label": "y"}
    found = joined({"a.json": {**VALID, "hosts": [entry]}}, account(HERE), {"web": "web"})
    assert states(made(found.inspections, account(HERE), HERE)) == {"web": ("ok",)}
