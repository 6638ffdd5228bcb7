# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the plugins use of ansible-core: documented interfaces, and what action plugins everywhere use."""

import ast
from collections.abc import Iterator

import pytest

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# Of actions and what they are given; AnsibleModule; of the inventory plugin.
ALLOWED = {
    "_task", "_execute_module", "_low_level_execute_command", "_connection", "_play_context", "_templar",
    "_find_needle", "_loader", "_display", "_make_tmp_path", "_transfer_data", "_fixup_perms2", "_remove_tmp_path",
    "_compute_environment_string", "_shell", "_supports_async", "_supports_check_mode", "_requires_connection",
    "_diff", "_set_composite_vars", "_add_host_to_composed_groups", "_add_host_to_keyed_groups", "_read_config_data",
    "_cache",
}  # fmt: skip
# Of the standard library and requests, not of core.
OTHERS = {"_fields", "_replace", "_connection", "_raw"}
# The attributes that are assigned: two of core's objects; then one of an XML element, and one of our own class.
ASSIGNED = {"self._task.args", "context.no_log", "problem.text", "PrivateAction._last"}
FORBIDDEN = {"_getframe", "CLIARGS", "_variable_manager", "_warns", "setattr", "vars"}
CONTROLLER = ("action", "filter", "inventory", "lookup", "plugin_utils")

TREES = {
    str(path.relative_to(CHECKOUT / "plugins")): ast.parse(path.read_text(encoding="utf-8"))
    for path in (CHECKOUT / "plugins").rglob("*.py")
}


def _defined(tree: ast.AST) -> Iterator[str]:
    """The names that a file defines: functions, classes, and what it assigns."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


OURS = {name for tree in TREES.values() for name in _defined(tree)} - ALLOWED


@pytest.mark.parametrize("path", TREES)
def test_private_names_of_core_are_those_that_actions_use(path: str) -> None:
    used = {node.attr for node in ast.walk(TREES[path]) if isinstance(node, ast.Attribute)}
    private = {name for name in used if name.startswith("_") and not name.startswith("__")}
    assert private - OURS - ALLOWED - OTHERS == set()


@pytest.mark.parametrize("path", [path for path in TREES if path.startswith(CONTROLLER)])
def test_no_object_of_core_is_changed(path: str) -> None:
    attributes = [node for node in ast.walk(TREES[path]) if isinstance(node, ast.Attribute)]
    changed = {
        ast.unparse(node)
        for node in attributes
        if isinstance(node.ctx, (ast.Store, ast.Del)) and not _is_self(node.value)
    }
    assert changed - ASSIGNED == set()
    names = {node.id for node in ast.walk(TREES[path]) if isinstance(node, ast.Name)}
    assert (names | {node.attr for node in attributes}) & FORBIDDEN == set()
