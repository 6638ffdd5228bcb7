# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys and masks of keys, fingerprints, and the fields of a client that may be shown. Pure.

The schema Client of docs/openapi.yaml leaves open when, and how, ``api_key`` and ``install_code`` are masked.
"""

from __future__ import annotations

import collections
import hashlib
import re
import typing as t

# Python 3.8 has to reach the message in Module.main, so aliases do not subscript the classes.
Client = t.Dict[str, t.Any]  # noqa: UP006

SECRET_FIELDS = ("api_key", "install_code")

# Keys are long and have none of these characters; masks are short, blank, or have some. A single surrogate, which JSON
# can hold, can't be written to a file.
_MASK_CHARACTERS = re.compile(r"[\s\x00-\x1f\x7f*\[\]<>…•\ud800-\udfff]")
_SHORTEST_KEY = 16
_FINGERPRINT_DIGITS = 12


def name_of(client: Client) -> str:
    """The label; ``client <id>`` for a client without one."""
    return str(client["label"]) if client["label"] is not None else f"client {client['id']}"


def looks_masked(value: object) -> bool:
    """Whether a value can't be a key, whatever the other clients have."""
    return not isinstance(value, str) or len(value) < _SHORTEST_KEY or bool(_MASK_CHARACTERS.search(value))


def fingerprint(key: str) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a key: distinguishes keys without showing them."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_DIGITS]


def masked_ids(clients: t.Sequence[Client]) -> set[t.Any]:
    """The ids of the clients whose key or code is a mask.

    A value that two clients have is a mask too: keys are unique, and some services mask with a constant in the format
    of a key. So the list must be complete.
    """
    counts = {field: collections.Counter(str(client.get(field)) for client in clients) for field in SECRET_FIELDS}
    return {
        client["id"]
        for client in clients
        if any(looks_masked(client.get(field)) or counts[field][client[field]] > 1 for field in SECRET_FIELDS)
    }


def public_view(client: Client, *, masked: bool, include_keys: bool) -> Client:
    """A client as a result shows it: its fields without the secrets, ``key_fingerprint`` and ``keys_masked``.

    With ``include_keys`` the two secrets stay in, unless masked: a template that uses a masked one has to fail rather
    than write the mask. A client that check mode predicts has no key yet, so neither secret nor fingerprint.
    """
    view = {name: value for name, value in client.items() if name not in SECRET_FIELDS}
    key = client.get("api_key")
    view["key_fingerprint"] = fingerprint(key) if isinstance(key, str) and not masked else None
    view["keys_masked"] = masked
    if include_keys and not masked:
        view.update({field: client[field] for field in SECRET_FIELDS if field in client})
    return view


class Views:
    """The views of an account's clients. All known clients are needed to recognize masks.

    ``known`` are lists of clients, such as those before and those after a task; the last one of an id counts. Clients
    that check mode predicts have the id None.
    """

    def __init__(self, *known: t.Iterable[Client], include_keys: bool = False) -> None:
        self._account = {
            client["id"]: client for clients in known for client in clients if client.get("id") is not None
        }
        self._masked = masked_ids(list(self._account.values()))
        self._include_keys = include_keys

    def show(self, client: Client) -> Client:
        """:func:`public_view` of a client; ``{}`` for none."""
        if not client:
            return {}
        return public_view(client, masked=client["id"] in self._masked, include_keys=self._include_keys)

    def fingerprints(self, clients: t.Iterable[Client]) -> dict[str, str]:
        """Label → key fingerprint, as a diff shows clients; ``new`` for one to be created, ``masked`` without a key."""
        return {
            name_of(client): "new" if client["id"] is None else self.show(client)["key_fingerprint"] or "masked"
            for client in clients
            if client
        }

    def key_owners(self) -> dict[str, str]:
        """Key fingerprint → label, for every client of the account whose key is readable and that has a label."""
        readable = (client for client in self._account.values() if client["id"] not in self._masked)
        return {fingerprint(client["api_key"]): client["label"] for client in readable if client["label"] is not None}
