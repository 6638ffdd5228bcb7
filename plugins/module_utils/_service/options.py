# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection options: argument spec, validation, and the Api that they describe."""

from __future__ import annotations

import re
import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version
from ansible.module_utils.basic import env_fallback

from ansible_collections.monitor.cloud.plugins.module_utils._service.client import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, missing_option
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import LOOPBACK, Http, Settings, split_url

Params = t.Mapping[str, t.Any]

# The version in galaxy.yml.
VERSION = "0.1.0"


def _option(name: str, kind: str, **details: t.Any) -> dict[str, t.Any]:
    return {"type": kind, "fallback": (env_fallback, [f"MONITOR_{name.upper()}"]), **details}


CONNECTION_OPTIONS: dict[str, t.Any] = {
    "base_url": _option("base_url", "str"),
    "api_token": _option("api_token", "str", no_log=True),
    "brand": _option("brand", "str", default="monitor"),
    "validate_certs": _option("validate_certs", "bool", default=True),
    "ca_path": _option("ca_path", "path"),
    "allow_http": _option("allow_http", "bool", default=False),
    "timeout": _option("timeout", "float", default=30.0),
    "retry_timeout": _option("retry_timeout", "float", default=300.0),
    "page_size": {"type": "int"},
}
# Seconds of a day; the timers of a system are limited to some weeks.
_LONGEST = 86400
# Each concurrent request has a connection.
_MAX_CONCURRENCY = 1000
# The characters of a header value: for others requests would raise an error that quotes the token.
_TOKEN = re.compile(r"[!-~]+")


def connect(params: Params) -> Api:
    """The Api that the connection options describe; InputError if they are invalid. Sends nothing."""
    timeout, retry_timeout = params["timeout"], params["retry_timeout"]
    # Every comparison with NaN is false, so NaN is refused too.
    if not (0 < timeout <= _LONGEST and 0 <= retry_timeout <= _LONGEST):
        raise InputError(
            f"timeout must be more than 0 seconds, and retry_timeout at least 0; neither more than {_LONGEST}."
        )
    if not 1 <= params.get("concurrency", 1) <= _MAX_CONCURRENCY:
        raise InputError(f"concurrency must be at least 1, and not more than {_MAX_CONCURRENCY}.")
    token = params["api_token"]
    if token and not _TOKEN.fullmatch(token):
        raise InputError(
            "api_token holds a character that no token has, such as a space, or a line break at its end. Check where "
            "it comes from."
        )
    settings = Settings(
        base_url=check_base_url(params["base_url"], allow_http=params["allow_http"]),
        token=token,
        concurrency=params.get("concurrency", 8),
        user_agent=f"monitor.cloud/{VERSION} ansible-core/{ansible_version}",
        **{name: params[name] for name in ("validate_certs", "ca_path", "allow_http", "timeout", "retry_timeout")},
    )
    return Api(Http(settings), brand=params["brand"], page_size=params["page_size"])


def check_base_url(base_url: str | None, *, allow_http: bool) -> str:
    """The base URL without a trailing slash; InputError if it is invalid or would send the token unencrypted."""
    base_url = (base_url or "").strip()
    if not base_url:
        raise missing_option("base_url")
    parts = split_url(base_url)
    if not parts or parts.scheme not in ("http", "https") or not base_url.isprintable() or " " in base_url:
        raise InputError("base_url must be a URL such as https://api.example.com/v4, version segment included.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError("base_url must not contain credentials, query or fragment. Set the token as api_token.")
    if parts.scheme == "http" and not allow_http and parts.hostname not in LOOPBACK:
        raise InputError(
            f"base_url {base_url} would send the token unencrypted. Use https, or set allow_http: true if the "
            f"connection to {parts.hostname} is protected in another way."
        )
    return base_url.rstrip("/")
