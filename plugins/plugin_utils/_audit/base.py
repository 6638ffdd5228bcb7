# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of actions that work on all hosts of a play at once, on the controller, and the data they read.

Results of other tasks are read by the name of their variable: as an argument they would be templated again, and shown.
Audits of other runs are read from files and variables, and none of their text is a template.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import typing as t
from collections.abc import Collection, Mapping, Sequence

import jinja2.meta
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label, listed, matching
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact, redact_all
from ansible_collections.monitor.cloud.plugins.plugin_utils import _role_variables
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import problem_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import secrets_in
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Account, Host, facts_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.slices import Slice, parse
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plays, tasks, templates

# Options that name variables.
_NAMES = ("account", "config", "plan", "subscriptions")
# Of 10,000 hosts it has less than a tenth.
_LARGEST_AUDIT = 2**26


class Known(t.NamedTuple):
    """The label of a host, whether its monitoring is to be removed, and what was registered for it, if anything."""

    label: str
    absent: bool
    result: Mapping[str, t.Any]


class FleetAction(tasks.PrivateAction):
    """An action that runs once for all hosts and connects to none."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    VALIDATOR: t.ClassVar[ArgumentSpecValidator]

    options: dict[str, t.Any]
    variables: dict[str, t.Any]
    # Variables that no fact of a host may set, besides those of the role.
    never_facts: Collection[str] = ()

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        tasks.forget_token(self._task)
        checked = self.VALIDATOR.validate(self._task.args)
        self.options, self.variables = checked.validated_parameters, task_vars or {}
        try:
            if problem := problem_of(self._task.action, checked):
                raise InputError(problem)
            for option in _NAMES:
                if not str(self.options.get(option) or "none").isidentifier():
                    raise InputError(f"{option} must be the name of a variable, not its value: {option}: registered.")
            plays.check_linear(self._task)
            if self.options.get("config"):
                plays.check_not_once(self, self.variables)
            return self.act()
        except MonitorError as error:
            # Options may hold keys that a task registered.
            secrets = secrets_in([error, *self._task.args.values()], self.variables)
            self._task.args = redact_all(self._task.args, secrets)
            return {"failed": True, "msg": redact(str(error), secrets)}

    def act(self) -> dict[str, t.Any]:
        """Turn options and variables into a result. Raises MonitorError."""
        raise NotImplementedError

    @functools.cached_property
    def known(self) -> dict[str, Known]:
        """What the run knows of each host, for the whole inventory and not only the hosts of the play.

        A host that failed in an earlier play, or that a condition leaves out, has the result of an earlier audit.
        """
        hostvars, active = self.variables["hostvars"], set(self.variables["ansible_play_hosts"])
        found = {}
        for host in _role_variables.known_hosts(self.variables):
            # Core takes 0.3 ms to join them, so they are read once.
            raw = plays.raw_variables(self.variables, host)
            _role_variables.check_facts(host, raw, self.never_facts)
            result, use = raw.get(str(self.options["config"])), (raw.get(self.options["account"]) or {}).get("use")
            if not isinstance(result, Mapping) or host not in active or result.get("use") not in (None, use):
                result = {}
            label = client_label(host, _role_variables.given_label(hostvars, host, raw))
            found[host] = Known(label, _is_absent(hostvars, host, raw.get("monitor_agent_state")), result)
        return found

    @property
    def labels(self) -> dict[str, str]:
        """Host → label, for the whole inventory."""
        return {host: one.label for host, one in self.known.items()}

    @property
    def absent(self) -> set[str]:
        """The hosts of the whole inventory whose monitoring is to be removed."""
        return {host for host, one in self.known.items() if one.absent}

    @functools.cached_property
    def account(self) -> Account:
        """The account, from the variables that hold what monitor_clients and others registered; options name them."""
        names = [self.options.get(option) for option in ("account", "plan", "subscriptions")]
        if missing := [name for name in names if name and not hasattr(self.variables.get(name), "get")]:
            raise InputError(f"There is no variable {missing[0]!r}. Run the task that registers it first.")
        result, plan, tiers = (self.variables[name] if name else {} for name in names)
        if "account_labels" not in result:
            raise InputError(
                f"{names[0]!r} holds no clients: the task monitor_clients was skipped or failed. Run that task."
            )
        return Account(
            clients=result["clients"],
            # Clients that check mode predicts do not exist.
            labels=frozenset(result["account_labels"]) - set(result["created"]),
            key_owners=result["key_owners"],
            url=result.get("account_url") or "",
            plan=plan.get("plan"),
            plan_problem=str(plan["msg"]) if plan.get("msg") else None,
            tiers=tiers.get("subscriptions") or (),
        )

    def inspected(self, hosts: Sequence[str]) -> list[Host]:
        """The hosts with what the task of the option ``config`` registered for each, and the label that it used."""
        results = ((host, self.known[host]) for host in hosts)
        return [
            Host(host, client_label(host, one.result.get("label") or one.label), facts_of(one.result))
            for host, one in results
        ]


def _is_absent(hostvars: Mapping[str, t.Any], host: str, state: t.Any) -> bool:
    """Whether the state that the inventory, or an extra variable, sets for a host is ``absent``."""
    # A rollout reports one that fails.
    with contextlib.suppress(AnsibleError):
        return bool(_role_variables.rendered(hostvars, host, "monitor_agent_state", state) == "absent")
    return False


def variables_read(audits: t.Any, variables: Mapping[str, t.Any], pattern: str) -> set[str]:
    """The variables of matching names, and those that templates in ``audits`` use, each as the facts would name it.

    InputError if a template reads facts, which hosts report themselves.
    """
    found, values = set(matching(pattern, "audits_variables", list(map(str, variables)))), [audits]
    while values:
        value = values.pop()
        if isinstance(value, (list, tuple)):
            values += value
        elif isinstance(value, str) and templates.has_template(value):
            # One that is invalid fails when it is rendered.
            with contextlib.suppress(jinja2.TemplateError):
                used = jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(value)) - found
                found |= used
                values += map(variables.get, used)
    if of_hosts := found & {"ansible_facts", "hostvars", "vars"}:
        raise InputError(
            f"audits uses {listed(sorted(of_hosts))}, which hold what hosts report of themselves. Name files, or "
            "variables that the play or -e sets."
        )
    return {name.removeprefix("ansible_") for name in found}


def slices_of(audits: Sequence[t.Any], variables: Mapping[str, t.Any], pattern: str) -> list[Slice]:
    """The audits of a list of paths, patterns of paths and reports, and those in variables of matching names."""
    given = list(enumerate(audits))
    slices = [parse(f"audits[{number}]", templates.plain(one)) for number, one in given if not isinstance(one, str)]
    names = sorted(matching(pattern, "audits_variables", list(map(str, variables))))
    if pattern and not names:
        raise InputError(
            f"No variable has a name that matches audits_variables {pattern!r}. Pass the artifacts of the audits on to "
            "this run."
        )
    slices += [parse(f"The variable {name}", templates.plain(variables[name])) for name in names]
    paths = [os.path.realpath(path) for number, one in given if isinstance(one, str) for path in _paths(one)]
    slices += [parse(path, _read(path)) for path in dict.fromkeys(paths)]
    if not slices:
        raise InputError(
            "There are no audits to join. Choose the files that monitor_agent_audit_json wrote: "
            """-e '{"audits": ["audit-1.json", "audit-2.json"]}'."""
        )
    return slices


def controller_path(path: str) -> str:
    """A path on the controller; a relative one starts at the directory in which Ansible was started."""
    return os.path.abspath(os.path.expanduser(path))


def _paths(given: str) -> list[str]:
    """A path, or what a pattern matches."""
    path = controller_path(given)
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    if found := sorted(glob.glob(path)):
        return found
    raise InputError(f"No file matches {path}. Check the pattern, and that the audits have written their reports.")


def _read(path: str) -> t.Any:
    """A file that holds JSON."""
    try:
        # Reading a FIFO would wait for a writer.
        if os.path.exists(path) and not os.path.isfile(path):
            raise OSError("it is not a regular file")
        with open(path, encoding="utf-8") as stream:
            text = stream.read(_LARGEST_AUDIT + 1)
        if len(text) > _LARGEST_AUDIT:
            raise OSError(f"it has more than {_LARGEST_AUDIT} characters")
        return json.loads(text)
    except OSError as error:
        raise InputError(
            f"The audit {path} could not be read: {error.strerror or error}. Check the path, and whether that audit "
            "has written its report."
        ) from error
    except (ValueError, RecursionError):
        raise InputError(
            f"The audit {path} is not valid JSON. Audit its hosts again, or choose what monitor_agent_audit_json wrote."
        ) from None
