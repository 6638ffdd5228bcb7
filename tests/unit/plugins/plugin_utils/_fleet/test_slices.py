# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import datetime
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host, Inventory, Wanted
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import join, parse
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import Account, Report, report_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.reports import as_json, document
from ansible_collections.monitor.cloud.tests.support.audits import (
    account,
    account_of,
    every_host,
    failed,
    inspected,
    report,
    states,
)

NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.timezone.utc)
EARLIER = "2026-01-02T03:00:00Z"
LATER = "2026-01-02T04:00:00Z"
SOON = "2026-01-02T12:01:00Z"
FUTURE = "2026-01-02T12:01:01Z"
HERE = MappingProxyType({"web": "web", "db": "db"})
WEB = MappingProxyType({"web": "web"})


def written(seen: Iterable[Host], known: Account, at: str = EARLIER) -> Any:
    return {**json.loads(as_json(report(seen, known, HERE))), "generated_at": at}


def one_host(at: str, host: str = "web", **facts: Any) -> Any:
    return written([inspected(host, **facts)], account(HERE), at=at)


def joined(
    documents: Mapping[str, Any], known: Account | None = None, labels: Mapping[str, str] = WEB, max_age: float = 24
) -> Report:
    known = known or account(HERE)
    inventory = Inventory(labels)
    parts = [parse(name, document) for name, document in documents.items()]
    seen, members = join(parts, list(labels), known, inventory, now=NOW, max_age=max_age)
    return report_of(seen, decide(seen, known, inventory), known, generated_at=LATER, joined=members)


_WANTED = Wanted("absent", replace_key=True, installs=True, uninstall=True, service_state="", service_enabled=False)
_MORE = (
    inspected("leaving", wanted=_WANTED, service="agent", service_state="active", machine="1"),
    inspected("linked", kind="link", differs=["type"], problem="the directory is read-only"),
    inspected("unowned", "no_file", unknown_owner="the user agent"),
    failed("failing", "'nowhere_set' is undefined."),
    inspected("masked", "unverifiable", key_fingerprint=fingerprint("masked"), differs=["content"]),
    inspected("masked-2", "unknown", key_fingerprint=fingerprint("other"), differs=["content"]),
    Host("missing", "missing"),
)


@pytest.mark.parametrize(("more", "masked"), [((), []), (_MORE, []), (_MORE, ["masked", "older"])])
def test_a_joined_report_of_one_audit_is_this_audit(more: tuple[Host, ...], masked: list[str]) -> None:
    hosts = every_host(*more)
    known = account_of(hosts, masked)
    audited = document(report(hosts, known))
    again = document(
        joined({"a.json": json.loads(json.dumps(audited))}, known, {host.name: host.label for host in hosts})
    )
    assert {name for name in again if again[name] != audited.get(name)} == {"generated_at", "audits", "notes"}


@pytest.mark.parametrize(
    ("other", "at", "state"),
    [
        (LATER, EARLIER, "ok"),
        (EARLIER, LATER, "wrong_permissions"),
        (FUTURE, EARLIER, "wrong_permissions"),
        (EARLIER, FUTURE, "ok"),
        # Clocks can differ by a minute.
        (SOON, EARLIER, "ok"),
    ],
)
def test_the_latest_audit_of_a_host_counts(other: str, at: str, state: str) -> None:
    made = joined({"other.json": one_host(other), "own.json": one_host(at, differs=["mode"])})
    assert states(made) == {"web": (state,)}
    assert [source["hosts"] for source in made.joined.sources] == [state == "ok", state != "ok"]


@pytest.mark.parametrize(
    ("at", "max_age", "when"),
    [
        ("2026-01-01T11:59:59Z", 24, "more than 24 hours ago"),
        ("2026-01-01T12:00:00Z", 24, ""),
        ("2020-01-01T00:00:00Z", 0, ""),
        (SOON, 24, ""),
        (FUTURE, 24, "which is in the future"),
        (FUTURE, 0, "which is in the future"),
    ],
)
def test_a_stale_audit_is_named_and_is_drift(at: str, max_age: float, when: str) -> None:
    made = joined({"a.json": one_host(at), "b.json": one_host(LATER, host="db")}, labels=HERE, max_age=max_age)
    assert [source["stale"] for source in made.joined.sources] == [bool(when), False]
    assert made.drift == ("1 stale audit" if when else "")
    advice = "Audit its hosts again."
    if at == FUTURE:
        advice = "Check the clock of its controller, and audit its hosts again."
    assert made.joined.notes == ([f"a.json was made at {at}, {when}. {advice}"] if when else [])


def test_hosts_of_audits_and_of_the_inventory() -> None:
    # An audit that contributes no host is not stale.
    made = joined({"a.json": one_host("2020-01-01T00:00:00Z"), "b.json": one_host(LATER)}, labels=HERE)
    assert (states(made), made.joined.notes) == ({"web": ("ok",), "db": ("unreachable",)}, [])
    assert [(source["hosts"], source["stale"]) for source in made.joined.sources] == [(0, False), (1, False)]
    assert [finding.name for finding in made.hosts if not finding.host.audited] == ["db"]
    gone = ["web-9", "web-10"]
    made = joined({"a.json": written(map(inspected, gone), account(gone))})
    assert made.joined.notes == ["Hosts left out, because the inventory does not contain them: 2 (web-9, web-10)."]
    # The current inventory determines the label of a host.
    made = joined({"a.json": one_host(EARLIER)}, account(["web"]), {"web": "www"})
    assert states(made) == {"web": ("other_label",)}


@pytest.mark.parametrize(
    ("inspected_then", "clients_now", "expected", "client"),
    [
        # The playbook adopt renamed the client after the audit.
        (inspected("web", "other", owner_label="old"), {"web": "old"}, "ok", "keep"),
        # The client was deleted after the audit.
        (inspected("web"), {"other": "other"}, "unknown_key not_registered", "create"),
        # The current token cannot read keys.
        (inspected("web"), {"web": None}, "unverifiable", "keep"),
        # The token of the audit could not read keys, so the content of the file is unknown.
        (inspected("web", "unverifiable", key_fingerprint=fingerprint("web")), {"web": "web"}, "unverifiable", "keep"),
    ],
)
def test_the_present_clients_determine_the_owner_of_a_key(
    inspected_then: Host, clients_now: dict[str, str | None], expected: str, client: str
) -> None:
    keys = {label: key and fingerprint(key) for label, key in clients_now.items()}
    known = Account({label: {"key_fingerprint": key, "keys_masked": not key} for label, key in keys.items()})
    made = joined({"a.json": written([inspected_then], account(["web", "db", "old"]))}, known)
    assert states(made) == {"web": tuple(expected.split())}
    assert made.hosts[0].change.client == client


VALID = one_host(EARLIER)
_TIMES: list[Any] = [
    "2026-01-02T03:04:05", "2026-02-30T03:04:05Z", "2026-01-02T25:04:05Z", "0000-01-02T03:04:05Z",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "yesterday", None, 1e999, [],
]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"schema_version": 2}, "is not an audit with the schema version 3: its version is 2"),
        ({"audits": []}, "was written by the playbook report"),
        ({"hosts": 7}, "is not a valid audit: TypeError"),
        ({"hosts": [{"host": "db"}]}, r"is not a valid audit: KeyError\('label'\)"),
        *(
            ({"generated_at": time}, "generated_at is not a time such as 2026-01-02T03:04:05Z. Audit")
            for time in _TIMES
        ),
    ],
)
def test_an_invalid_audit_is_named(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^a.json .*{message}"):
        parse("a.json", {**VALID, **members})
    with pytest.raises(InputError, match=r"^a\.json is not an audit"):
        parse("a.json", [members])


def test_times_are_in_utc_and_only_facts_of_hosts_are_read() -> None:
    entry = {**VALID["hosts"][0], "unreachable": True, "state": "foreign_key", "label": "y"}
    made = joined({"a.json": {**VALID, "generated_at": "2026-01-02T04:00:00+01:00", "hosts": [entry]}})
    assert (states(made), made.joined.sources[0]["generated_at"]) == ({"web": ("ok",)}, EARLIER)
