# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the report of an audit out of what the tasks before it registered, and writes it where it is wanted."""

from __future__ import annotations

import datetime
import os
import tempfile
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Report, audit
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit_steps import Step, inventory_options, steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet_action import (
    FleetAction,
    account_of,
    labels_of_inventory,
    looks,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._report_data import as_json, as_junit, document
from ansible_collections.monitor.cloud.plugins.plugin_utils._report_html import page
from ansible_collections.monitor.cloud.plugins.plugin_utils._report_table import table

if t.TYPE_CHECKING:
    from collections.abc import Mapping


class ActionModule(FleetAction):
    OPTIONS: t.ClassVar[dict[str, t.Any]] = {
        "account": {"type": "str", "required": True},
        "config": {"type": "str", "required": True},
        "plan": {"type": "str"},
        "subscriptions": {"type": "str"},
        "orphan_pattern": {"type": "str", "default": ".*"},
        "json": {"type": "str"},
        "junit": {"type": "str"},
        "html": {"type": "str"},
        "fail_on_drift": {"type": "bool", "default": False},
    }

    def act(self, options: dict[str, t.Any], variables: dict[str, t.Any]) -> dict[str, t.Any]:
        hosts, complete = self.batch(variables)
        labels = labels_of_inventory(variables)
        report = audit(
            looks(variables, hosts, options["config"], labels),
            account_of(variables, options["account"], options["plan"], options["subscriptions"]),
            labels,
            generated_at=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            orphan_pattern=options["orphan_pattern"],
        )
        todo = steps(report, inventory_options(map(_shown, variables.get("ansible_inventory_sources") or [])))
        files = _write_all(report, todo, options)
        if not complete:
            return {"changed": False, "files": files}
        written = "".join(f"\nWritten: {path}" for path in files.values())
        self.show(f"{table(report, todo)}{written}")
        if report.drift and options["fail_on_drift"]:
            return {"changed": False, "failed": True, "drift": True, "msg": _drift(report), "files": files}
        return {"changed": False, "drift": report.drift, "report": document(report), "files": files}


def _shown(source: str) -> str:
    """An inventory source as one would type it here."""
    near = os.path.relpath(source) if os.path.isabs(source) else source
    return source if near.startswith(os.pardir) else near


def _drift(report: Report) -> str:
    bad = ", ".join(f"{count} {state}" for state, count in report.counts.items() if state != "ok")
    orphans = f"{len(report.orphans)} clients without a host" if report.orphans else ""
    return f"Not all is as it should be: {', '.join(filter(None, (bad, orphans)))}."


def _write_all(report: Report, todo: list[Step], options: Mapping[str, t.Any]) -> dict[str, str]:
    """Write the reports that are wanted; kind → path."""
    makers: dict[str, t.Callable[[], str]] = {
        "json": lambda: as_json(report),
        "junit": lambda: as_junit(report),
        "html": lambda: page(report, todo),
    }
    return {kind: _write(options[kind], make()) for kind, make in makers.items() if options[kind]}


def _write(path: str, text: str) -> str:
    """Write a file on the controller, whole or not at all. Relative to where Ansible was started."""
    target = os.path.abspath(os.path.expanduser(path))
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", dir=os.path.dirname(target), delete=False
        ) as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(stream.name, 0o666 & ~umask)
        os.replace(stream.name, target)
    except OSError as error:
        raise InputError(f"The report could not be written to {target}: {error.strerror or error}.") from error
    return target
