# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each observation of how services behave has tests, whose docstrings name its row of the field notes, by topic."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections import Counter
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.settings import Settings

_TESTS = Path(__file__).resolve().parents[2]
# How many tests name the row: one that is deleted fails here.
_ROWS = {
    "product word": 1, "client update": 1, "api_key, install_code": 2, "label": 1, "label on create": 1, "apps": 1,
    "unknown fields": 1, "plan null": 1, "region availability of one region": 1, "/regions/availability": 1,
    "page_size": 1, "page past the end": 1, "a list that changes while it is read": 1, "errors": 3, "statuses": 7,
    "rate limit": 3, "duplicate label": 2, "too many clients for the plan": 2, "plan view without the grant": 1,
    "lost responses": 1, "scopes of the token": 1, "grant for a create": 1, "gateway": 3, "Retry-After": 2,
    "filters": 1, "key format": 1,
}  # fmt: skip
# Faults of the emulator play these, or nothing: they cost the client no decision.
_WITHOUT_SETTING = {"lost responses", "gateway", "Retry-After", "filters"}
# Rows about hosts and agents.
_OF_HOSTS = {
    "agents": "test_installer_gets_the_code_once test_service_is_restarted_on_hosts_that_changed "
    "test_template_of_the_user_and_the_bare_key",
    "cloned machines": "test_cloned_hosts_are_reported_and_fixed test_every_state_at_once",
    "api_key, install_code": "test_masked_keys_are_never_written",
}


@functools.cache
def _tests() -> list[tuple[str, str]]:
    found = []
    for path in _TESTS.rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                found.append((node.name, ast.get_docstring(node) or ""))
    return found


def test_each_row_has_its_tests() -> None:
    lists = [match[1] for _name, text in _tests() if (match := re.match(r'Field notes? ("[^"]+"(?:, "[^"]+")*)', text))]
    assert Counter(row for rows in lists for row in re.findall('"([^"]+)"', rows)) == _ROWS


def test_each_row_about_hosts_has_its_tests() -> None:
    names = {name for name, _text in _tests()}
    assert {name for tests in _OF_HOSTS.values() for name in tests.split()} <= names


def test_each_row_that_a_service_can_differ_in_has_a_setting() -> None:
    rows = {setting.metadata["row"].replace("`", "") for setting in dataclasses.fields(Settings)}
    assert rows - {"(the emulator itself)"} == _ROWS.keys() - _WITHOUT_SETTING
