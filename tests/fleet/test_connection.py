# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sources of address and token of the service, and their precedence."""

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import REGISTER, Local
from ansible_collections.monitor.cloud.tests.support.steps import role_play

WRONG = {"base_url": "http://127.0.0.1:1/v4", "api_token": "not-a-token", "retry_timeout": 0}


def right(single: Local) -> dict[str, str]:
    return {"base_url": single.service.base_url, "api_token": single.service.tokens["read_write"]}


def environment(options: dict[str, object]) -> dict[str, str]:
    return {f"MONITOR_{name.upper()}": str(value) for name, value in options.items()}


@pytest.mark.parametrize("counts", ["environment", "module_defaults", "variables"])
def test_variables_precede_module_defaults_and_the_environment(single: Local, counts: str) -> None:
    # Each source of lower precedence holds values that fail.
    sources = ["environment", "module_defaults", "variables"]
    settings: dict[str, dict[str, object]] = dict.fromkeys(sources[: sources.index(counts)], WRONG)
    settings[counts] = dict(right(single))
    defaults = f"module_defaults: {{group/monitor.cloud.api: {settings.get('module_defaults', {})}}}"
    book = role_play(single, play=defaults)
    given = settings.get("variables", {})
    single.group_vars.update({f"monitor_agent_{name}": value for name, value in given.items()})
    for options in (["--check"], []):
        run = single.run(book, *options, **environment(settings["environment"]))
        assert run.code == 0, run.output
        assert run.statuses(REGISTER) == {"web-1": "changed"}


def test_the_other_options_of_the_connection(single: Local) -> None:
    single.service.configure(brand="otherword")
    single.group_vars.update(
        monitor_agent_brand="otherword",
        monitor_agent_check_capacity=False,
        monitor_agent_validate_certs=True,
        monitor_agent_allow_http=False,
        monitor_agent_timeout=5,
        monitor_agent_retry_timeout=10,
        monitor_agent_concurrency=1,
    )
    run = single.run(MONITOR_BRAND="wrong", MONITOR_TIMEOUT="0.001")
    assert run.code == 0, run.output
    assert run.calls() == ["list_clients", "create_client"], "without a read of the plan"
    assert all("/otherword/" in request["path"] for request in run.requests)
