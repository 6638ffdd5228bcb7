# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses and limits; requests over real connections: tests/contract/client and tests/faults."""

import itertools

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.http import (
    Budget,
    Http,
    Settings,
    _TooLarge,
    backoffs,
)


def test_pauses_grow_up_to_half_a_minute() -> None:
    for pause, longest in zip(itertools.islice(backoffs(), 9), (0.5, 1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert 0 <= pause <= longest


def test_what_the_responses_of_one_operation_may_take() -> None:
    budget = Budget(Settings("https://a"))
    budget.spend(b" " * 2**26)
    with pytest.raises(_TooLarge, match="64 MiB"):
        budget.spend(b" ")
    with pytest.raises(_TooLarge, match="2000000 values"):
        Budget(Settings("https://a")).spend(b"[" * 2_000_001)


def test_pauses_of_several_workers_count_once() -> None:
    http = Http(Settings("https://a"))
    for _worker in range(2):
        http.pause(5, for_all=True)
    assert http.usage["retries"] == 2 and 5 <= http.usage["waited"] < 6
    assert 4 < http.pause_left <= 5
