# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The variables of the role: names that it does not know, and a check of values before anything is written.

Core would check them by a task on every host; here one task checks all hosts of a batch. Types and choices are those of
``meta/argument_specs.yml``.
"""

from __future__ import annotations

import contextlib
import difflib
import pathlib
import re
import typing as t
from collections.abc import Collection, Iterable, Mapping

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils import _accounts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import absolute, file_mode, file_owner
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, templates

Variables = Mapping[str, t.Any]

_ROLE = pathlib.Path(__file__).parents[2] / "roles" / "monitor_agent"
_SPECS = yaml_load((_ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
# The documented options of all entry points. Read once, before the forks.
_OPTIONS: dict[str, dict[str, t.Any]] = {
    name: option for spec in _SPECS.values() for name, option in spec["options"].items()
}
ROLE = "monitor.cloud.monitor_agent"
_PREFIX = "monitor_agent_"
# Each playbook sets this variable to its name.
PLAYBOOK = "monitor_agent_playbook"
# Compared without the prefix, which all names have.
_SHORT = tuple(name.removeprefix(_PREFIX) for name in _OPTIONS)
# The names in the role's files: its options, and variables that it computes or registers.
_KNOWN = {PLAYBOOK}.union(
    *(re.findall(r"\bmonitor_agent_\w+", path.read_text(encoding="utf-8")) for path in _ROLE.glob("*/*.yml"))
)

# The extra variables of each playbook.
PLAYBOOKS = {
    "adopt": ("target",),
    "audit": ("target",),
    "prune": ("prune_limit", "prune_pattern"),
    "report": ("audits", "audits_max_age", "audits_variables", "target"),
    "retire": ("labels", "retire_limit", "target"),
    "rollout": ("target",),
}

STATES_DIFFER = (
    "monitor_agent_state differs between the hosts of this play. Use a play, or a run with --limit, for each state."
)
LABEL_IN_PLAY = (
    "monitor_agent_label is set in the play or at the role, so labels of other hosts are unknown. Nothing was done. "
    "Set it in the inventory."
)
# Those that identify a host.
_OF_FACTS = re.compile(r"\bansible_(facts|hostname|nodename|fqdn)\b")
_STATE, _LABEL, _PATH = "monitor_agent_state", "monitor_agent_label", "monitor_agent_config_path"
_TEMPLATE = "monitor_agent_config_template"
_CONNECTION = ("ansible_connection", "ansible_shell_type")
_TEXT = ("str", "path")
_KINDS = {
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "list": "a list of strings",
    **dict.fromkeys(_TEXT, "a string"),
}
# Windows hosts are refused later, or leave their batch.
_WINDOWS_PATH = re.compile(r"[A-Za-z]:")


def warn_of_unknown(names: Iterable[str]) -> None:
    """Warn about each variable whose name resembles one of the role's. Core shows a text once for all hosts.

    Other variables with the prefix may be the user's own, for a template.
    """
    for name in names:
        if name.startswith(_PREFIX) and name not in _KNOWN:
            short = name.removeprefix(_PREFIX)
            # Words that are left out at the start make a long name differ much: html for audit_html.
            ends = [known for known in _SHORT if known.endswith(f"_{short}")]
            nearest = ends or difflib.get_close_matches(short, _SHORT, 1, cutoff=0.7)
            if nearest:
                Display().warning(
                    f"{name!r} is not a variable of the role monitor.cloud.monitor_agent; "
                    f"did you mean {' or '.join(repr(_PREFIX + known) for known in nearest)}?"
                )


def check_playbook(variables: Variables, extra: Iterable[str]) -> None:
    """InputError for an extra variable whose name resembles one of the playbook: without target it takes all hosts.

    Several playbooks can be given the same variables.
    """
    own = PLAYBOOKS.get(str(variables.get(PLAYBOOK)), ())
    for name in set(extra).difference(*PLAYBOOKS.values()):
        if nearest := difflib.get_close_matches(name, own, 1, cutoff=0.8):
            raise InputError(
                f"{name!r} is not a variable of the playbook {variables[PLAYBOOK]}; did you mean {nearest[0]!r}? "
                "Nothing was done. Correct the name, or choose another one for a variable of your own."
            )


def connection(templar: t.Any, variables: Variables, options: Iterable[str]) -> dict[str, t.Any]:
    """Those of the connection options that variables of the role set, and to what.

    InputError if the template of one fails: the environment may name another account.
    """
    found = {}
    for option in options:
        name = f"{_PREFIX}{option}"
        try:
            # A list, from which core removes omit; before 2.19 that is a text.
            rendered = templar.template([variables[name]] if name in variables and name in _OPTIONS else [])
            value = templates.plain(rendered[0]) if rendered else None
        except Exception as error:
            problem = f"{name} is set, but its template fails: {str(error).rstrip('.')}."
            raise InputError(f"{problem} Nothing was done.") from None
        if value not in (None, "", variables.get("omit")):
            found[option] = value
    return found


def inventory(variables: Variables, names: Iterable[str] = ()) -> dict[str, Variables]:
    """Host → what the inventory sets for it of the role's variables, how to connect, and these names, as it is.

    Not all of its variables: for ten thousand hosts they would take a hundred megabytes.
    """
    kept = {*_CONNECTION, *names}
    found: dict[str, Variables] = {}
    for host in known_hosts(variables):
        raw = plays.raw_variables(variables, host)
        check_facts(host, raw)
        found[host] = {name: value for name, value in raw.items() if name.startswith(_PREFIX) or name in kept}
    return found


def known_hosts(variables: Variables) -> list[str]:
    """The hosts of the inventory, and localhost if only the play has it."""
    return list(dict.fromkeys([*variables["groups"]["all"], *variables["ansible_play_hosts_all"]]))


def check_facts(host: str, raw: Variables, names: Collection[str] = ()) -> None:
    """InputError if a host has variables of the role, or ``names``, among its facts: they precede the inventory.

    Root on the host writes them: to get the client of another host, files of the controller, or the token.
    """
    # Play and role do not set the extra variables of the playbooks prune and report.
    known = (_PREFIX, "prune_", "audits")
    found = sorted(name for name in raw.get("ansible_facts") or () if name.startswith(known) or name in names)
    if found:
        raise InputError(
            f"The facts of host {host} set {fields.listed(found)}. The host itself reports its facts, so nothing was "
            "done. Find out why. Set such variables in the inventory or the play, or by set_fact without cacheable."
        )


def labels(variables: Variables, hosts: t.Sequence[str], own: Mapping[str, Variables]) -> dict[str, str]:
    """Host → label, for ``hosts`` among ``own``, the inventory; InputError for two hosts of it with one label."""
    return fields.labels_of_hosts(hosts, own, lambda host: given_label(variables["hostvars"], host, own[host]))


def given_label(hostvars: Variables, host: str, own: Variables) -> t.Any:
    value = own.get(_LABEL)
    return own_label(hostvars, host) if templates.has_template(value) else value


def labels_to_register(
    variables: Variables, batch: Iterable[str], own: Mapping[str, Variables], names: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The labels of the hosts of ``batch``, and of other batches: both need room in one plan.

    Without hosts that have failed, and without Windows hosts. ``names`` are those of :func:`_accounts.names`.
    """
    found = labels(variables, variables["ansible_play_hosts"], own)
    found = {host: label for host, label in found.items() if not _is_windows(variables["hostvars"], host, own[host])}
    account = _accounts.values(own[variables["inventory_hostname"]], names)
    in_batch = set(variables["ansible_play_batch"])
    planned = (
        host
        for host in found
        if host not in in_batch
        # Of other batches a state that is a template is not rendered.
        and own[host].get(_STATE) in (None, "present")
        and _accounts.values(own[host], names) == account
    )
    return [found[host] for host in batch if host in found], [found[host] for host in planned]


def check_gone(variables: Variables, gone: Iterable[t.Any], own: Mapping[str, Variables]) -> None:
    """InputError if a host of the inventory has one of the labels: its agent would go on, with an invalid key."""
    given = set(map(str, gone))
    for host, raw in own.items():
        label = None
        # One that is made of facts is unknown without them, and so is a vaulted one without its password.
        with contextlib.suppress(AnsibleError, InputError):
            label = fields.client_label(host, given_label(variables["hostvars"], host, raw))
        if label in given:
            raise InputError(
                f"The label {label!r} is that of host {host}, whose configuration would be left. Nothing was done. "
                f"Retire the host itself (-e target={host}), or remove it from the inventory if it is gone."
            )


def check_label_facts(variables: Variables) -> None:
    """InputError for a label that is made of facts, of a host without facts: with a default it would be another one."""
    for host in known_hosts(variables):
        raw = plays.raw_variables(variables, host)
        if _OF_FACTS.search(str(raw.get(_LABEL))) and not raw.get("ansible_facts"):
            raise InputError(
                f"{_LABEL} of host {host} is made of facts, which this run does not have, so its client would be taken "
                "for one without a host. Nothing was done. Use variables of the inventory, or a fact cache."
            )


def own_label(hostvars: Variables, host: str) -> t.Any:
    """The label that the inventory sets for a host, None if it sets none; InputError if its template fails."""
    try:
        label = plays.rendered_variables(hostvars, host).get(_LABEL)
    except AnsibleError as error:
        raise InputError(f"{_LABEL} of host {host}: {error}") from None
    if templates.failed_to_render(label):
        raise InputError(f"{_LABEL} of host {host}: the template {label!r} fails. Check the variables in it.")
    if label is not None:
        # A dictionary of the user's has no raw values.
        check_facts(host, hostvars.raw_get(host) if hasattr(hostvars, "raw_get") else hostvars[host])
    return label


def rendered(hostvars: Variables, host: str, name: str, value: t.Any) -> t.Any:
    """The value of a variable of another host, from the one that the inventory has; AnsibleError if that fails."""
    return plays.rendered_variables(hostvars, host)[name] if templates.has_template(value) else value


def _is_windows(hostvars: Variables, host: str, own: Variables) -> bool:
    """Whether the inventory sets a connection or shell of Windows for a host."""
    try:
        connection, shell = (str(rendered(hostvars, host, name, own.get(name))) for name in _CONNECTION)
    except AnsibleError:
        # The task that connects reports it.
        return False
    return connection.rpartition(".")[2] in ("winrm", "psrp") or shell in ("powershell", "cmd")


def check_batch(action: ActionBase, variables: Variables, own: Mapping[str, Variables]) -> None:
    """InputError for invalid variables of the task's host, or of the inventory for another host of the batch.

    Templates of other hosts are left to the task that uses them, except those of the path. The file that
    ``monitor_agent_config_template`` names has to exist for the task's host.
    """
    first = variables["inventory_hostname"]
    found: dict[tuple[str, str], list[str]] = {}
    for name in _OPTIONS:
        of_first, given = _reason(name, _effective(action, variables, name)), own[first].get(name)
        if name == _TEMPLATE:
            of_first = of_first or _reason_of_template(action, variables)
        for host, raw in own.items():
            reason = of_first if raw.get(name) == given else ""
            # The same template may be another path.
            may_differ = raw.get(name) != given or (name == _PATH and templates.has_template(given))
            if not reason and may_differ and host != first and name in raw:
                reason = _reason(name, _literal(variables, host, name, raw[name]))
            if reason:
                found.setdefault((name, reason), []).append(host)
    # Hosts are named unless all of the batch have the value.
    lines = [
        f"{name}{f' of {fields.listed(hosts)}' if len(hosts) < len(own) else ''} is invalid: {reason}"
        for (name, reason), hosts in found.items()
    ]
    if lines:
        raise InputError(" ".join([*lines, "Nothing was done."]))


def state_of_batch(action: ActionBase, variables: Variables, own: Mapping[str, Variables]) -> str:
    """The state of all hosts of the batch; InputError with the reason if they cannot be registered at once."""
    given = own[variables["inventory_hostname"]].get(_STATE)
    state = action._templar.template(variables[_STATE])
    for host, raw in own.items():
        if raw.get(_STATE) != given or templates.has_template(variables[_STATE]):
            templar = plays.templar_for(action, variables, host)
            if templar.template(templar.available_variables[_STATE]) != state:
                raise InputError(STATES_DIFFER)
    return str(state)


def check_label_of_play(action: ActionBase, variables: Variables, hosts: Iterable[str] = ()) -> None:
    """InputError if play or role set a label for the task's host, or for one of the other ``hosts`` of its batch."""
    templars = {variables["inventory_hostname"]: action._templar}
    if _LABEL in plays.variables_of_play(action._task):
        templars.update((host, plays.templar_for(action, variables, host)) for host in hosts)
    for host, templar in templars.items():
        label = None
        with contextlib.suppress(Exception):
            label = templar.template(templates.trusted(f"{{{{ {_LABEL} | default('') }}}}"))
        # Before 2.19 a template makes text of a number.
        if str(label or "") != str(own_label(variables["hostvars"], host) or ""):
            raise InputError(LABEL_IN_PLAY)


# What a type cannot express.
_RULES: dict[str, t.Callable[[t.Any], object]] = {
    _PATH: lambda value: _WINDOWS_PATH.match(str(value)) or absolute(str(value)),
    "monitor_agent_config_mode": file_mode,
    # A number may be an integer here.
    "monitor_agent_config_owner": lambda value: file_owner("owner", str(value)),
    "monitor_agent_config_group": lambda value: file_owner("group", str(value)),
    "monitor_agent_audit_orphan_pattern": lambda value: fields.compiled(str(value), "orphan_pattern"),
}


def _effective(action: ActionBase, variables: Variables, name: str) -> t.Any:
    """The value of a variable for the task's host; None if it is not set, or if it fails, as its use will report."""
    if name not in variables:
        return None
    value, option = variables[name], _OPTIONS[name]
    if option.get("elements") == "raw":
        # Reports of other runs, whose text is not a template.
        return None
    if option["type"] in _TEXT and name not in _RULES and "choices" not in option:
        # No text is invalid, so a template, which may be slow or secret, is not rendered.
        return value if isinstance(value, (dict, list)) else None
    if value is None:
        return "" if name == _PATH else None
    with contextlib.suppress(Exception):
        return templates.plain(action._templar.template(value))
    return None


def _literal(variables: Variables, host: str, name: str, value: t.Any) -> t.Any:
    """A value that the inventory has for another host; None for a template, except the path, or a vaulted value."""
    with contextlib.suppress(Exception):
        if name == _PATH:
            path = rendered(variables["hostvars"], host, name, value) or ""
            return None if templates.failed_to_render(path) else path
    known = isinstance(value, (str, int, float, list, dict)) and not templates.has_template(value)
    return templates.plain(value) if known else None


def _reason(name: str, value: t.Any) -> str:
    """Why a value is refused, and what to write instead; empty if it is valid, or not known."""
    option = _OPTIONS[name]
    if value is not None and not _fits(name, option, value):
        # The value may be secret.
        return f"write {' or '.join(option.get('choices') or [_KINDS[option['type']]])}."
    try:
        if value is not None and name in _RULES:
            _RULES[name](value)
    except InputError as error:
        return str(error)
    return ""


def _reason_of_template(action: ActionBase, variables: Variables) -> str:
    """Why the template of the task's host is refused; empty if the file exists, or if its name fails."""
    # The playbook report imports tasks of the role, and renders no template.
    if not action._task._role or _effective(action, variables, _STATE) == "absent":
        return ""
    try:
        name = str(action._templar.template(variables.get(_TEMPLATE)) or "")
    except Exception:
        return ""
    try:
        action._find_needle("templates", name)
    except AnsibleError:
        path = f"{{{{ inventory_dir }}}}/templates/{name.rpartition('/')[2]}"
        return f"no file {name!r} is found. Write its whole path, such as {path!r}."
    return ""


def _fits(name: str, option: Mapping[str, t.Any], value: t.Any) -> bool:
    # The role takes an empty text for a variable that is not set.
    if value == "" and "default" not in option:
        return True
    items = value if option["type"] == "list" and isinstance(value, list) else [value]
    # The validator would make text of them.
    if option.get("elements", option["type"]) in _TEXT and any(isinstance(item, (dict, list)) for item in items):
        return False
    return not ArgumentSpecValidator({name: option}).validate({name: value}).error_messages
