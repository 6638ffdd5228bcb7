# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit as a table of at most 100 columns. Pure."""

from __future__ import annotations

import shlex
import textwrap
import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import natural

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Report
    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit_steps import Step

WIDTH = 100
_WIDEST_NAME = 30
# In a larger fleet, hosts in order are only counted; of many findings the worst are shown.
_ALL_SHOWN = 50
_MOST_FINDINGS = 200


def table(report: Report, steps: Sequence[Step]) -> str:
    """The report for a terminal, as text that ends without a line break."""
    lines = [*_hosts(report), "", *_summary(report), *_orphans(report), *_account(report.account)]
    if steps:
        lines += ["", "What to do:"]
    for step in steps:
        count = f" ({len(step.names)})" if step.names else ""
        lines += ["", *_wrapped(f"{step.title}{count}. {step.text}", indent="  "), *_command(step.command)]
    return "\n".join(map(shown, lines))


def shown(line: str) -> str:
    """A line without what would steer a terminal: names come from hosts and from the service."""
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def rows(header: Sequence[str], entries: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Columns; the last one takes what is left, and long entries go over several lines."""
    names = [min(max(map(len, column)), _WIDEST_NAME) for column in zip(header, *entries, strict=True)][:-1]
    widths = [*names, width - sum(names) - 2 * len(names)]
    lines = []
    for entry in (header, *entries):
        cells = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""] for cell, size in zip(entry, widths, strict=True)
        ]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            lines.append("  ".join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip())
    return lines


def _hosts(report: Report) -> list[str]:
    shown = [finding for finding in report.hosts if finding.state != "ok"][:_MOST_FINDINGS]
    if len(report.hosts) <= _ALL_SHOWN:
        shown = list(report.hosts)
    if not shown:
        return []
    entries = [(finding.host, finding.state, finding.detail) for finding in shown]
    more = sum(report.counts.values()) - report.counts.get("ok", 0) - len(shown)
    return rows(("HOST", "STATE", "FINDING"), entries) + ([f"... and {more} more findings."] if more > 0 else [])


def _summary(report: Report) -> list[str]:
    counts = ", ".join(f"{count} {state}" for state, count in report.counts.items())
    return _wrapped(f"Hosts: {len(report.hosts)} ({counts})." if counts else "Hosts: none.")


def _orphans(report: Report) -> list[str]:
    if not report.orphans:
        return []
    labels = sorted(report.orphans, key=natural)
    more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
    return _wrapped(f"Clients without a host: {len(labels)} ({', '.join(labels[:20])}{more}).")


def _account(account: dict[str, t.Any]) -> list[str]:
    return _wrapped(account_sentence(account))


def account_sentence(account: dict[str, t.Any]) -> str:
    """Plan and use in words."""
    used, missing = account["clients_used"], account["clients_missing"]
    needed = f"; {missing} more {'is' if missing == 1 else 'are'} needed" if missing else ""
    if account["free"] is None:
        return f"Clients: {used}{needed}. The plan is not known: {account['problem'] or 'it was not read'}"
    if account["free"]:
        plan = ", on the free plan, which states no limit"
    else:
        plan = f" of {account['clients_included']} that {account['plan']} includes, {price(account['price'])}"
    tier = account["next_tier"]
    larger = f" Next tier: {tier['id']}, {tier['clients_included']} clients, {price(tier['price'])}." if tier else ""
    return f"Clients: {used}{plan}{needed}.{larger}"


def price(value: t.Any) -> str:
    """A price in words; the service names no currency."""
    monthly = value.get("monthly") if isinstance(value, dict) else None
    return f"{monthly:g} a month" if isinstance(monthly, (int, float)) else "price not known"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent or "  ", break_on_hyphens=False)


def _command(command: Sequence[str]) -> list[str]:
    """A command in as many lines as it takes, as a shell reads it; an option stays with its value."""
    words: list[str] = []
    for argument in map(shlex.quote, command):
        if words and len(words[-1]) == 2 and words[-1].startswith("-"):
            words[-1] += f" {argument}"
        else:
            words.append(argument)
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 3 > WIDTH and line.strip():
            lines.append(f"{line} \\")
            line = "     "
        line += f" {word}"
    return [*lines, line]
