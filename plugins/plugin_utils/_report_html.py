# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit as one HTML page that needs nothing else: no network, no other file. Pure but for reading its own parts."""

from __future__ import annotations

import base64
import hashlib
import html
import pathlib
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._report_table import account_sentence, price

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Finding, Report
    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit_steps import Step

_HERE = pathlib.Path(__file__)
_SLOT = re.compile(r"\{\{(\w+)\}\}")
# Of a picture a thousand units wide; a single host among thousands must still be seen.
_PICTURE = 1000
_NARROWEST = 6
_MOST_NAMES = 12


def page(report: Report, steps: Sequence[Step]) -> str:
    """The page. Whatever comes from hosts or the service is escaped."""
    style, script = _part("css"), _part("js")
    bad = sum(finding.state != "ok" for finding in report.hosts)
    total = len(report.hosts)
    headline = (
        f"{bad} of {total} hosts {'needs' if bad == 1 else 'need'} attention" if bad else f"All {total} hosts are ok"
    )
    values = {
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "headline_text": headline,
        "headline": headline,
        "generated_at": html.escape(report.generated_at),
        "coverage": _coverage(report),
        "account": _account(report.account),
        "steps": "\n".join(_step(step) for step in steps) or "<p>Nothing: every host reports under its own key.</p>",
        "rows": "\n".join(_row(finding) for finding in report.hosts),
        "orphans": _orphans(report.orphans),
    }
    # In one pass: what is put in is not looked at again.
    return _SLOT.sub(lambda slot: values[slot[1]], _part("html"))


def _part(suffix: str) -> str:
    return _HERE.with_name(f"_report_page.{suffix}").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As the content security policy names the one script, and the one style, that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _coverage(report: Report) -> str:
    counts = report.counts
    words = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no hosts"
    picture = _picture(
        f"States of {len(report.hosts)} hosts: {words}", [(state, state, count) for state, count in counts.items()]
    )
    entries = "".join(
        f'<li><span class="entry" data-state="{state}"><span class="dot s-{state}"></span>{state}&nbsp;<b>{count}</b>'
        "</span></li>"
        for state, count in counts.items()
    )
    return f'{picture}\n<ul class="legend">{entries}</ul>'


def _picture(words: str, parts: Iterable[tuple[str, str, int]], whole: int = 0) -> str:
    """Parts of a whole as a bar, each at least wide enough to be seen. A part: class, what it is, how many."""
    present = [part for part in parts if part[2] > 0]
    total = max(whole, sum(count for _kind, _what, count in present)) or 1
    widths = [max(_NARROWEST, count * _PICTURE / total) for _kind, _what, count in present]
    scale = min(1.0, _PICTURE / (sum(widths) or 1))
    shapes, left = [], 0.0
    for (kind, what, count), width in zip(present, widths, strict=True):
        shapes.append(
            f'<rect class="s-{kind}" x="{left:.1f}" y="0" width="{width * scale:.1f}" height="40">'
            f"<title>{what}: {count}</title></rect>"
        )
        left += width * scale
    start = f'<svg viewBox="0 0 {_PICTURE} 40" preserveAspectRatio="none" role="img"'
    return f'{start} aria-label="{html.escape(words)}">{"".join(shapes)}</svg>'


def _account(account: dict[str, t.Any]) -> str:
    used, missing, included = account["clients_used"], account["clients_missing"], account["clients_included"]
    sentence = account_sentence(account)
    facts = {"Clients used": used, "Hosts that need one": missing, "Clients included": included}
    picture = ""
    if included is not None:
        left = included - used - missing
        facts.update({"Left after that": left} if left >= 0 else {"Too few by": -left})
        parts = [
            ("ok", "used", min(used, included)),
            ("foreign_key", "used beyond what is included", used - included),
            ("not_registered", "needed by hosts that are not registered", missing),
        ]
        picture = _picture(sentence, parts, included)
    tier = account["next_tier"]
    if tier:
        facts["Next tier"] = f"{tier['id']}: {tier['clients_included']} clients, {price(tier['price'])}"
    shown = "".join(
        f"<dt>{name}</dt><dd>{html.escape(str(value))}</dd>" for name, value in facts.items() if value is not None
    )
    return f"{picture}\n<p>{html.escape(sentence)}</p>\n<dl>{shown}</dl>"


def _step(step: Step) -> str:
    count = f"&nbsp;({len(step.names)})" if step.names else ""
    return (
        f'<div class="step"><h3><span class="dot s-{step.kind}"></span>{html.escape(step.title)}{count}</h3>'
        f"<p>{html.escape(step.text)}</p>{_names(step.names)}"
        f'<div class="command"><pre><code>{html.escape(step.shell)}</code></pre></div></div>'
    )


def _names(names: Sequence[str]) -> str:
    """A list of names; a long one is folded."""
    if not names:
        return ""
    shown = "".join(f"<li>{html.escape(name)}</li>" for name in names)
    shown = f'<ul class="names">{shown}</ul>'
    return shown if len(names) <= _MOST_NAMES else f"<details><summary>All {len(names)}</summary>{shown}</details>"


def _row(finding: Finding) -> str:
    label = "" if finding.label == finding.host else f"<small>{html.escape(finding.label)}</small>"
    others = f"<small>and {', '.join(finding.states[1:])}</small>" if len(finding.states) > 1 else ""
    return (
        f'<tr data-state="{finding.state}"><th scope="row">{html.escape(finding.host)}{label}</th>'
        f'<td><span class="dot s-{finding.state}"></span>{finding.state}{others}</td>'
        f"<td>{html.escape(finding.detail)}</td></tr>"
    )


def _orphans(labels: Sequence[str]) -> str:
    if not labels:
        return ""
    return (
        '<section aria-labelledby="orphans" class="wide"><h2 id="orphans">Clients without a host</h2>'
        f"<p>{len(labels)} of the account's clients, of which the whole inventory knows no host.</p>"
        f"{_names(labels)}</section>"
    )
