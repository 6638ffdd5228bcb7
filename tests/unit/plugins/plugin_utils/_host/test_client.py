# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.client import Registered, registered_client
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed import seal

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CODE = "DDDD2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_SECRETS = {"api_key": _KEY, "install_code": _CODE}
_CLIENT = {"id": 1, "label": "web1", **_SECRETS}
_REGISTERED = {"clients": {"web1": seal(_CLIENT)}, "key_owners": {"0" * 12: "web2"}, "created": ["web1"]}


def _chosen(result: Any, label: str = "web1") -> Registered:
    return registered_client("result", {"result": result}, label)


_MASKED = "The service masks keys, .* A service masks keys if the token or its user lacks read-write access"
_ONLY_READS = {"keys_masked": True, "mask_reason": "A mask. The token only reads."}


@pytest.mark.parametrize(
    ("client", "state", "secrets", "problem"),
    [
        (_CLIENT, "readable", _SECRETS, ""),
        ({"id": None}, "pending", {}, "The client does not exist yet, so it has no keys"),
        ({"id": 1}, "masked", {}, _MASKED),
        ({"id": 1, "keys_masked": False}, "masked", {}, "result has no keys. .* seal_keys: true"),
        ({**_CLIENT, "api_key": "[REDACTED]"}, "masked", {"install_code": _CODE}, _MASKED),
        ({"id": 1, **_ONLY_READS}, "masked", {}, "is written. A mask. The token only reads."),
    ],
)
def test_the_state_of_a_client(client: dict[str, Any], state: str, secrets: dict[str, str], problem: str) -> None:
    registered = Registered("web1", client, {})
    assert (registered.state, registered.secrets) == (state, secrets)
    assert registered.key_fingerprint == (None if problem else fingerprint(_KEY))
    if not problem:
        registered.check_readable()
        return
    with pytest.raises(InputError, match=f"Nothing was written for client 'web1'. .*{problem}"):
        registered.check_readable()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("api_key", f"$(touch){_KEY}", "api_key contains U\\+0024 DOLLAR SIGN"),
        ("label", "web1\u2028", "label contains U\\+2028 LINE SEPARATOR"),
    ],
)
def test_a_client_that_could_be_syntax_is_refused(field: str, value: Any, reason: str) -> None:
    client = {**_CLIENT, field: value}
    registered = {"clients": {client["label"]: seal(client)}}
    with pytest.raises(InputError, match=f"Client .* was not used: the {reason}.* Check base_url.") as refused:
        _chosen(registered, client["label"])
    assert str(value) not in str(refused.value) and "delete" not in str(refused.value)


_SHOWN = {"key_fingerprint": fingerprint(_KEY), "keys_masked": False}
_OTHER = {"id": 2, "label": "web2", "key_fingerprint": None, "keys_masked": True, "plan": "x"}


def test_the_client_of_the_hosts_label() -> None:
    assert _chosen(_REGISTERED) == Registered("web1", _CLIENT, {"0" * 12: "web2"})
    account = [_OTHER, seal({**_CLIENT, **_SHOWN})]
    owners = {fingerprint(_KEY): "web1"}
    assert _chosen({"clients": account}) == Registered("web1", {**_CLIENT, **_SHOWN}, owners)
    missing = _chosen({"clients": account}, "web3")
    assert (missing.missing, missing.state, missing.client["label"]) == (True, "pending", "web3")
    # A predicted client has all fields, because a template may use any field.
    assert missing.client.keys() >= {"id", "created", "plan"}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "must be the name of a variable, not its value. .* because of --start-at-task"),
        ({"skipped": True}, "'result' was not registered for any host: .*include_role"),
        ({"failed": True, "msg": "No."}, "'result' contains no clients: No"),
        ({**_REGISTERED, "failures": {"web1": "The label is refused."}}, "^The label is refused.$"),
        ({"clients": {"web2": {}}}, "The label 'web1' was not registered"),
    ],
)
def test_a_label_that_is_not_registered(result: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _chosen(result)
