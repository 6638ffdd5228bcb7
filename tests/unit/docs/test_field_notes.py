# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each observation of how services behave has a test, whose docstring names its row of the field notes, by topic."""

import ast
import dataclasses
import re
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.settings import Settings

_TESTS = Path(__file__).resolve().parents[2]
# Faults of the emulator play these, or nothing: they cost the client no decision.
_WITHOUT_SETTING = {"lost responses", "gateway", "Retry-After", "filters"}
# Rows about hosts and agents.
_OF_HOSTS = {
    "agents": "test_installer_gets_the_code_once test_service_is_restarted_on_hosts_that_changed "
    "test_template_of_the_user_and_the_bare_key",
    "cloned machines": "test_cloned_hosts_are_reported_and_fixed test_every_state_at_once",
    "api_key, install_code": "test_masked_keys_are_never_written",
}


def test_each_row_has_its_tests() -> None:
    nodes = [node for path in _TESTS.rglob("test_*.py") for node in ast.parse(path.read_text(encoding="utf-8")).body]
    tests = {node.name: ast.get_docstring(node) or "" for node in nodes if isinstance(node, ast.FunctionDef)}
    lists = [match[1] for text in tests.values() if (match := re.match(r'Field notes? ("[^"]+"(?:, "[^"]+")*)', text))]
    played = {setting.metadata["row"].replace("`", "") for setting in dataclasses.fields(Settings)}
    rows = played - {"(the emulator itself)"} | _WITHOUT_SETTING
    assert {row for each in lists for row in re.findall('"([^"]+)"', each)} == rows
    assert {name for names in _OF_HOSTS.values() for name in names.split()} <= tests.keys()
