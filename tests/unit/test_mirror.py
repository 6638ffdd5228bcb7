# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""tests/unit/plugins mirrors plugins: each file with logic has its unit test at the same path."""

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

DOCUMENTATION = "documentation only: the code is in the action of the same name"
# File → why it needs no test of its own.
EXEMPT = {
    **{f"modules/{name}.py": DOCUMENTATION for name in ("agent_config", "agent_install", "audit_report")},
    "doc_fragments/_shared.py": "documentation only: texts that modules and plugins share",
    "action/monitor_client_info.py": "the action monitor_clients under another name",
}


def test_each_file_with_logic_has_its_unit_test() -> None:
    plugins = CHECKOUT / "plugins"
    files = {path.relative_to(plugins) for path in plugins.rglob("*.py") if path.stat().st_size}
    tests = {file: CHECKOUT / "tests" / "unit" / "plugins" / file.with_name(f"test_{file.name}") for file in files}
    assert {str(file) for file, test in tests.items() if not test.exists()} == EXEMPT.keys()
