# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.module_utils._service.http import load_requests
from ansible_collections.monitor.cloud.plugins.modules import monitor_client
from ansible_collections.monitor.cloud.plugins.plugin_utils._module_action import ModuleAction

# Before the workers start: many hosts may run this module, and each of their workers would take 0.1 s.
load_requests()


class ActionModule(ModuleAction):
    MODULE = monitor_client.MODULE
