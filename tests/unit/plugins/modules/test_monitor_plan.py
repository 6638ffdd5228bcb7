# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A switch of the plan."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules.monitor_plan import run
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import TIERS, Service

OPTIONS = {"subscription": "monitor-10", "min_clients": None, "allow_over_capacity": False}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_switch_is_predicted_and_made(check_mode: bool) -> None:
    service = Service()
    done = run(OPTIONS, service.api, check_mode)
    assert (done["changed"], done["plan"], done["previous"]) == (True, TIERS[1], {})
    assert done["diff"]["after"]["price_difference"] == {"monthly": 10}
    request = ("PUT /monitor/plan", {"monitor_subscription": "monitor-10"})
    assert service.writes == ([] if check_mode else [request])


def test_the_same_plan_is_not_set_again_and_one_that_is_too_small_only_if_it_is_allowed() -> None:
    service = Service()
    service.responses["GET /monitor/plan"] = TIERS[1]
    assert run(OPTIONS, service.api, False)["changed"] is False
    assert service.writes == []
    with pytest.raises(InputError, match="The account has 2 clients"):
        run({**OPTIONS, "subscription": "free"}, service.api, True)
    assert run({**OPTIONS, "subscription": "free", "allow_over_capacity": True}, service.api, True)["changed"] is True
