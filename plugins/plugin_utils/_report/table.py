# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Format an audit as a table with lines of at most 100 characters. Only commands can be longer. Pure."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import cost
from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import listed
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.states import TITLES
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import Finding, Report, counted_noun
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import LABELS_DIFFER, OPTIONS, Step

WIDTH = 100
_WIDEST_NAME = 30
# If there are more hosts than _ALL_SHOWN, the table shows only findings: at most _MOST_FINDINGS, worst first.
_ALL_SHOWN = 50
_MOST_FINDINGS = 200
_LONGEST_TEXT = 10_000


def table(report: Report, steps: Sequence[Step]) -> str:
    """Return the report for a terminal, without a line break at the end."""
    lines = [*_hosts(report), ""]
    for text in (*_totals(report), cost(report.account), *sentences(report)):
        lines += _paragraph(text)
    lines += _what_to_do(steps)
    return "\n".join(shown(line) for line in lines)


def _totals(report: Report) -> list[str]:
    totals = ["Hosts: none."]
    if report.hosts:
        counts = ", ".join(f"{count} {state}" for state, count in report.counts.items())
        totals = [f"Hosts: {len(report.hosts)} ({counts})."]
    if report.orphans:
        totals.append(f"Clients without a host: {len(report.orphans)} ({listed(report.orphans, form=str)}).")
    return totals


def _what_to_do(steps: Sequence[Step]) -> list[str]:
    if not steps:
        return []
    lines = ["", "What to do:"]
    if any(step.shell for step in steps):
        lines += ["", *_paragraph(OPTIONS, indent="  ")]
    for step in steps:
        heading = step.heading
        if step.names:
            heading += f": {len(step.names)}"
        lines += ["", *_paragraph(f"{heading}. {step.text}", indent="  ")]
        if step.shell:
            # A command stays on one line, so that users can copy the command.
            lines.append(f"    {step.shell}")
    return lines


def adoptions(report: Report) -> str:
    """Return a table of what adopt does for each host that may carry the key of a client with another label."""
    entries = [
        (finding.name, finding.adoption, _adoption(finding))
        for finding in report.hosts
        if finding.adoption != "nothing"
    ]
    lines = []
    if entries:
        lines = rows(("HOST", "ACTION", "WHY"), entries)
    kinds = [finding.adoption for finding in report.hosts]
    lines.append(f"Hosts to adopt: {kinds.count('adopt')} of {len(kinds)}.")
    later = kinds.count("later")
    if later:
        lines.append(f"Hosts to adopt in a later run: {later}. Run adopt again.")
    return "\n".join(lines)


def _adoption(finding: Finding) -> str:
    """Return what adopt does for a host, or why the host cannot keep the client whose key it carries."""
    if not finding.is_renamed:
        return finding.detail
    renaming = f"Client {finding.host.owner_label!r} gets the label {finding.label!r}"
    if finding.adoption == "later":
        return f"{renaming} in a later run: another client must give up this label first."
    return f"{renaming}."


def shown(text: str) -> str:
    """Replace characters that control a terminal or the direction of text. Host names can contain such characters."""
    return printable(text, "\ufffd")


def rows(header: Sequence[str], entries: Sequence[Sequence[str]]) -> list[str]:
    """Return entries as aligned columns. The last column takes the rest of the line. Long entries are wrapped."""
    columns = list(zip(header, *entries, strict=True))
    widths = [min(max(map(len, column)), _WIDEST_NAME) for column in columns[:-1]]
    widths.append(WIDTH - sum(widths) - 2 * len(widths))
    lines = []
    for entry in (header, *entries):
        lines += _row(entry, widths)
    return lines


def _row(entry: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of an entry."""
    cells = [_wrapped(cell, width) or [""] for cell, width in zip(entry, widths, strict=True)]
    lines = []
    for parts in itertools.zip_longest(*cells, fillvalue=""):
        padded = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return lines


def _hosts(report: Report) -> list[str]:
    drift = [finding for finding in report.hosts if finding.state != "ok"]
    findings = report.hosts
    if len(report.hosts) > _ALL_SHOWN:
        findings = drift[:_MOST_FINDINGS]
    if not findings:
        return []
    entries = [(finding.name, finding.state, sentence(finding)) for finding in findings]
    lines = rows(("HOST", "STATE", "FINDING"), entries)
    more = len(drift) - len(findings)
    if more > 0:
        lines.append(f"... and {more} more findings.")
    return lines


def sentence(finding: Finding) -> str:
    """Return the title and the detail of a finding. Empty without drift."""
    if not finding.detail:
        return ""
    return f"{TITLES[finding.state]}. {finding.detail}"


def sentences(report: Report) -> list[str]:
    """Return sentences about the whole report, such as labels that are probably wrong, and joined audits."""
    lines = []
    if report.not_compared:
        lines.append(
            f"Hosts whose keys this token cannot compare: {len(report.not_compared)}. These hosts do not count as "
            "drift. To compare keys, use a token with read-write access."
        )
    if report.labels_differ:
        lines.append(LABELS_DIFFER)
    if report.joined.sources:
        times = [source["generated_at"] for source in report.joined.sources]
        lines.append(f"Joined from {counted_noun(len(times), 'audit')}, made {_span(times)}.")
    return [*lines, *report.joined.notes]


def _span(times: Sequence[str]) -> str:
    first = min(times)
    last = max(times)
    if first == last:
        return f"at {first}"
    return f"from {first} to {last}"


def _paragraph(text: str, indent: str = "") -> list[str]:
    return _wrapped(text, WIDTH, indent, indent or "  ")


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    # Shorten the text first, because textwrap takes quadratic time for a long word.
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}…"
    return textwrap.wrap(shown(text), width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
