# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The client of a host, found in what a task registered. Pure."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import held_in_part
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed_keys import clients_in, unseal

_MASKED = "The service masks keys, so the owner of a host's key is not always known, and a run would not write."
_LEFT_OUT = "without keys: the task that registers needs include_keys: true."
ONE_CLIENT = [("client", "registration"), ("client", "label")]


@dataclasses.dataclass(frozen=True)
class Registered:
    """A client, and the owners of the account's keys: label by key fingerprint. ``new``: the task created it.

    InputError if no configuration may be made with the client.
    """

    label: str
    client: Mapping[str, t.Any]
    key_owners: Mapping[str, str]
    new: bool = False

    def __post_init__(self) -> None:
        if reason := fields.why_unusable(self.client):
            raise InputError(
                f"Client {self.label!r} was not used: {reason}. It could be syntax in a configuration, so nothing was "
                "written. Check base_url. If it is right, ask the operator of the service, or delete the client: the "
                "next run creates another one."
            )

    @functools.cached_property
    def state(self) -> t.Literal["readable", "masked", "pending"]:
        """Whether its secrets are known, can't be read, or are not made yet: check mode predicts that it is created."""
        if self.client.get("id") is None:
            return "pending"
        return "masked" if fields.mask_reason(self.client) else "readable"

    @property
    def predicted_problem(self) -> str:
        """Why a run would not write, if the secrets can't be read; the same text for all clients."""
        # If the service shows the secrets, the task that registered left them out of its result.
        left_out = self.client.get("keys_masked") is False
        return f"The clients are registered {_LEFT_OUT}" if left_out else f"{_MASKED} {self._mask_reason}"

    @property
    def _mask_reason(self) -> str:
        """Why the secrets are masked, as the module found it in the whole account, and what to do."""
        return str(self.client.get("mask_reason") or fields.with_remedy(fields.mask_reason(self.client)))

    @property
    def key_fingerprint(self) -> str | None:
        return fields.fingerprint(self.client["api_key"]) if self.state == "readable" else None

    @property
    def secrets(self) -> dict[str, str]:
        """The client's secrets by the name of their field, as far as they are readable."""
        return {field: str(value) for field, value in fields.secrets_of(self.client).items()}

    def check_readable(self) -> None:
        """Raise InputError, with what is missing, if the secrets can't be read."""
        if self.state == "pending":
            raise InputError(
                f"Client {self.label!r} has no id: it is not registered, or check mode predicted it. Nothing was "
                "written. Register it, and give the client as monitor_client returns it."
            )
        if self.state == "masked" and self.client.get("keys_masked") is False:
            raise InputError(f"Client {self.label!r} is registered {_LEFT_OUT} Nothing was written.")
        if self.state == "masked":
            raise InputError(
                f"The service masks the keys of client {self.label!r}, so nothing was written. {self._mask_reason}"
            )


def registered_client(options: Mapping[str, t.Any], variables: Mapping[str, t.Any], label: str) -> Registered:
    """The client that the options choose, for the ``label`` of the host; InputError if it is not registered."""
    client = options["client"]
    if client is not None:
        if not isinstance(client.get("label"), str):
            raise InputError("client must be a client as monitor_client returns it with include_keys: true.")
        client = unseal(client)
        key, label = client.get("api_key"), client["label"]
        return Registered(label, client, {} if fields.looks_masked(key) else {fields.fingerprint(str(key)): label})
    # A list that is written as text may have a space after each comma.
    names = [name.strip() for name in options["registration"] or [""]]
    results = [variables[name] for name in names if hasattr(variables.get(name), "get")]
    if not results:
        raise InputError(
            f"There is no variable {names[0]!r}. Run monitor.cloud.monitor_clients with register: first, in the "
            "same run and without --start-at-task."
        )
    result = next((result for result in results if result.get("clients") is not None), None)
    if result is None:
        raise InputError(f"{names[0]!r} holds no clients: the task that registers it failed or was skipped. Run it.")
    reason = (result.get("failures") or {}).get(label)
    if reason is not None:
        raise InputError(str(reason))
    client = result["clients"].get(label)
    if client is None:
        raise InputError(
            f"The label {label!r} was not registered. A label that play or role variables set is unknown when all "
            "hosts are registered at once: set monitor_agent_label in the inventory."
        )
    return Registered(label, unseal(client), result.get("key_owners") or {}, label in (result.get("created") or ()))


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
            label = str(client.get("label"))
            # Those that another run sealed are in no text of this one.
            with contextlib.suppress(InputError):
                secrets = fields.secrets_of(unseal(client))
                found.update({f"{field} of {label}": secret for field, secret in secrets.items()})
    return held_in_part("\n".join(map(str, values)), found)
