# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input gets a clear error before the first write, in check mode as well."""

import re
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import Module, as_module, failed, go, labels, writes

_PRIVATE = (monitor_client, monitor_clients, monitor_client_info, monitor_plan, monitor_plan_info)
_NEEDED: dict[Any, dict[str, Any]] = {
    monitor_client: {"label": "web1"},
    monitor_clients: {"labels": ["web1"]},
    monitor_plan: {"min_clients": 1},
}


def _refusal(emulator: Emulator, module: Module, **options: Any) -> str:
    """The one message that check mode and the run give, neither having written."""
    messages = [failed(emulator, module, check_mode=check_mode, **options) for check_mode in (True, False)]
    assert writes(emulator) == []
    assert messages[0] == messages[1]
    assert not re.search(r"\.\. |\s\s|(\.\.|[^.])$", messages[0]), messages[0]
    return messages[0]


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        (
            "http://api.example.com/v4",
            "would send the token unencrypted. Use https, or set allow_http (monitor_agent_allow_http): true",
        ),
        ("https://user:secret@api.example.com/v4", "base_url must not contain credentials"),
        ("https://api.example.com/v4?token=secret", "base_url must not contain credentials, query or fragment"),
        ("https://api.example.com/v4#top", "base_url must not contain credentials, query or fragment"),
        ("https://api.example.com/v4?", "base_url must not contain credentials, query or fragment"),
        ("https://api.example.com/v4#", "base_url must not contain credentials, query or fragment"),
        ("api.example.com/v4", "base_url must be a URL such as https://api.example.com/v4"),
        ("ftp://api.example.com/v4", "base_url must be a URL"),
        ("https:///v4", "base_url must be a URL"),
        ("https://api.example.com:port/v4", "base_url must be a URL"),
        ("http://[::1/v4", "base_url must be a URL"),
        ("https://api.example.com/v 4", "base_url must be a URL"),
        ("https://api.example.com/\nv4", "base_url must be a URL"),
        (
            "",
            "base_url is required: set the option base_url, the role's variable monitor_agent_base_url, or the",
        ),
    ],
)
def test_unusable_base_url(emulator: Emulator, base_url: str, message: str) -> None:
    error = _refusal(emulator, monitor_client, label="web1", base_url=base_url)
    assert message in error
    assert "secret" not in error
    assert emulator.requests() == []


@pytest.mark.parametrize("token", [None, ""])
@pytest.mark.parametrize("module", _PRIVATE)
def test_missing_token(emulator: Emulator, module: Any, token: str | None) -> None:
    error = _refusal(emulator, module, api_token=token, **_NEEDED.get(module, {}))
    assert "api_token is required" in error
    assert "MONITOR_API_TOKEN" in error
    assert [entry["path"] for entry in emulator.requests() if entry["path"] != "/v4/monitor/subscriptions"] == []


@pytest.mark.parametrize("token", ["secret-0123456789\n", " secret-0123456789", "secret\t0123456789", "secret-…", " "])
@pytest.mark.parametrize("module", [monitor_client_info, region_info])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(
    emulator: Emulator, module: Module, token: str
) -> None:
    message = failed(emulator, module, api_token=token)
    assert message.startswith("api_token holds a character that no token has")
    assert "secret" not in message
    assert emulator.requests() == []


def test_white_space_around_base_url_does_not_matter(emulator: Emulator) -> None:
    go(emulator, monitor_client, label="web1", base_url=f" {emulator.base_url}/\n")
    assert labels(emulator) == ["web1"]


@pytest.mark.parametrize("label", ["ab", "a" * 33, ""])
def test_label_of_a_wrong_length(emulator: Emulator, label: str) -> None:
    expected = f"The label {label!r} has {len(label)} characters; a label has 3 to 32."
    assert expected in _refusal(emulator, monitor_client, label=label)
    assert expected in _refusal(emulator, monitor_clients, labels=["web1", label])
    assert expected in _refusal(emulator, monitor_clients, labels=[], renames={"web1": label})
    emulator.seed(labels=["web1"])
    assert expected in _refusal(emulator, monitor_client, id=1, label=label)
    assert labels(emulator) == ["web1"]


def test_unknown_id_to_change(emulator: Emulator) -> None:
    expected = "There is no client with the id 99. Give label alone to create one."
    assert _refusal(emulator, monitor_client, id=99) == expected
    assert _refusal(emulator, monitor_client, id=99, label="web1") == expected


@pytest.mark.parametrize("state", ["present", "absent"])
def test_no_client_is_chosen_by_null(emulator: Emulator, state: str) -> None:
    assert "The label None is not text." in _refusal(emulator, monitor_client, label=None, state=state)


def test_more_labels_than_the_paid_plan_includes(emulator: Emulator) -> None:
    """Field note "too many clients for the plan"."""
    emulator.set_plan("monitor-100")
    emulator.seed(20)
    error = _refusal(emulator, monitor_clients, labels=[f"web{number:03}" for number in range(100)])
    assert "it includes 100 clients, and 120 are needed" in error
    assert "Nothing was changed" in error
    assert len(labels(emulator)) == 20
    emulator.seed(80)
    assert "it includes 100 clients, and 101 are needed" in _refusal(emulator, monitor_client, label="web1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"brand": "mon/itor"}, "brand 'mon/itor' must be the product word"),
        ({"brand": ""}, "brand '' must be the product word"),
        ({"page_size": 0}, "page_size must be at least 1, not 0"),
        ({"label_pattern": "*web"}, "label_pattern '*web' is not a valid regular expression"),
    ],
)
def test_connection_options(emulator: Emulator, options: dict[str, Any], message: str) -> None:
    assert message in _refusal(emulator, monitor_client_info, **options)
    assert emulator.requests() == []


@pytest.mark.parametrize(("module", "option"), [(region_info, "id"), (monitor_subscription_info, "id")])
@pytest.mark.parametrize("value", ["", ".", ".."])
def test_ids_that_would_change_the_path(emulator: Emulator, module: Module, option: str, value: str) -> None:
    assert (
        _refusal(emulator, module, **{option: value})
        == f"id {value!r} is not valid: give an id as the service lists it."
    )
    assert emulator.requests() == []


@pytest.mark.parametrize("value", ["a/b", "é", "\udcff"])
def test_ids_of_any_characters_are_of_nothing(emulator: Emulator, value: str) -> None:
    """Half a surrogate pair stands for a byte of a command line that is not UTF-8."""
    assert go(emulator, region_info, id=value)["regions"] == []
    assert go(emulator, monitor_subscription_info, id=value)["subscriptions"] == []


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("base_url", "http://monitor.example.com/v4", "would send the token unencrypted"),
        ("api_token", "wrong", "the service returned 401"),
        ("brand", "acme", "/acme/clients"),
        ("validate_certs", "perhaps", "'validate_certs' is of type"),
        ("ca_path", "/nonexistent/ca.pem", "Check ca_path and the environment's REQUESTS_CA_BUNDLE."),
        ("allow_http", "perhaps", "'allow_http' is of type"),
        ("timeout", "0", "timeout must be more than 0"),
        ("retry_timeout", "-1", "retry_timeout at least 0"),
    ],
)
def test_each_option_of_the_connection_is_read_from_the_environment(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, option: str, value: str, message: str
) -> None:
    address = "https://127.0.0.1:1/v4" if option == "ca_path" else emulator.base_url
    variables = {**emulator.environment(), "MONITOR_BASE_URL": address, f"MONITOR_{option.upper()}": value}
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert message in as_module(monitor_client_info, {})[0]["msg"]


@pytest.mark.parametrize("check", [True, False])
def test_a_list_among_the_labels_is_not_made_text(emulator: Emulator, check: bool) -> None:
    emulator.seed(labels=["web1", "web2"])
    connection = {"base_url": emulator.base_url, "api_token": emulator.tokens["read_write"]}
    arguments = {**connection, "labels": [["web1", "web2"]], "prune": True, "prune_pattern": "web.*"}
    result, _output = as_module(monitor_clients, {**arguments, "_ansible_check_mode": check})
    assert result["msg"] == "The label ['web1', 'web2'] is not text. Put it in quotes."
    assert labels(emulator) == ["web1", "web2"]


def test_numbers_among_the_labels_are_text(emulator: Emulator) -> None:
    assert go(emulator, monitor_clients, labels=[1234, "web1"])["created"] == ["1234", "web1"]
