# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest
import yaml

from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import PREDICTED
from ansible_collections.monitor.cloud.plugins.module_utils._service import resources
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Resource
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.inputs import info_module
from ansible_collections.monitor.cloud.tests.support.tasks import go, labels, run_all_forms, sent
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

_WEB: dict[str, Any] = {"prune": True, "prune_pattern": "web.*"}
_RENAME = {"renames": {"web1": "www1"}}
RESOURCES = [value for value in vars(resources).values() if isinstance(value, Resource)]


@pytest.mark.parametrize(
    ("options", "changes", "label", "left"),
    [
        ({"id": 1}, False, "web1", ["web1", "web2"]),
        ({"id": 1, "label": "www1"}, True, "www1", ["www1", "web2"]),
        ({"label": "web3", "state": "absent"}, False, None, ["web1", "web2"]),
        ({"id": 4711, "state": "absent"}, False, None, ["web1", "web2"]),
        ({"id": 1, "state": "absent"}, True, "web1", ["web2"]),
        ({"id": 1, "label": "web1", "state": "absent"}, True, "web1", ["web2"]),
    ],
    ids=str,
)
def test_present_and_absent_by_label_and_id(
    emulator: Emulator, options: dict[str, Any], changes: bool, label: str | None, left: list[str]
) -> None:
    emulator.seed(labels=["web1", "web2"])
    result = run_all_forms(emulator, monitor_client, changes=changes, **options)
    client = result["client"]
    assert (client.get("id"), client.get("label")) == (1 if label else None, label)
    assert result["diff"]["before"] == ({"web1": client["key_fingerprint"]} if label else {})
    assert label != "www1" or result["diff"]["after"] == {"www1": client["key_fingerprint"]}
    assert [client["label"] for client in emulator.clients()] == left


def test_check_mode_gives_a_new_client_placeholders_as_keys(emulator: Emulator) -> None:
    """With placeholders, check mode can render templates that use keys."""
    one = go(emulator, monitor_client, label="web1", include_keys=True, check_mode=True)["client"]
    many = go(emulator, monitor_clients, labels=["web1"], include_keys=True, check_mode=True)["clients"]["web1"]
    assert one == many and one["api_key"] == one["install_code"] == PREDICTED and one["key_fingerprint"] is None
    assert PREDICTED not in str(go(emulator, monitor_client, label="web1", check_mode=True))


SCHEMAS = yaml.safe_load((CHECKOUT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))["components"]["schemas"]


@pytest.mark.parametrize("name", SCHEMAS["ClientInput"]["properties"])
def test_each_field_that_can_be_set(emulator: Emulator, name: str) -> None:
    first: dict[str, Any] = {name: "first-1"}
    second: dict[str, Any] = {name: "second-2"}
    created = run_all_forms(emulator, monitor_client, **{"label": "web1", **first})["client"]
    assert created[name] == "first-1"
    updated = run_all_forms(emulator, monitor_client, id=created["id"], **second)
    assert updated["client"] == {**created, **second, "updated": updated["client"]["updated"]}
    assert "first-1" in str(updated["diff"]["before"]) and "second-2" in str(updated["diff"]["after"])
    run_all_forms(emulator, monitor_client, changes=False, id=created["id"])
    run_all_forms(emulator, monitor_client, id=created["id"], **first)


def _lists(result: dict[str, object]) -> dict[str, object]:
    return {name: result[name] for name in ("created", "renamed", "deleted", "unchanged") if result[name]}


@pytest.mark.parametrize(
    ("there", "options", "expected"),
    [
        ([], {"labels": ["web1"], "state": "absent"}, {"unchanged": ["web1"]}),
        (["web1", "web2"], {"labels": ["web1"], "state": "absent"}, {"deleted": ["web1"]}),
        (["db1", "web2"], {"labels": ["web1", "web2"]}, {"created": ["web1"], "unchanged": ["web2"]}),
        (["www1"], {"labels": [], **_RENAME}, {"unchanged": ["www1"]}),
        (["web1", "web2"], {"labels": ["www1"], **_RENAME, **_WEB}, {"renamed": ["www1"], "deleted": ["web2"]}),
        (["web1", "web2"], {"labels": ["web1"], "prune_pattern": "web.*"}, {"unchanged": ["web1"]}),
        (
            ["web1", "web2", "db0"],
            {"labels": ["db1", "db2"], **_WEB},
            {"created": ["db1", "db2"], "deleted": ["web1", "web2"]},
        ),
    ],
    ids=str,
)
def test_what_is_done(
    emulator: Emulator, there: list[str], options: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    # The plan includes 3 clients, so the module must delete clients before it creates clients.
    emulator.set_plan("monitor-3")
    emulator.seed(labels=there)
    result = run_all_forms(emulator, monitor_clients, changes=bool(expected.keys() - {"unchanged"}), **options)
    assert _lists(result) == expected
    assert sorted(result["key_owners"].values()) == labels(emulator)
    assert set(result["diff"]["after"]) == {*expected.get("created", []), *expected.get("renamed", [])}
    assert set(result["diff"]["before"]) == set(there) - set(labels(emulator))
    kept = [label for name, changed in expected.items() for label in changed if name != "deleted"]
    assert list(result["clients"]) == ([] if "state" in options else kept)


def test_plan_info(emulator: Emulator) -> None:
    emulator.seed(2)
    free = go(emulator, monitor_plan_info, token="read_only")
    expected = {"changed": False, "plan": {}, "free": True, "clients_used": 2, "clients_included": None}
    assert {**free, "api_usage": None} == {**expected, "api_usage": None}
    emulator.set_plan("monitor-10")
    # If the service does not report the number of clients, the module counts the clients of the list.
    emulator.fault(kind="edit", operation="list_clients", add={"results": None}, times=-1)
    paid = go(emulator, monitor_plan_info, check_mode=True)
    shown = [paid["plan"]["id"], *(paid[name] for name in ("free", "clients_used", "clients_included"))]
    assert shown == ["monitor-10", False, 2, 10]
    assert "clients_used" not in go(emulator, monitor_plan_info, count_clients=False)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.noun)
def test_each_resource_is_read_as_a_list_and_by_id(emulator: Emulator, resource: Resource) -> None:
    emulator.seed(labels=["web1", "web2"])
    module = info_module(resource.noun)
    name = f"{resource.noun}s"
    token = "read_only" if resource.access else None
    everything = go(emulator, module, token=token)[name]
    assert len(everything) > 1
    for one in everything:
        assert go(emulator, module, token=token, id=one["id"], check_mode=True)[name] == [one]
    assert go(emulator, module, token=token, id="4711")[name] == []
    assert {method for method, _path in sent(emulator)} == {"GET"}


def test_which_clients_are_read(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    for label, pattern, shown in (("web2", None, [2]), ("web", None, []), (None, ".*1", [1])):
        clients = go(emulator, monitor_client_info, label=label, label_pattern=pattern)["clients"]
        assert [client["id"] for client in clients] == shown


def test_one_region_shows_all_that_the_whole_list_shows(emulator: Emulator) -> None:
    """Observed: "region availability of one region"."""
    assert all("availability" not in region for region in go(emulator, region_info, token=None)["regions"])
    everywhere = go(emulator, region_info, token=None, include_availability=True)["regions"]
    assert all(record["region"] == each["id"] for each in everywhere for record in each["availability"])
    for form, paths in (("array", 1), ("record", 6)):
        emulator.configure(region_availability=form)
        emulator.clear_log()
        one = go(emulator, region_info, token=None, id="us-west", include_availability=True)["regions"]
        assert one == [region for region in everywhere if region["id"] == "us-west"]
        assert len(one[0]["availability"]) > 1
        assert sent(emulator)[:2] == [("GET", "/regions/us-west"), ("GET", "/regions/us-west/availability")]
        assert len(sent(emulator)) == 1 + paths
