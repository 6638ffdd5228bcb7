# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets of a task: arguments that callbacks must not see, and keys in results, sealed (encrypted) for this run.

A registered variable is copied to all hosts, fact caches and callbacks, so only this run of Ansible can decrypt sealed
keys. The sealing key is made when the process that starts the workers loads a plugin, before the first fork; workers
inherit it, and it is written nowhere.
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
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import held_in_part

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    # ansible-core requires it, so that this is true for sanity tests only.
    AESGCM = None  # type: ignore[assignment, misc]

_FIELD = "sealed_keys"
_NONCE = 12
# The text by which core itself replaces secret arguments.
PLACEHOLDER = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
if AESGCM is not None:
    _CIPHER = AESGCM(AESGCM.generate_key(256))
    # The first use loads what the others need: here once, instead of in each worker.
    _CIPHER.decrypt(bytes(_NONCE), _CIPHER.encrypt(bytes(_NONCE), b"", None), None)


class PrivateAction(ActionBase):
    """An action whose secret arguments callbacks do not see: they are replaced when the action starts."""

    # The task that ran last in this process, with its arguments: core makes a new action for each attempt of ``until``.
    _last: t.ClassVar[tuple[t.Any, dict[str, t.Any]]] = (None, {})
    arguments: dict[str, t.Any]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        task, arguments = PrivateAction._last
        if task is not self._task:
            arguments = plain(self._task.args)
            PrivateAction._last = (self._task, arguments)
        # A copy: what an action changes in its arguments does not reach the next attempt.
        self.arguments = dict(arguments)
        self._task.args = {name: PLACEHOLDER if _is_secret(name, value) else value for name, value in arguments.items()}
        return dict(super().run(tmp, task_vars))


def plain(value: t.Any) -> t.Any:
    """An argument as JSON would carry it to a module: without what core keeps with strings, vaulted ones decrypted."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        # A string marked as unsafe remains so with str().
        return str.__str__(value)
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), str)
    return None if value is None else kind(value)


def _is_secret(name: str, value: t.Any) -> bool:
    # A registration is the name of a variable; some give the variable itself.
    return bool(value) and (isinstance(value, dict) if name == "registration" else name in ("api_token", "client"))


@contextlib.contextmanager
def unlogged(connection: ConnectionBase) -> Iterator[None]:
    """Keep what commands print out of the verbose output, which the connection writes and no result controls.

    Only the connection's play context does this. It also omits why a connection failed, so it is used only for
    commands that print secrets.
    """
    context = connection._play_context
    before, context.no_log = context.no_log, True
    try:
        yield
    finally:
        context.no_log = before


@contextlib.contextmanager
def task_environment(action: ActionBase) -> Iterator[None]:
    """Set what the task's keyword ``environment`` asks for, in this process."""
    before = dict(os.environ)
    os.environ.update(given_environment(action))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def given_environment(action: ActionBase) -> dict[str, str]:
    """What the task's keyword ``environment`` asks for. Core sets it for modules, not for an action's own commands."""
    given: dict[str, t.Any] = {}
    action._compute_environment_string(given)
    return {name: str(value) for name, value in given.items()}


def clients_in(result: Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """The clients in the result of a task: one, a list, or a dictionary by label."""
    clients = result.get("clients")
    several = clients.values() if isinstance(clients, dict) else clients if isinstance(clients, list) else ()
    return [client for client in (*several, result.get("client")) if isinstance(client, dict)]


def seal(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with one sealed value in place of its secrets, and of each other text that holds one."""
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
    """The client with its secrets; InputError if another run sealed them, or if they are of another label."""
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
    """The secrets that a message, arguments and the like hold in part, by field and label.

    Those of all clients that tasks have registered.
    """
    found = {}
    for result in variables.values():
        if not isinstance(result, dict):
            continue
        # A loop registers a list of results.
        of_loop = result.get("results")
        each = [result, *(of_loop if isinstance(of_loop, list) else ())]
        for client in [client for one in each if isinstance(one, dict) for client in clients_in(one)]:
            # Those that another run sealed are in no text of this one.
            with contextlib.suppress(InputError):
                secrets = fields.secrets_of(unseal(client))
                found.update({f"{name} of {client.get('label')}": str(secret) for name, secret in secrets.items()})
    return held_in_part("\n".join(map(str, values)), found)
