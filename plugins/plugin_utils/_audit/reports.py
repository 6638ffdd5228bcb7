# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Format an audit as JSON (docs/audit.schema.json), JUnit XML, metrics, or a single HTML page.

The metrics are valid as OpenMetrics 1.0 and as Prometheus text format 0.0.4: only gauges, without timestamps.
"""

from __future__ import annotations

import base64
import collections
import hashlib
import json
import math
import pathlib
import typing as t
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import jinja2

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings, table
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import Step

_HERE = pathlib.Path(__file__).parent
# All metrics have this prefix. The prefix does not depend on the brand of the service.
_PREFIX = "monitor_cloud_"
_INCLUDED = "Clients that the plan includes; no sample on the free plan, or if the plan cannot be read."


def document(report: findings.Report) -> dict[str, t.Any]:
    """Return the report as dictionaries and lists."""
    joined = {"audits": report.sources, "notes": report.notes} if report.sources else {}
    return {
        "schema_version": findings.SCHEMA_VERSION,
        "generated_at": report.generated_at,
        "hosts": [
            {
                "host": finding.host,
                "label": finding.label,
                "state": finding.state,
                "states": list(finding.states),
                "shared_with": list(finding.shared_with),
                "detail": finding.detail,
                **finding.facts,
            }
            for finding in report.hosts
        ],
        "orphans": report.orphans,
        "account": report.account,
        **joined,
    }


def as_json(report: findings.Report) -> str:
    """Return the report as a JSON document."""
    return json.dumps(_finite(document(report)), indent=2, allow_nan=False) + "\n"


def _finite(value: t.Any) -> t.Any:
    """Replace NaN and infinity by null: joined audits can contain these numbers, but JSON does not have them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def as_junit(report: findings.Report) -> str:
    """Return one test case for each host, one for each joined audit, and one for all clients without a host."""
    cases = []
    for finding in report.hosts:
        kind = {"unreachable": "error", "ok": ""}.get(finding.state, "failure")
        kind = "skipped" if finding.host in report.not_compared else kind
        text = f"States: {', '.join(map(findings.titled, finding.states))}. Label: {table.shown(finding.label)}."
        cases.append(("audit", finding.host, kind, finding.state, table.sentence(finding), text))
    kind, count = "failure" * bool(report.orphans), f"Clients without a host in the inventory: {len(report.orphans)}."
    cases.append(
        ("account", "Clients without a host", kind, "orphans", count, "\n".join(map(table.shown, report.orphans)))
    )
    for source in report.sources:
        kind, made = "failure" * source["stale"], f"Made at {source['generated_at']}."
        cases.append(("audits", source["name"], kind, "stale", made, "Audit its hosts again."))
    kinds = collections.Counter(case[2] for case in cases)
    counts = {f"{kind}{'' if kind == 'skipped' else 's'}": str(kinds[kind]) for kind in ("failure", "error", "skipped")}
    attributes = {"name": "monitor.cloud audit", "tests": str(len(cases)), **counts, "time": "0"}
    root = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(root, "testsuite", attributes, timestamp=report.generated_at.removesuffix("Z"))
    for group, name, kind, state, message, text in cases:
        about = {"classname": f"monitor.cloud.{group}", "name": table.shown(name), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        if kind:
            problem = ElementTree.SubElement(case, kind, type=state, message=table.shown(message))
            problem.text = text
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def as_openmetrics(report: findings.Report, *, hosts: bool = False) -> str:
    """Return the metrics of an audit, without unknown values. ``hosts``: also return a series for each host."""
    account, price = report.account, report.account["price"] or {}
    # The time of a joined report is the time of the oldest audit that has hosts in the report.
    times = [finding["generated_at"] for finding in report.sources if finding["hosts"]] or [report.generated_at]
    made = int(min(map(findings.parse_time, times)).timestamp())
    states = [({"state": state}, report.counts.get(state, 0)) for state in findings.STATES]
    prices = [({"period": period}, price.get(period)) for period in ("hourly", "monthly")]
    families: list[tuple[str, str, t.Any]] = [
        ("audit_info", "The schema of the audit; always 1.", [({"schema_version": str(findings.SCHEMA_VERSION)}, 1)]),
        ("audit_timestamp_seconds", "When the hosts were inspected, in seconds since 1970.", made),
        ("audit_hosts", "Hosts of the audit by state. A host counts once, in its worst state.", states),
        ("audit_orphans", "Clients without a host in the whole inventory.", len(report.orphans)),
        ("clients_used", "Clients that the account has.", account["clients_used"]),
        ("clients_included", _INCLUDED, account["clients_included"]),
        ("clients_missing", "Hosts of the audit that need a new client.", account["clients_missing"]),
        ("clients_masked", "Clients whose keys the token cannot read.", account["clients_masked"]),
        ("plan_price", "The price of the plan by period, as the service states it.", prices),
    ]
    if hosts:
        host_states = [({"host": finding.host, "state": finding.state}, 1) for finding in report.hosts]
        families.append(("audit_host_state", "The worst state of a host; always 1.", host_states))
    lines = []
    for name, text, samples in families:
        pairs = samples if isinstance(samples, list) else [({}, samples)]
        if numbers := [(labels, value) for labels, value in pairs if isinstance(value, (int, float))]:
            lines += [f"# TYPE {_PREFIX}{name} gauge", f"# HELP {_PREFIX}{name} {text}"]
            lines += [f"{_PREFIX}{name}{_labels(labels)} {value}" for labels, value in numbers]
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_value(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _value(text: str) -> str:
    """Return a label value as one line. Escape unprintable characters, so that different names stay different."""
    if not text.isprintable() or "\\" in text:
        text = text.encode("unicode_escape").decode("ascii")
    return text.replace("\\", "\\\\").replace('"', '\\"')


def as_html(report: findings.Report, steps: Sequence[Step], address: str = "") -> str:
    """Return the HTML page. ``address``: the base URL of the service."""
    # The template escapes all values.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["shown"] = table.shown
    style, script = (_HERE / "page.css").read_text("utf-8"), (_HERE / "page.js").read_text("utf-8")
    return environment.get_template("page.html.j2").render(
        report=report,
        address=address,
        steps=steps,
        findings=[finding for finding in report.hosts if finding.state != "ok"],
        ok=[finding.host for finding in report.hosts if finding.state == "ok"],
        kinds={host: step.kind for step in steps if step.kind != "orphans" for host in step.names},
        titles=findings.TITLES,
        table=table,
        style=style,
        script=script,
        hashes={"style": _hash(style), "script": _hash(script)},
    )


def _hash(text: str) -> str:
    """Return the hash for the Content-Security-Policy, which allows only the page's own script and style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
