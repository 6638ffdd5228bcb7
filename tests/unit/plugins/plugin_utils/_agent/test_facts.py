# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which facts set a variable, and the names in templates; more of these: action/test_refuse_facts.py."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.facts import (
    names_in,
    names_of_lookups,
    problem,
    variables_of_lookups,
)


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
    message = problem("web", own, {"a", "b"})
    assert message.startswith("Facts of host web set what must not come from a host: a. ") is refused


def test_names_are_found_through_templates() -> None:
    source = {"a": "{{ b | default(c) }}", "b": ["{% if d %}x{% endif %}"], "c": "plain e"}
    assert names_in(["{{ a }}", "f"], source) >= {"a", "b", "c", "d"}
    assert names_in(["{{ a }}", "f"], source).isdisjoint({"e", "f", "plain"})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ lookup('file', a) }}", True),
        ("{{ query('env', a) }}", True),
        ("{{ q('vars', a) }}", True),
        ("{% include a %}", True),
        ("{% include('b/' ~ a) %}", True),
        ("{% from 'b' ~ a import c %}", True),
        ("{% include 'a.j2' %} {{ a }}", False),
        ("{{ lookup ('file', a) }}", True),
        ("{% set read = lookup %}{{ read('file', a) }}", True),
        ("{{ [a] | map('ansible.builtin.fileglob') }}", True),
        # With the extension jinja2.ext.do, which this cannot read.
        ("{% do lookup('file', a) %}", True),
        ("{{ a | expandvars }}", True),
        ("{{ vars [a] }}", True),
        ("{{ read }}", True),
        (["{{ a }}", "{{ lookup('env', 'HOME') }}"], False),
        ("{{ a }} query vars {{ hostvars[b].c }}", False),
    ],
)
def test_names_of_lookups_are_those_that_choose_what_is_read(template: Any, expected: bool) -> None:
    source = {"read": "{{ lookup('file', b) }}", "b": "{{ a }}"}
    assert ("a" in names_of_lookups([template], source)) is expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ a }}", set()),
        ("{{ lookup('file', 'a') }}", set()),
        ("{{ lookup('file', 'a' ~ b.c) | d }}", {"b"}),
        ("{{ lookup('file', '{{ b }}') }}", {"b"}),
        ("{{ read }}", {"b"}),
        ("{{ vars['b'] }}", {"vars"}),
    ],
)
def test_variables_of_lookups_are_those_beside_a_lookup(template: str, expected: set[str]) -> None:
    assert variables_of_lookups([template], {"read": "{{ lookup('file', b) }}"}) == expected
