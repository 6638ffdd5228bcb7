# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.base import HostAction, Result, documented
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, action_of

KEY = CLIENTS[0]["api_key"]
VARIABLES = {"inventory_hostname": "web1", "registered": {"clients": {"web1": CLIENTS[0]}}, "ansible_play_batch": []}
OPTIONS = {"registration": "registered", "label": "web1"}


class Failing(HostAction):
    VALIDATOR = documented("options: {registration: {type: str}, label: {type: str}}")
    error: Exception

    def act(self) -> Result:
        raise self.error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InputError(f"no {KEY}"), {"failed": True, "msg": "no <api_key>"}),
        (AnsibleConnectionFailure("no route"), {"unreachable": True, "msg": "no route"}),
        (ValueError(KEY), {"failed": True, "msg": "<api_key>"}),
        (ValueError("a defect"), None),
    ],
)
def test_errors_are_results_without_secrets(error: Exception, expected: dict[str, Any] | None) -> None:
    action = action_of(Failing, OPTIONS, VARIABLES)
    action.error = error
    if expected:
        assert action.run(task_vars=VARIABLES) == expected
    else:
        with pytest.raises(ValueError, match="a defect"):
            action.run(task_vars=VARIABLES)
