# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all modules share: connection options, the way from parameters to a result, errors turned into failures."""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import AnsibleModule, env_fallback

from ansible_collections.monitor.cloud.plugins.module_utils._connect import Params, connect
from ansible_collections.monitor.cloud.plugins.module_utils._errors import MonitorError, TaskFailure

if t.TYPE_CHECKING:
    from ansible_collections.monitor.cloud.plugins.module_utils._api import Api

__all__ = ["CONNECTION_OPTIONS", "INCLUDE_KEYS", "Params", "Result", "run_module"]

Result = dict[str, t.Any]

CONNECTION_OPTIONS: dict[str, t.Any] = {
    "base_url": {"type": "str", "required": True, "fallback": (env_fallback, ["MONITOR_BASE_URL"])},
    "api_token": {"type": "str", "no_log": True, "fallback": (env_fallback, ["MONITOR_API_TOKEN"])},
    "brand": {"type": "str", "default": "monitor", "fallback": (env_fallback, ["MONITOR_BRAND"])},
    "validate_certs": {"type": "bool", "default": True, "fallback": (env_fallback, ["MONITOR_VALIDATE_CERTS"])},
    "ca_path": {"type": "path", "fallback": (env_fallback, ["MONITOR_CA_PATH"])},
    "allow_http": {"type": "bool", "default": False, "fallback": (env_fallback, ["MONITOR_ALLOW_HTTP"])},
    "timeout": {"type": "float", "default": 30.0, "fallback": (env_fallback, ["MONITOR_TIMEOUT"])},
    "retry_timeout": {"type": "float", "default": 120.0, "fallback": (env_fallback, ["MONITOR_RETRY_TIMEOUT"])},
    "page_size": {"type": "int"},
}
# A fingerprint tells keys apart and include_keys is a switch: neither is a secret, whatever their names suggest.
INCLUDE_KEYS: dict[str, t.Any] = {"type": "bool", "default": False, "no_log": False}


def run_module(run: t.Callable[[Params, Api, bool], Result], options: dict[str, t.Any], **constraints: t.Any) -> None:
    """Run a module: ``run(params, api, check_mode)`` gives its result, MonitorError its failure. Ends the process."""
    module = AnsibleModule(argument_spec={**CONNECTION_OPTIONS, **options}, supports_check_mode=True, **constraints)
    api = None
    try:
        api = connect(module.params)
        result = run(module.params, api, module.check_mode)
    except MonitorError as error:
        details: Result = dict(error.details) if isinstance(error, TaskFailure) else {}
        if api is not None:
            details["api_usage"] = api.usage
        module.fail_json(msg=str(error), **details)
    for warning in result.pop("warnings", []):
        module.warn(warning)
    if not module._diff:
        result.pop("diff", None)
    module.exit_json(**result, api_usage=api.usage)
