# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests of the rules for imports. docs/architecture.md explains the rules."""

import ast

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

OURS = "ansible_collections.monitor.cloud.plugins."
# The lowest layer comes first. The longest prefix of a name decides its layer.
LAYERS = (
    ("module_utils._service.errors", "module_utils._service.redact", "module_utils._service.resources"),
    ("module_utils._clients",),
    ("module_utils._service",),
    ("module_utils._clients.apply",),
    ("module_utils",),
    ("modules",),
    ("plugin_utils",),
    ("action", "doc_fragments", "filter", "inventory"),
)
# For each name: the only file that may import the name.
SINGLE = {
    "requests": "module_utils._service.transport",
    "urllib3": "module_utils._service.transport",
    "ansible.module_utils.basic.AnsibleModule": "module_utils._module",
}


def imports() -> list[tuple[str, str]]:
    """Return each pair of a file in plugins/ and a name that the file imports."""
    pairs = []
    root = CHECKOUT / "plugins"
    for path in root.rglob("*.py"):
        importer = ".".join(path.relative_to(root).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                pairs += [(importer, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                pairs += [(importer, f"{node.module}.{alias.name}".removeprefix(OURS)) for alias in node.names]
    return pairs


def begins(name: str, part: str) -> bool:
    return f"{name}.".startswith(f"{part}.")


def layer(name: str) -> int:
    """Return the layer of a name, or -1 for a name of another package."""
    matches = [(len(part), number) for number, parts in enumerate(LAYERS) for part in parts if begins(name, part)]
    return max(matches, default=(0, -1))[1]


def test_imports_point_to_lower_layers_and_single_files_import_requests_and_ansible_module() -> None:
    pairs = imports()
    assert len(pairs) > 200
    assert [pair for pair in pairs if layer(pair[0]) < layer(pair[1])] == []
    pure = layer("module_utils._clients")
    assert [pair for pair in pairs if layer(pair[0]) == pure and begins(pair[1], "ansible")] == []
    assert {(part, file) for file, name in pairs for part in SINGLE if begins(name, part)} == set(SINGLE.items())
