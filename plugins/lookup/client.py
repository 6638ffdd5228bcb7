# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lookup plugin ``client``, which returns a client by its label, for templates and conditions."""

from __future__ import annotations

DOCUMENTATION = r"""
name: client
short_description: A monitoring client by its label
version_added: 1.0.0
description:
  - Returns the client of a label, with the fields of RV(monitor.cloud.monitor_client#module:client) except keys.
  - Ansible starts a process for each host, and the lookup reads all clients of the account once in each process. If
    many hosts need clients, store the clients once, with M(ansible.builtin.set_fact) and C(run_once).
  - The lookup ignores the variables of the role, because facts of a host can replace these variables.
author: [monitor.cloud contributors (!UNKNOWN)]
extends_documentation_fragment: [monitor.cloud._shared.connection, monitor.cloud._shared.environment]
options:
  _terms: {description: Labels of clients., type: list, elements: str, required: true}
"""

EXAMPLES = r"""
- name: Show when the client of web1 was created
  ansible.builtin.debug:
    msg: "{{ lookup('monitor.cloud.client', 'web1').created | default('web1 has no client') }}"
"""

RETURN = r"""
_list: {description: "The client of each label. Empty if no client has the label.", type: list, elements: dict}
"""

import typing as t

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import Client, as_text
from ansible_collections.monitor.cloud.plugins.module_utils._module import account_fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.plugins.plugin_utils._account import connection_params, read_clients

# For each fingerprint of an account, the clients by label. Each process reads an account only once.
_accounts: dict[str, dict[str | None, Client]] = {}


class LookupModule(LookupBase):
    def run(self, terms: list[t.Any], variables: t.Any = None, **kwargs: t.Any) -> list[Client]:
        self.set_options(var_options=variables, direct=kwargs)
        try:
            params = connection_params(self.get_option, kwargs)
            account = account_fingerprint(params)
            if account not in _accounts:
                _accounts[account] = {client["label"]: client for client in read_clients(params)}
            return [_accounts[account].get(as_text(label), {}) for label in terms]
        except MonitorError as error:
            raise AnsibleLookupError(str(error)) from None
