# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all modules share, on a host and on the controller: connection options, and the way from options to result."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version
from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.common.arg_spec import ValidationResult
from ansible.module_utils.errors import AnsibleFallbackNotFound, UnsupportedError

from ansible_collections.monitor.cloud.plugins.module_utils._clients import fields
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, MonitorError
from ansible_collections.monitor.cloud.plugins.module_utils._service.http import LOOPBACK, Http, Settings, split_url
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import find_secrets, redact, redact_all

Params = t.Mapping[str, t.Any]
Result = t.Dict[str, t.Any]  # noqa: UP006

# Equals version in galaxy.yml.
VERSION = "1.0.0"


def _option(name: str, kind: str, **details: t.Any) -> dict[str, t.Any]:
    return {"type": kind, "fallback": (_from_environment, [f"MONITOR_{name.upper()}"]), **details}


def _from_environment(name: str) -> t.Any:
    """The value of an environment variable; an empty one counts as not set, as for the inventory plugin."""
    if not os.environ.get(name):
        raise AnsibleFallbackNotFound
    return env_fallback(name)


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
# Seconds of a day: timers of some systems overflow after a few weeks.
_LONGEST = 86400
# Each concurrent request opens a connection.
_MAX_CONCURRENCY = 1000
# Characters of a header value. For others the library requests raises an error that quotes the token.
_TOKEN = re.compile(r"[!-~]+")
_OLDEST_PYTHON = (3, 9)
# no_log: False, because core warns of option names that resemble those of secrets; this option is a switch.
INCLUDE_KEYS: dict[str, t.Any] = {"type": "bool", "default": False, "no_log": False}
# The options that choose the account.
ACCOUNT_OPTIONS = ("base_url", "brand", "api_token")


def connect(params: Params) -> Api:
    """The Api that the connection options describe; InputError if they are invalid. Sends nothing."""
    timeout, retry_timeout = params["timeout"], params["retry_timeout"]
    # Positive conditions, because every comparison with NaN is false: so NaN is refused too.
    if not (0 < timeout <= _LONGEST and 0 <= retry_timeout <= _LONGEST):
        raise InputError(
            f"timeout must be more than 0 seconds, and retry_timeout at least 0; neither more than {_LONGEST}."
        )
    # Only monitor_clients has the option concurrency.
    if not 1 <= params.get("concurrency", 1) <= _MAX_CONCURRENCY:
        raise InputError(f"concurrency must be at least 1, and not more than {_MAX_CONCURRENCY}.")
    token = params["api_token"]
    if token and not _TOKEN.fullmatch(token):
        raise InputError(
            "api_token holds a character that no token has, such as a space, or a line break at its end. Check the "
            "source of the token."
        )
    settings = Settings(
        base_url=check_base_url(params["base_url"], allow_http=params["allow_http"]),
        token=token,
        user_agent=f"monitor.cloud/{VERSION} ansible-core/{ansible_version}",
        **{name: params[name] for name in Settings._fields if name in params and name != "base_url"},
    )
    return Api(Http(settings), brand=params["brand"], page_size=params["page_size"])


def account_fingerprint(params: Params) -> str:
    """The first 12 hexadecimal digits of a SHA-256 of base_url, brand and api_token, which choose the account."""
    values = [str(params[name] or "").strip().rstrip("/") for name in ACCOUNT_OPTIONS]
    return fields.fingerprint("\n".join(values))


def check_base_url(base_url: str | None, *, allow_http: bool) -> str:
    """The base URL without a trailing slash; InputError if it is invalid or would send the token unencrypted."""
    base_url = (base_url or "").strip()
    if not base_url:
        raise InputError.missing_option("base_url")
    parts = split_url(base_url)
    if not parts or parts.scheme not in ("http", "https") or not base_url.isprintable() or " " in base_url:
        raise InputError("base_url must be a URL such as https://api.example.com/v4, version segment included.")
    if "@" in parts.netloc or "?" in base_url or "#" in base_url:
        raise InputError("base_url must not contain credentials, query or fragment. Set the token as api_token.")
    if parts.scheme == "http" and not allow_http and parts.hostname not in LOOPBACK:
        raise InputError(
            f"base_url {base_url} would send the token unencrypted. Use https, or set allow_http "
            f"(monitor_agent_allow_http): true if the connection to {parts.hostname} is protected in another way."
        )
    return base_url.rstrip("/")


def problem_of(action: t.Any, checked: ValidationResult) -> str:
    """Why the options of a task are refused, as a module reports it; else empty."""
    unknown = f"Unsupported parameters for ({action}) module: "
    return ". ".join(unknown * isinstance(error, UnsupportedError) + error.msg for error in checked.errors.errors)


def _texts_without_keys(result: Result, api: Api) -> Result:
    """The texts of a result that may quote the service, with the keys of all clients in its responses redacted."""
    texts: Result = {name: result[name] for name in ("msg", "warnings", "failures") if result.get(name)}
    if not texts:
        return {}
    secrets = {
        f"{field} of client {client['id']}": secret
        for client in list(api.known.values())
        for field, secret in fields.secrets_of(client).items()
    }
    found = find_secrets(str(texts), secrets)
    return {
        # The labels in failures stay unchanged, because tasks look reasons up by them.
        name: {label: redact(reason, found) for label, reason in text.items()}
        if isinstance(text, dict)
        else redact_all(text, found)
        for name, text in texts.items()
    }


class Module(t.NamedTuple):
    """A module: the function ``run(params, api, check_mode)``, which returns the result, and its options and rules."""

    run: t.Callable[[Params, Api, bool], Result]
    options: dict[str, t.Any]
    rules: t.Mapping[str, t.Any] = {}

    @property
    def spec(self) -> dict[str, t.Any]:
        """All options and rules, as arguments of AnsibleModule and ArgumentSpecValidator."""
        return {"argument_spec": {**CONNECTION_OPTIONS, **self.options}, **self.rules}

    def execute(
        self,
        params: Params,
        *,
        check_mode: bool,
        diff: bool,
        watch: t.Callable[[Api], t.ContextManager[t.Any]] = contextlib.nullcontext,
    ) -> Result:
        """The result for valid options; ``failed`` and ``msg`` for a MonitorError. ``run`` runs within ``watch``."""
        result: Result
        api = None
        try:
            api = connect(params)
            with watch(api):
                result = self.run(params, api, check_mode)
            if check_mode and result["changed"] and api.reads_only:
                reason = (
                    f"The token has the scopes {api.http.scopes}, and a change needs the scope {api.brand}:read_write: "
                    "the service will refuse what check mode predicts."
                )
                result["warnings"] = [*result.get("warnings", []), reason]
        except MonitorError as error:
            result = {**error.details, "failed": True, "msg": str(error)}
        if not diff:
            result.pop("diff", None)
        if not result.get("warnings"):
            result.pop("warnings", None)
        return result if api is None else {**result, **_texts_without_keys(result, api), "api_usage": api.http.usage}

    def main(self) -> None:
        """Run the module as a program. Ends the process."""
        program = AnsibleModule(**self.spec, supports_check_mode=True)
        if sys.version_info < _OLDEST_PYTHON:
            version = ".".join(map(str, sys.version_info[:3]))
            program.fail_json(
                msg=f"monitor.cloud needs Python 3.9 or newer on the host where the module runs; this is {version} "
                f"({sys.executable}): set ansible_python_interpreter, or use delegate_to: localhost."
            )
        result = self.execute(program.params, check_mode=program.check_mode, diff=program._diff)
        for warning in result.pop("warnings", []):
            program.warn(warning)
        if result.get("failed"):
            program.fail_json(**result)
        program.exit_json(**result)
