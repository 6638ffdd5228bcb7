# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tasks as a playbook has them, run against the emulator without Ansible's own machinery around them."""

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

    def run(self, params: Any, api: Any, check_mode: bool) -> Result:
        """Do the task."""


def parameters(emulator: Emulator, module: Module, token: str | None = "read_write", **options: Any) -> Result:
    """All options of the module with their defaults, but for those given. `token` is the name of a token."""
    specification = {**CONNECTION_OPTIONS, **module.OPTIONS}
    values = {name: copy.deepcopy(option.get("default")) for name, option in specification.items()}
    values.update(base_url=emulator.base_url, api_token=emulator.tokens[token] if token else None)
    assert options.keys() <= values.keys(), "no option of the module"
    return {**values, **options}


def go(
    emulator: Emulator, module: Module, *, check_mode: bool = False, token: str | None = "read_write", **options: Any
) -> Result:
    """Run a task as a process of its own would: a new connection, nothing remembered."""
    values = parameters(emulator, module, token, **options)
    api = connect(values)
    return {**module.run(values, api, check_mode), "api_usage": api.http.usage}


def failed(emulator: Emulator, module: Module, **options: Any) -> str:
    with pytest.raises(MonitorError) as raised:
        go(emulator, module, **options)
    return str(raised.value)


def as_module(module: Any, arguments: dict[str, Any], service: Emulator | None = None) -> tuple[Result, str]:
    """A module as Ansible runs it, but in this process: its result, and all that it printed."""
    if service:
        arguments = {"base_url": service.base_url, "api_token": service.tokens["read_write"], **arguments}
    printed, complaints = io.StringIO(), io.StringIO()
    # What core's patch_module_args sets, which is new in 2.19.
    encoded = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    patched = mock.patch.multiple(basic, create=True, _ANSIBLE_ARGS=encoded, _ANSIBLE_PROFILE="legacy")
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints)
    with patched, quiet[0], quiet[1], pytest.raises(SystemExit):
        module.main()
    result: Result = json.loads(printed.getvalue())
    return result, printed.getvalue() + complaints.getvalue()


def writes(emulator: Emulator) -> list[Result]:
    """The requests of the log that could change something."""
    return [entry for entry in emulator.requests() if entry["method"] != "GET"]


def sent(emulator: Emulator) -> list[tuple[str, str]]:
    return [(entry["method"], entry["path"].removeprefix("/v4")) for entry in emulator.requests()]


def labels(emulator: Emulator) -> list[str]:
    return sorted(client["label"] for client in emulator.clients())


def _aligned(predicted: Any, real: Any) -> tuple[Any, Any]:
    """Both without what only the service knows about a client."""
    if not isinstance(predicted, dict) or not isinstance(real, dict):
        return predicted, real
    if "key_fingerprint" in predicted and predicted["id"] is None:
        # Of a client that is still to be created, no more than its label is known.
        return predicted["label"], real["label"]
    forecast, done = dict(predicted), dict(real)
    if "key_fingerprint" in predicted:
        forecast.pop("updated", None)
        done.pop("updated", None)
    for name in forecast.keys() & done.keys():
        forecast[name], done[name] = _aligned(forecast[name], done[name])
    return forecast, done


def assert_predicted(predicted: Result, real: Result) -> None:
    """Check mode predicted what the run then did: `changed`, the objects, the diff."""
    forecast, done = _aligned({**predicted, "api_usage": None}, {**real, "api_usage": None})
    # What is paid is shown before.
    assert forecast.pop("cost", "Clients: ").startswith("Clients: ") and "cost" not in done
    owners = forecast.pop("key_owners", {}), done.pop("key_owners", {})
    assert forecast == done
    new = owners[1].items() - owners[0].items()
    assert owners[0].items() <= owners[1].items()
    assert {label for dummy, label in new} == set(real.get("created", []))


def run_all_forms(emulator: Emulator, module: Module, *, changes: bool = True, **options: Any) -> Result:
    """Check mode, a run, and the run again, which changes nothing. Returns the result of the first run."""
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
