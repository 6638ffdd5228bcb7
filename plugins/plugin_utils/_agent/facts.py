# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of hosts that set variables which must not be chosen by a host, directly or through templates."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

import jinja2
from ansible import template
from ansible.utils.unsafe_proxy import AnsibleUnsafe
from jinja2 import nodes

# Since 2.19 a string is a template only if it is marked as trusted; before, unless it is marked as unsafe.
TRUSTS_MARKED = hasattr(template, "trust_as_template")
# What begins an expression or a statement, which can fail or name a variable; a comment can do neither.
TEMPLATE = re.compile(r"\{[{%]")
_WORD = re.compile(r"\w+")
# A template without these words reads no file, variable or environment of the controller by a name that it is given.
_READS = re.compile(r"\b(lookup|query|q|vars|expandvars|fileglob|include|import|extends|from)\b")
_FILTERS = re.compile(r"\b(expandvars|fileglob)\b")
_LOOKUPS = {"lookup", "query", "q"}
_INCLUDES: t.Any = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
_JINJA = jinja2.Environment()


def problem(host: str, own: Mapping[str, t.Any], names: set[str]) -> str:
    """The error message if a fact of the host sets one of the names; else empty."""
    facts = own.get("ansible_facts") or {}
    # ansible_facts has names without the prefix ansible_; core sets variables with and without it. If a host reports a
    # fact in both forms, ansible_facts keeps one value, and the variable can have the other.
    reported = {*facts, *(f"ansible_{name}" for name in facts)}
    found = [
        name for name in names & reported & own.keys() if own[name] in _values(facts, name) or _is_of_host(own[name])
    ]
    found += names & {"ansible_facts"}
    if not found:
        return ""
    return (
        f"Facts of host {host} set what must not come from a host: {', '.join(sorted(found)[:5])}. So a host could "
        "get the token, a file of the controller, or another host's client. Nothing was done. Find out why the host "
        "reports them. Set such variables in the inventory or the play, or by set_fact without cacheable, with a name "
        "that no fact has. A template with a lookup can use no facts at all."
    )


def _values(facts: Mapping[str, t.Any], name: str) -> list[t.Any]:
    return [facts[each] for each in (name, name.removeprefix("ansible_")) if each in facts]


def _is_of_host(value: t.Any) -> bool:
    """Whether a host may have reported a value, or a part of it. Core marks only text, so other types may be facts."""
    if isinstance(value, (dict, list)) and value:
        return any(map(_is_of_host, value.values() if isinstance(value, dict) else value))
    if not isinstance(value, str):
        return True
    return isinstance(value, AnsibleUnsafe) if not TRUSTS_MARKED else not template.is_trusted_as_template(value)


def names_in(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    """All words in templates, and in the templates that these words name: at least the variables they depend on."""
    return set().union(*map(_words, _templates_in(values, *sources)))


def names_of_lookups(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    """:func:`names_in`, but only for templates that read a file, a variable or the environment of the controller."""
    return names_in([text for text in _templates_in(values, *sources) if _names_if_reading(text) is not None], *sources)


def variables_of_lookups(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    """The variables that are named in a template with a lookup, also in templates that the values name."""
    return set().union(*(_names_if_reading(text) or set() for text in _templates_in(values, *sources)))


def _names_if_reading(text: str) -> set[str] | None:
    """The variables in a template that reads something of the controller; None for a template that reads nothing."""
    if not _READS.search(text):
        return None
    try:
        tree = _JINJA.parse(text)
    except jinja2.TemplateError:
        # Not valid, or with statements of extensions: every word may be a variable.
        return _words(text)
    # Core renders templates in the arguments of a lookup.
    inner = [const.value for const in tree.find_all(nodes.Const) if TEMPLATE.search(str(const.value))]
    names = {name.name for name in tree.find_all(nodes.Name)}.union(*map(_words, inner))
    by_name = any(not isinstance(node.template, nodes.Const) for node in tree.find_all(_INCLUDES))
    return names - _LOOKUPS if names & {*_LOOKUPS, "vars"} or by_name or _FILTERS.search(text) else None


def _templates_in(values: Iterable[t.Any], *sources: Mapping[str, t.Any]) -> set[str]:
    found: set[str] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str) and TEMPLATE.search(value) and value not in found:
            found.add(value)
            names = _words(value) - {"ansible_facts"}
            pending += [source[name] for name in names for source in sources if name in source]
    return found


def _words(text: str) -> set[str]:
    # Ansible's vars, hostvars and groups contain every variable, so each would count as a dependency.
    return set(_WORD.findall(text)) - {"vars", "hostvars", "groups"}
