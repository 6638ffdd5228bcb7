# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import html
import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import prometheus_client.openmetrics.parser
import prometheus_client.parser
import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import cost
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import Joined
from ansible_collections.monitor.cloud.plugins.plugin_utils._report import reports
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import STATES, Report
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.reports import as_html, as_json, as_junit
from ansible_collections.monitor.cloud.tests.support import audits
from ansible_collections.monitor.cloud.tests.support.audits import TIERS, account, every_state, inspected, report
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

SCHEMA = json.loads((CHECKOUT / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
NASTY = '<script>alert("1")</script> & \u2028 {{ style }} \x0b\udc80'
SHOWN = NASTY.translate(dict.fromkeys(map(ord, "\u2028\x0b\udc80"), "\ufffd"))
# Names that contain special characters of the formats.
NAMES = ['a"b', "a\\b", "a\nb", "a\\nb", "a\rb", "a\u2028b", "a\udc80b", "a\\udc80b", '{x="y"} 1', "# EOF", " "]


def joined() -> Report:
    times = {"a.json": "2026-01-01T03:04:05Z", "b.json": "2026-01-02T03:04:05Z"}
    sources = [{"name": name, "generated_at": at, "hosts": 1, "stale": name < "b"} for name, at in times.items()]
    return every_state(joined=Joined(sources, [NASTY]))


def rows_of(page: str) -> dict[str, str]:
    """Return the state of each host on the page."""
    entries = re.findall(r'<tr role="row" data-state="(\w+)".*?<bdi>([^<]+)', page)
    ok = re.findall("<li><bdi>([^<]+)", page.partition('id="ok"')[2].partition("</section>")[0])
    return {**{host: state for state, host in entries}, **dict.fromkeys(ok, "ok")}


def test_all_forms_agree() -> None:
    of = every_state()
    expected = {finding.name: finding.state for finding in of.hosts}
    assert set(expected.values()) == set(STATES)
    text, todo = audits.made(of)
    assert rows_of(as_html(of, todo)) == expected
    assert f"<p>{cost(of.account)}</p>" in as_html(of, [])
    assert {host["host"]: host["state"] for host in json.loads(as_json(of))["hosts"]} == expected
    cases = ElementTree.fromstring(as_junit(of)).iterfind(".//testcase[@classname='monitor.cloud.audit']")
    assert {case.get("name"): next((problem.get("type") for problem in case), "ok") for case in cases} == expected
    columns = re.findall(r"^(\S+)  +(\w+)", text.partition("\n\n")[0], re.MULTILINE)[1:]
    assert {host: state for host, state in columns if state in STATES} == expected


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_null(number: float) -> None:
    of = report([inspected("web", permissions={"mode": {"found": [number], "expected": "0600"}})], account(["web"]))
    text = as_json(dataclasses.replace(of, account={**of.account, "clients_used": number}))
    assert not re.search("NaN|Infinity", text)
    made = json.loads(text)
    assert made["account"]["clients_used"] is None
    assert made["hosts"][0]["permissions"]["mode"] == {"found": [None], "expected": "0600"}


@pytest.mark.parametrize("of", [every_state(), joined()])
def test_the_document_matches_its_schema(of: Report) -> None:
    document = json.loads(as_json(of))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    of_joined = {"audits", "notes"}
    assert set(document) == set(SCHEMA["properties"]) - (set() if of.joined.sources else of_joined)
    parts = {"account": [document["account"]], "host": document["hosts"], "audit": document.get("audits", ())}
    for kind, objects in parts.items():
        assert all(set(part) == set(SCHEMA["$defs"][kind]["properties"]) for part in objects)


def test_the_document_has_at_most_five_hosts_with_the_same_key() -> None:
    seen = [audits.inspected(f"web-{number}", "other", owner_label="old") for number in range(9)]
    of = report(seen, account(["old"]))
    [first] = [host for host in json.loads(as_json(of))["hosts"] if host["host"] == "web-0"]
    assert (len(first["shared_with"]), first["shared_count"]) == (5, 8)


def test_all_forms_name_the_audits_of_a_joined_report_and_its_notes() -> None:
    of = joined()
    text = " ".join(audits.made(of)[0].split())
    page = html.unescape(as_html(of, []))
    for sentence in ("Joined from 2 audits, made from 2026-01-01T03:04:05Z to 2026-01-02T03:04:05Z.", SHOWN):
        assert sentence in text and sentence in page
    assert "<script>alert" not in as_html(of, [])
    assert json.loads(as_json(of))["notes"] == [NASTY]


@pytest.mark.parametrize(("orphans", "stale"), [(True, False), (False, True), (False, False)])
def test_junit_has_a_failing_case_for_each_kind_of_drift(orphans: bool, stale: bool) -> None:
    """JUnit has failures if and only if the audit finds drift. A host with a masked key is skipped."""
    source = {"name": "a.json", "generated_at": "2026-01-01T03:04:05Z", "hosts": 1, "stale": stale}
    masked = inspected("web", "unverifiable", key_fingerprint="!")
    labels = ["web", "old", NASTY] if orphans else ["web"]
    of = report([masked], account(labels, masked=labels), joined=Joined([source]))
    root = ElementTree.fromstring(as_junit(of))
    failed = [(case.get("name"), problem.tag) for case in root.iter("testcase") for problem in case]
    expected = {"Clients without a host": orphans, "a.json": stale}
    assert failed == [("web", "skipped"), *((name, "failure") for name, fails in expected.items() if fails)]
    assert bool(of.drift) is (len(failed) > 1)
    counts = [root.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["3", str(len(failed) - 1), "0", "1"]


def test_the_page_escapes_text_of_hosts_and_requests_nothing() -> None:
    of = every_state(Host(NASTY, NASTY, reason=NASTY, reached=True))
    text = as_html(of, audits.made(of)[1])
    assert re.findall("<script.*?>", text) == ["<script>"] and "alert(" in text
    assert not re.search(r"<[^>]* (src|style|on\w+)=", text)
    assert {link[0] for link in re.findall(r'href="?([^ >]*)', text)} == {"#"}
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def values(of: Report, **options: Any) -> dict[tuple[str, ...], float]:
    """Return the samples by name and labels. The parsers of both formats must return the same samples."""
    text = reports.as_openmetrics(of, **options).encode("utf-8").decode()
    new, old = (
        list(parser.text_string_to_metric_families(text))
        for parser in (prometheus_client.openmetrics.parser, prometheus_client.parser)
    )
    assert [(family.name, family.type, family.samples) for family in new] == [
        (family.name, family.type, family.samples) for family in old
    ]
    return {
        (sample.name.removeprefix("monitor_cloud_"), *sample.labels.values()): sample.value
        for family in new
        for sample in family.samples
    }


def test_counts_of_all_states_and_of_the_account_and_hosts_on_request() -> None:
    counts = {"unreachable": 1, "not_registered": 1, "ok": 2}
    expected: dict[tuple[str, ...], float] = {
        **{("audit_hosts", state): counts.get(state, 0) for state in STATES},
        ("audit_info", "3"): 1,
        ("audit_timestamp_seconds",): 1767323045,
        ("audit_hosts_with_drift",): 2,
        ("audit_orphans",): 1,
        ("clients_used",): 4,
        ("clients_included",): 10,
        ("clients_missing",): 1,
        ("clients_masked",): 1,
        ("plan_price", "monthly"): 20,
    }
    hosts = [audits.unreachable("gone"), inspected("new", "no_file"), inspected("web"), inspected("db")]
    of = report(hosts, account(["gone", "web", "db", "old"], masked=["old"], plan=TIERS[1], tiers=TIERS))
    assert values(of) == expected
    # The time of a joined report is the time of the oldest audit that contributes a host.
    times = {"2026-01-02T03:04:05Z": 2, "2026-01-01T03:04:05Z": 1, "2025-12-31T03:04:05Z": 0}
    sources = [{"generated_at": time, "hosts": hosts} for time, hosts in times.items()]
    assert values(dataclasses.replace(of, joined=Joined(sources)))[("audit_timestamp_seconds",)] == 1767236645
    states = {"gone": "unreachable", "new": "not_registered", "web": "ok", "db": "ok"}
    expected.update((("audit_host_state", host, state), 1) for host, state in states.items())
    assert values(of, hosts=True) == expected
    masked = inspected("masked", "unverifiable", key_fingerprint="!")
    assert values(report([masked], account(["masked"], masked=["masked"])))[("audit_hosts_with_drift",)] == 0
    of = report([inspected(name) for name in NAMES], account(NAMES))
    named = [key[1] for key in values(of, hosts=True) if key[0] == "audit_host_state"]
    assert len(named) == len(set(named)) == len(NAMES) and {'a"b', '{x="y"} 1', "# EOF", "a\\nb"} <= set(named)
