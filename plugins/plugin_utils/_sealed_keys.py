# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients in variables, with their secrets sealed (encrypted).

A registered variable is copied to all hosts, fact caches and callbacks, so only this run of Ansible can decrypt the
secrets in it. The key is made when the process that starts the workers loads a plugin, before the first fork; workers
inherit it, and it is written nowhere.
"""

from __future__ import annotations

import base64
import json
import os
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    # ansible-core requires it, so that this is true for sanity tests only.
    AESGCM = None  # type: ignore[assignment, misc]

_FIELD = "sealed_keys"
_NONCE = 12
if AESGCM is not None:
    _CIPHER = AESGCM(AESGCM.generate_key(256))
    # The first use loads what the others need: so it is here, and not in each worker.
    _CIPHER.decrypt(bytes(_NONCE), _CIPHER.encrypt(bytes(_NONCE), b"", None), None)


def clients_in(result: Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """The clients in the result of a task: one, a list, or a dictionary by label."""
    clients = result.get("clients")
    several = clients.values() if isinstance(clients, dict) else clients if isinstance(clients, list) else ()
    return [client for client in (*several, result.get("client")) if isinstance(client, dict)]


def seal(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with one sealed value in place of its secrets, if it has any; it opens with the same label only."""
    secrets = {name: client[name] for name in SECRET_FIELDS if name in client}
    shown = {name: value for name, value in client.items() if name not in secrets}
    if not secrets:
        return shown
    nonce = os.urandom(_NONCE)
    sealed = nonce + _CIPHER.encrypt(nonce, json.dumps(secrets).encode(), _bound(client))
    return {**shown, _FIELD: base64.b64encode(sealed).decode()}


def unseal(client: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """The client with its secrets; InputError if another run sealed them, or for another label."""
    if _FIELD not in client:
        return client
    try:
        sealed = base64.b64decode(str(client[_FIELD]))
        secrets = json.loads(_CIPHER.decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(client)))
    except (InvalidTag, ValueError):
        raise InputError(
            f"The keys of client {client.get('label')!r} cannot be decrypted: another run of Ansible registered it, or "
            "they are those of another label. Register the clients again in this run."
        ) from None
    return {**{name: value for name, value in client.items() if name != _FIELD}, **secrets}


def _bound(client: Mapping[str, t.Any]) -> bytes:
    """What is authenticated with the secrets of a client."""
    return str(client.get("label")).encode("utf-8", "surrogatepass")
