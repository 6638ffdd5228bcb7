# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences between services: `Observed:` names a row of the table in tests/emulator/README.md."""

from collections import Counter
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import (
    Module,
    failed,
    go,
    labels,
    parameters,
    run_all_forms,
    writes,
)


@pytest.mark.parametrize(
    "settings",
    [
        {"update_verb": "put_only", "error_field": "missing"},
        {"delete_status": 204, "error_field": "null", "past_end": "empty", "strict_labels": True},
        {"brand": "acme", "page_size_max": 100},
        {"apps_as_integers": True, "extra_fields": True, "plan_empty_string": True},
    ],
    ids=["put", "204", "acme", "more fields"],
)
def test_all_operations_in_one_sequence(emulator: Emulator, settings: dict[str, Any]) -> None:
    """Observed: "label on create", "product word"."""
    emulator.configure(**settings)
    options = {"brand": settings.get("brand", "monitor")}
    run_all_forms(emulator, monitor_clients, labels=["web1", "web2"], **options)
    run_all_forms(emulator, monitor_clients, labels=["web2"], renames={"web1": "www1"}, **options)
    www1 = next(client for client in emulator.clients() if client["label"] == "www1")
    run_all_forms(emulator, monitor_client, id=www1["id"], label="www2", **options)
    run_all_forms(emulator, monitor_plan, min_clients=4, **options)
    assert go(emulator, monitor_plan_info, **options)["clients_included"] == 10
    run_all_forms(emulator, monitor_clients, labels=["web2", "www2"], state="absent", **options)
    run_all_forms(emulator, monitor_plan, subscription="free", **options)
    assert labels(emulator) == []


def test_only_a_service_that_responds_with_405_gets_a_put(emulator: Emulator) -> None:
    """Observed: "client update". After 405, the process sends only PUT requests."""
    emulator.configure(update_verb="put_only")
    emulator.seed(3)
    renames = {label: f"new-{label}" for label in labels(emulator)}
    assert len(go(emulator, monitor_clients, labels=[], renames=renames, concurrency=1)["renamed"]) == 3
    assert [entry["method"] for entry in writes(emulator)] == ["POST", "PUT", "PUT", "PUT"]
    emulator.configure(update_verb="post")
    for status in (400, 404):
        emulator.clear_log()
        emulator.fault(kind="status", status=status, operation="update_client", match={"method": "POST"}, times=-1)
        with pytest.raises(TaskFailure, match=f"the service returned {status}"):
            go(emulator, monitor_clients, labels=[], renames={labels(emulator)[0]: "new"})
        assert [entry["method"] for entry in writes(emulator)] == ["POST"]
        emulator.clear_faults()


def test_page_size_falls_back_once_per_process(emulator: Emulator) -> None:
    """Observed: "page_size". The module requests pages of 500 clients, then of 100 clients, then without a size."""
    body = {"detail": [{"loc": ["query", "page_size"], "msg": "Must be 25-100"}]}
    refusal = {"kind": "status", "status": 422, "body": body, "operation": "list_clients"}
    emulator.seed(150)
    for times, expected in ((1, ["page_size=100", "page_size=100&page=2"]), (2, ["page_size=100", "", "page=2"])):
        emulator.fault(**refusal, times=times)
        emulator.clear_log()
        assert len(go(emulator, monitor_client_info)["clients"]) == 150
        assert [entry["query"] for entry in emulator.requests()] == ["page_size=500", *expected]
    emulator.fault(**refusal, times=-1)
    emulator.clear_log()
    assert "the service returned 422" in failed(emulator, monitor_client_info, page_size=30)
    assert [entry["query"] for entry in emulator.requests()] == ["page_size=30"]


@pytest.mark.parametrize(
    ("token", "fault", "reason"),
    [("read_write", {"kind": "html", "status": 200}, "not JSON but"), ("no_plan", None, "account_access")],
)
def test_a_plan_that_cannot_be_read_blocks_no_create(emulator: Emulator, token: str, fault: Any, reason: str) -> None:
    """Observed: "plan view without the grant"."""
    if fault:
        emulator.fault(**fault, operation="get_plan", times=-1)
    for module, options in ((monitor_clients, {"labels": ["web1"]}), (monitor_client, {"label": "web2"})):
        (warning,) = go(emulator, module, **options, token=token)["warnings"]
        assert "Could not read the plan" in warning and reason in warning
        # A message names an option only if the module has the option.
        assert ("check_capacity" in warning) is ("check_capacity" in module.OPTIONS)
    assert labels(emulator) == ["web1", "web2"]
    emulator.clear_log()
    assert go(emulator, monitor_clients, labels=["web3"], token=token, check_capacity=False)["warnings"] == []
    assert emulator.requests("get_plan") == []


_READ = "The token needs the scope acme:read_only."
_CREATE = "The token needs the scope acme:read_write and the grant add_acme."
_GRANTS = "needs the scope acme:read_only and one of the grants account_access, acme_subscription, add_acme."


@pytest.mark.parametrize(
    ("token", "settings", "module", "options", "expected"),
    [
        ("wrong", {}, monitor_client, {"label": "web2"}, _READ),
        ("read_only", {"forbidden_status": 401}, monitor_client, {"label": "web2"}, _CREATE),
        ("no_plan", {"forbidden_status": 401}, monitor_plan, {"min_clients": 1}, _GRANTS),
    ],
)
def test_missing_access_is_named(
    emulator: Emulator, token: str, settings: Any, module: Module, options: dict[str, Any], expected: str
) -> None:
    """Observed: "statuses", "scopes of the token", "grant for a create"."""
    emulator.configure(**settings, brand="acme")
    emulator.tokens["wrong"] = "wrong-token-0123456789"
    message = failed(emulator, module, token=token, brand="acme", **options)
    assert message.endswith(f" {expected}") and "wrong-token" not in message
    assert "check api_token (monitor_agent_api_token, MONITOR_API_TOKEN)" in message


def test_check_mode_warns_of_a_missing_scope(emulator: Emulator) -> None:
    emulator.seed(labels=["web1"])
    for token, label, warned in (
        ("read_only", "web2", True),
        ("read_only", "web1", False),
        ("read_write", "web2", False),
    ):
        options = parameters(emulator, monitor_client, token, label=label)
        result = monitor_client.MODULE.execute(options, check_mode=True, diff=False)
        assert result["changed"] is (label == "web2")
        assert ("The token has read-only access" in str(result.get("warnings"))) is warned


def test_a_client_that_is_gone_when_it_is_deleted(emulator: Emulator) -> None:
    """Observed: "statuses"."""
    emulator.seed(labels=["web1", "web2"])
    for status, label in ((404, "web1"), (410, "web2")):
        emulator.fault(kind="status", status=status, operation="delete_client", match={"label": label})
    assert go(emulator, monitor_clients, labels=["web1", "web2"], state="absent")["deleted"] == ["web1", "web2"]


@pytest.mark.parametrize("operation", ["get_client", "delete_client"])
def test_404_of_a_gateway_does_not_mean_that_a_client_is_gone(emulator: Emulator, operation: str) -> None:
    """Observed: "errors"."""
    emulator.seed(labels=["web1"])
    hint = "the service returned 404: .* Check brand and base_url."
    for page in ({"kind": "html"}, {"kind": "status", "body": {"message": "no route"}}):
        emulator.fault(**page, status=404, operation=operation, times=-1)
        with pytest.raises(TaskFailure, match=hint):
            go(emulator, monitor_clients, labels=["web1"], state="absent")
        with pytest.raises(ApiError, match=hint):
            go(emulator, monitor_client, id=1, state="absent")
        emulator.clear_faults()
    assert labels(emulator) == ["web1"]


def test_many_labels_on_an_account_with_many_other_clients(emulator: Emulator) -> None:
    desired = [f"web-{number:04}" for number in range(60)]
    emulator.seed(700)
    result = go(emulator, monitor_clients, labels=desired, concurrency=3)
    log = emulator.requests()
    assert Counter(entry["operation"] for entry in log) == {"list_clients": 2, "get_plan": 1, "create_client": 60}
    assert len({entry["connection"] for entry in log}) <= 3
    assert (result["created"], len(result["key_owners"])) == (desired, 760)
    emulator.clear_log()
    assert go(emulator, monitor_clients, labels=desired)["changed"] is False
    assert [entry["operation"] for entry in emulator.requests()] == ["list_clients"] * 2
