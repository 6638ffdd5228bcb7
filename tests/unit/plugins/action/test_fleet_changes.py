# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Mapping
from typing import Any

import pytest
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.action.fleet_changes import ActionModule
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.tests.support.fleet import inspection, run_variables
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of

OPTIONS = {"account": "registered", "inspected": "inspected"}


def run(
    results: Mapping[str, Mapping[str, Any]], variables: Mapping[str, Any] | None = None, *, check_mode: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """Decide about hosts. ``results``: the result of agent_info on each host. The account has ``old`` and ``db-1``."""
    hosts = {name: {"inspected": result, **(variables or {})} for name, result in results.items()}
    keys = {label: fingerprint(label) for label in ("old", "older", "db-1")}
    clients = [{"label": label, "key_fingerprint": key} for label, key in [*keys.items(), (None, None)]]
    task_vars = {**run_variables(hosts, batch="web-1 web-2 db-1"), "registered": {"clients": clients}}
    action = action_of(ActionModule, {**OPTIONS, **options}, task_vars)
    action._task.check_mode = check_mode
    return action.run(task_vars=task_vars)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    shown: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: shown.append(text))
    return shown


HOSTS = {
    "web-1": inspection("web-1", "old"),
    "web-2": inspection("web-2", "no_file"),
    "db-1": inspection("db-1"),
    "earlier": inspection("earlier", "no_file"),
}


def test_the_result_has_only_hosts_of_the_batch_with_work(warnings: list[str]) -> None:
    done = run(HOSTS)
    problem = done["problems"].pop("web-1")
    assert "web-1 carries the key of client 'old'" in problem
    assert done == {
        "changed": False,
        "steps": {"web-1": "", "web-2": "create write"},
        "problems": {},
        "create": ["web-2"],
        "renames": {"old": "web-1"},
        "orphans": ["older"],
        "orphan_problem": "",
        "unreadable": [],
    }
    assert warnings == []


def test_details_are_of_all_hosts_of_the_play(warnings: list[str]) -> None:
    hosts = run(HOSTS, details=True)["hosts"]
    assert {name: change["states"][0] for name, change in hosts.items()} == {
        "web-1": "other_label",
        "web-2": "not_registered",
        "db-1": "ok",
        "earlier": "not_registered",
    }


def test_options_and_check_mode(warnings: list[str]) -> None:
    stranger = {"web-1": inspection("web-1", "no_file", unknown_owner="the user app")}
    assert "does not know the user app" in run(stranger)["problems"]["web-1"]
    assert run(stranger, check_mode=True)["steps"] == {"web-1": "create write"}
    assert "earlier task must add it: web-1 (the user app)" in warnings.pop()
    assert run(stranger, orphan_pattern="db.*")["orphans"] == ["db-1"]
    unreadable = {"web-1": {"label": ""}}
    assert run(unreadable, {"monitor_agent_label": 7})["unreadable"] == ["web-1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orphan_pattern": "("}, "prune_pattern) '(' is not a valid regular expression"),
        ({"account": "missing"}, "account must be the name of a variable"),
        ({"account": "inspected"}, "account must be the name of a variable"),
        ({"patern": "x"}, "patern"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    done = run(HOSTS, **options)
    assert done["failed"] is True
    assert message in done["msg"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("monitor_agent_sevice", "monitor_agent_service"),
        ("monitor_agent_config_pth", "monitor_agent_config_path"),
        ("monitor_agent_audit_json_", "monitor_agent_audit_json"),
        ("monitor_agent_service", ""),
        ("monitor_agent_audit_json", ""),
        ("monitor_agent_team_of_the_host", ""),
        ("__monitor_agent_sevice", ""),
        ("sevice", ""),
    ],
)
def test_a_warning_about_a_name_that_is_similar_to_a_variable(warnings: list[str], name: str, meant: str) -> None:
    run({"web-1": inspection("web-1", "no_file"), "web-2": inspection("web-2", "no_file")}, {name: "x"})
    expected = f"The role has no variable {name}. If you mean {meant}, correct the name."
    assert warnings == ([expected] if meant else [])
