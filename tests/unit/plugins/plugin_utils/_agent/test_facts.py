# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which facts set a variable, and the names in templates; more of these: action/test_refuse_facts.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.facts import names_in, problem


@pytest.mark.parametrize(
    ("own", "refused"),
    [
        ({"ansible_facts": {"a": "x"}, "a": "x"}, True),
        ({"ansible_facts": {"a": {"b": ["x"]}}, "a": {"b": ["y"]}}, True),
        # A number can't be marked as that of a host.
        ({"ansible_facts": {"a": 1}, "a": 2}, True),
        ({"ansible_facts": {"other": "x"}, "a": "x"}, False),
        ({"ansible_facts": {"a": "x"}}, False),
    ],
)
def test_a_fact_that_sets_a_variable_is_named(own: dict[str, Any], refused: bool) -> None:
    assert problem("web", own, {"a", "b"}).startswith("Facts of host web would decide: a. ") is refused


def test_names_are_found_through_templates() -> None:
    source = {"a": "{{ b | default(c) }}", "b": ["{% if d %}x{% endif %}"], "c": "plain e"}
    assert names_in(["{{ a }}", "f"], source) >= {"a", "b", "c", "d"}
    assert names_in(["{{ a }}", "f"], source).isdisjoint({"e", "f", "plain"})
