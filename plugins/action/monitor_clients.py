# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the result of monitor_clients with include_keys out of the output."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.plugin_utils._quiet import QuietAction


class ActionModule(QuietAction):
    pass
