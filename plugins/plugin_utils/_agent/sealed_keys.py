# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets of a task: arguments that callbacks must not see, and keys in results, sealed (encrypted) for this run.

A registered variable is copied to all hosts, fact caches and callbacks, so only this run of Ansible can decrypt sealed
keys. The parent process makes the sealing key when it loads a plugin, before the first fork; workers inherit the key,
and it is in no file.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import typing as t
from collections.abc import Iterable, Iterator, Mapping

from ansible.plugins.action import ActionBase
from ansible.plugins.connection import ConnectionBase

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import find_secrets

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    # Sanity tests import this file without cryptography, which ansible-core requires on a controller.
    AESGCM = None  # type: ignore[assignment, misc]

_FIELD = "sealed_keys"
_NONCE = 12
# The text by which core itself replaces secret arguments.
PLACEHOLDER = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
if AESGCM is not None:
    _CIPHER = AESGCM(AESGCM.generate_key(256))
    # The first use of the cipher loads libraries: once here, instead of in each worker.
    _CIPHER.decrypt(bytes(_NONCE), _CIPHER.encrypt(bytes(_NONCE), b"", None), None)


class PrivateAction(ActionBase):
    """An action whose secret arguments callbacks do not see: :meth:`run` replaces them by a placeholder."""

    # The last task of this process, with its arguments: each attempt of ``until`` is a new action, with placeholders.
    _last: t.ClassVar[tuple[t.Any, dict[str, t.Any]]] = (None, {})
    arguments: dict[str, t.Any]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        task, arguments = PrivateAction._last
        if task is not self._task:
            arguments = plain(self._task.args)
            PrivateAction._last = (self._task, arguments)
        # A copy, so that changes by one attempt do not reach the next.
        self.arguments = dict(arguments)
        self._task.args = {name: PLACEHOLDER if _is_secret(name, value) else value for name, value in arguments.items()}
        return dict(super().run(tmp, task_vars))


def plain(value: t.Any) -> t.Any:
    """An argument as a module gets it in JSON: strings without the attributes of core, vaulted ones decrypted."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        # str() would keep the mark of an unsafe string.
        return str.__str__(value)
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), str)
    return None if value is None else kind(value)


def _is_secret(name: str, value: t.Any) -> bool:
    # registration should be the name of a variable; its value, a dictionary, is secret.
    return bool(value) and (isinstance(value, dict) if name == "registration" else name in ("api_token", "client"))


@contextlib.contextmanager
def without_logging(connection: ConnectionBase) -> Iterator[None]:
    """Keep the output of commands out of the verbose output, which the connection writes before there is a result.

    Only no_log of the connection's play context does this. It also hides why a connection failed, so it is for commands
    that print or get secrets only.
    """
    context = connection._play_context
    before, context.no_log = context.no_log, True
    try:
        yield
    finally:
        context.no_log = before


@contextlib.contextmanager
def task_environment(action: ActionBase) -> Iterator[None]:
    """Set the variables of the task's keyword ``environment`` in this process."""
    before = dict(os.environ)
    os.environ.update(given_environment(action))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def given_environment(action: ActionBase) -> dict[str, str]:
    """The task's keyword ``environment``. Core sets these variables for modules, not for commands of an action."""
    given: dict[str, t.Any] = {}
    action._compute_environment_string(given)
    return {name: str(value) for name, value in given.items()}


def clients_in(result: Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """The clients in the result of a task: one, a list, or a dictionary by label."""
    clients = result.get("clients")
    several = clients.values() if isinstance(clients, dict) else clients if isinstance(clients, list) else ()
    return [client for client in (*several, result.get("client")) if isinstance(client, dict)]


def seal(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with one sealed value instead of its secrets and of other fields that hold a secret."""
    secrets = list(fields.secrets_of(client).values())
    kept = {
        name: value
        for name, value in client.items()
        if name in fields.SECRET_FIELDS or (name != "label" and any(secret in str(value) for secret in secrets))
    }
    shown = {name: value for name, value in client.items() if name not in kept}
    if not kept:
        return shown
    nonce = os.urandom(_NONCE)
    sealed = nonce + _CIPHER.encrypt(nonce, json.dumps(kept).encode(), _bound(client))
    return {**shown, _FIELD: base64.b64encode(sealed).decode()}


def unseal(client: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """The client with its secrets; InputError if another run sealed them, or if they belong to another label."""
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
    """What sealed keys belong to: in a client of another label they can't be decrypted."""
    return str(client.get("label")).encode("utf-8", "surrogatepass")


def secrets_in(values: Iterable[t.Any], variables: Mapping[str, t.Any]) -> dict[str, str]:
    """Field and label → secret, for secrets of registered clients that the values hold whole or in part."""
    found = {}
    for result in variables.values():
        if not isinstance(result, dict):
            continue
        # The result of a loop has the list of its results.
        of_loop = result.get("results")
        each = [result, *(of_loop if isinstance(of_loop, list) else ())]
        for client in [client for one in each if isinstance(one, dict) for client in clients_in(one)]:
            # Secrets that another run sealed are in no text of this run.
            with contextlib.suppress(InputError):
                secrets = fields.secrets_of(unseal(client))
                found.update({f"{name} of {client.get('label')}": str(secret) for name, secret in secrets.items()})
    return find_secrets("\n".join(map(str, values)), found)
