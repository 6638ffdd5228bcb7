# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each observation of how services behave has a test.

The rows are those of the field notes, by topic. A row without a test, or with one that is gone, fails here.
"""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.emulator.settings import Settings

_TESTS = Path(__file__).resolve().parents[2]
_SERVICES = "contract/client/test_services.py"
_CREATES = "contract/client/test_faults_of_creates.py"
_HARD = "contract/client/test_hard_cases.py"
_REST = "contract/client/test_faults_of_other_calls.py"
_CONCURRENT = "contract/client/test_masks_and_concurrent_writers.py"
_WIRE = "contract/client/test_wire.py"

# What the API client and the modules have to do with.
FIELD_NOTES: dict[str, tuple[str, ...]] = {
    "product word": (f"{_SERVICES}::test_another_product_word",),
    "client update": (f"{_SERVICES}::test_a_service_that_renames_by_put_is_asked_once",),
    "`api_key`, `install_code`": (
        f"{_CONCURRENT}::test_masks_are_detected_by_every_module",
        f"{_CONCURRENT}::test_access_differs_from_client_to_client",
        "fleet/test_keys.py::test_masked_keys_are_never_written",
    ),
    "`label`": (f"{_SERVICES}::test_a_refused_label_fails_with_the_reason_of_the_service",),
    "`label` on create": (f"{_SERVICES}::test_a_label_is_always_sent",),
    "`apps`": (f"{_SERVICES}::test_apps_are_booleans",),
    "unknown fields": (f"{_SERVICES}::test_unknown_fields_are_passed_on",),
    "plan `null`": (f"{_SERVICES}::test_a_service_that_does_not_switch_to_free",),
    "region availability of one region": (
        "contract/client/test_info.py::test_one_region_shows_all_that_the_whole_list_shows",
    ),
    "`/regions/availability`": (f"{_SERVICES}::test_regions_are_asked_for_no_page_size",),
    "`page_size`": (f"{_SERVICES}::test_page_size_falls_back_once",),
    "page past the end": (f"{_SERVICES}::test_a_list_that_gets_shorter_while_it_is_read",),
    "a list that changes while it is read": (f"{_SERVICES}::test_a_list_that_changes_while_it_is_read",),
    "errors": (
        f"{_SERVICES}::test_errors_without_a_field",
        f"{_WIRE}::test_a_login_page_instead_of_a_response",
        f"{_REST}::test_a_read_that_never_gets_through",
    ),
    "statuses": (
        f"{_WIRE}::test_a_wrong_token_is_named_as_the_cause",
        f"{_WIRE}::test_a_missing_scope_is_named",
        f"{_WIRE}::test_a_client_that_is_gone_when_it_is_deleted",
        f"{_HARD}::test_a_rename_with_an_empty_response",
        f"{_HARD}::test_a_switch_of_the_plan_with_an_empty_response",
        f"{_HARD}::test_a_create_with_an_empty_response",
        f"{_REST}::test_a_read_with_each_fault_is_retried",
    ),
    "rate limit": (
        f"{_REST}::test_rate_limit_in_seconds_is_obeyed_once_for_all_workers",
        f"{_REST}::test_rate_limit_with_a_date_is_obeyed",
        f"{_REST}::test_rate_limits_of_the_service_slow_a_fleet_down_but_lose_nothing",
    ),
    "duplicate label": (
        f"{_CONCURRENT}::test_two_runs_at_once_make_one_client_for_each_label",
        f"{_CONCURRENT}::test_another_controller_creates_between_read_and_create",
    ),
    "too many clients for the plan": (
        "contract/client/test_bad_input.py::test_more_labels_than_the_paid_plan_includes",
        f"{_SERVICES}::test_a_full_free_plan_fails_with_the_reason_of_the_service",
    ),
    "plan view without the grant": (f"{_SERVICES}::test_the_capacity_check_is_left_to_the_service_without_the_grant",),
    "lost answers": (f"{_CREATES}::test_a_create_with_each_fault_is_retried",),
    "scopes of the token": (f"{_WIRE}::test_a_missing_scope_with_401_is_not_called_a_bad_token",),
    "grant for a create": (f"{_WIRE}::test_a_missing_grant_for_a_create_is_named",),
    "gateway": (
        f"{_REST}::test_a_read_with_each_fault_is_retried",
        f"{_REST}::test_maintenance_ends_the_task_at_once",
        f"{_CREATES}::test_a_create_with_each_fault_is_retried",
        "faults/test_unbounded_responses.py::test_early_hints_come_before_the_response",
    ),
    "`Retry-After`": (
        f"{_REST}::test_invalid_values_of_retry_after_are_ignored",
        f"{_REST}::test_a_pause_of_two_minutes_is_within_the_default_budget",
    ),
    "filters": ("emulator/tests/test_settings_of_refusals.py::test_filters_are_ignored",),
    "key format": (f"{_SERVICES}::test_keys_are_opaque",),
}
# What hosts have to do with: tests/fleet.
FIELD_NOTES_OF_HOSTS: dict[str, tuple[str, ...]] = {
    "agents": (
        "fleet/test_agent.py::test_installer_gets_the_code_once",
        "fleet/test_agent.py::test_service_is_restarted_on_hosts_that_changed",
        "fleet/test_files.py::test_template_of_the_user_and_the_bare_key",
    ),
    "cloned machines": (
        "fleet/test_keys.py::test_cloned_hosts_are_reported_and_fixed",
        "fleet/test_audit.py::test_every_state_at_once",
    ),
}
_ALL = {**FIELD_NOTES, **FIELD_NOTES_OF_HOSTS}


@pytest.mark.parametrize("row", _ALL)
def test_the_row_has_its_tests(row: str) -> None:
    assert _ALL[row]
    for reference in _ALL[row]:
        file, dummy, name = reference.partition("::")
        tree = ast.parse((_TESTS / file).read_text())
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert name in functions, f"{row}: {reference} is not there"


def test_each_setting_of_the_emulator_is_in_the_table() -> None:
    rows = {setting.metadata["row"] for setting in dataclasses.fields(Settings)}
    assert rows - set(_ALL) == {"(the emulator itself)"}


def test_the_table_has_all_rows() -> None:
    assert len(_ALL) == 28
