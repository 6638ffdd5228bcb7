# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Calls of the emulated service as a client would make them, without any help that a client library gives."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


@dataclass(frozen=True)
class Reply:
    """A response. `headers` have lower-case names."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        """The only error in the body."""
        (error,) = self.json["errors"]
        return dict(error)


def call(
    emulator: Emulator,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = "read_write",
    timeout: float = 10,
) -> Reply:
    """One call over a connection of its own. `path` begins behind the version; `body` is sent as JSON unless bytes."""
    address = urlsplit(emulator.base_url)
    connection = http.client.HTTPConnection(address.netloc, timeout=timeout)
    headers = {"Authorization": f"Bearer {emulator.tokens.get(token, token)}"} if token else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, address.path + path, body, headers)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, names, response.read().decode())
    finally:
        connection.close()


def create(emulator: Emulator, label: str, **options: Any) -> Reply:
    return call(emulator, "POST", "/monitor/clients", {"label": label}, **options)
