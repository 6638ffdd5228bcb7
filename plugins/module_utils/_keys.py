# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which values are keys, which are masks of keys, and what of a client may be shown. Pure.

Implements the remark on ``api_key`` and ``install_code`` of section 2.1 of the API document.
"""

from __future__ import annotations

import collections
import hashlib
import re
import typing as t

Client = dict[str, t.Any]

SECRET_FIELDS = ("api_key", "install_code")

# Real keys are long and plain; masks are short, blank, or drawn with signs like these. Half a character, as JSON can
# spell it, can't be written to a file.
_MASK_CHARACTERS = re.compile(r"[\s\x00-\x1f\x7f*\[\]<>…•\ud800-\udfff]")
_SHORTEST_KEY = 16
_FINGERPRINT_DIGITS = 12


def looks_masked(value: object) -> bool:
    """Whether a value can't be a key, judged by itself alone."""
    return not isinstance(value, str) or len(value) < _SHORTEST_KEY or bool(_MASK_CHARACTERS.search(value))


def fingerprint(key: str) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a key: tells keys apart without showing one."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_DIGITS]


def masked_ids(clients: t.Sequence[Client]) -> set[t.Any]:
    """The ids of the clients whose key or code is a mask.

    A value that stands on two clients is a mask too: keys are unique, and some services mask with a constant that
    looks like a key. So the answer is only as good as the list is complete.
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
    than write the mask. A client that check mode foresees has no key yet, hence neither secret nor fingerprint.
    """
    view = {name: value for name, value in client.items() if name not in SECRET_FIELDS}
    key = client.get("api_key")
    view["key_fingerprint"] = fingerprint(key) if isinstance(key, str) and not masked else None
    view["keys_masked"] = masked
    if include_keys and not masked:
        view.update({field: client[field] for field in SECRET_FIELDS if field in client})
    return view


class Views:
    """Shows clients of an account, with the masks judged over all that are known of it.

    ``known`` are lists of clients, such as those before and those after a task; the last one of an id counts. Clients
    that check mode foresees have the id None.
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

    def fingerprints(self, clients: t.Iterable[Client]) -> dict[str, str | None]:
        """Label → key fingerprint, as a diff shows clients."""
        return {client["label"]: self.show(client)["key_fingerprint"] for client in clients if client}

    def key_owners(self) -> dict[str, str]:
        """Key fingerprint → label, for every client of the account whose key is readable."""
        readable = (client for client in self._account.values() if client["id"] not in self._masked)
        return {fingerprint(client["api_key"]): client["label"] for client in readable}
