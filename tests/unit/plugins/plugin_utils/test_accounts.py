# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""On which variables the account of a host depends; with whole runs: tests/fleet/test_invalid_variables.py."""

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._accounts import names_in

VARIABLES = {
    "inventory_hostname": "web-1",
    "customer": "acme",
    "prefix": "token_of_",
    "token_of_acme": "{{ key }}",
    "key": "0123",
    "sites": {"acme": {"tokens": ["{{ token_of_acme }}"]}},
}


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("token_of_acme", ""),
        ("{{ token_of_acme }}", "token_of_acme key"),
        ("{{ sites[customer].tokens[0] }}", "sites customer token_of_acme key"),
        ("{{ vars.token_of_acme }}", "inventory_hostname"),
        ("{{ lookup('ansible.builtin.vars', 'token_of_acme') }}", "token_of_acme key"),
        # The start of a computed name is enough: hosts that differ in nothing else are not rendered one by one.
        ("{{ lookup('vars', 'token_' ~ customer) }}", "customer token_of_acme key"),
        ("{{ lookup('vars', prefix ~ customer) }}", "prefix customer inventory_hostname"),
        # Another text is no start of a name, and an attribute no name.
        ("{{ lookup('vars', customer ~ '_token', default='custom') }}", "customer inventory_hostname"),
        ("{{ sites.customer.key }}", "sites token_of_acme key"),
    ],
)
def test_names_of_variables_in_a_template(template: str, names: str) -> None:
    assert names_in([{"name": template}], VARIABLES) & {*VARIABLES} == set(names.split())
