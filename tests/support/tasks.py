# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run modules against the emulator, in this process and without Ansible."""

import contextlib
import copy
import io
import json
from typing import Any, Protocol
from unittest import mock

import pytest
from ansible.module_utils import basic

from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, connect
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

Result = dict[str, Any]


class Module(Protocol):
    OPTIONS: dict[str, Any]

    def run(self, params: Any, api: Any, check_mode: bool) -> Result: ...


def parameters(emulator: Emulator, module: Module, token: str | None = "read_write", **options: Any) -> Result:
    """Return the given options of a module, and the defaults of the other options. ``token`` is the name of a token."""
    specification = {**CONNECTION_OPTIONS, **module.OPTIONS}
    values = {name: copy.deepcopy(option.get("default")) for name, option in specification.items()}
    values.update(base_url=emulator.base_url, api_token=emulator.tokens[token] if token else None)
    assert options.keys() <= values.keys(), "no option of the module"
    return {**values, **options}


def go(
    emulator: Emulator, module: Module, *, check_mode: bool = False, token: str | None = "read_write", **options: Any
) -> Result:
    values = parameters(emulator, module, token, **options)
    api = connect(values)
    return {**module.run(values, api, check_mode), "api_usage": api.http.usage}


def failed(emulator: Emulator, module: Module, **options: Any) -> str:
    with pytest.raises(MonitorError) as raised:
        go(emulator, module, **options)
    return str(raised.value)


def as_module(module: Any, arguments: dict[str, Any], service: Emulator | None = None) -> tuple[Result, str]:
    """Run a module with AnsibleModule, and return its result and its output."""
    if service:
        arguments = {"base_url": service.base_url, "api_token": service.tokens["read_write"], **arguments}
    printed = io.StringIO()
    complaints = io.StringIO()
    # The function patch_module_args of ansible-core 2.19 sets the same names. Older versions lack the function.
    encoded = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    patched = mock.patch.multiple(basic, create=True, _ANSIBLE_ARGS=encoded, _ANSIBLE_PROFILE="legacy")
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints)
    with patched, quiet[0], quiet[1], pytest.raises(SystemExit):
        module.main()
    result: Result = json.loads(printed.getvalue())
    return result, printed.getvalue() + complaints.getvalue()


def writes(emulator: Emulator) -> list[Result]:
    return [entry for entry in emulator.requests() if entry["method"] != "GET"]


def sent(emulator: Emulator) -> list[tuple[str, str]]:
    return [(entry["method"], entry["path"].removeprefix("/v4")) for entry in emulator.requests()]


def labels(emulator: Emulator) -> list[str]:
    return sorted(client["label"] for client in emulator.clients())


def _aligned(predicted: Any, real: Any) -> tuple[Any, Any]:
    """Return both values without data that only the service knows, such as the id of a new client."""
    if not isinstance(predicted, dict) or not isinstance(real, dict):
        return predicted, real
    if "key_fingerprint" in predicted and predicted["id"] is None:
        # Check mode knows only the label of a new client.
        return predicted["label"], real["label"]
    forecast = dict(predicted)
    done = dict(real)
    if "key_fingerprint" in predicted:
        forecast.pop("updated", None)
        done.pop("updated", None)
    for name in forecast.keys() & done.keys():
        forecast[name], done[name] = _aligned(forecast[name], done[name])
    return forecast, done


def assert_predicted(predicted: Result, real: Result) -> None:
    forecast, done = _aligned({**predicted, "api_usage": None}, {**real, "api_usage": None})
    # Only check mode shows the cost.
    assert forecast.pop("cost", "Clients: ").startswith("Clients: ") and "cost" not in done
    owners = forecast.pop("key_owners", {}), done.pop("key_owners", {})
    assert forecast == done
    new = owners[1].items() - owners[0].items()
    assert owners[0].items() <= owners[1].items()
    assert {label for dummy, label in new} == set(real.get("created", []))


def run_all_forms(emulator: Emulator, module: Module, *, changes: bool = True, **options: Any) -> Result:
    """Run in check mode, then twice. Assert that the last run changes nothing. Return the result of the first run."""
    before = emulator.clients()
    emulator.clear_log()
    predicted = go(emulator, module, check_mode=True, **options)
    assert writes(emulator) == []
    assert emulator.clients() == before
    real = go(emulator, module, **options)
    assert real["changed"] is changes
    assert bool(writes(emulator)) is changes
    assert_predicted(predicted, real)
    after = emulator.clients()
    emulator.clear_log()
    again = go(emulator, module, **options)
    assert again["changed"] is False
    assert writes(emulator) == []
    assert emulator.clients() == after
    if "diff" in again:
        assert again["diff"]["before"] == again["diff"]["after"]
    return real
