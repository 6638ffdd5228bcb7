# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the account for inventory plugins, which have their own connection options."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Callable, Mapping

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.monitor.cloud.plugins.module_utils._clients.views import Views
from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS, connect
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Client


def connection_params(option: Callable[[str], t.Any], given: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the connection options of a plugin. ``given``: options of the user with their original types."""
    params = {name: option(name) for name in CONNECTION_OPTIONS}
    params["brand"] = params["brand"] or CONNECTION_OPTIONS["brand"]["default"]
    for name in ("allow_http", "validate_certs"):
        # Core converts an empty string to false, so an empty option would turn off the check of certificates.
        value = given.get(name, os.environ.get(f"MONITOR_{name.upper()}"))
        if value in (None, ""):
            params[name] = CONNECTION_OPTIONS[name]["default"]
            continue
        try:
            params[name] = boolean(value)
        except TypeError as error:
            raise InputError(f"{name} is invalid: {error}") from error
    return params


def read_clients(params: Mapping[str, t.Any]) -> list[Client]:
    """Return the clients of the account without their keys."""
    clients = connect(dict(params)).list_clients()
    return list(map(Views(clients).show, clients))
