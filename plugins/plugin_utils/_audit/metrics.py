# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit as metrics, in text that is both OpenMetrics 1.0 and the Prometheus text format 0.0.4. Pure.

Gauges only: the older format knows no info and no state set. No timestamps: textfile collectors refuse them.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import (
    SCHEMA_VERSION,
    STATES,
    Report,
    instant,
)

_PREFIX = "monitor_cloud_"
_INCLUDED = "Clients that the plan includes; no sample on the free plan, or if it cannot be read."


def as_openmetrics(report: Report, *, hosts: bool = False) -> str:
    """The metrics of an audit; with ``hosts`` also a series for each host, with its name.

    A value of the account that is not known, or has no limit, has no sample.
    """
    account, price = report.account, report.account["price"] or {}
    # A joined report is as old as the oldest audit that it uses.
    times = [one["generated_at"] for one in report.sources if one["hosts"]] or [report.generated_at]
    made = int(min(map(instant, times)).timestamp())
    states = [({"state": state}, report.counts.get(state, 0)) for state in STATES]
    prices = [({"period": period}, price.get(period)) for period in ("hourly", "monthly")]
    families = [
        _family("audit_info", "The schema of the audit; always 1.", [({"schema_version": str(SCHEMA_VERSION)}, 1)]),
        _family("audit_timestamp_seconds", "When the hosts were inspected, in seconds since 1970.", made, "seconds"),
        _family("audit_hosts", "Hosts of the audit by state, each counted once, in its worst state.", states),
        _family("audit_orphans", "Clients without a host in the whole inventory.", len(report.orphans)),
        _family("clients_used", "Clients that the account has.", account["clients_used"]),
        _family("clients_included", _INCLUDED, account["clients_included"]),
        _family("clients_missing", "Hosts of the audit that need a new client.", account["clients_missing"]),
        _family("clients_masked", "Clients whose keys the token cannot read.", account["clients_masked"]),
        _family("plan_price", "The price of the plan by period, as the service states it.", prices),
    ]
    if hosts:
        each = [({"host": one.host, "state": one.state}, 1) for one in report.hosts]
        families.append(_family("audit_host_state", "The state of a host; 1 for the state that it is in.", each))
    return "".join(families) + "# EOF\n"


def _family(name: str, text: str, samples: t.Any, unit: str = "") -> str:
    """A family of gauges: pairs of labels and value, or a value. Those that are not numbers are left out."""
    pairs = samples if isinstance(samples, list) else [({}, samples)]
    numbers = [(labels, value) for labels, value in pairs if isinstance(value, (int, float))]
    if not numbers:
        return ""
    head = [f"# TYPE {_PREFIX}{name} gauge", *([f"# UNIT {_PREFIX}{name} {unit}"] if unit else [])]
    lines = [*head, f"# HELP {_PREFIX}{name} {text}", *(f"{_PREFIX}{name}{_labels(of)} {n}" for of, n in numbers)]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_value(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _value(text: str) -> str:
    """A label value on one line. Other names are written as in Python, so that no two become the same."""
    if not text.isprintable() or "\\" in text:
        text = text.encode("unicode_escape").decode("ascii")
    return text.replace("\\", "\\\\").replace('"', '\\"')
