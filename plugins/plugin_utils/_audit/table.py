# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Format an audit as a table with lines of at most 100 characters. Only commands can be longer. Pure."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import listed
from ansible_collections.monitor.cloud.plugins.module_utils._clients.plan import cost
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import TITLES, Host, Report
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import OPTIONS, Step

WIDTH = 100
_WIDEST_NAME = 30
# If there are more hosts than _ALL_SHOWN, the table shows only findings: at most _MOST_FINDINGS, worst first.
_ALL_SHOWN = 50
_MOST_FINDINGS = 200
_LONGEST_TEXT = 10_000


def table(report: Report, steps: Sequence[Step]) -> str:
    """Return the report for a terminal, without a line break at the end."""
    counts = ", ".join(f"{count} {state}" for state, count in report.counts.items())
    lines = [*_hosts(report), "", *_paragraph(f"Hosts: {len(report.hosts)} ({counts})." if counts else "Hosts: none.")]
    if report.orphans:
        lines += _paragraph(f"Clients without a host: {len(report.orphans)} ({listed(report.orphans, form=str)}).")
    for text in (cost(report.account), *sentences(report)):
        lines += _paragraph(text)
    if steps:
        lines += ["", "What to do:"]
    if any(step.shell for step in steps):
        lines += ["", *_paragraph(OPTIONS, indent="  ")]
    for step in steps:
        count = f": {len(step.names)}" if step.names else ""
        lines += ["", *_paragraph(f"{step.heading}{count}. {step.text}", indent="  ")]
        # A command stays on one line, so that users can copy the command.
        lines += [f"    {step.shell}"] if step.shell else []
    return "\n".join(shown(line) for line in lines)


def shown(text: str) -> str:
    """Replace characters that control a terminal or the direction of text. Host names can contain such characters."""
    return printable(text, "\ufffd")


def rows(header: Sequence[str], entries: Sequence[Sequence[str]]) -> list[str]:
    """Return entries as aligned columns. The last column takes the rest of the line. Long entries are wrapped."""
    names = [min(max(map(len, column)), _WIDEST_NAME) for column in zip(header, *entries, strict=True)][:-1]
    widths = [*names, WIDTH - sum(names) - 2 * len(names)]
    lines = []
    for entry in (header, *entries):
        cells = [_wrapped(cell, size) or [""] for cell, size in zip(entry, widths, strict=True)]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            lines.append("  ".join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip())
    return lines


def _hosts(report: Report) -> list[str]:
    drift = [finding for finding in report.hosts if finding.state != "ok"]
    findings = report.hosts if len(report.hosts) <= _ALL_SHOWN else drift[:_MOST_FINDINGS]
    if not findings:
        return []
    lines = rows(
        ("HOST", "STATE", "FINDING"), [(finding.host, finding.state, sentence(finding)) for finding in findings]
    )
    more = len(drift) - len(findings)
    return [*lines, f"... and {more} more findings."] if more > 0 else lines


def sentence(finding: Host) -> str:
    """Return the title and the detail of a finding. Empty without drift."""
    return f"{TITLES[finding.state]}. {finding.detail}" if finding.detail else ""


def adoption(finding: Host) -> str:
    """Return what adopt will do for a host, or why the host cannot keep the client whose key it carries."""
    if not finding.renamed:
        return finding.detail
    later = " in a later run: another client must give up this label first" if finding.adoption == "later" else ""
    return f"Client {finding.facts['owner_label']!r} gets the label {finding.label!r}{later}."


def sentences(report: Report) -> list[str]:
    """Return sentences about hosts whose keys cannot be compared, and about the audits of a joined report."""
    lines = []
    if count := len(report.not_compared):
        lines.append(f"Hosts whose keys this token cannot compare: {count}. These hosts do not count as drift.")
    if times := sorted(source["generated_at"] for source in report.sources):
        made = f"at {times[0]}" if times[0] == times[-1] else f"from {times[0]} to {times[-1]}"
        lines.append(f"Joined from {len(times)} audit{'' if len(times) == 1 else 's'}, made {made}.")
    return [*lines, *report.notes]


def _paragraph(text: str, indent: str = "") -> list[str]:
    return _wrapped(text, WIDTH, indent, indent or "  ")


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    # Shorten the text first, because textwrap takes quadratic time for a long word.
    text = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return textwrap.wrap(shown(text), width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
