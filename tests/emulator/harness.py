# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The emulator for tests: starts it as a process of its own and steers it. Needs nothing but the standard library."""

import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any

_MODULE = "ansible_collections.monitor.cloud.tests.emulator"
_START_SECONDS = 30.0
_END_SECONDS = 10.0
_SETTLE_SECONDS = 60.0


class Emulator:
    """An emulator process on a free loopback port.

    `base_url` ends in `/v4`; `tokens` has each token by name (`read_write`, `read_only`, `no_plan`). `arguments` are
    added to the command line; with `--tls-cert` among them, `cafile` is what the certificate is checked against.
    """

    def __init__(self, *, arguments: Sequence[str] = (), cafile: str | None = None) -> None:
        self._command = [sys.executable, "-m", _MODULE, "--port", "0", "--with-parent", str(os.getpid()), *arguments]
        self._tls = ssl.create_default_context(cafile=cafile) if cafile else None
        # Calls to loopback must not go to a proxy that the environment names.
        handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._tls)]
        self._opener = urllib.request.build_opener(*handlers)
        # A file, not a pipe: it is not read while the emulator runs.
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process: subprocess.Popen[str] | None = None
        self.base_url = ""
        self.tokens: dict[str, str] = {}

    def __enter__(self) -> "Emulator":
        self.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process and wait until it responds. Raises RuntimeError with its output if it does not."""
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "=" not in line:
            self._fail("did not start")
        self.base_url = line.strip().partition("=")[2]
        try:
            # It listens already: the call waits until it is served.
            self._refresh_tokens()
        except OSError:
            self._fail("does not respond")

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()
        self._process = None

    def reset(self) -> None:
        """An empty account on the free plan, settings and tokens as at the start, no faults, an empty log."""
        self._call("POST", "reset")
        self._refresh_tokens()

    def configure(self, **settings: Any) -> dict[str, Any]:
        """Change settings, see `settings.py`. Returns all of them."""
        return dict(self._call("PATCH", "settings", settings))

    def settings(self) -> dict[str, Any]:
        return dict(self._call("GET", "settings"))

    def fault(self, **fault: Any) -> None:
        """Schedule a fault: `kind`, `operation`, `times`, `skip`, `match`, ... see `faults.py`."""
        self._call("POST", "faults", fault)

    def faults(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "faults"))

    def clear_faults(self) -> None:
        self._call("DELETE", "faults")

    def seed(self, count: int = 0, labels: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Create clients without a call of the service: `count` numbered ones, or these. Returns them with keys."""
        seeds = {"count": count, "labels": None if labels is None else list(labels)}
        return list(self._call("POST", "seed", seeds))

    def clients(self) -> list[dict[str, Any]]:
        """All clients, with their true keys."""
        return list(self._call("GET", "clients"))

    def requests(self, operation: str | None = None) -> list[dict[str, Any]]:
        """The request log, oldest first: all calls, or those of one operation (`list_clients`, ...)."""
        return list(self._call("GET", f"requests?operation={operation}" if operation else "requests"))

    def settle(self) -> list[dict[str, Any]]:
        """Wait until the service has done all requested work, however late; returns the request log."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            calls = self.requests()
            if all(entry["ended"] is not None for entry in calls):
                return calls
            if time.monotonic() > deadline:
                raise RuntimeError("The emulator is still at work.")
            time.sleep(0.02)

    def clear_log(self) -> None:
        self._call("DELETE", "requests")

    def reports(self) -> dict[str, str | None]:
        """By host, the label of the client under which its agent last reported; None: under no client."""
        return dict(self._call("GET", "reports"))

    def clear_reports(self) -> None:
        self._call("DELETE", "reports")

    def set_plan(self, tier: str | None) -> None:
        self._call("PUT", "plan", {"tier": tier})

    def set_token(self, name: str, **fields: Any) -> str:
        """Make or replace a token: `scopes`, `grants`, `read_only_ids`. Returns what callers send."""
        self._call("PUT", "tokens", {name: fields})
        self._refresh_tokens()
        return self.tokens[name]

    def environment(self, token: str | None = "read_write") -> dict[str, str]:
        """The environment variables by which the collection finds this service; no token if none is named."""
        variables = {"MONITOR_BASE_URL": self.base_url}
        return {**variables, "MONITOR_API_TOKEN": self.tokens[token]} if token else variables

    def _refresh_tokens(self) -> None:
        self.tokens = dict(self._call("GET", "tokens"))

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        root = self.base_url.rpartition("/")[0]
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{root}/_emulator/{path}", data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_START_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise ValueError(f"The emulator refuses {method} {path}: {error.read().decode()}") from None

    def _fail(self, what: str) -> None:
        self._errors.seek(0)
        output = self._errors.read().strip()
        self.stop()
        raise RuntimeError(f"The emulator {what}: {output}")
