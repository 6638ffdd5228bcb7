# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.action.monitor_clients import ActionModule
from ansible_collections.monitor.cloud.plugins.module_utils import _module
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed import unseal
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import CLIENTS, Service, action_of

OPTIONS = {"labels": ["web1"], "base_url": "https://api.example.com/v4", "api_token": "t" * 20}


def run(monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    monkeypatch.setattr(_module, "connect", lambda params: Service().api)
    action = action_of(ActionModule, {**OPTIONS, **options}, {})
    action._task.delegate_to = "localhost"
    return action.run(task_vars={}), action._task.args


def test_the_result_contains_only_sealed_keys_and_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    done, shown = run(monkeypatch)
    assert done["unchanged"] == ["web1"] and shown["api_token"] != OPTIONS["api_token"]
    sealed = run(monkeypatch, seal_keys=True)[0]["clients"]["web1"]
    assert unseal(sealed)["api_key"] == CLIENTS[0]["api_key"]
    assert str(CLIENTS[0]["api_key"]) not in f"{done}{sealed}"
    assert run(monkeypatch, include_keys=True)[0]["_ansible_no_log"] is True


def test_an_invalid_option_fails_as_in_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    done, _shown = run(monkeypatch, unknown=1)
    assert done["failed"] is True and "Unsupported parameters for (monitor_clients) module: unknown" in done["msg"]


def test_a_client_with_keys_in_place_of_a_label_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    done, shown = run(monkeypatch, labels=[CLIENTS[0]])
    assert done["msg"] == "labels contains a client with its keys. Use the label or id of the client instead."
    assert str(CLIENTS[0]["api_key"]) not in f"{done}{shown}"
