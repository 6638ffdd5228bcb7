# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that recognize masks in place of keys, and secrets that a configuration cannot contain. Pure.

The schema Client of docs/openapi.yaml does not define when and how a service masks ``api_key`` and ``install_code``.
"""

from __future__ import annotations

import collections
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import name_of_character
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import LEAST_LETTERS, letters_in
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT, Client

SECRET_FIELDS = tuple(CLIENT.secret)
# Characters that only masks contain. JSON can contain a lone surrogate (\ud800-\udfff), but a file cannot.
_MASK_CHARACTERS = re.compile(r"[\s\x00-\x1f\x7f-\x9f*\[\]<>…•\ud800-\udfff]")
_SHORTEST_KEY = 16
# Characters that are not allowed in a key, because they can be invisible, or syntax of a configuration file.
_NOT_OF_KEYS = re.compile(r"[^A-Za-z0-9._~+/=:@-]")
# Control characters, and the characters at which str.splitlines ends a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CHECK_ACCESS = (
    "A service masks keys if the token or its user lacks read-write access to the client: check the access of both. If "
    "both have this access, ask the operator of the service for the reason."
)


def why_masked(value: object, field: str = "api_key") -> str:
    """Return the reason why a value is certainly a mask; empty if the value can be a real secret.

    An install code can be shorter than a key, and all clients can have the same install code.
    """
    if not isinstance(value, str):
        return f"The {field} is missing, or is not text."
    # A key with a line break at its end is not a mask: why_unusable refuses such a key.
    secret = value.rstrip("\r\n")
    of_mask = _MASK_CHARACTERS.search(secret)
    if of_mask:
        return f"The {field} contains {name_of_character(of_mask[0])}, which only masks contain."
    if field == "install_code":
        letters = letters_in(secret)
        if letters < LEAST_LETTERS:
            return f"The {field} has {letters} letters and digits; an install code has at least {LEAST_LETTERS}."
    elif len(secret) < _SHORTEST_KEY:
        return f"The {field} has {len(secret)} characters; a key has at least {_SHORTEST_KEY}."
    return ""


def mask_reason(client: t.Mapping[str, t.Any]) -> str:
    """Return the reason why the api_key or the install_code of a client is a mask; empty if both can be real.

    A client without an install code is valid, because most templates need only the key.
    """
    reason = why_masked(client.get("api_key"))
    code = client.get("install_code")
    if reason or code is None:
        return reason
    return why_masked(code, "install_code")


def with_remedy(reason: str) -> str:
    """Return the reason why keys are masked, and advice to the user."""
    return f"{reason} {_CHECK_ACCESS}"


def masked(clients: t.Sequence[Client]) -> dict[t.Any, str]:
    """Return the ids of clients whose api_key or install_code is a mask, with the reasons.

    If several clients have the same key, this key is a mask: some services replace each key by the same text, which
    looks like a key. So ``clients`` must be all clients of the account.
    """
    counts = collections.Counter(str(client.get("api_key")) for client in clients)
    reasons = {}
    for client in clients:
        reason = mask_reason(client)
        number = counts[str(client.get("api_key"))]
        if not reason and number > 1:
            reason = f"The same api_key is on {number} clients."
        if reason:
            reasons[client["id"]] = reason
    return reasons


def secrets_of(client: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the secrets of a client by field name. Leave out masks."""
    return {name: client[name] for name in SECRET_FIELDS if not why_masked(client.get(name), name)}


def fields_with_secrets(client: t.Mapping[str, t.Any]) -> set[str]:
    """Return the names of the secret fields, and of all fields that contain a secret, such as an install command.

    Results are found by label, so a label is never one of these fields.
    """
    names = set(SECRET_FIELDS)
    for secret in secrets_of(client).values():
        names.update(name for name, value in client.items() if secret in str(value))
    return names - {"label"}


def why_unusable(client: t.Mapping[str, t.Any]) -> str:
    """Return the reason why a label or a key must not be written into a configuration; empty if both are safe.

    A line end in a label, or another character in a key, could change the syntax of a configuration.
    """
    control = _CONTROL.search(str(client.get("label")))
    if control:
        return f"the label contains {name_of_character(control[0])}"
    for name, secret in secrets_of(client).items():
        other = _NOT_OF_KEYS.search(secret)
        if other:
            character = name_of_character(other[0])
            return f"the {name} contains {character}; only letters, digits and ._~+/=:@- are allowed"
        if letters_in(secret) < LEAST_LETTERS:
            return f"the {name} has fewer than {LEAST_LETTERS} letters and digits"
    return ""


def for_templates(client: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the fields of a client that templates may use. Leave out fields with control characters.

    Other users of the account can set some values. A line end in a value would add lines to a configuration.
    """
    return {name: value for name, value in client.items() if not any(map(_CONTROL.search, _texts_in(value)))}


def _texts_in(value: t.Any) -> t.Iterator[str]:
    """Return all strings in a value, including the keys of dictionaries."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in [*value, *value.values()]:
            yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
