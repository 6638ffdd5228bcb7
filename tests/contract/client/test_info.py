# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The info modules, option by option. They change nothing, in check mode or without."""

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client_info,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go, sent, writes

Regions = Callable[..., list[str]]


def test_clients_are_found_by_each_option(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2", "db1"])

    def found(**options: Any) -> list[str]:
        results = [go(emulator, monitor_client_info, check_mode=mode, **options) for mode in (True, False)]
        assert {**results[0], "api_usage": None} == {**results[1], "api_usage": None}
        assert results[0]["changed"] is False
        return [client["label"] for client in results[0]["clients"]]

    assert found() == ["web1", "web2", "db1"]
    assert found(id=2) == ["web2"]
    assert found(label="db1") == ["db1"]
    assert found(label_pattern="web[0-9]") == ["web1", "web2"]
    assert found(label_pattern="web") == found(id=99) == found(label="web3") == []
    assert found(token="read_only") == ["web1", "web2", "db1"]


def test_subscriptions(emulator: Emulator) -> None:
    tiers = go(emulator, monitor_subscription_info, token=None)["subscriptions"]
    assert [tier["clients_included"] for tier in tiers] == [3, 10, 40, 100]
    assert go(emulator, monitor_subscription_info, id="monitor-10")["subscriptions"] == [tiers[1]]
    assert go(emulator, monitor_subscription_info, id="monitor-7")["subscriptions"] == []
    assert writes(emulator) == []


@pytest.fixture
def regions(emulator: Emulator) -> Regions:
    def find(**options: Any) -> list[str]:
        return [region["id"] for region in go(emulator, region_info, token=None, **options)["regions"]]

    return find


def test_regions_are_found_by_each_option(regions: Regions) -> None:
    everywhere = regions()
    assert len(everywhere) == 12
    assert regions(id="us-west") == ["us-west"]
    assert regions(id="nowhere") == []
    assert regions(country="US") == ["us-west", "us-south"]
    assert regions(status="outage") == ["za-west"]
    assert regions(status="ok", country="za") == []
    assert regions(id="us-west", country="de") == []
    both = regions(capabilities=["Block Storage", "GPU Instances"])
    assert both == [region for region in regions(capabilities=["Block Storage"]) if region in both]
    assert 0 < len(both) < len(everywhere)
    # As Ansible splits a text.
    assert regions(capabilities=["Block Storage", " GPU Instances"]) == both
    assert regions(capabilities=["block storage", "GPU instances"]) == both


def test_regions_by_what_is_available_there(regions: Regions) -> None:
    has = regions(compute_type="g1-premium-amd-1")
    assert 0 < len(has) < 12
    for compute_type in ("g1-premium-amd-1", "g1-gpu-large-1"):
        one_by_one = [region for region in regions() if regions(id=region, compute_type=compute_type)]
        assert one_by_one == regions(compute_type=compute_type)
    assert regions(compute_type="unheard-of") == []


def test_one_region_shows_all_that_the_whole_list_shows(emulator: Emulator) -> None:
    """Field note "region availability of one region": one record, or an array of all."""
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


@pytest.mark.parametrize("form", ["array", "record"])
@pytest.mark.parametrize(("region", "records"), [("{0}", 1), ("{1}", 0)])
def test_a_region_with_few_or_no_availability_records_costs_no_extra_requests(
    emulator: Emulator, form: str, region: str, records: int
) -> None:
    ids = [each["id"] for each in go(emulator, region_info, token=None)["regions"]]
    emulator.configure(region_availability=form, availability_records=1)
    emulator.clear_log()
    region_id = region.format(*ids)
    (found,) = go(emulator, region_info, token=None, id=region_id, include_availability=True)["regions"]
    assert len(found["availability"]) == records
    # A single record may be the first of several: only then the list of all is read.
    assert len(sent(emulator)) == (3 if (form, records) == ("record", 1) else 2)
    emulator.clear_log()
    assert go(emulator, region_info, token=None, id=ids[1], compute_type="unheard-of")["regions"] == []
    assert len(sent(emulator)) == 2
