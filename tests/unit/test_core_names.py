# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import ast
import dataclasses

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import HostChange
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# Private names of classes of ansible-core that plugins may use.
ALLOWED = {
    "_task", "_execute_module", "_low_level_execute_command", "_connection", "_play_context", "_templar",
    "_find_needle", "_loader", "_display", "_make_tmp_path", "_transfer_data", "_fixup_perms2", "_remove_tmp_path",
    "_compute_environment_string", "_shell", "_supports_async", "_supports_check_mode", "_requires_connection",
    "_diff", "_set_composite_vars", "_add_host_to_composed_groups", "_add_host_to_keyed_groups", "_read_config_data",
    "_cache",
}  # fmt: skip
# Private names of other libraries that plugins may use.
OTHERS = {"_fields", "_replace", "_raw"}
# Plugins assign only these attributes of other objects. The first two belong to objects of ansible-core.
ASSIGNED = {"self._task.args", "context.no_log", "problem.text", "PrivateAction._last"}
# decide.py fills its own object.
ASSIGNED |= {f"change.{field.name}" for field in dataclasses.fields(HostChange)}
FORBIDDEN = {"_getframe", "CLIARGS", "_variable_manager", "_warns", "setattr", "vars"}
CONTROLLER = ("action", "filter", "inventory", "lookup", "plugin_utils")

NODES = {
    str(path.relative_to(CHECKOUT / "plugins")): list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for path in (CHECKOUT / "plugins").rglob("*.py")
}


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def defined(node: ast.AST) -> str | None:
    """Return the name that a node defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value)
    return node.attr if stored and isinstance(node, ast.Attribute) else None


OURS = {defined(node) for nodes in NODES.values() for node in nodes} - ALLOWED


@pytest.mark.parametrize("path", NODES)
def test_plugins_use_only_allowed_names_of_core_and_change_no_object_of_core(path: str) -> None:
    attributes = [node for node in NODES[path] if isinstance(node, ast.Attribute)]
    private = {node.attr for node in attributes if node.attr.startswith("_") and not node.attr.startswith("__")}
    assert private - OURS - ALLOWED - OTHERS == set()
    if path.startswith(CONTROLLER):
        changed = {node for node in attributes if not isinstance(node.ctx, ast.Load) and not is_self(node.value)}
        assert set(map(ast.unparse, changed)) - ASSIGNED == set()
        names = {node.id for node in NODES[path] if isinstance(node, ast.Name)}
        assert (names | {node.attr for node in attributes}) & FORBIDDEN == set()
