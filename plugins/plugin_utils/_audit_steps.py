# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do about what an audit found, with the command for it. Pure."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import STATES, natural

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Finding, Report

_LONGEST_ARGUMENT = 80
# More than this monitor_clients refuses unless told otherwise.
_PRUNE_LIMIT = 10
_PLAIN_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_-]+")
# What a state means, and what to do about it. The command follows.
_MEANING = {
    "unreachable": ("Could not be reached", "Find out why Ansible can't reach them, then audit again."),
    "foreign_key": (
        "Report as another host",
        "They carry the key of another client, so two machines' data is mixed: clones. Give each its own key.",
    ),
    "renamed": (
        "Report under a label that no host has",
        "They carry the key of a client that belongs to no host of the inventory, and have none of their own: renamed "
        "machines. Keep the client with its history, under the host's label.",
    ),
    "unknown_key": (
        "Report to nobody, or to another account",
        "Their key belongs to no client of this account. Give them the key of their own client.",
    ),
    "shared_key": (
        "Their key is on other hosts too",
        "The others report under their name. Give the others keys of their own.",
    ),
    "clones": (
        "Carry the same key",
        "Clones: their data is mixed. Whose key it is can't be told while keys are masked: audit again with a token "
        "that has read-write access, then give each its own key.",
    ),
    "not_registered": ("Not registered", "The account has no client for them. Register and configure them."),
    "not_configured": ("Not configured", "Their client is there, the host has no key. Configure them."),
    "unverifiable": (
        "Can't be verified",
        "Audit again with a token that has read-write access, as a user who may read the configuration (--become).",
    ),
    "outdated": ("Outdated configuration", "The key is right, the text around it is not as the template makes it."),
    "wrong_permissions": ("Wrong permissions", "Owner, group or mode of the configuration is not as wanted."),
}


@dataclasses.dataclass(frozen=True)
class Step:
    """Something to do. ``kind`` is a state, renamed, clones, orphans or plan; ``command`` is a list of arguments."""

    kind: str
    title: str
    text: str
    names: tuple[str, ...]
    command: tuple[str, ...]

    @property
    def shell(self) -> str:
        return shlex.join(self.command)


def inventory_options(sources: Iterable[str]) -> list[str]:
    """The options that name the inventory; a source too long for a command line is left to the reader."""
    options: list[str] = []
    for source in sources:
        options += ["-i", source if len(source) <= _LONGEST_ARGUMENT else "INVENTORY"]
    return options


def steps(report: Report, inventory: Sequence[str]) -> list[Step]:
    """What to do, the worst first. ``inventory`` are the options of :func:`inventory_options`."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.hosts:
        if finding.state != "ok":
            groups.setdefault(kind_of(finding, report), []).append(finding)
    order = [*STATES[:2], "renamed", *STATES[2:4], "clones", *STATES[4:]]
    found = [_host_step(kind, groups[kind], inventory) for kind in order if kind in groups]
    return [*found, *_orphan_step(report, inventory), *_plan_step(report)]


def kind_of(finding: Finding, report: Report) -> str:
    """The state of a host, or more exactly what is behind it.

    ``renamed``: it carries the key of an orphan, and has no client of its own. ``clones``: it shares a key, and nobody
    can tell whose.
    """
    if finding.state == "shared_key" and "unverifiable" in finding.states:
        return "clones"
    renamed = (
        finding.state == "foreign_key"
        and "not_registered" in finding.states
        and not finding.shared_with
        and finding.owner_label in report.orphans
    )
    return "renamed" if renamed else finding.state


def _host_step(kind: str, findings: Sequence[Finding], inventory: Sequence[str]) -> Step:
    hosts = [finding.host for finding in findings]
    concerned = hosts
    if kind == "shared_key":
        others = {other for finding in findings for other in finding.shared_with}
        # Those that have the right key keep it; where that can't be told of any, all get their own.
        concerned = sorted(others - set(hosts), key=natural) or hosts
    title, text = _MEANING[kind]
    return Step(kind, title, text, tuple(hosts), tuple(_host_command(kind, concerned, inventory)))


def _host_command(kind: str, hosts: Sequence[str], inventory: Sequence[str]) -> list[str]:
    if kind == "unreachable":
        return ["ansible", *inventory, _pattern(hosts) or "all", "-m", "ansible.builtin.ping"]
    playbook = {"renamed": "adopt", "unverifiable": "audit", "clones": "audit"}.get(kind, "rollout")
    # Without a target, all hosts are looked at, and those changed that need it.
    target = ["-e", f"target={_pattern(hosts)}"] if _pattern(hosts) else []
    return ["ansible-playbook", *inventory, f"monitor.cloud.{playbook}", *target]


def _pattern(hosts: Sequence[str]) -> str:
    """The hosts as a pattern; empty if there are too many for a command line, or odd names among them."""
    pattern = ",".join(hosts)
    # Other signs have a meaning in patterns, and in what -e is given; names may come from the service.
    plain = all(map(_PLAIN_NAME.fullmatch, hosts))
    return pattern if plain and len(pattern) <= _LONGEST_ARGUMENT else ""


def _orphan_step(report: Report, inventory: Sequence[str]) -> list[Step]:
    # What a host still carries the key of is for adopt, or for rollout first.
    carried = {finding.owner_label for finding in report.hosts}
    labels = [label for label in report.orphans if label not in carried]
    if not labels:
        return []
    exact = "|".join(label if _PLAIN_LABEL.fullmatch(label) else _escaped(label) for label in labels)
    pattern = exact if len(exact) <= _LONGEST_ARGUMENT else ".*"
    wanted: dict[str, t.Any] = {"prune_pattern": pattern}
    if len(labels) > _PRUNE_LIMIT:
        wanted["prune_limit"] = len(report.orphans)
    text = (
        "Clients of hosts that are gone, or of others who use this account. This shows what would be deleted, with all "
        "that the service stored for it; without --check it is."
    )
    command = ["ansible-playbook", *inventory, "monitor.cloud.prune", "--check", "-e", json.dumps(wanted)]
    return [Step("orphans", "Clients without a host", text, tuple(labels), tuple(command))]


def _escaped(label: str) -> str:
    """A pattern for a label. Braces are kept from beginning a template, as which Ansible reads what -e is given."""
    return re.escape(label).replace("\\{", "[{]")


def _plan_step(report: Report) -> list[Step]:
    account = report.account
    included, needed = account["clients_included"], account["clients_used"] + account["clients_missing"]
    if included is None or needed <= included:
        return []
    text = f"The plan includes {included} clients, and {needed} are needed. Switch to a larger one, or prune first."
    command = ("ansible", "localhost", "-m", "monitor.cloud.monitor_plan", "-a", f"min_clients={needed}")
    return [Step("plan", "The plan is too small", text, (), command)]
