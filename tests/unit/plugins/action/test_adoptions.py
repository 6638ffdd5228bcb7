# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which clients renamed hosts keep; all cases: tests/unit/plugins/plugin_utils/_audit/test_findings.py."""

from ansible_collections.monitor.cloud.plugins.action.adoptions import ActionModule
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import OWN, RENAMED, action_of, fleet


def test_a_client_gets_the_label_of_the_only_host_with_its_key() -> None:
    for result, renames, conflicts in ((OWN, {"old": "web"}, []), ({**RENAMED, "label": "db"}, {}, ["web", "db"])):
        variables = fleet(web=RENAMED, db=result)
        done = action_of(ActionModule, {"account": "account", "config": "audit"}, variables).run(task_vars=variables)
        assert (done["renames"], sorted(one["host"] for one in done["conflicts"])) == (renames, sorted(conflicts))
