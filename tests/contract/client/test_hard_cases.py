# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services and surroundings at their worst: answers of wrong shapes, a label that nobody takes, odd tokens."""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, region_info
from ansible_collections.monitor.cloud.tests.contract.client.tasks import Module, go, labels
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


@pytest.mark.parametrize("token", ["secret-0123456789\n", " secret-0123456789", "secret\t0123456789", "secret-…", " "])
@pytest.mark.parametrize("module", [monitor_client_info, region_info])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(
    emulator: Emulator, module: Module, token: str
) -> None:
    with pytest.raises(InputError, match="^api_token holds a character that no token has") as refused:
        go(emulator, module, api_token=token)
    assert "secret" not in str(refused.value)
    assert emulator.requests() == []


def test_white_space_around_base_url_does_not_matter(emulator: Emulator) -> None:
    go(emulator, monitor_client, label="web1", base_url=f" {emulator.base_url}/\n")
    assert labels(emulator) == ["web1"]


@pytest.mark.parametrize("base_url", ["https://api.example.com/v 4", "https://api.example.com/\nv4"])
def test_white_space_within_base_url_is_refused(emulator: Emulator, base_url: str) -> None:
    with pytest.raises(InputError, match="^base_url must be a URL"):
        go(emulator, monitor_client, label="web1", base_url=base_url)
