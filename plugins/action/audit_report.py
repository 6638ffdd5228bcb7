# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the report of an audit from what earlier tasks registered, or from other audits, show it and write it."""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
import stat
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import audit_report
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import base, findings, remedies, reports, slices
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import table


class ActionModule(base.FleetAction):
    VALIDATOR = documented(
        audit_report.DOCUMENTATION,
        ModuleDocFragment.ACCOUNT,
        required_one_of=[("config", "audits", "audits_variables")],
        mutually_exclusive=[("config", "audits"), ("config", "audits_variables")],
    )

    def act(self) -> dict[str, t.Any]:
        options = self.options
        _check(options)
        hosts, complete = self._audited()
        inventory, account, now = self.inventory, self.account, datetime.datetime.now(datetime.timezone.utc)
        joined: dict[str, t.Any] = {}
        if options["config"]:
            inspected = self.inspected(hosts)
        else:
            paths = [path for path in options["audits"] or () if path]
            audits = base.slices_of(paths, self.variables, options["audits_variables"] or "")
            inspected, joined = slices.join(
                audits, hosts, account, inventory.labels, now=now, max_age=options["max_age"]
            )
        report = findings.audit(
            inspected,
            account,
            inventory.labels,
            generated_at=findings.stamp(now),
            absent=inventory.absent,
            orphan_pattern=options["orphan_pattern"],
            **joined,
        )
        todo = remedies.steps(report, limited=self._limited(hosts), unreadable=inventory.unreadable)
        try:
            files = _write_all(report, todo, options, account.url)
        except InputError:
            # Show the report, because all hosts were inspected for it.
            self.show(table(report, todo))
            raise
        if not complete:
            return {"changed": False, "files": files}
        self.show("\n".join([table(report, todo), *(f"Written: {path}" for path in files.values())]))
        if report.drift and options["fail_on_drift"]:
            return {"changed": False, "failed": True, "drift": True, "msg": _drift(report), "files": files}
        document = reports.document(report)
        result = {"changed": False, "drift": report.drift, "report": document, "files": files}
        if options["artifact"]:
            result["ansible_stats"] = {"data": {options["artifact"]: document}, "per_host": False, "aggregate": False}
        return result

    def _limited(self, hosts: t.Sequence[str]) -> bool:
        """Whether the audit may lack hosts of the whole inventory."""
        variables, options = self.variables, self.options
        sources = variables.get("ansible_inventory_sources") or ()
        # A job slice of AWX is a workflow job whose inventory has only its hosts; no variable identifies a slice.
        is_slice = options["config"] and (options["artifact"] or "awx_workflow_job_id" in variables)
        # A source that does not exist as a file is a list of hosts, or a missing file.
        is_no_file = not all(map(os.path.exists, sources))
        return bool(
            variables.get("ansible_limit") or is_slice or is_no_file or self.inventory.labels.keys() - set(hosts)
        )

    def _audited(self) -> tuple[list[str], bool]:
        """The play's hosts up to this batch, and whether that is all of them: with ``serial`` others follow."""
        variables = self.variables
        hosts = list(variables["ansible_play_hosts_all"])
        alive, batch = variables["ansible_play_hosts"], set(variables["ansible_play_batch"])
        if not alive or alive[-1] in batch:
            return hosts, True
        last = max(number for number, host in enumerate(hosts) if host in batch)
        return hosts[: last + 1], False


def _check(options: Mapping[str, t.Any]) -> None:
    """InputError for options that cannot be used, or not together."""
    artifact = options["artifact"]
    if artifact and options["fail_on_drift"]:
        raise InputError(
            "Ansible discards the artifact of a failed task, so artifact cannot be used with fail_on_drift. Set "
            "fail_on_drift only for the report that joins the artifacts."
        )
    if artifact and not artifact.isidentifier():
        raise InputError(f"artifact {artifact!r} is not the name of a variable. Choose another name.")
    paths = [base.controller_path(options[kind]) for kind in ("json", "junit", "html", "metrics") if options[kind]]
    if twice := {path for path in paths if paths.count(path) > 1}:
        raise InputError(f"Several reports have the path {min(twice)}. Choose a path for each.")
    # Not "max_age < 0", which is false for NaN.
    if not options["max_age"] >= 0:
        raise InputError(f"max_age {options['max_age']} is not a number of hours. Set 0 for audits of any age.")


def _drift(report: findings.Report) -> str:
    orphans, stale = len(report.orphans), sum(source["stale"] for source in report.sources)
    found = [
        report.summary("ok"),
        f"{orphans} client{'s' * (orphans > 1)} without a host" if orphans else "",
        f"{stale} stale audit{'s' * (stale > 1)}" if stale else "",
    ]
    return f"Drift: {', '.join(filter(None, found))}."


def _write_all(
    report: findings.Report, todo: list[remedies.Step], options: Mapping[str, t.Any], address: str
) -> dict[str, str]:
    """Write the requested reports; kind → path."""
    forms: dict[str, t.Callable[[], str]] = {
        "json": lambda: reports.as_json(report),
        "junit": lambda: reports.as_junit(report),
        "html": lambda: reports.as_html(report, todo, address),
        "metrics": lambda: reports.as_openmetrics(report, hosts=options["metrics_hosts"]),
    }
    # A collector of metrics runs as another user, who must be able to read the file.
    modes = {"metrics": 0o644}
    return {kind: _write(options[kind], make(), modes.get(kind)) for kind, make in forms.items() if options[kind]}


def _write(path: str, text: str, mode: int | None = None) -> str:
    """Write a file on the controller, whole or not at all; without a mode, the umask decides who may read it."""
    target = base.controller_path(path)
    # Random, because containers that write to one directory can have the same process id.
    temporary = f"{target}.{secrets.token_hex(4)}"
    try:
        if os.path.lexists(target) and not stat.S_ISREG(os.lstat(target).st_mode):
            # As root, os.replace would replace a device such as /dev/null, which all programs use.
            raise InputError(
                f"The report could not be written to {target}: it is not a regular file. Choose another path."
            )
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(temporary, "x", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise InputError(
            f"The report could not be written to {target}: {error.strerror or error}. Choose another path, or let the "
            "user that runs Ansible write there."
        ) from error
    return target
