# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action of monitor_client_info: a file of its own, which core loads before the fork, as sealed keys need it."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.action import monitor_clients


class ActionModule(monitor_clients.ActionModule):
    """The action of all modules that call the service."""
