# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit as JSON, whose schema is docs/audit.schema.json, and as JUnit XML. Pure."""

from __future__ import annotations

import json
import re
import typing as t
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import SCHEMA_VERSION

if t.TYPE_CHECKING:
    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Finding, Report

# XML has no way to write these.
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(report: Report) -> dict[str, t.Any]:
    """The report as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": report.generated_at,
        "hosts": [_host(finding) for finding in report.hosts],
        "orphans": list(report.orphans),
        "account": report.account,
    }


def _host(finding: Finding) -> dict[str, t.Any]:
    return {
        "host": finding.host,
        "label": finding.label,
        "state": finding.state,
        "states": list(finding.states),
        "owner_label": finding.owner_label,
        "shared_with": list(finding.shared_with),
        "detail": finding.detail,
    }


def as_json(report: Report) -> str:
    """The report as a JSON document."""
    return json.dumps(document(report), indent=2) + "\n"


def as_junit(report: Report) -> str:
    """A test case per host: an error where it could not be reached, a failure in any other state than ok."""
    bad = [finding for finding in report.hosts if finding.state != "ok"]
    errors = sum(finding.state == "unreachable" for finding in bad)
    counts = {"tests": len(report.hosts), "failures": len(bad) - errors, "errors": errors, "skipped": 0}
    about = {"name": "monitor.cloud audit", **{name: str(count) for name, count in counts.items()}, "time": "0"}
    root = ElementTree.Element("testsuites", about)
    suite = ElementTree.SubElement(root, "testsuite", {**about, "timestamp": report.generated_at.removesuffix("Z")})
    properties = ElementTree.SubElement(suite, "properties")
    for label in report.orphans:
        ElementTree.SubElement(properties, "property", name="orphan", value=_clean(label))
    for finding in report.hosts:
        _case(suite, finding)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _case(suite: ElementTree.Element, finding: Finding) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname="monitor.cloud.audit", name=_clean(finding.host), time="0"
    )
    if finding.state == "ok":
        return
    problem = ElementTree.SubElement(
        case,
        "error" if finding.state == "unreachable" else "failure",
        type=finding.state,
        message=_clean(finding.detail),
    )
    problem.text = f"States: {', '.join(finding.states)}. Label: {_clean(finding.label)}."


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
