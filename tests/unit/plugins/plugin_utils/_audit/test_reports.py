# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report as table, JSON, JUnit XML, metrics and page: they agree, fit, and let nothing through that is not text."""

import dataclasses
import html
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import prometheus_client.openmetrics.parser
import prometheus_client.parser
import pytest

from ansible_collections.monitor.cloud.plugins.action.audit_report import _write
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import cost
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import (
    STATES,
    TITLES,
    Account,
    Host,
    Report,
    facts_of,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import (
    as_html,
    as_json,
    as_junit,
    as_openmetrics,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import (
    WIDTH,
    joined_sentences,
    rows,
    table,
)
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    every_state,
    inspected,
    made,
    report,
    unreachable,
)
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

SCHEMA = json.loads((CHECKOUT / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
NASTY = '<script>alert("1")</script> & \u2028 {{ style }} \x0b\udc80'
SHOWN = NASTY.translate(dict.fromkeys(map(ord, "\u2028\x0b\udc80"), "\ufffd"))

# Each differs from the others in what a format, or a terminal, takes for a sign of its own.
NAMES = [
    *('a"b', "a\\b", "a\nb", "a\\nb", "a\rb", "a\x0bb", "a\u2028b", "a\udc80b", "a\\udc80b"),
    *('{x="y"} 1', "# EOF", " ", "\u05e9\u05e8\u05ea"),
]


def joined() -> Report:
    """A report that was made of two audits, one of them stale."""
    sources = [
        {"name": "a.json", "generated_at": "2026-01-01T03:04:05Z", "hosts": 1, "stale": True},
        {"name": "b.json", "generated_at": "2026-01-02T03:04:05Z", "hosts": 12, "stale": False},
    ]
    return dataclasses.replace(every_state(), sources=sources, notes=(NASTY,))


def rows_of(page: str) -> dict[str, str]:
    """The state of each host on the page, of those that its script adds too."""
    found = re.findall(r'<tr role="row" data-state="(\w+)".*data-number="\d+"><bdi>([^<]+)', page)
    ok = json.loads(page.partition('id="ok">')[2].partition("<")[0])
    return {**{host: state for state, host in found}, **{host: "ok" for host, dummy in ok}}


def test_all_forms_agree() -> None:
    of = every_state()
    expected = {finding.host: finding.state for finding in of.hosts}
    assert set(expected.values()) == set(STATES)
    text, todo = made(of)
    assert rows_of(as_html(of, todo)) == expected
    assert {host["host"]: host["state"] for host in json.loads(as_json(of))["hosts"]} == expected
    cases = ElementTree.fromstring(as_junit(of)).iterfind(".//testcase[@classname='monitor.cloud.audit']")
    assert {case.get("name"): next((problem.get("type") for problem in case), "ok") for case in cases} == expected
    messages = re.findall(r'type="(\w+)" message="([^.]+)\.', as_junit(of))
    assert [title for state, title in messages if title != TITLES.get(state)] == [
        "Clients of no host of the inventory: 2"
    ]
    columns = re.findall(r"^(\S+)  +(\w+)", text.partition("\n\n")[0], re.MULTILINE)[1:]
    assert {host: state for host, state in columns if state in STATES} == expected


def test_each_state_has_one_title_which_the_guide_has_too() -> None:
    guide = (CHECKOUT / "docs" / "docsite" / "rst" / "guide_audit.rst").read_text(encoding="utf-8")
    assert {state: title for title, state in re.findall(r"^   \* - (.+) \(``(\w+)``\)$", guide, re.MULTILINE)} == TITLES
    assert list(TITLES) == list(STATES) and len(set(TITLES.values())) == len(STATES)


def test_the_document_matches_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for of in (
        every_state(),
        report([], account([])),
        report([inspected("web")], account([], plan={}, tiers=TIERS)),
        joined(),
    ):
        document = json.loads(as_json(of))
        validator.validate(document)
        # Everything that is there is described.
        of_joined = {"audits", "notes"}
        assert set(document) == set(SCHEMA["properties"]) - (set() if of.sources else of_joined)
        assert set(SCHEMA["required"]) == set(SCHEMA["properties"]) - of_joined
        parts = [(SCHEMA["$defs"]["account"], document["account"])]
        parts += [(SCHEMA["$defs"]["host"], host) for host in document["hosts"]]
        parts += [(SCHEMA["$defs"]["audit"], source) for source in document.get("audits", ())]
        for schema, part in parts:
            assert set(part) == set(schema["properties"]) == set(schema["required"])


def test_all_forms_name_the_audits_of_a_joined_report_and_what_is_wrong_with_them() -> None:
    of = joined()
    sentences = ["Joined from 2 audits, made from 2026-01-01T03:04:05Z to 2026-01-02T03:04:05Z.", SHOWN]
    text, page = " ".join(made(of)[0].split()), html.unescape(as_html(of, []))
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert [sentence for sentence in sentences if sentence not in page] == []
    assert "<script>alert" not in as_html(of, [])
    properties = [(one.get("name"), one.get("value")) for one in ElementTree.fromstring(as_junit(of)).iter("property")]
    assert properties == [("note", SHOWN)]
    document = json.loads(as_json(of))
    assert (document["notes"], document["audits"]) == ([NASTY], of.sources)


@pytest.mark.parametrize(
    "price",
    ["10 EUR", [1], 7, {"monthly": "10"}, {"monthly": 10**400}, {"monthly": float("nan"), "hourly": float("inf")}],
)
def test_a_price_that_is_none_is_not_known(price: Any) -> None:
    tier = {"id": "monitor-40", "label": "Monitor 40", "clients_included": 40, "price": price}
    of = report([inspected("web")], account(["web"], plan={**tier, "clients_included": 10}, tiers=(tier,)))
    assert json.loads(as_json(of), parse_constant=pytest.fail)["account"]["price"] in (None, {})
    assert "plan_price" not in as_openmetrics(of)
    assert " ".join(made(of)[0].split()).count("price not known") == 2 and "price not known" in as_html(of, [])


def test_files_of_other_runs_with_the_same_process_id_are_left_alone(tmp_path: Path) -> None:
    """One that was killed, or runs in another container."""
    other, path = tmp_path / f"audit.json.{os.getpid()}", tmp_path / "audit.json"
    other.touch()
    assert _write(str(path), "{}") == str(path)
    assert (path.read_text(encoding="utf-8"), sorted(tmp_path.iterdir())) == ("{}", [path, other])


def test_junit_counts_are_right() -> None:
    root = ElementTree.fromstring(as_junit(every_state()))
    suite = root[0]
    # The schema of the xUnit plugin of Jenkins, junit-10.xsd, allows no other attributes of testsuites.
    assert root.attrib == {"name": "monitor.cloud audit", "tests": "15", "failures": "13", "errors": "1", "time": "0"}
    assert suite.attrib == {**root.attrib, "timestamp": "2026-01-02T03:04:05"}
    assert len(list(suite.iter("testcase"))) == 15 and len(list(suite.iter("failure"))) == 13
    assert [case.get("name") for case in suite.iter("testcase") if case.find("error") is not None] == ["gone"]


@pytest.mark.parametrize(("orphans", "stale"), [(True, True), (True, False), (False, True), (False, False)])
def test_junit_has_a_failing_case_for_all_that_is_drift(orphans: bool, stale: bool) -> None:
    """Of a fleet in which no host has a finding: a job would pass on the file alone, and fail on the exit code."""
    source = {"name": "a.json", "generated_at": "2026-01-01T03:04:05Z", "hosts": 1, "stale": stale}
    of = dataclasses.replace(report([inspected("web")], account(["web"])), sources=[source])
    of = dataclasses.replace(of, orphans=["old", NASTY] if orphans else [])
    root = ElementTree.fromstring(as_junit(of))
    failed = {case.get("name"): problem for case in root.iter("testcase") for problem in case}
    assert list(failed) == ["Clients without a host"] * orphans + ["a.json"] * stale and of.drift is bool(failed)
    assert (root.get("tests"), root.get("failures")) == ("3", str(len(failed)))
    if orphans:
        assert failed["Clients without a host"].text == f"old\n{SHOWN}"
    if stale:
        assert failed["a.json"].get("message") == "Made at 2026-01-01T03:04:05Z."


def test_the_table_fits() -> None:
    hosts = [f"a-host-with-a-very-long-name-{number}.{'part.' * 10}example.com" for number in range(60)]
    orphans = [f"an-orphan-with-a-long-label-{number}" for number in range(50)]
    text, todo = made(report([inspected(host, "no_file") for host in hosts], account(orphans)))
    commands = [line.strip() for line in text.splitlines() if len(line) > WIDTH]
    # On one line, which a terminal copies whole.
    assert commands == [step.shell for step in todo]
    assert all(host[:28] in text for host in hosts)
    # A label stays on one line, so that it can be found and copied.
    assert all(label in text for label in orphans[:20])
    # The findings still have room beside them.
    assert "Not registered. The account has no client" in text


def test_the_table_as_it_is_printed() -> None:
    name = "a-name-that-is-longer-than-thirty-characters"
    of = report([unreachable("gone"), inspected(name, "no_file")], account(["gone", name, "old"], plan=TIERS[0]))
    text, _todo = made(of)
    assert (
        text
        == """\
HOST                            STATE           FINDING
gone                            unreachable     Unreachable. Could not be reached: no route.
a-name-that-is-longer-than-thi  not_configured  Not configured. There is no configuration.
rty-characters

Hosts: 2 (1 unreachable, 1 not_configured).
Clients without a host: 1 (old).
Clients: 3 of 3 that monitor-3 includes, 10 a month.

What to do:

  Run each command with the options of this run (-i, --become, -e), but for its --limit and paths of
  reports.

  Unreachable (unreachable): 1. Find out why Ansible can't reach these hosts, then audit again.
    ansible-playbook monitor.cloud.audit --limit gone

  Not configured (not_configured): 1. The host has a client, but no key. Configure the host.
    ansible-playbook monitor.cloud.rollout --limit a-name-that-is-longer-than-thirty-characters

  Clients without a host: 1. Clients of hosts that are gone, or of other users of this account. The
  command lists what would be deleted, with all data of these clients, and a digest of the list:
  prune_confirm=DIGEST then deletes it. First find out whose key is on gone: adopt lets a renamed
  host keep its client.
    ansible-playbook monitor.cloud.prune -e prune_pattern=old"""
    )
    assert table(report([], account([])), []) == ("\nHosts: none.\nClients: 0. The plan is not known: it was not read")


@pytest.mark.parametrize(
    ("facts", "hosts", "expected"),
    [
        ({"plan": None, "plan_problem": "no grant."}, 2, ". The plan is not known: no grant."),
        ({"plan": {}}, 3, ", on the free plan, whose limit is not known; 1 more to register."),
        (
            {"plan": TIERS[0], "tiers": TIERS},
            4,
            " of 3 that monitor-3 includes, 10 a month; 2 more to register. "
            "Tier needed: monitor-10, 10 clients, 20 a month.",
        ),
        *(
            ({"plan": {**TIERS[0], "price": price}}, 2, f" of 3 that monitor-3 includes, {text}.")
            for price, text in (
                ({"hourly": 0.1}, "price not known"),
                ({"monthly": 60.5, "currency": "EUR"}, "60.5 EUR a month"),
                ({"monthly": 0, "currency": 7}, "0 a month"),
                ({"monthly": 1500000.0, "currency": "IDR"}, "1500000 IDR a month"),
                ({"monthly": 12345.67}, "12345.67 a month"),
            )
        ),
    ],
)
def test_the_account_in_a_sentence(facts: dict[str, Any], hosts: int, expected: str) -> None:
    names = [f"web-{number}" for number in range(hosts)]
    of = report(map(inspected, names), account(names[:2], **facts))
    assert cost(of.account) == f"Clients: 2{expected}"
    assert f"<p>Clients: 2{expected}</p>" in as_html(of, [])


def test_a_long_text_is_cut_in_the_table() -> None:
    lines = rows(("HOST", "FINDING"), [("x" * 2_000_000, "y" * 2_000_000)])
    assert 10_000 < sum(map(len, lines)) < 50_000


def test_the_last_column_takes_the_rest_of_the_line() -> None:
    assert len(rows(("HOST", "STATE", "FINDING"), [("web", "ok", "x" * WIDTH)])[1]) == WIDTH


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ("", []),
        ("1", ["Joined from 1 audit, made at 2026-01-01T01:00:00Z."]),
        ("11", ["Joined from 2 audits, made at 2026-01-01T01:00:00Z."]),
        ("213", ["Joined from 3 audits, made from 2026-01-01T01:00:00Z to 2026-01-01T03:00:00Z."]),
    ],
)
def test_a_joined_report_names_the_time_of_its_audits(hours: str, expected: list[str]) -> None:
    sources = [{"generated_at": f"2026-01-01T0{hour}:00:00Z"} for hour in hours]
    assert joined_sentences(Report("", [], [], {}, sources)) == expected


@pytest.mark.parametrize(
    ("drift", "ok", "shown", "more"),
    [(50, 0, 50, 0), (49, 1, 50, 0), (50, 1, 50, 0), (200, 0, 200, 0), (201, 9, 200, 1)],
)
def test_the_worst_findings_of_a_large_fleet_are_shown(drift: int, ok: int, shown: int, more: int) -> None:
    seen = [inspected(f"web-{number}", differs=["mode"] if number < drift else []) for number in range(drift + ok)]
    lines = made(report(seen, account([one.host for one in seen])))[0].partition("\n\n")[0].splitlines()
    assert len([line for line in lines if line.startswith("web-")]) == shown
    assert lines[shown + 1 :] == ([f"... and {more} more findings."] if more else [])


def test_text_of_hosts_is_not_taken_for_markup() -> None:
    of = every_state(Host(NASTY, NASTY, facts_of({"msg": NASTY})))
    text = as_html(of, made(of)[1])
    assert re.findall("<script.*?>", text) == ['<script type="application/json" id="ok">', "<script>"]
    assert "alert(" in text and "<script>alert" not in text
    names = {str(case.get("name")) for case in ElementTree.fromstring(as_junit(of)).iter("testcase")}
    assert any(name.startswith("<script>") for name in names)
    assert "\\u2028" in as_json(of)


def test_the_page_requests_no_external_resource() -> None:
    text = as_html(every_state(), made(every_state())[1])
    assert not re.search(r"<[^>]* (src|style|on\w+)=", text)
    assert {link[0] for link in re.findall(r'href="?([^ >]*)', text)} == {"#"}
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert "@import" not in text and "url(" not in text


def values(of: Report, **options: Any) -> dict[tuple[str, ...], float]:
    """The samples by name and labels, which the parsers of both formats read alike."""
    text = as_openmetrics(of, **options).encode("utf-8").decode()
    new = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
    old = list(prometheus_client.parser.text_string_to_metric_families(text))
    assert [(one.name, one.type, one.documentation, one.samples) for one in new] == [
        (one.name, one.type, one.documentation, one.samples) for one in old
    ]
    assert {family.type for family in new} == {"gauge"} and all(family.documentation for family in new)
    assert [family.unit for family in new if family.name.endswith("_seconds")] == ["seconds"]
    return {
        (sample.name.removeprefix("monitor_cloud_"), *sample.labels.values()): sample.value
        for family in new
        for sample in family.samples
    }


def fleet(known: Account | None = None) -> Report:
    hosts = [unreachable("gone"), inspected("new", "no_file"), inspected("web"), inspected("db")]
    return report(hosts, known or account(["gone", "web", "db", "old"], masked=["old"], plan=TIERS[1], tiers=TIERS))


def test_a_joined_report_is_as_old_as_the_oldest_audit_that_it_uses() -> None:
    times = {"2026-01-02T03:04:05Z": 2, "2026-01-01T03:04:05Z": 1, "2025-12-31T03:04:05Z": 0}
    sources = [{"generated_at": time, "hosts": hosts} for time, hosts in times.items()]
    joined = dataclasses.replace(fleet(), generated_at="2026-01-03T03:04:05Z", sources=sources)
    assert values(joined)["audit_timestamp_seconds",] == 1767236645


def test_counts_of_all_states_and_of_the_account_and_hosts_on_request() -> None:
    counts = {"unreachable": 1, "not_registered": 1, "ok": 2}
    expected: dict[tuple[str, ...], float] = {
        **{("audit_hosts", state): counts.get(state, 0) for state in STATES},
        ("audit_info", "2"): 1,
        ("audit_timestamp_seconds",): 1767323045,
        ("audit_orphans",): 1,
        ("clients_used",): 4,
        ("clients_included",): 10,
        ("clients_missing",): 1,
        ("clients_masked",): 1,
        ("plan_price", "monthly"): 20,
    }
    assert values(fleet()) == expected
    states = {"gone": "unreachable", "new": "not_registered", "web": "ok", "db": "ok"}
    expected.update((("audit_host_state", host, state), 1) for host, state in states.items())
    assert values(fleet(), hosts=True) == expected


@pytest.mark.parametrize("facts", [{"plan": {}}, {"plan": None, "plan_problem": "no grant"}], ids=["free", "unknown"])
def test_what_is_not_known_has_no_sample(facts: dict[str, Any]) -> None:
    names = {key[0] for key in values(fleet(account(["web"], **facts)))}
    assert "clients_used" in names and not names & {"clients_included", "plan_price"}


def test_each_name_is_one_series() -> None:
    of = report([inspected(name) for name in NAMES], account(NAMES))
    named = [key[1] for key in values(of, hosts=True) if key[0] == "audit_host_state"]
    assert len(named) == len(set(named)) == len(NAMES)
    assert {'a"b', '{x="y"} 1', "# EOF", "\u05e9\u05e8\u05ea", "a\\nb"} <= set(named)
