# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Return the facts of a host: its file, the owner of its key, and its service. Decides and changes nothing."""

from __future__ import annotations

import os

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import check_label, check_own
from ansible_collections.monitor.cloud.plugins.module_utils._module import ACCOUNT_OPTIONS, account_fingerprint
from ansible_collections.monitor.cloud.plugins.modules import agent_info
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import given_environment
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import RUNNING
from ansible_collections.monitor.cloud.plugins.plugin_utils._host import comparison
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.base import Result, documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.file_action import FileAction


class ActionModule(FileAction):
    VALIDATOR = documented(
        agent_info.DOCUMENTATION,
        ModuleDocFragment.CLIENT,
        mutually_exclusive=[("template", "content"), ("settings", "content")],
    )
    _supports_async = False

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
            value = self._templar.template(self.variables.get(str(names.get(option))))
            used[option] = value or environment.get(f"MONITOR_{option.upper()}")
        used["brand"] = used["brand"] or "monitor"
        return account_fingerprint(used)
