# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import select
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from requests import Response, Session

_MODULE = "ansible_collections.monitor.cloud.tests.emulator"
_START_SECONDS = 60.0
_END_SECONDS = 10.0
_SETTLE_SECONDS = 60.0


class Emulator:
    """A context manager for an emulator process on a free loopback port.

    `tokens` contains the tokens `read_write`, `read_only` and `no_plan`. `cafile` verifies the server's certificate.
    """

    def __init__(self, *, arguments: Sequence[str] = (), cafile: str | None = None) -> None:
        self._command = [sys.executable, "-m", _MODULE, "--port", "0", "--until-eof", *arguments]
        self._verify = cafile or True
        self._control = self._session()
        self.base_url = ""
        self.tokens: dict[str, str] = {}

    def _session(self) -> Session:
        session = Session()
        # Ignore the proxy in the environment.
        session.trust_env = False
        session.verify = self._verify
        return session

    def __enter__(self) -> "Emulator":
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout is not None
        if select.select([self.process.stdout], [], [], _START_SECONDS)[0]:
            self.base_url = self.process.stdout.readline().strip().partition("=")[2]
        if not self.base_url:
            self.process.kill()
            raise RuntimeError("The emulator did not start.")
        # This call waits until the process responds: the process listens before it serves.
        self._refresh_tokens()
        return self

    def __exit__(self, *_details: object) -> None:
        self._control.close()
        with self.process as process:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def reset(self) -> None:
        self._call("POST", "reset")
        self._refresh_tokens()

    def configure(self, **settings: Any) -> None:
        self._call("PATCH", "settings", settings)

    def fault(self, **fault: Any) -> None:
        """Schedule a fault of `faults.py`."""
        self._call("POST", "faults", fault)

    def faults(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "faults"))

    def clear_faults(self) -> None:
        self._call("DELETE", "faults")

    def seed(self, count: int = 0, labels: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Create ``count`` clients, or a client for each of ``labels``. Return the clients with their keys."""
        seeds = {"count": count, "labels": None if labels is None else list(labels)}
        return list(self._call("POST", "seed", seeds))

    def clients(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "clients"))

    def requests(self, operation: str | None = None) -> list[dict[str, Any]]:
        """Return the request log of all operations, or of one operation."""
        return list(self._call("GET", f"requests?operation={operation}" if operation else "requests"))

    def settle(self) -> list[dict[str, Any]]:
        """Wait until the service has processed all calls. Return the request log."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            calls = self.requests()
            if all(entry["ended"] is not None for entry in calls):
                return calls
            if time.monotonic() > deadline:
                raise RuntimeError("The emulator did not finish all calls in time.")
            time.sleep(0.02)

    def clear_log(self) -> None:
        self._call("DELETE", "requests")

    def reports(self) -> dict[str, str | None]:
        """For each host that reported, return the label of its client; None if no client has the host's codes."""
        return dict(self._call("GET", "reports"))

    def clear_reports(self) -> None:
        self._call("DELETE", "reports")

    def set_plan(self, tier: str | None) -> None:
        self._call("PUT", "plan", {"tier": tier})

    def set_token(self, name: str, **fields: Any) -> str:
        """Create or replace a token with the fields of `state.Token`. Return the value of the token."""
        self._call("PUT", "tokens", {name: fields})
        self._refresh_tokens()
        return self.tokens[name]

    def environment(self, token: str | None = "read_write") -> dict[str, str]:
        """Return the environment variables that contain the address of the service and the token of this name."""
        variables = {"MONITOR_BASE_URL": self.base_url}
        return {**variables, "MONITOR_API_TOKEN": self.tokens[token]} if token else variables

    def _refresh_tokens(self) -> None:
        self.tokens = dict(self._call("GET", "tokens"))

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        """Call the service over a new connection."""
        sent = {"Authorization": f"Bearer {self.tokens['read_write']}", **(headers or {})}
        with self._session() as session:
            return session.request(method, self.base_url + path, json=body, headers=sent, timeout=_END_SECONDS)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        url = f"{self.base_url.rpartition('/')[0]}/_emulator/{path}"
        response = self._control.request(method, url, json=body, timeout=_START_SECONDS)
        if not response.ok:
            raise ValueError(f"The emulator refuses {method} {path}: {response.text}")
        return response.json()
