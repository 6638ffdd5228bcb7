# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that resolve the findings of an audit, each with a command that does only this. Pure."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import findings

# What a step is about. not_audited: hosts that none of the joined audits has; renamed: hosts that can keep the client
# whose key they carry; clones: hosts that share a key of unknown owner; absent: hosts that are not to be monitored.
Kind = findings.State | t.Literal["not_audited", "renamed", "clones", "absent", "orphans", "plan"]

_NEW_AUDIT = "not_audited.json"
_LATER = " Names have moved on from host to host: run it again until no host is left to adopt."
_MOVED = (
    " First check {}: no other host carries the key, so it may be a renamed machine that a rollout registered again. "
    "To keep its history, delete the client that has its label now (monitor_client), then adopt."
)
_SERVICE = '{{ monitor_agent_service | default("monitor-agent") }}'
_TITLES = {
    **findings.TITLES,
    "not_audited": "Not in any of the audits",
    "renamed": "Renamed hosts",
    "clones": "Same key on several hosts",
    "absent": "Monitoring to be removed",
    "orphans": "Clients without a host",
    "plan": "The plan is too small",
}
# What to do about each kind, the worst first.
_TEXTS: dict[Kind, str] = {
    "unreachable": "Find out why Ansible can't reach them, then audit again.",
    "not_audited": f"None of the audits that were joined has them. Audit them, and join {_NEW_AUDIT} too.",
    "foreign_key": "They carry the key of another client, so their data arrives under its label. Most are clones: give "
    "each its own key. Hosts that share a key and have the right one need nothing else. If the finding returns for "
    "the other host, both are one machine: remove one from the inventory.",
    "renamed": "They carry the key of a client that no host of the inventory has, or one whose monitoring is to be "
    "removed, and have none of their own: renamed machines. Keep the client with its history, under the host's label.",
    "unknown_key": "Their key belongs to no client of this account. Give them the key of their own client.",
    "clones": "Clones: their data is mixed. The owner of the key is unknown while keys are masked: audit again with a "
    "token that has read-write access, then give each its own key.",
    "not_registered": "The account has no client for them. Register and configure them.",
    "not_configured": "Their client exists, but the host has no key. Configure them.",
    "unverifiable": "Correct what the finding names; or audit again with a token that has read-write access, as a user "
    "who may read the configuration (--become).",
    "outdated": "The key is right, but the rest of the file differs from the template.",
    "restart_pending": "A run changed the configuration, and then was killed or could not restart the agent.",
    "agent_stopped": "Start its service, and see its state and the end of its log. The command needs root (--become).",
    "wrong_permissions": "Owner, group or mode of the configuration is not as expected.",
    "absent": "Their monitor_agent_state is absent. The command removes the configuration, and the client with all its "
    "data.",
}
# The shell command or the playbook that does it, if that is not a rollout.
_SHELL: dict[Kind, str] = {
    "unreachable": "true",
    "agent_stopped": f"systemctl start {_SERVICE}; systemctl status --no-pager {_SERVICE}",
}
_PLAYBOOKS: dict[Kind, str] = {"not_audited": "audit", "renamed": "adopt", "clones": "audit", "unverifiable": "audit"}
# A longer list of hosts goes to a file, if a report is written.
_LONGEST_LIST = 80
# Linux takes no argument of more than 131,072 bytes.
_LONGEST_ARGUMENT = 120_000
# monitor_clients refuses to delete more, unless prune_limit is set.
_PRUNE_LIMIT = 10
_PLAIN_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_PLAIN_PATH = re.compile(r"[\w./+-]*", re.ASCII)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")
# The options of audit_report that choose reports; those of the role have the prefix monitor_agent_audit_.
REPORTS = ("json", "junit", "html", "metrics", "artifact")
# Extra variables that other commands do not get: each chooses hosts and labels of its own, and an audit its reports.
_CHOICE = "target|labels|prune_pattern|prune_limit"
_NOT_OF_AUDIT = re.compile(rf"{_CHOICE}|monitor_agent_audit_({'|'.join(REPORTS)}|metrics_hosts)")
_OF_THIS_RUN = re.compile(rf"{_CHOICE}|monitor_agent_audit_.*", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w./:@,+-]*", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Invocation:
    """How a command was started.

    ``options`` name the inventory, and how to reach hosts; ``vaults`` are those of them that open vaults.
    ``extra_vars`` are files, as ``@file``, and variables, in the order in which they count. ``service`` are connection
    options of modules. ``reports`` names the variables by which it writes reports. ``report_stem`` is the path of a
    report without its suffix: lists of hosts are written beside it. Empty for none. ``lacks`` and ``partial`` are
    sentences: what of it commands do not have, and why the inventory may not be whole.
    """

    options: Sequence[str] = ()
    vaults: Sequence[str] = ()
    extra_vars: Sequence[str | Mapping[str, t.Any]] = ()
    service: Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    report_stem: str = ""
    reports: Sequence[str] = ()
    lacks: str = ""
    partial: str = ""


@dataclasses.dataclass(frozen=True)
class Step:
    """Something to do. ``command`` is a list of arguments, empty if none helps.

    ``hosts_file`` is path and text of a file that it reads.
    """

    kind: Kind
    text: str
    names: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    hosts_file: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        return _TITLES[self.kind]

    @property
    def heading(self) -> str:
        """The title, with the id of the state that the step is about."""
        return findings.titled(self.kind) if self.kind in findings.TITLES else self.title

    @property
    def shell(self) -> str:
        return shlex.join(self.command)


def steps(report: findings.Report, run: Invocation) -> list[Step]:
    """What to do, the worst first, with the options of the run that found it. Some steps fail with too small a plan."""
    groups: dict[Kind, list[findings.Host]] = {}
    for finding in report.hosts:
        groups.setdefault(_kind_of(finding), []).append(finding)
    found = [_host_step(kind, groups[kind], run, report.orphans) for kind in _TEXTS if kind in groups]
    return [*_plan_step(report, run), *found, *_orphan_step(report, run)]


def _kind_of(finding: findings.Host) -> Kind:
    if not finding.audited:
        return "not_audited"
    if finding.state == "shared_key" and "unverifiable" in finding.states:
        return "clones"
    if finding.state == "not_registered" and finding.adoption == "unknown":
        # It may be a renamed host, whose client a rollout would replace.
        return "unverifiable"
    # A shared key is the concern of the other hosts.
    state = next((one for one in finding.states if one in _TEXTS), finding.state)
    # A rollout removes them, and refuses hosts of both kinds.
    if finding.absent and state in _TEXTS.keys() - {"unreachable", "unverifiable"}:
        return "absent"
    return "renamed" if finding.renamed else state


def _host_step(kind: Kind, found: Sequence[findings.Host], run: Invocation, orphans: Sequence[str]) -> Step:
    text = _TEXTS[kind]
    hosts = tuple(one.host for one in found)
    if kind == "renamed" and run.partial:
        return Step(kind, run.partial, hosts)
    moved = [one.host for one in found if not one.shared_with and one.owner_label in orphans]
    if kind == "foreign_key" and moved:
        text += _MOVED.format(findings.named(moved))
    if any(one.adoption == "later" for one in found):
        text += _LATER
    # A plain name means the host even if a group has the same.
    patterns = [host if _PLAIN_NAME.fullmatch(host) else f"~{_escaped(host)}\\Z" for host in hosts]
    target, hosts_file = ",".join(patterns), None
    choice, pattern = _as_options({"target": target}), [target]
    if len(target) > _LONGEST_LIST and run.report_stem and _PLAIN_PATH.fullmatch(run.report_stem):
        hosts_file = (f"{run.report_stem}.{kind}.hosts", "".join(f"{one}\n" for one in patterns))
        choice = ["--limit", f"@{hosts_file[0]}"]
        pattern = ["all", *choice]
    elif len(target) > _LONGEST_ARGUMENT:
        text += (
            " They are too many for a command: audit again with monitor_agent_audit_json, which writes lists to files."
        )
        return Step(kind, text, hosts)
    if kind in _SHELL:
        # Not modules such as ping, which need Python.
        task = ["-m", "ansible.builtin.raw", "-a", _SHELL[kind]]
        command = ["ansible", *run.options, *pattern, *task, *_variables(run, _OF_THIS_RUN)]
    else:
        playbook = _PLAYBOOKS.get(kind, "rollout")
        # The audit of a few hosts must not replace the reports of the run, wherever their variables are set.
        reports = dict.fromkeys(run.reports, "") if playbook == "audit" else {}
        if kind == "not_audited":
            reports["monitor_agent_audit_json"] = _NEW_AUDIT
        command = [*_playbook(playbook, run), *_as_options(reports), *choice]
    return Step(kind, text + run.lacks, hosts, tuple(command), hosts_file)


def _playbook(name: str, run: Invocation) -> list[str]:
    variables = _variables(run, _NOT_OF_AUDIT if name == "audit" else _OF_THIS_RUN)
    return ["ansible-playbook", *run.options, f"monitor.cloud.{name}", *variables]


def _variables(run: Invocation, left_out: re.Pattern[str]) -> list[str]:
    """The extra variables of the run as options, but for those whose name matches."""
    options = []
    for given in run.extra_vars:
        if isinstance(given, str):
            options += ["-e", given]
        else:
            options += _as_options({name: value for name, value in given.items() if not left_out.fullmatch(name)})
    return options


def _as_options(variables: Mapping[str, t.Any]) -> list[str]:
    """Variables as options of a command line."""
    plain, others = [], {}
    for name, value in variables.items():
        if isinstance(value, str) and _PLAIN_VALUE.fullmatch(value):
            plain += ["-e", f"{name}={value}"]
        else:
            others[name] = value
    return [*plain, "-e", json.dumps(others)] if others else plain


def _escaped(text: str) -> str:
    """A regular expression for a text, of characters that mean nothing in patterns, to templates or to shells."""
    return _NOT_PLAIN.sub(
        lambda found: f"\\U{ord(found[0]):08x}" if ord(found[0]) > 255 else f"\\x{ord(found[0]):02x}", text
    )


def _orphan_step(report: findings.Report, run: Invocation) -> list[Step]:
    # The client whose key a host carries is left to adopt, or to rollout first.
    carried = {finding.owner_label for finding in report.hosts}
    labels = tuple(label for label in report.orphans if label not in carried)
    if not labels:
        return []
    if run.partial:
        return [Step("orphans", run.partial, labels)]
    variables: dict[str, t.Any] = {"prune_pattern": "|".join(map(_escaped, labels))}
    if len(labels) > _PRUNE_LIMIT:
        variables["prune_limit"] = len(labels)
    given = json.dumps(variables)
    if len(given) > _LONGEST_ARGUMENT:
        text = "They are too many for a command: prune them in parts, each with a prune_pattern of your own."
        return [Step("orphans", text, labels)]
    text = (
        "Clients of hosts that are gone, or of other users of this account. The command shows what would be "
        "deleted, with all data of these clients. Run it without --check to delete them."
    )
    if report.unidentified:
        hosts = findings.named(report.unidentified)
        text += f" First find out whose key is on {hosts}: adopt lets a renamed host keep its client."
    command = (*_playbook("prune", run), "--check", "-e", given)
    return [Step("orphans", text + run.lacks, labels, command)]


def _plan_step(report: findings.Report, run: Invocation) -> list[Step]:
    account = report.account
    included, needed = account["clients_included"], account["clients_used"] + account["clients_missing"]
    if included is None or needed <= included:
        return []
    text = f"The plan includes {included} clients, and {needed} are needed."
    if not account["next_tier"]:
        return [Step("plan", f"{text} No tier is known that includes as many: prune first, or ask the provider.")]
    text += " Switch to a larger one, or prune first."
    arguments = {"min_clients": needed, **run.service}
    if arguments.pop("api_token", None):
        text += " The command reads the token from the environment variable MONITOR_API_TOKEN."
    given = json.dumps(arguments) if len(arguments) > 1 else f"min_clients={needed}"
    # Ansible reads group_vars in the working directory for localhost too.
    command = ("ansible", *run.vaults, "localhost", "-m", "monitor.cloud.monitor_plan", "-a", given)
    return [Step("plan", text, command=command)]
