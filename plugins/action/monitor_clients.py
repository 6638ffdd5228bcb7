# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the result of monitor_clients with include_keys out of the output, and shows its progress where that lasts."""

from __future__ import annotations

import atexit
import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._quiet import QuietAction
from ansible_collections.monitor.cloud.plugins.plugin_utils._watch import tell_interrupted, watched

# Ctrl-C kills the workers. The process that started them imports this file too, and lives to tell.
atexit.register(tell_interrupted, "monitor_clients")


class ActionModule(QuietAction):
    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        if not self.runs_here:
            return super().run(tmp, task_vars)
        with watched("monitor_clients"):
            return super().run(tmp, task_vars)
