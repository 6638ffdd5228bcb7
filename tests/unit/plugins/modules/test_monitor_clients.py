# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clients of a fleet: the lists of the result, and failures of some labels."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import TaskFailure
from ansible_collections.monitor.cloud.plugins.modules.monitor_clients import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import Service

OPTIONS: dict[str, Any] = {"state": "present", "include_keys": False, "renames": {}, "prune": True, "prune_limit": 1}
OPTIONS |= {"labels": ["web3", "web2"], "prune_pattern": ".*1", "check_capacity": True, "allow_failures": False}
OPTIONS |= {"verify": False}
SUMMARY = {"changed": True, "created": ["web3"], "deleted": ["web1"], "unchanged": ["web2"], "renamed": []}


@pytest.mark.parametrize("check_mode", [True, False])
def test_one_is_created_one_deleted_and_one_kept(check_mode: bool) -> None:
    service = Service()
    result = run(OPTIONS, service.api, check_mode)
    assert {name: result[name] for name in SUMMARY} == SUMMARY
    assert list(result["clients"]) == ["web3", "web2"] and "api_key" not in str(result["clients"])
    assert "web1" not in result["key_owners"].values()
    assert service.writes == (
        [] if check_mode else ["DELETE /monitor/clients/1", ("POST /monitor/clients", {"label": "web3"})]
    )


def test_a_failure_names_the_label_and_the_rest_is_done() -> None:
    service = Service()
    del service.responses["DELETE /monitor/clients/1"], service.responses["POST /monitor/clients"]
    with pytest.raises(TaskFailure, match="1 label failed. Could not create client 'web3': .* deleted 1") as failure:
        run(OPTIONS, service.api, False)
    assert list(failure.value.details["failures"]) == ["web3"]
    allowed = run({**OPTIONS, "allow_failures": True}, service.api, False)
    assert (list(allowed["failures"]), allowed["deleted"]) == (["web3"], ["web1"])
