# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report as metrics: what the reference parsers of both formats read."""

import dataclasses
from typing import Any

import prometheus_client.openmetrics.parser
import prometheus_client.parser
import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import STATES, Account, Report
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import as_openmetrics
from ansible_collections.monitor.cloud.tests.support.audits import TIERS, account, inspected, report, unreachable

# Each differs from the others in what a format, or a terminal, takes for a sign of its own.
NAMES = [
    'a"b',
    "a\\b",
    "a\nb",
    "a\\nb",
    "a\rb",
    "a\x0bb",
    "a\u2028b",
    "a\udc80b",
    "a\\udc80b",
    '{x="y"} 1',
    "# EOF",
    " ",
    "\u05e9\u05e8\u05ea",
]


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
    expected = {
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
    assert values(fleet(), hosts=True) == {**expected, **{("audit_host_state", *each): 1 for each in states.items()}}


@pytest.mark.parametrize("facts", [{"plan": {}}, {"plan": None, "plan_problem": "no grant"}], ids=["free", "unknown"])
def test_what_is_not_known_has_no_sample(facts: dict[str, Any]) -> None:
    names = {key[0] for key in values(fleet(account(["web"], **facts)))}
    assert "clients_used" in names and not names & {"clients_included", "plan_price"}


def test_each_name_is_one_series() -> None:
    of = report([inspected(name) for name in NAMES], account(NAMES))
    named = [key[1] for key in values(of, hosts=True) if key[0] == "audit_host_state"]
    assert len(named) == len(set(named)) == len(NAMES)
    assert {'a"b', '{x="y"} 1', "# EOF", "\u05e9\u05e8\u05ea", "a\\nb"} <= set(named)
