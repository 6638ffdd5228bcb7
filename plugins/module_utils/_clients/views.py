# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients without their keys, for results and diffs. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients import masks
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import PREDICTED
from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import escaped
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Client


def name_of(client: Client) -> str:
    """Return the label of a client, or ``client <id>`` if the client has no label."""
    if client["label"] is None:
        return f"client {client['id']}"
    return str(client["label"])


class Views:
    """The clients of an account, for results and diffs. All clients of the account are needed to recognize masks.

    ``known`` are lists of clients, such as the clients before and after a task. If two lists contain the
    same id, use the client of the later list. A client that check mode predicts has the id None.
    """

    def __init__(self, *known: t.Iterable[Client], include_keys: bool = False) -> None:
        self._account: dict[t.Any, Client] = {}
        for clients in known:
            self._account.update((client["id"], client) for client in clients if client.get("id") is not None)
        self.masked = masks.masked(list(self._account.values()))
        self._include_keys = include_keys

    def show(self, client: Client) -> Client:
        """Return a client for a result: without secrets, with ``key_fingerprint`` and ``keys_masked``.

        With ``include_keys``, keep api_key and install_code. But remove masks, so that a template with a mask fails.
        Without ``include_keys``, also remove each field that contains a secret, such as an install command.
        """
        if not client:
            return {}
        reason = self.masked.get(client["id"], "")
        has_keys = self._include_keys and not reason
        shown = _with_keys(client) if has_keys else _without_keys(client)
        shown["key_fingerprint"] = self._key_fingerprint(client)
        shown["keys_masked"] = bool(reason)
        if reason:
            shown["mask_reason"] = masks.with_remedy(reason)
        return shown

    def _key_fingerprint(self, client: Client) -> str | None:
        key = client.get("api_key")
        if client["id"] in self.masked or not isinstance(key, str):
            return None
        return fingerprint(key)

    def diff(self, changes: t.Iterable[tuple[Client, Client]]) -> dict[str, dict[str, t.Any]]:
        """Return a diff of pairs of clients, before and after a change. ``{}`` means no client."""
        pairs = list(changes)
        return {
            "before": self._keys_by_label(before for before, _after in pairs),
            "after": self._keys_by_label(after for _before, after in pairs),
        }

    def _keys_by_label(self, clients: t.Iterable[Client]) -> dict[str, str]:
        return {escaped(name_of(client)): self._key_in_diff(client) for client in clients if client}

    def _key_in_diff(self, client: Client) -> str:
        if client["id"] is None:
            return "new"
        return self._key_fingerprint(client) or "masked"

    def key_owners(self) -> dict[str, str]:
        """Return the label for each key fingerprint. Leave out clients without a readable key or a label."""
        owners = {}
        for client in self._account.values():
            if client["id"] not in self.masked and client["label"] is not None:
                owners[fingerprint(client["api_key"])] = client["label"]
        return owners


def _with_keys(client: Client) -> Client:
    if client["id"] is None:
        return {**dict.fromkeys(masks.SECRET_FIELDS, PREDICTED), **client}
    return dict(client)


def _without_keys(client: Client) -> Client:
    # Tasks find a client by its id, so keep the id.
    hidden = masks.fields_with_secrets(client) - {"id"}
    return {name: value for name, value in client.items() if name not in hidden}
