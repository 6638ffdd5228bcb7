# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._account import connection_params


@pytest.mark.parametrize(("given", "expected"), [("", True), (None, True), ("no", False), (True, True)])
def test_an_empty_value_keeps_the_check_of_certificates(
    given: Any, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_ALLOW_HTTP", "")
    params = connection_params(dict.fromkeys(CONNECTION_OPTIONS).get, {"validate_certs": given})
    assert [params[name] for name in ("validate_certs", "brand", "allow_http")] == [expected, "monitor", False]
    monkeypatch.setenv("MONITOR_VALIDATE_CERTS", "" if expected else str(given))
    assert connection_params(dict.fromkeys(CONNECTION_OPTIONS).get, {})["validate_certs"] is expected
    with pytest.raises(InputError, match="allow_http is invalid"):
        connection_params(dict.fromkeys(CONNECTION_OPTIONS).get, {"allow_http": "maybe"})
