# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import sys

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils import _core


def test_an_old_python_of_the_controller_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _core.check_python()
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    with pytest.raises(InputError, match=r"needs Python 3\.11 or newer where Ansible runs; this is 3\.10\.13 \("):
        _core.check_python()
