# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From connection options to the service, for the modules and the inventory plugin alike."""

from __future__ import annotations

import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version

from ansible_collections.monitor.cloud.plugins.module_utils._api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._http import Http, Settings
from ansible_collections.monitor.cloud.plugins.module_utils._version import VERSION

Params = t.Mapping[str, t.Any]

# More is a slip of the finger, and beyond what timers take.
_LONGEST = 86400
# A connection each.
_MOST_AT_ONCE = 1000


def connect(params: Params) -> Api:
    """The service as the connection options describe it; InputError where they are unusable. Sends nothing."""
    timeout, retry_timeout = params["timeout"], params["retry_timeout"]
    # Not the other way round: NaN is neither.
    if not (0 < timeout <= _LONGEST and 0 <= retry_timeout <= _LONGEST):
        raise InputError(
            f"timeout must be more than 0 seconds, and retry_timeout at least 0; neither more than {_LONGEST}."
        )
    if not 1 <= params.get("concurrency", 1) <= _MOST_AT_ONCE:
        raise InputError(f"concurrency must be at least 1, and not more than {_MOST_AT_ONCE}.")
    settings = Settings(
        base_url=params["base_url"],
        token=params["api_token"],
        validate_certs=params["validate_certs"],
        ca_path=params["ca_path"],
        allow_http=params["allow_http"],
        timeout=timeout,
        retry_timeout=retry_timeout,
        concurrency=params.get("concurrency", 8),
        user_agent=f"monitor.cloud/{VERSION} ansible-core/{ansible_version}",
    )
    return Api(Http(settings), brand=params["brand"], page_size=params["page_size"])
