# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The client of a host, found in the registered result of a task. Pure."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Mapping

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import create
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import unseal

_MASKED = "The service masks keys, so a run would write no configuration, and the owner of a key can be unknown."
_LEFT_OUT = "without keys: the task that registers clients needs include_keys: true."
ONE_CLIENT = [("client", "registration"), ("client", "label")]


@dataclasses.dataclass(frozen=True)
class Registered:
    """A client, and the owners of the account's keys: label by key fingerprint.

    ``missing``: the account was read, and has no client of the label. ``others``: the clients of the account, as far as
    they were registered. InputError for a client that must not be written into a configuration.
    """

    label: str
    client: Mapping[str, t.Any]
    key_owners: Mapping[str, str]
    missing: bool = False
    others: t.Collection[Mapping[str, t.Any]] = ()

    def __post_init__(self) -> None:
        if reason := fields.why_unusable(self.client):
            raise InputError(
                f"Client {self.label!r} was not used: {reason}. Such a value could be syntax in a configuration, so "
                "nothing was written. Check base_url. If it is right, ask the operator of the service, or delete the "
                "client: the next run creates another one."
            )

    @functools.cached_property
    def state(self) -> t.Literal["readable", "masked", "pending"]:
        """Whether the secrets are known, are masked, or do not exist yet: a client without an id is only predicted."""
        if self.client.get("id") is None:
            return "pending"
        return "masked" if fields.mask_reason(self.client) else "readable"

    @property
    def predicted_problem(self) -> str:
        """Why a run would not write a masked client; the same text for all clients."""
        # If the service does not mask the secrets, the task that registered the client left them out.
        left_out = self.client.get("keys_masked") is False
        return f"The clients are registered {_LEFT_OUT}" if left_out else f"{_MASKED} {self._mask_reason}"

    @property
    def _mask_reason(self) -> str:
        """Why the secrets are masked, according to the module, which knows the whole account, and what to do."""
        return str(self.client.get("mask_reason") or fields.with_remedy(fields.mask_reason(self.client)))

    @property
    def key_fingerprint(self) -> str | None:
        return fields.fingerprint(self.client["api_key"]) if self.state == "readable" else None

    @property
    def secrets(self) -> dict[str, str]:
        """The client's secrets by field, as far as they are readable."""
        return {field: str(value) for field, value in fields.secrets_of(self.client).items()}

    def sample(self) -> Mapping[str, str]:
        """The secrets of another, readable client, as examples of their format; empty if none is readable."""
        if self.state == "readable":
            return {}
        other = next((one for one in self.others if one.get("key_fingerprint")), None)
        return fields.secrets_of(unseal(other)) if other else {}

    def check_readable(self) -> None:
        """Raise InputError, with what to do, if the secrets can't be read."""
        if self.state == "pending":
            raise InputError(
                f"Client {self.label!r} has no id: it is not registered, or check mode predicted it. Nothing was "
                "written. Register the client, and give it as monitor_client returns it."
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
        return Registered(label, client, {} if fields.is_masked(key) else {fields.fingerprint(str(key)): label})
    result = registered_result(options["registration"] or "", variables)
    return (_of_account if isinstance(result["clients"], list) else _of_labels)(result, label)


def registered_result(name: str, variables: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """The result that a task registered as variable ``name``; InputError if the result holds no clients."""
    if name in (variables.get("ansible_facts") or ()):
        raise InputError(
            f"The host reports a fact {name}, and could get another host's client. Nothing was done. Remove that fact, "
            "or register the result under another name."
        )
    result = variables.get(name)
    if not isinstance(result, Mapping):
        raise InputError(
            f"There is no variable {name!r}. First run the task that registers this variable, in the same run and "
            "without --start-at-task."
        )
    if result.get("skipped"):
        raise InputError(
            f"{name!r} was not registered for any host: the task runs once for all hosts, and a condition left out the "
            "first host. Use the condition on ansible.builtin.include_role instead of import_role or roles."
        )
    if result.get("clients") is None:
        reason = result.get("msg") or "it must be the result of monitor_clients or monitor_client_info"
        raise InputError(f"{name!r} holds no clients: {reason}.")
    return result


def _of_account(result: Mapping[str, t.Any], label: str) -> Registered:
    """The client of a label in the result of monitor_client_info, ``missing`` if there is none."""
    clients: list[Mapping[str, t.Any]] = result["clients"]
    found = [client for client in clients if client["label"] == label]
    if len(found) > 1:
        raise InputError(
            f"The account has {len(found)} clients with the label {label!r}, so the label is ambiguous. Delete or "
            "rename all but one by id (monitor_client)."
        )

    owners = {client["key_fingerprint"]: client["label"] for client in clients if client["key_fingerprint"]}
    if found:
        return Registered(label, unseal(found[0]), owners, others=clients)
    # A new client gets all fields of another client, because a template may use any of them.
    expected = {**dict.fromkeys(name for client in clients[:1] for name in client), **create(label).after}
    return Registered(label, expected, owners, missing=True, others=clients)


def _of_labels(result: Mapping[str, t.Any], label: str) -> Registered:
    """The client of a label in the result of monitor_clients; InputError if the label was not registered."""
    reason = (result.get("failures") or {}).get(label)
    if reason is not None:
        raise InputError(str(reason))
    client = result["clients"].get(label)
    if client is None:
        raise InputError(
            f"The label {label!r} was not registered. A label that play or role variables set is unknown when all "
            "hosts are registered at once: set monitor_agent_label in the inventory."
        )
    owners = result.get("key_owners") or {}
    return Registered(label, unseal(client), owners, others=result["clients"].values())
