# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the running command, for the commands that a report proposes. No secret is among them."""

from __future__ import annotations

import itertools
import os
import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.base import FleetAction, controller_path
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import REPORTS, Invocation
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays
from ansible_collections.monitor.cloud.plugins.plugin_utils._role_variables import PLAYBOOK, PLAYBOOKS, connection
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed_keys import unseal

# Options of the command line, by the name in core's parser.
_OPTIONS = {
    "become_ask_pass": "--ask-become-pass",
    "ask_pass": "--ask-pass",
    "ask_vault_pass": "--ask-vault-pass",
    "become_password_file": "--become-password-file",
    "connection_password_file": "--connection-password-file",
    "timeout": "--timeout",
    "vault_ids": "--vault-id",
    "vault_password_files": "--vault-password-file",
}
_VAULTS = ("ask_vault_pass", "vault_ids", "vault_password_files")
# Those that can hold the password of a gateway.
_LEFT_OUT = ("ssh_common_args", "ssh_extra_args", "sftp_extra_args", "scp_extra_args")
# Other variables are the user's own and can hold anything.
_KNOWN_NAME = re.compile(rf"(monitor_agent|ansible)_|({'|'.join(itertools.chain(*PLAYBOOKS.values()))})\Z")
_OF_JOINED = re.compile(r"(monitor_agent_)?audits(_variables|_max_age)?")
# What a playbook of this collection sets, and reports.
_OF_PLAYBOOK = re.compile(rf"{PLAYBOOK}\Z|monitor_agent_audit")
_SECRET_NAME = re.compile(r"token|key|secret|pass|pwd|code|auth|cred|private|community|psk|args|command", re.IGNORECASE)
# Queries hold signatures of addresses.
_URL_WITH_SECRET = re.compile(r"://(\S*\?|[^/\s]*@)")


def of_run(action: FleetAction) -> Invocation:
    """How the run of audit_report was started, for the commands that its report proposes."""
    options, variables, task = action.options, action.variables, action._task
    sources = variables.get("ansible_inventory_sources") or []
    service = connection(action._templar, variables, CONNECTION_OPTIONS)
    clients = map(unseal, action.account.clients.values())
    secrets = {str(client.get(field)) for client in clients for field in SECRET_FIELDS if client.get(field)}
    secrets |= {str(token) for token in (service.get("api_token"), os.environ.get("MONITOR_API_TOKEN")) if token}
    kept, left_out = _extra_vars(action._loader, secrets, options["audits_variables"] or "")
    play_only = _only_in_play(task, variables["playbook_dir"], sources)
    lacks = ""
    if play_only:
        lacks = f" The command lacks what counts for this play only: {', '.join(play_only)}. Add the values with -e."
    if left_out:
        names = ", ".join(sorted(set(left_out)))
        lacks += f" Add these again; they are not shown, because they can be secret: {names}."
    report = next((options[kind] for kind in ("json", "html", "junit") if options[kind]), "")
    return Invocation(
        options=[*inventory_options(sources), *_task_options(task), *_given_options(_OPTIONS)],
        vaults=_given_options(_VAULTS),
        extra_vars=kept,
        service=service,
        reports=[f"monitor_agent_audit_{kind}" for kind in REPORTS if options[kind]],
        report_stem=report and _short_path(controller_path(os.path.splitext(report)[0])),
        lacks=lacks,
        partial=_partial(options, variables),
    )


def _partial(options: Mapping[str, t.Any], variables: Mapping[str, t.Any]) -> str:
    """Why the inventory may not be whole, and what to do; a joined report is made with the whole one."""
    reason = plays.partial_inventory()
    # A job slice of AWX is a job of a workflow, and has only its hosts in its inventory; no variable names slices.
    if options["config"] and (options["artifact"] or "awx_workflow_job_id" in variables):
        reason = "This audit can be that of a slice, to be joined with others"
    text = f"{reason}, so the clients can be those of missing hosts. Audit again with the whole inventory."
    return text if reason else ""


def inventory_options(sources: Iterable[str]) -> list[str]:
    """The options that name the inventory."""
    return [part for source in sources for part in ("-i", _short_path(source))]


def _short_path(path: str) -> str:
    """A path, or an inventory source, as one would type it in the current directory."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith(os.pardir) else relative


def _task_options(task: Task) -> list[str]:
    """How the task reaches hosts, as options."""
    options = ["--become"] if task.become else []
    for option, value in plays.connection_options(task).items():
        options += [option, _short_path(value) if option == "--private-key" else value]
    return options


def _given_options(names: Iterable[str]) -> list[str]:
    """Those of the command line, by their name in core's parser, as options."""
    options = []
    for name in names:
        given = plays.command_line().get(name) or ()
        for one in given if isinstance(given, (list, tuple)) else [given]:
            options += [_OPTIONS[name]] if one is True else [_OPTIONS[name], str(one)]
    return options


def _only_in_play(task: Task, directory: str, sources: Iterable[str]) -> list[str]:
    """The role's variables that the play sets, its files of variables, and directories beside its playbook.

    ``directory`` is that of the playbook. ``sources`` are those of the inventory: directories beside them always count.
    """
    names = plays.variables_of_play(task)
    known = sorted(name for name in names if name.startswith("monitor_agent_") and not _OF_PLAYBOOK.match(name))
    if PLAYBOOK in names:
        # That of a playbook of this collection is for its tasks.
        return known
    files = [
        name
        for given in plays.play_of(task).vars_files or ()
        for name in ([given] if isinstance(given, str) else given)
    ]
    counted = {os.path.realpath(one if os.path.isdir(one) else os.path.dirname(one)) for one in sources}
    beside = [] if os.path.realpath(directory) in counted else ["group_vars", "host_vars"]
    paths = [os.path.join(directory, name) for name in beside]
    return [*known, *map(str, files), *(_short_path(path) for path in paths if os.path.isdir(path))]


def _extra_vars(
    loader: DataLoader, secrets: t.Collection[str], audits: str = ""
) -> tuple[list[str | dict[str, t.Any]], list[str]]:
    """Extra variables of the command line in their order, and names of those and of options that may be secret.

    What only a joined report needs is left out, as are variables whose name matches ``audits``: they hold its audits.
    """
    given = plays.command_line()
    kept: list[str | dict[str, t.Any]] = []
    left_out = [f"--{name.replace('_', '-')}" for name in _LEFT_OUT if given.get(name)]
    for option in filter(None, given.get("extra_vars") or ()):
        if option.startswith("@"):
            kept.append(option)
            continue
        shown = {}
        for name, value in plays.variables_in(option, loader).items():
            if _OF_JOINED.fullmatch(str(name)) or re.fullmatch(audits, str(name)):
                continue
            if _KNOWN_NAME.match(str(name)) and not _may_be_secret(str(name), value, secrets):
                shown[str(name)] = value
            else:
                left_out.append(str(name))
        kept.append(shown)
    return kept, left_out


def _may_be_secret(name: str, value: t.Any, secrets: t.Collection[str]) -> bool:
    if isinstance(value, dict):
        return any(_may_be_secret(f"{name} {inner}", of_it, secrets) for inner, of_it in value.items())
    if isinstance(value, list):
        return any(_may_be_secret(name, item, secrets) for item in value)
    text = str(value)
    # Vaulted values have other types than these.
    unknown = value is not None and not isinstance(value, (str, int, float))
    suspect = _SECRET_NAME.search(name) or _URL_WITH_SECRET.search(text)
    return unknown or bool(suspect) or any(secret in text for secret in secrets)
