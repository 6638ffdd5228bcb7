# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How changes are made: their order, and what happens after errors; with real failures: tests/contract/client."""

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients import apply
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Change, Fleet, reconcile_fleet
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError, InputError
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, TIERS, Service


def _changes(*labels: str, prune: Any = None) -> list[Change]:
    return reconcile_fleet(CLIENTS, Fleet(labels, present=True, renames={}, prune_pattern=prune, prune_limit=2))


def test_check_mode_sends_nothing_and_a_run_deletes_before_it_creates() -> None:
    service, changes = Service(), _changes("web3", prune="web1")
    predicted = apply.carry_out(service.api, changes, check_mode=True)
    assert service.received == []
    done = apply.carry_out(service.api, changes, check_mode=False)
    assert [entry.change for entry in done] == [entry.change for entry in predicted]
    assert service.received[1:] == ["DELETE /monitor/clients/1", ("POST /monitor/clients", {"label": "web3"})]


def test_a_client_that_has_another_label_by_now_is_kept() -> None:
    service = Service()
    service.responses["GET /monitor/clients/1"] = {**CLIENTS[0], "label": "mine"}
    done = apply.carry_out(service.api, _changes("web2", prune="web1"), check_mode=False)
    [warning] = apply.not_deleted(done)
    assert warning.startswith("Client 1 was not deleted: its label was 'web1'")
    assert service.received == ["GET /monitor/clients/1"]


def test_after_an_error_of_every_label_the_rest_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(values: Any) -> Any:
        raise ApiError("the token is refused", status=401)

    service = Service()
    monkeypatch.setattr(service.api, "create_client", refuse)
    labels = [f"new{number}" for number in range(50)]
    done = apply.carry_out(service.api, _changes(*labels), check_mode=False)
    assert all(entry.error for entry in done)
    assert 1 <= sum(entry.tried for entry in done) < 50


def test_the_plan_must_have_room() -> None:
    service = Service()
    service.responses["GET /monitor/plan"] = TIERS[0]
    assert apply.ensure_capacity(service.api, _changes("web3"), 2) == ([], "")
    with pytest.raises(InputError, match="monitor-10 includes 10"):
        apply.ensure_capacity(service.api, _changes("web3", "web4"), 2)
