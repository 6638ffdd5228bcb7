# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import math
import re
from itertools import product
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.inputs import MODULES, NEEDED
from ansible_collections.monitor.cloud.tests.support.tasks import Module, as_module, failed, labels, writes


def _refusal(emulator: Emulator, module: Module, **options: Any) -> str:
    """Return the message. Check mode and a run must give the same message, and write nothing."""
    messages = [failed(emulator, module, check_mode=check_mode, **options) for check_mode in (True, False)]
    assert writes(emulator) == []
    assert messages[0] == messages[1]
    assert not re.search(r"\.\. |\s\s|(\.\.|[^.])$", messages[0]), messages[0]
    assert "secret" not in messages[0]
    return messages[0]


_URL = "https://api.example.com/v4"
_ID = "is not valid. Give an id that the service lists."


@pytest.mark.parametrize(
    ("option", "values", "message"),
    [
        ("base_url", ["https://user:secret@a/v4", f"{_URL}?token=secret", f"{_URL}#top"], "base_url must not contain"),
        (
            "base_url",
            ["a/v4", "ftp://a/v4", "https:///v4", "https://a:port/v4", "https://a/\nv4"],
            "base_url must be a",
        ),
        ("base_url", [""], "base_url is required: set the option base_url (of the role: monitor_agent_base_url), or"),
        ("api_token", ["secret-0123\n", " secret-0123", "secret-…"], "api_token has a character that tokens do not"),
        ("api_token", ["web", "1234567", "-" * 30], "api_token has fewer than 8 letters and digits"),
        ("brand", ["mon/itor"], "brand 'mon/itor' must be the product name"),
        ("page_size", [0], "page_size must be at least 1, not 0"),
        ("concurrency", [0, 1001], "concurrency must be at least 1, and at most 1000"),
        # With a time-out of NaN, retries would never end.
        ("timeout", [math.inf, 86401.0], "timeout must be more than 0 seconds"),
        ("retry_timeout", [math.nan], "timeout must be more than 0 seconds"),
        ("label_pattern", ["*web"], "label_pattern '*web' is not a valid regular expression"),
        *(("id", [value], f"id {value!r} {_ID}") for value in ("", ".", "..")),
    ],
)
def test_what_is_refused_before_the_first_request(
    emulator: Emulator, option: str, values: list[Any], message: str
) -> None:
    of_one: dict[str, Any] = {
        "label_pattern": (monitor_client_info,),
        "concurrency": (monitor_clients,),
        "id": (region_info, monitor_subscription_info),
    }
    for module, value in product(of_one.get(option, (monitor_client_info, region_info)), values):
        assert _refusal(emulator, module, **{option: value}).startswith(message)
    assert emulator.requests() == []


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (monitor_client, {"id": 1, "label": ""}, "The label '' has 0 characters; a label has 3 to 32."),
        (monitor_clients, {"labels": ["web1", "a" * 33]}, f"The label {'a' * 33!r} has 33 characters"),
        (monitor_client, {"label": None, "state": "absent"}, "label and id are null. Give label or id."),
        (monitor_client, {"id": 99}, "There is no client with the id 99."),
        (
            monitor_client,
            {"id": 1, "label": "web2", "state": "absent"},
            "Client 1 was not deleted, because its label is 'old1'",
        ),
        # Observed: "too many clients for the plan".
        (monitor_client, {"label": "web3"}, "The plan 'monitor-3' is too small"),
        (monitor_clients, {"labels": ["new1", "new2"], "prune": True, "prune_pattern": "old1"}, "The plan 'monitor-3'"),
        (monitor_plan, {"subscription": "free"}, "The account has 3 clients, but the plan 'free' has no known limit"),
    ],
)
def test_what_is_refused_before_the_first_write(
    emulator: Emulator, module: Module, options: dict[str, Any], message: str
) -> None:
    emulator.set_plan("monitor-3")
    emulator.seed(labels=["old1", "web1", "web2"])
    assert _refusal(emulator, module, **options).startswith(message)


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"monitor_subscription_info", "region_info"}))
def test_missing_token(emulator: Emulator, name: str) -> None:
    error = _refusal(emulator, MODULES[name], api_token="", **NEEDED.get(name, {}))
    assert "api_token is required" in error and "MONITOR_API_TOKEN" in error
    assert [entry["path"] for entry in emulator.requests() if entry["path"] != "/v4/monitor/subscriptions"] == []


_INVALID = {"base_url": "x", "api_token": "wrong", "brand": "a/b", "validate_certs": "perhaps", "allow_http": "perhaps"}
_INVALID |= {"timeout": "0", "retry_timeout": "-1", "ca_path": "/nonexistent"}


@pytest.mark.parametrize("option", _INVALID)
def test_each_option_of_the_connection_is_read_from_the_environment(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    variables = {**emulator.environment(), f"MONITOR_{option.upper()}": _INVALID[option]}
    if option == "ca_path":
        variables["MONITOR_BASE_URL"] = "https://127.0.0.1:1/v4"
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    message = as_module(monitor_client_info, {})[0]["msg"]
    assert (option if option != "ca_path" else "invalid path: /nonexistent") in message


def test_an_empty_variable_of_the_environment_is_not_set(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job runners set unused variables to an empty string."""
    for name in CONNECTION_OPTIONS:
        monkeypatch.setenv(f"MONITOR_{name.upper()}", "")
    address = f" {emulator.base_url}/\n"
    assert as_module(monitor_client_info, {"base_url": address}, emulator)[0]["clients"] == []


def test_only_text_is_a_label(emulator: Emulator) -> None:
    """YAML reads 1.10 as 1.1 and 0123 as 83. If a list became a single label, prune would delete the listed clients."""
    emulator.seed(labels=["web1", "web2"])
    surplus = {"prune": True, "prune_pattern": "web.*", "prune_limit": 2}
    for label, message in ((1.1, "is not text. Write"), (["web1", "web2"], "is a list or dictionary")):
        for module, options in (
            (monitor_clients, {"labels": [label], **surplus}),
            (monitor_client, {"label": label}),
            (monitor_client_info, {"label": label}),
        ):
            assert message in as_module(module, options, emulator)[0]["msg"]
    assert labels(emulator) == ["web1", "web2"]
