# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Return the facts of a host: its file, the owner of its key, and its service. Decides and changes nothing."""

from __future__ import annotations

import os
import re
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import check_label, check_own
from ansible_collections.monitor.cloud.plugins.module_utils._module import ACCOUNT_OPTIONS, account_fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import agent_info
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import given_environment, plain
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import RUNNING
from ansible_collections.monitor.cloud.plugins.plugin_utils._host import comparison
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.base import Result, documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.file_action import FileAction

# Where messages about invalid options have the name of the option.
_OPTION = re.compile(r"^\w+|(?<=argument ')\w+|(?<=value of )\w+")
# The options that messages with these first words are about.
_ABOUT = {
    "Could not render": "template",
    "The content": "template",
    "The setting": "settings",
    "The label": "label",
}
_LONGEST_REASON = 300


class ActionModule(FileAction):
    VALIDATOR = documented(
        agent_info.DOCUMENTATION,
        ModuleDocFragment.CLIENT,
        mutually_exclusive=[("template", "content"), ("settings", "content")],
    )
    _supports_async = False

    @property
    def has_file(self) -> bool:
        # A host that is removed needs no template.
        return self.options["wanted"]["state"] != "absent" and super().has_file

    def given_arguments(self) -> Result:
        """Return the arguments. The option ``variables`` has names of variables that contain more arguments."""
        arguments = dict(self.arguments)
        names = dict(arguments.get("variables") or {})
        of_wanted = names.pop("wanted", None) or {}
        wanted = {**self._values(of_wanted), **(arguments.get("wanted") or {})}
        if wanted.get("state") == "absent":
            # A template that cannot be found must not prevent the removal.
            names.pop("template", None)
        return {**self._values(names), **arguments, "wanted": wanted}

    def _values(self, names: Mapping[str, str]) -> Result:
        values = {}
        for option, name in names.items():
            value = self._value_of(name)
            if value is not None:
                values[option] = value
        return values

    def _value_of(self, name: str) -> t.Any:
        """Return the value of a variable; None if it is null or omitted. Raise InputError if it cannot be rendered."""
        try:
            # ansible-core 2.19 and later drop omitted values only from dictionaries and lists.
            values = plain(self._templar.template({name: self.variables.get(name)}))
        except AnsibleError as error:
            reason = " ".join(str(error).split())[:_LONGEST_REASON].rstrip(".")
            raise InputError(
                f"{_shown(name)} cannot be rendered: {reason}. If the variable uses facts, gather facts (in the "
                "packaged playbooks: -e monitor_agent_gather_facts=true)."
            ) from None
        if "omit" in self.variables:
            values = _without_omitted(values, self.variables["omit"])
        return values.get(name)

    def message_of(self, error: Exception) -> str:
        """Return the message with the names of variables in place of the names of options."""
        message = str(error)
        given = self.arguments.get("variables") or {}
        names = {option: _shown(str(name)) for option, name in {**given, **given.get("wanted", {})}.items()}
        for start, option in _ABOUT.items():
            if message.startswith(start) and option in names:
                return f"{names[option]}: {message}"
        named = _OPTION.sub(lambda match: names.get(match[0], match[0]), message)
        return named.replace(" found in 'wanted'.", "").replace(" found in wanted", "")

    def act(self) -> Result:
        wanted = self._wanted()
        check_label(self.label)
        if wanted["state"] != "absent":
            check_own(self.label)
        found = self.compare()
        state = comparison.service_state(found.actual)
        return {
            "changed": False,
            "label": self.label,
            "client_id": self.client.client.get("id"),
            "path": found.desired.path,
            "kind": found.actual.kind,
            "key_owner": found.key.state,
            "owner_label": found.key.label,
            "key_fingerprint": found.key.fingerprint,
            "differs": found.differs,
            "permissions": comparison.permissions(found.actual, found.desired),
            "problem": found.actual.problem,
            "unknown_owner": found.actual.unknown_owner,
            "machine": found.actual.machine,
            "account": self._account(),
            "service": found.desired.service,
            "service_state": state,
            "service_runs": state in RUNNING,
            "service_enabled": found.actual.service_enabled,
            "service_outdated": comparison.is_outdated(found.actual),
            "wanted": wanted,
        }

    def _wanted(self) -> Result:
        """Return the option ``wanted``. Leave out the command, because it can contain a secret of the user."""
        wanted = dict(self.options["wanted"])
        command = wanted.pop("install_command")
        wanted["runs_installer"] = bool(command)
        wanted["installs"] = bool(command or wanted["packages"])
        return wanted

    def _account(self) -> str | None:
        """Return the fingerprint of the account that this host would use: ``account_of`` has names of variables."""
        names = self.options["account_of"]
        if not names:
            return None
        environment = {**os.environ, **given_environment(self)}
        used = {}
        for option in ACCOUNT_OPTIONS:
            value = self._value_of(str(names.get(option)))
            used[option] = value or environment.get(f"MONITOR_{option.upper()}")
        used["brand"] = used["brand"] or "monitor"
        return account_fingerprint(used)


def _shown(name: str) -> str:
    """Return the name that users know: the role resolves monitor_agent_x in its own variable __monitor_agent_x."""
    return name.lstrip("_")


def _without_omitted(value: t.Any, omit: t.Any) -> t.Any:
    """Return a value without omitted members. Before ansible-core 2.19, an omitted value is a placeholder."""
    if isinstance(value, dict):
        return {name: _without_omitted(item, omit) for name, item in value.items() if item != omit}
    if isinstance(value, list):
        return [_without_omitted(item, omit) for item in value if item != omit]
    return value
