# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils import _core


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{{ a }}", {"a", "b"}),
        ("{{ lookup('vars', 'a') }}", {"lookup", "a", "b"}),
        ("{{ query('ansible.builtin.vars', 'c_' ~ d, default='')[0] }}", {"query", "d", "inventory_hostname"}),
        ("{{ vars.a }}", {"vars", "inventory_hostname"}),
        ("{{ f.g }}", {"f", "a", "b"}),
        # Not of the same name.
        ("{{ lookup('env', 'a') }}{{ 'a' }}", {"lookup"}),
    ],
)
def test_the_names_that_a_template_depends_on(template: str, names: set[str]) -> None:
    assert _core.names_in(template, {"a": "{{ b }}", "b": 1, "d": 2, "env": 3, "f": {"g": ["{{ a }}"]}}) == names
