# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import functools
import json
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import MonitorError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.tasks import Module, as_module, go, writes

_ERROR = {"body": {"errors": [{"field": "of TOKEN\n", "reason": "a\nb"}]}}


@pytest.mark.parametrize(
    ("kind", "status", "fault", "shown"),
    [
        ("html", 403, {"body": "Bearer TOKEN is not welcome"}, "not JSON but 'Bearer <token> is not welcome'"),
        # The message quotes only the start of a long page, and the quotation would end inside the token.
        *(("html", 403, {"body": "." * start + "TOKEN" + "." * 200}, "...") for start in range(40, 130, 15)),
        ("status", 409, _ERROR, "the service returned 409: of <token>: a b (GET"),
        ("status", 302, {"headers": {"Location": "https://sso.example.com/TOKEN/x"}}, "example.com/<token>/x"),
    ],
)
def test_a_response_that_echoes_the_token_is_redacted(
    emulator: Emulator, kind: str, status: int, fault: dict[str, Any], shown: str
) -> None:
    token = emulator.tokens["read_write"]
    given = json.loads(json.dumps(fault).replace("TOKEN", token))
    emulator.fault(**given, kind=kind, status=status, operation="list_clients")
    with pytest.raises(MonitorError) as refused:
        go(emulator, monitor_client, label="web1")
    message = str(refused.value)
    assert shown in message
    assert token[:12] not in message + repr(vars(refused.value))
    assert message.isprintable() and len(message) < 1000


@pytest.mark.parametrize(
    ("module", "operation", "options"),
    [
        (monitor_client, "update_client", {"id": 1, "label": "www1"}),
        (monitor_clients, "create_client", {"labels": ["web2"]}),
        (monitor_clients, "create_client", {"labels": ["web2"], "allow_failures": True}),
        (monitor_clients, "get_plan", {"labels": ["web2"]}),
    ],
)
def test_a_response_that_echoes_a_key_is_redacted(
    emulator: Emulator, module: Any, operation: str, options: dict[str, Any]
) -> None:
    emulator.seed(labels=["web1"])
    (client,) = emulator.clients()
    body = {"errors": [{"field": "x", "reason": "{api_key} and {install_code}".format(**client)}]}
    emulator.fault(kind="status", status=403, body=body, operation=operation, times=-1)
    output, printed = as_module(module, options, emulator)
    # Since version 2.22, core redacts the secrets that this entry lists.
    output.pop("_ansible_new_secrets", None)
    secrets = plain_secrets(emulator)
    assert len(secrets) > 3 and found_in(json.dumps(output), secrets) == []
    assert "<api_key of client 1> and <install_code of client 1>" in printed
    assert set(output["api_usage"]) == {"requests", "retries", "waited"}


_MASK_IN_KEY_FORM = "AAAAAAAA-BBBB-CCCC-DDDDEEEEFFFF0000"


@pytest.mark.parametrize("mask", ["[REDACTED]", _MASK_IN_KEY_FORM])
def test_masks_are_detected_by_every_module(emulator: Emulator, mask: str) -> None:
    """Observed: "api_key, install_code"."""
    emulator.seed(labels=["web1", "web2"])
    emulator.configure(mask_text=mask)
    reading = functools.partial(go, emulator, token="read_only", include_keys=True)
    many = reading(monitor_clients, labels=["web1", "web2"])
    clients = [*reading(monitor_client_info)["clients"], *reading(monitor_client_info, id=1)["clients"]]
    clients += [reading(monitor_client, **options)["client"] for options in ({"label": "web1"}, {"id": 1})]
    for client in (*clients, *many["clients"].values()):
        assert (client["keys_masked"], client["key_fingerprint"]) == (True, None)
        assert client["mask_reason"] and client.keys().isdisjoint({"api_key", "install_code"})
    assert many["key_owners"] == {}
    assert writes(emulator) == []


@pytest.mark.parametrize(
    ("module", "options", "reads", "mask_text"),
    [
        (monitor_clients, {"labels": ["web1", "web2", "web4"]}, 3, "[REDACTED]"),
        (monitor_clients, {"labels": ["web2"], "renames": {"web1": "www1"}}, 2, _MASK_IN_KEY_FORM),
        (monitor_client, {"label": "web1"}, 1, _MASK_IN_KEY_FORM),
        (monitor_client_info, {}, 3, _MASK_IN_KEY_FORM),
        (monitor_client_info, {"id": 1}, 1, "[REDACTED]"),
    ],
)
def test_keys_that_only_the_list_masks_are_read_one_by_one(
    emulator: Emulator, module: Module, options: dict[str, Any], reads: int, mask_text: str
) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.configure(mask_for="all", mask_in="lists", mask_text=mask_text)
    keys = {each["id"]: (each["api_key"], each["install_code"]) for each in emulator.clients()}
    for check_mode in (True, False):
        emulator.clear_log()
        result = go(emulator, module, include_keys=True, check_mode=check_mode, **options)
        clients = result.get("clients", [result.get("client")])
        for client in clients.values() if isinstance(clients, dict) else clients:
            if client["id"] in keys:
                assert (client["api_key"], client["install_code"]) == keys[client["id"]]
                assert client["keys_masked"] is False and "mask_reason" not in client
        assert len(emulator.requests("get_client")) <= reads
    emulator.clear_log()
    go(emulator, module, **options)
    assert len(emulator.requests("get_client")) == ("id" in options)


def test_clients_that_cannot_be_read_one_by_one_are_masked(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    emulator.configure(mask_for="all", mask_in="lists")
    emulator.fault(kind="status", status=405, operation="get_client", skip=1)
    shown = go(emulator, monitor_client_info, include_keys=True)["clients"]
    assert [client["keys_masked"] for client in shown] == [False, True]


@pytest.mark.parametrize(
    ("masked", "module", "options", "reads"),
    [
        (["web1"], monitor_client_info, {}, 3),
        (["web2"], monitor_client_info, {}, 3),
        (["web1", "web2"], monitor_client_info, {}, 3),
        (["web1"], monitor_clients, {"labels": ["web1", "web2", "web3"]}, 3),
        (["web1"], monitor_clients, {"labels": ["web1", "web3"], "concurrency": 1}, 2),
    ],
)
def test_access_by_client_masks_only_the_keys_of_some_clients(
    emulator: Emulator, masked: list[str], module: Module, options: dict[str, Any], reads: int
) -> None:
    """Observed: "api_key, install_code". All keys are masked in lists, and a response by id masks some keys too."""
    emulator.seed(labels=["web1", "web2", "web3"])
    emulator.configure(mask_for="all", mask_in="lists")
    for label in masked:
        mask = {"api_key": "[REDACTED]", "install_code": "[REDACTED]"}
        emulator.fault(kind="edit", operation="get_client", match={"label": label}, add=mask, times=-1)
    emulator.clear_log()
    clients = go(emulator, module, include_keys=True, **options)["clients"]
    for client in clients.values() if isinstance(clients, dict) else clients:
        assert client["keys_masked"] is (client["label"] in masked)
    assert len(emulator.requests("get_client")) == reads


@pytest.mark.parametrize(("token", "hidden"), [("read_only", {}), ("read_write", {"install_code": None})])
def test_after_many_reads_without_new_keys_no_more_clients_are_read(
    emulator: Emulator, token: str, hidden: dict[str, Any]
) -> None:
    """A read of each client takes an hour for 10,000 clients, because of the rate limit of most services."""
    desired = [client["label"] for client in emulator.seed(60)]
    for operation, prefix in (("list_clients", "data."), ("get_client", "")):
        add = {f"{prefix}{name}": value for name, value in hidden.items()}
        emulator.fault(kind="edit", operation=operation, add=add, times=-1)
    options: dict[str, Any] = {"labels": desired, "concurrency": 4, "token": token, "include_keys": True}
    clients = go(emulator, monitor_clients, **options)["clients"]
    assert {client["keys_masked"] for client in clients.values()} == {token == "read_only"}
    # Other requests can be in progress while the last read is counted.
    assert 20 <= len(emulator.requests("get_client")) < 20 + 4


def test_a_failure_to_read_the_keys_hides_no_change(emulator: Emulator) -> None:
    emulator.configure(mask_for="all", mask_in="everywhere")
    emulator.fault(kind="status", status=503, operation="get_client", times=-1)
    for module, options in ((monitor_client, {"label": "web1"}), (monitor_clients, {"labels": ["web2"]})):
        with pytest.raises(TaskFailure) as raised:
            go(emulator, module, include_keys=True, retry_timeout=0.0, **options)
        assert raised.value.details["changed"] is True
    assert [client["label"] for client in emulator.clients()] == ["web1", "web2"]
