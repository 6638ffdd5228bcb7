# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the address and the token that a task gives can be used. Pure. Sections 5 and 9 of the API document."""

from __future__ import annotations

import re
import urllib.parse

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# What a header can carry: anything else would end in an error of a library that quotes the token.
_TOKEN = re.compile(r"[!-~]+")


def check_base_url(base_url: str, *, allow_http: bool) -> str:
    """The base URL without a trailing slash; InputError where it is unusable or would send the token in clear."""
    base_url = base_url.strip()
    try:
        parts = urllib.parse.urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        usable = usable and base_url.isprintable() and " " not in base_url
    except ValueError:
        usable = False
    if not usable:
        raise InputError("base_url must be a URL such as https://api.example.com/v4, version segment included.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError("base_url must carry no credentials, query or fragment: the token belongs into api_token.")
    if parts.scheme == "http" and not allow_http and parts.hostname not in _LOOPBACK:
        raise InputError(
            f"base_url {base_url} would send the token unencrypted. Use https, or set allow_http: true if the way to "
            f"{parts.hostname} is safe by other means."
        )
    return base_url.rstrip("/")


def check_proxy(base_url: str, proxy: str, *, allow_http: bool) -> None:
    """InputError for a proxy of the environment that is none, or that would get the token, in clear, elsewhere."""
    try:
        parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        usable = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        # Not shown, for it may hold a password; libraries would show it.
        raise InputError(
            "The environment names a proxy that is no address such as http://proxy.example.com:3128. Check http_proxy, "
            "https_proxy and all_proxy."
        )
    if urllib.parse.urlsplit(base_url).scheme == "http" and not allow_http and parts.hostname not in _LOOPBACK:
        raise InputError(
            f"base_url leads to this machine, but the environment names a proxy for it at {parts.hostname}, which "
            "would get the token unencrypted. Name the host in the environment's no_proxy, or set allow_http: true if "
            "the way to the proxy is safe by other means."
        )


def check_token(token: str | None) -> None:
    """InputError, which does not show it, for a token that can't be sent."""
    if token and not _TOKEN.fullmatch(token):
        raise InputError(
            "api_token holds a character that no token has, such as a space, or a line break at its end. Check where "
            "it comes from."
        )
