# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Format an audit as JSON (docs/audit.schema.json), JUnit XML, metrics, or a single HTML page.

The metrics are valid as OpenMetrics 1.0 and as Prometheus text format 0.0.4: only gauges, without timestamps.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import hashlib
import json
import math
import pathlib
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

import jinja2

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Facts, Wanted
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import SCHEMA_VERSION, parse_time
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.states import TITLES
from ansible_collections.monitor.cloud.plugins.plugin_utils._report import table
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import STATES, Finding, Report, titled
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import Step

_HERE = pathlib.Path(__file__).parent
# All metrics have this prefix. The prefix does not depend on the brand of the service.
_PREFIX = "monitor_cloud_"
# The host and its label are members of their own.
_FACTS = tuple(field.name for field in dataclasses.fields(Facts) if field.name != "label")
_WANTED = tuple(field.name for field in dataclasses.fields(Wanted))


def document(report: Report) -> dict[str, t.Any]:
    """Return the report as dictionaries and lists."""
    made = {
        "schema_version": SCHEMA_VERSION,
        "generated_at": report.generated_at,
        "hosts": [_host(finding) for finding in report.hosts],
        "orphans": list(report.orphans),
        "account": report.account,
    }
    if report.joined.sources:
        made["audits"] = list(report.joined.sources)
        made["notes"] = list(report.joined.notes)
    return made


def _host(finding: Finding) -> dict[str, t.Any]:
    return {
        "host": finding.name,
        "label": finding.label,
        "state": finding.state,
        "states": list(finding.states),
        "shared_with": list(finding.shared_with.names),
        "shared_count": finding.shared_with.count,
        "detail": finding.detail,
        "reached": finding.host.reached,
        "reason": finding.host.reason or None,
        **_facts(finding.facts),
    }


def _facts(facts: Facts | None) -> dict[str, t.Any]:
    """Return the facts of a host as plain data. ``slices.parse`` reads them back."""
    if facts is None:
        return dict.fromkeys(_FACTS)
    plain = {name: getattr(facts, name) for name in _FACTS}
    plain["differs"] = list(facts.differs)
    plain["permissions"] = {name: dict(pair) for name, pair in facts.permissions.items()}
    plain["wanted"] = {name: getattr(facts.wanted, name) for name in _WANTED}
    return plain


def as_json(report: Report) -> str:
    """Return the report as a JSON document."""
    return json.dumps(_finite(document(report)), indent=2, allow_nan=False) + "\n"


def _finite(value: t.Any) -> t.Any:
    """Replace NaN and infinity by null: joined audits can contain these numbers, but JSON does not have them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


@dataclasses.dataclass(frozen=True)
class _Case:
    """A test case of JUnit. ``kind``: failure, error or skipped; empty if the case passes."""

    group: str
    name: str
    kind: str
    state: str
    message: str
    text: str


def as_junit(report: Report) -> str:
    """Return one test case for each host, one for each joined audit, and one for all clients without a host."""
    cases = [_case_of_host(finding, report) for finding in report.hosts]
    cases.append(_case_of_orphans(report.orphans))
    cases += [_case_of_audit(source) for source in report.joined.sources]
    kinds = collections.Counter(case.kind for case in cases)
    attributes = {
        "name": "monitor.cloud audit",
        "tests": str(len(cases)),
        "failures": str(kinds["failure"]),
        "errors": str(kinds["error"]),
        "skipped": str(kinds["skipped"]),
        "time": "0",
    }
    root = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(root, "testsuite", attributes, timestamp=report.generated_at.removesuffix("Z"))
    for case in cases:
        _add_case(suite, case)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _case_of_host(finding: Finding, report: Report) -> _Case:
    states = ", ".join(titled(state) for state in finding.states)
    text = f"States: {states}. Label: {table.shown(finding.label)}."
    kind = _kind_of_case(finding, report)
    return _Case("audit", finding.name, kind, finding.state, table.sentence(finding), text)


def _kind_of_case(finding: Finding, report: Report) -> str:
    if finding.name in report.not_compared:
        return "skipped"
    if finding.state == "ok":
        return ""
    if finding.state == "unreachable":
        return "error"
    return "failure"


def _case_of_orphans(orphans: Sequence[str]) -> _Case:
    message = f"Clients without a host in the inventory: {len(orphans)}."
    labels = "\n".join(map(table.shown, orphans))
    kind = ""
    if orphans:
        kind = "failure"
    return _Case("account", "Clients without a host", kind, "orphans", message, labels)


def _case_of_audit(source: Mapping[str, t.Any]) -> _Case:
    kind = ""
    if source["stale"]:
        kind = "failure"
    made = f"Made at {source['generated_at']}."
    return _Case("audits", source["name"], kind, "stale", made, "Audit its hosts again.")


def _add_case(suite: ElementTree.Element, case: _Case) -> None:
    about = {"classname": f"monitor.cloud.{case.group}", "name": table.shown(case.name), "time": "0"}
    element = ElementTree.SubElement(suite, "testcase", about)
    if case.kind:
        problem = ElementTree.SubElement(element, case.kind, type=case.state, message=table.shown(case.message))
        problem.text = case.text


@dataclasses.dataclass(frozen=True)
class _Sample:
    """A value of a metric. The metric has no sample if the value is None."""

    value: float | None
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)


def as_openmetrics(report: Report, *, hosts: bool = False) -> str:
    """Return the metrics of an audit, without unknown values. ``hosts``: also return a series for each host."""
    lines = [*_metrics_of_audit(report), *_metrics_of_account(report.account)]
    if hosts:
        states = [_Sample(1, {"host": finding.name, "state": finding.state}) for finding in report.hosts]
        lines += _family("audit_host_state", "The worst state of a host; always 1.", states)
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def _metrics_of_audit(report: Report) -> list[str]:
    schema = _Sample(1, {"schema_version": str(SCHEMA_VERSION)})
    states = [_Sample(report.counts.get(state, 0), {"state": state}) for state in STATES]
    return [
        *_family("audit_info", "The schema of the audit; always 1.", [schema]),
        *_gauge(
            "audit_timestamp_seconds", "When the hosts were inspected, in seconds since 1970.", _inspected_at(report)
        ),
        *_family("audit_hosts", "Hosts of the audit by state. A host counts once, in its worst state.", states),
        *_gauge(
            "audit_hosts_with_drift",
            "Hosts that are not ok, without hosts whose keys the token cannot compare.",
            len(report.drifted),
        ),
        *_gauge("audit_orphans", "Clients without a host in the whole inventory.", len(report.orphans)),
    ]


def _inspected_at(report: Report) -> int:
    """Return the time of the audit. A joined report has the time of the oldest audit that has hosts in the report."""
    times = [source["generated_at"] for source in report.joined.sources if source["hosts"]]
    return int(min(parse_time(at) for at in times or [report.generated_at]).timestamp())


def _metrics_of_account(account: Mapping[str, t.Any]) -> list[str]:
    price = account["price"] or {}
    prices = [_Sample(price.get(period), {"period": period}) for period in ("hourly", "monthly")]
    return [
        *_gauge("clients_used", "Clients that the account has.", account["clients_used"]),
        *_gauge(
            "clients_included",
            "Clients that the plan includes; no sample on the free plan, or if the plan cannot be read.",
            account["clients_included"],
        ),
        *_gauge("clients_missing", "Hosts of the audit that need a new client.", account["clients_missing"]),
        *_gauge("clients_masked", "Clients whose keys the token cannot read.", account["clients_masked"]),
        *_family("plan_price", "The price of the plan by period, as the service states it.", prices),
    ]


def _gauge(name: str, text: str, value: float | None) -> list[str]:
    """Return the lines of a metric with one sample."""
    return _family(name, text, [_Sample(value)])


def _family(name: str, text: str, samples: Iterable[_Sample]) -> list[str]:
    """Return the lines of a metric; none if no value is known."""
    known = [sample for sample in samples if sample.value is not None]
    if not known:
        return []
    lines = [f"# TYPE {_PREFIX}{name} gauge", f"# HELP {_PREFIX}{name} {text}"]
    lines += [f"{_PREFIX}{name}{_labels(sample.labels)} {sample.value}" for sample in known]
    return lines


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{_value(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _value(text: str) -> str:
    """Return a label value as one line. Escape unprintable characters, so that different names stay different."""
    if not text.isprintable() or "\\" in text:
        text = text.encode("unicode_escape").decode("ascii")
    return text.replace("\\", "\\\\").replace('"', '\\"')


def as_html(report: Report, steps: Sequence[Step], address: str = "") -> str:
    """Return the HTML page. ``address``: the base URL of the service."""
    # The template escapes all values.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["shown"] = table.shown
    style = (_HERE / "page.css").read_text("utf-8")
    script = (_HERE / "page.js").read_text("utf-8")
    findings = [finding for finding in report.hosts if finding.state != "ok"]
    return environment.get_template("page.html.j2").render(
        report=report,
        headline=_headline(report, findings),
        address=address,
        steps=steps,
        findings=findings,
        ok=[finding.name for finding in report.hosts if finding.state == "ok"],
        kinds={host: step.kind for step in steps if step.kind != "orphans" for host in step.names},
        titles=TITLES,
        table=table,
        style=style,
        script=script,
        hashes={"style": _hash(style), "script": _hash(script)},
    )


def _headline(report: Report, findings: Sequence[Finding]) -> str:
    total = len(report.hosts)
    needing = len(report.drifted)
    if needing == 1:
        return f"1 of {total} hosts needs attention"
    if needing:
        return f"{needing} of {total} hosts need attention"
    if findings:
        return f"No drift, but the keys of {len(findings)} of {total} hosts cannot be compared"
    return f"All {total} hosts are ok"


def _hash(text: str) -> str:
    """Return the hash for the Content-Security-Policy, which allows only the page's own script and style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
