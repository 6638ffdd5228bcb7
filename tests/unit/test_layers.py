# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The layer rule of docs/architecture.md: imports point downwards only."""

import ast
from collections.abc import Iterator

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

OURS = "ansible_collections.monitor.cloud.plugins."
# The lowest layer first. The longest name that fits counts.
LAYERS = (
    ("module_utils._service.errors", "module_utils._service.resources"),
    ("module_utils._clients",),
    ("module_utils._service",),
    ("module_utils._clients.apply",),
    ("module_utils",),
    ("modules",),
    ("plugin_utils",),
    ("action", "doc_fragments", "filter", "inventory", "lookup"),
)
# What only one file may import.
SINGLE = {
    "requests": "module_utils._service.http",
    "urllib3": "module_utils._service.http",
    "ansible.module_utils.basic.AnsibleModule": "module_utils._module",
}


def imports() -> Iterator[tuple[str, str]]:
    """Each importing file of plugins/ with each name that it imports; ours without their common prefix."""
    root = CHECKOUT / "plugins"
    for path in root.rglob("*.py"):
        importer = ".".join(path.relative_to(root).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((importer, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{importer}: a relative import"
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from ((importer, name.removeprefix(OURS)) for name in names)


def begins(name: str, part: str) -> bool:
    return f"{name}.".startswith(f"{part}.")


def layer(name: str) -> int:
    """The number of a name's layer; -1 for what is not ours."""
    fitting = [(len(part), number) for number, parts in enumerate(LAYERS) for part in parts if begins(name, part)]
    return max(fitting, default=(0, -1))[1]


PAIRS = list(imports())


def test_no_import_points_upwards_and_decisions_about_clients_import_nothing_of_ansible() -> None:
    assert len(PAIRS) > 200
    assert [pair for pair in PAIRS if layer(pair[0]) < layer(pair[1])] == []
    pure = layer("module_utils._clients")
    assert [pair for pair in PAIRS if layer(pair[0]) == pure and begins(pair[1], "ansible")] == []


def test_one_file_imports_requests_and_one_ansible_module() -> None:
    found = {(single, importer) for importer, name in PAIRS for single in SINGLE if begins(name, single)}
    assert found == set(SINGLE.items())
